"""Generators and graders that several environments of the library share, one folder a family."""
