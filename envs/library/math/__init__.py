"""MATH: competition mathematics."""

from laconic.envs.library.math.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
