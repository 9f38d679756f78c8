"""Cups: a ball under one of some cups, and every agent saw a part of the shuffling."""

from laconic.envs.library.cups.rules import Cups

__all__ = ["ENVIRONMENT", "Cups"]

ENVIRONMENT = Cups
