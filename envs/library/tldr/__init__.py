"""TLDR: a concise and a detailed summary of one post, graded together."""

from laconic.envs.library.tldr.benchmark import BENCHMARK as ENVIRONMENT

__all__ = ["ENVIRONMENT"]
