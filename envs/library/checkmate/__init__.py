"""Checkmate-in-one: find the move that mates."""

from laconic.envs.library.checkmate.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
