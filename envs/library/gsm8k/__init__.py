"""GSM8K: grade-school word problems."""

from laconic.envs.library.gsm8k.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
