"""HumanEval: complete a Python function from its head and docstring."""

from laconic.envs.library.humaneval.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
