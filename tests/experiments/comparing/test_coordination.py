from __future__ import annotations

import csv

import pytest

from laconic import envs
from laconic.experiments.comparing.coordination import HEADS, measure, save, write
from laconic.learners.episode import Episode, Turn


def episode(task: str, solved: bool, *messages: str) -> Episode:
    """One round in which somebody says each of these."""
    turns = tuple(Turn(f"a_{n}", 0, text) for n, text in enumerate(messages))
    return Episode(task=task, turns=turns, rewards={}, solved=solved)


ALONE = [episode("one", True, "#### 1"), episode("two", False, "#### 3")]
TEAM = [episode("one", True, "yes", "yes", ""), episode("two", True, "no", "so", "")]


def test_an_entry_is_measured_by_its_turns_and_words():
    found = measure(TEAM, str.split)
    assert (found["turns"], found["messages"]) == (3.0, 2.0)
    # One episode has two equal messages, the other two without a common word.
    assert (found["redundancy"], found["channels"]) == pytest.approx((0.5, 1.5))
    assert found["solved"] == {"one": True, "two": True}
    assert measure(ALONE, str.split)["channels"] is None


def test_entries_stand_beside_one_agent_alone(tmp_path):
    for name, episodes in (("single", ALONE), ("team", TEAM)):
        (tmp_path / name).mkdir()
        save(tmp_path / name, measure(episodes, str.split))
    write(tmp_path, ["single", "team", "absent"], "single")
    with open(tmp_path / "coordination.csv", encoding="utf-8", newline="") as file:
        alone, team = csv.DictReader(file)
    assert tuple(team) == HEADS
    assert (alone["overhead"], alone["efficiency"], alone["redundancy"]) == ("0.0", "0.5", "")
    # Three turns for one; success 1 over three times the turns; one task fixed.
    assert (float(team["overhead"]), float(team["density"])) == pytest.approx((2.0, 2 / 3))
    assert float(team["efficiency"]) == pytest.approx(1 / 3)
    assert (team["broken"], team["fixed"], float(team["gain"])) == ("0", "1", 0.5)


def test_without_an_agent_alone_there_is_no_table(tmp_path):
    write(tmp_path, ["team"], "single")
    assert list(tmp_path.iterdir()) == []


def test_what_agents_answer_in_between_is_graded():
    env = envs.make("gsm8k", tasks=1, team={"solver": 2}, answer="majority")
    (key, task), *_ = env.tasks.items()
    right = f"#### {task.answer}"
    turns = (
        Turn("solver_0", 0, right),
        Turn("solver_1", 0, "#### 99999"),
        Turn("solver_0", 1, right),
        Turn("solver_1", 1, right),
    )
    flow = measure([Episode(task=key, turns=turns, rewards={}, solved=True)], str.split, env)[
        "flow"
    ]
    # The one stays with what it said, the other follows it.
    assert flow == {"tt": [1, 0], "tf": [0, 0], "ft": [1, 1], "ff": [0, 0]}
    assert measure(ALONE, str.split)["flow"] == {}
