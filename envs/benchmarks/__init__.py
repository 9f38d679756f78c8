"""One module per benchmark; each has a `BENCHMARK` and is found by its file name."""

from laconic.envs.families.common.benchmark import ShortAnswers
from laconic.envs.families.common.sources import field

__all__ = ["ShortAnswers", "field"]
