"""What benchmarks are made of: the base classes of their graders, sources, and generators."""

from laconic.envs.benchmarks.base import ShortAnswers
from laconic.envs.benchmarks.sources import field

__all__ = ["ShortAnswers", "field"]
