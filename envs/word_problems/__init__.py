"""Word problems of one to eight arithmetic steps, made from a seed."""

from __future__ import annotations

from envs.word_problems.generate import generate

__all__ = ["generate"]
