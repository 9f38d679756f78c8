"""MBPP: write a Python function from one sentence and a few asserts."""

from laconic.envs.library.mbpp.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
