"""arXiv: the introduction of a paper from its abstract, in two paragraphs graded together."""

from laconic.envs.library.arxiv.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
