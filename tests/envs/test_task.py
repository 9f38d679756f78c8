"""Which statements of a task matter, and who is a source of tasks."""

from __future__ import annotations

from laconic.envs.task import (
    Benchmark,
    PromptedTask,
    Task,
    knows_enough,
    relevant_statements,
)
from laconic.envs.worlds import World

TASK = Task(
    key="own",
    question="How many?",
    statements=("Ann has 3.", "The bus was late.", "Ben has 4."),
    answer="7",
    relevant=(True, False, True),
)


def test_statements_without_flags_all_matter():
    unflagged = Task(key="own", question="?", statements=("a", "b"), answer="7")
    assert relevant_statements(TASK, (2, 1)) == ["Ben has 4."]
    assert relevant_statements(TASK, ()) == []
    assert relevant_statements(unflagged, (1, 0)) == ["b", "a"]


def test_a_share_and_what_was_read_together_are_enough():
    assert knows_enough(TASK, (0, 2), "")
    assert knows_enough(TASK, (0,), "helper_1: Ben has 4.")
    # The second statement does not matter; the third is missing.
    assert not knows_enough(TASK, (0, 1), "helper_1: Ben has")


def test_benchmarks_and_worlds_explain_their_tasks():
    assert issubclass(Benchmark, PromptedTask) and issubclass(World, PromptedTask)
