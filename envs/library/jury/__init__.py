"""Jury: agents with uneven eyes say what they saw, or nothing, and a solver answers."""

from laconic.envs.library.jury.rules import Jury

__all__ = ["ENVIRONMENT", "Jury"]

ENVIRONMENT = Jury
