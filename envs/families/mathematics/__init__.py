"""Competition mathematics: generated problems, and the grading of answers."""
