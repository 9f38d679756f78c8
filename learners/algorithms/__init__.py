"""Learning algorithms, one per module."""
