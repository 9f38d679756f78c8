"""Questions answered by yes or no: over facts of a knowledge base, over sports."""
