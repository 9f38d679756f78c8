"""Loggers that need a library of their own, one file each: wandb, mlflow, trackio."""
