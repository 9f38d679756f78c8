"""StrategyQA: yes/no questions with implicit reasoning steps."""

from laconic.envs.library.strategyqa.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
