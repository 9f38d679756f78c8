"""MBPP by two agents: one writes a helper, one the function asked for."""

from laconic.envs.library.coop_mbpp.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
