"""Texts that two authors write together: measures, grades, and generated pieces to write."""
