"""Yes/no questions over a generated knowledge base, in several hops."""
