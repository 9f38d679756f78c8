"""Rounds of simultaneous messages about one task, under budgets and prices."""

from laconic.envs.dialogue.environment import DialogueEnv

__all__ = ["DialogueEnv"]
