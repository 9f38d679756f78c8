"""The command line of every program, and words for what is wrong on it."""
