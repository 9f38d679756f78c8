"""Sports Understanding: is a sentence about an athlete plausible?"""

from laconic.envs.library.sports.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
