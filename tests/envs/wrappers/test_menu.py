from __future__ import annotations

from typing import Any

import pytest

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.envs.wrappers.menu import ABSTAIN, Menu


def test_it_has_silence_statements_answers_and_abstention_in_this_order(make_signal: Any) -> None:
    env = make_signal()
    menu = Menu.of(env)
    assert menu == Menu(statements=1, drafts=0, answers=("#### red",))
    task = env.tasks["own"]
    assert menu.entries(task, (1,), "helper_0", False) == ("", "The cup is red.", "", ABSTAIN)
    assert menu.entries(task, (), "solver_0", True) == ("", "", "#### red", ABSTAIN)
    # Of more statements than there are places for the first are taken.
    assert menu.entries(task, (0, 1), "helper_0", False)[1] == "The ball is blue."


@pytest.mark.parametrize(
    ("settings", "statements"),
    [
        # Three statements: for 3 helpers one each, for 2 one of them holds two.
        ({}, 1),
        ({"team": {"solver": 1, "helper": 2}}, 2),
        # Where nobody but those who answer is there they hold them.
        ({"team": {"solver": 2}, "schedule": "all"}, 2),
        ({"information": "full"}, 3),
    ],
)
def test_it_has_room_for_the_largest_share(
    make_signal: Any, settings: Any, statements: int
) -> None:
    env = make_signal(**settings)
    assert Menu.of(env).statements == statements
    _, infos = env.reset(seed=0)
    assert max(len(info["share"]) for info in infos.values()) == statements


def test_the_commonest_answers_are_taken_and_stand_in_order() -> None:
    env = envs.make("signal", tasks=200)
    assert Menu.of(env).answers == ("#### blue", "#### green", "#### red", "#### white")
    counts = {
        answer: sum(task.answer_text == answer for task in env.tasks.values())
        for answer in Menu.of(env).answers
    }
    two = sorted(sorted(counts, key=counts.__getitem__)[-2:])
    assert Menu.of(env, answers=2).answers == tuple(two)
    with pytest.raises(SettingError, match="answers must be a whole number of at least 1"):
        Menu.of(env, answers=0)


def test_joint_work_has_its_roles_drafts_in_an_order_that_tells_nothing() -> None:
    env = envs.make("tldr", tasks=40, team={"concise": 1, "detailed": 1}, answer="joint")
    menu = Menu.of(env)
    assert menu.statements == 0 and menu.answers == () and menu.drafts >= 2
    first = []
    for task in env.tasks.values():
        entries = menu.entries(task, (), "concise_0", True)
        assert len(entries) == menu.size and entries[0] == "" and entries[-1] == ABSTAIN
        drafts = task.drafts["concise"]
        assert set(entries[1 : 1 + len(drafts)]) == set(drafts)
        first.append(entries[1] == drafts[0])
        assert entries == menu.entries(task, (), "concise_0", True)
    assert 0 < sum(first) < len(first)
