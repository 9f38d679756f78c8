"""What programs share while they run: set-up, run folders, evaluation, progress."""
