"""Two agents, one program: who is graded, what is told, and times of tests."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.families.cooperation.base import NO_SYNTAX, timed
from laconic.envs.library.coop_humaneval.benchmark import BENCHMARK

AUX = "def aux(xs):\n    return sorted(xs)\n"
MAIN = "def tidy(xs):\n    return [2 * x for x in aux(xs)]\n"


def test_the_first_agent_of_each_role_is_graded(tidy):
    answers = {"main_0": MAIN, "main_1": "no", "auxiliary_0": AUX, "auxiliary_1": "no"}
    score = BENCHMARK.score(tidy, answers)
    assert (score.value, score.solved) == (4.0, True)
    assert score.detail["schemes"] == ("decorator",)
    assert BENCHMARK.score(tidy, {}).value == 0.0


def test_what_is_no_python_has_an_outcome_of_its_own(tidy):
    score = BENCHMARK.score(tidy, {"auxiliary_0": AUX, "main_0": "def tidy(xs):\n    return ("})
    assert score.detail["outcome"] == NO_SYNTAX and score.value == pytest.approx(1.0)


def test_nothing_commits_and_each_agent_hears_of_its_own(tidy):
    assert BENCHMARK.committed(MAIN) is None
    score = BENCHMARK.score(tidy, {"auxiliary_0": AUX, "main_0": MAIN})
    feedback = BENCHMARK.findings(tidy, score, ("auxiliary_0", "main_0"))
    assert feedback["auxiliary_0"].startswith("Your function aux was found.")
    assert feedback["main_0"].startswith("Your function tidy was found.")


def test_tests_have_a_time_and_settings_a_range(tidy):
    assert tidy.details["exam"].seconds == 2.0
    assert timed(tidy, 3.0).details["exam"].seconds == 3.0
    task = BENCHMARK.generate(0, 1, seconds=2.0)[0]
    assert task.details["exam"].seconds == 2.0 and task.drafts
    with pytest.raises(SettingError, match="above 0"):
        BENCHMARK.generate(0, 1, seconds=-1)
    with pytest.raises(SettingError, match="env.generator.level"):
        BENCHMARK.generate(0, 1, level=1)
    with pytest.raises(UnknownNameError):
        BENCHMARK.generate(0, 1, tests=1)
