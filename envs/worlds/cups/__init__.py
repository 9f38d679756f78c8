"""Cups: a ball under one of some cups, and every agent saw a part of the shuffling."""

from laconic.envs.worlds.cups.rules import Cups

__all__ = ["Cups"]
