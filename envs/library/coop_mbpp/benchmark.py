"""MBPP by two agents: one writes a helper, one the function asked for.

Source: MBPP, full or sanitized (`envs.library.mbpp`), as MAGRPO (arXiv 2508.04652) has it. Both
agents read the sentence and the tests, in which alone the function's name stands. Reward: 0 to 4
(`envs.families.cooperation.reward`); each entry of `test_list` is one test.
"""

from __future__ import annotations

from pathlib import Path

from laconic.envs.benchmarks.sources import Row
from laconic.envs.declarations import Recipe
from laconic.envs.families.coding.generate import Item
from laconic.envs.families.cooperation.base import CooperativeCoding
from laconic.envs.library.mbpp import benchmark as mbpp
from laconic.envs.task import Task


class CoopMBPP(CooperativeCoding):
    """Functions to be written by two agents from a sentence and asserts."""

    name = "coop_mbpp"
    recipe = Recipe(
        Path(__file__).with_name("policy"),
        minutes=15,
        max_reply_tokens=65,
        metric="score",
        target=2.4,
    )

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of an original row, as in `envs.library.mbpp`."""
        return mbpp.BENCHMARK.read(row, where, key)

    def pose(self, item: Item) -> Task:
        """Return a text of steps, two asserts to show, and other asserts for testing."""
        return mbpp.BENCHMARK.pose(item)


BENCHMARK = CoopMBPP()
