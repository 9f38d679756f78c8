"""Jury: agents with uneven eyes say what they saw, or nothing, and a solver answers."""

from laconic.envs.worlds.jury.rules import Jury

__all__ = ["Jury"]
