"""What families share: sources of real rows, drawing of tasks, sentences."""
