"""Mathematical problems: the original ones read from their files, and ones made from a seed."""
