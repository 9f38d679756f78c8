"""Signal: name the color of a thing, the smallest task that requires communication."""

from laconic.envs.library.signal.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
