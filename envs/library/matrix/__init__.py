"""Matrix games: agents choose at the same time, again and again, after talk that binds no one."""

from laconic.envs.library.matrix.rules import Matrix

__all__ = ["ENVIRONMENT", "Matrix"]

ENVIRONMENT = Matrix
