"""The scripts of cups in played episodes, beside what theory says."""

from __future__ import annotations

from random import Random

import pytest

from laconic import envs
from laconic.envs.errors import UnknownNameError
from laconic.envs.worlds.base import TeacherStyle, TurnView
from laconic.envs.worlds.cups import theory
from laconic.envs.worlds.cups.rules import Cups, State
from laconic.envs.worlds.cups.scripts import NAMES
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.metrics import summarize
from laconic.learners.rollout.play import Start, play

COUNT = 400


def figures(script: str, **settings) -> dict[str, float]:
    environments = [
        envs.make(Cups, free=True, tasks=COUNT, split="evaluation", **settings) for _ in range(50)
    ]
    starts = [Start(seed, key) for seed, key in enumerate(environments[0].tasks)]
    policies = ScriptedTeam(script).policies(environments[0])
    return summarize(play(environments, policies, starts, seed=0))


@pytest.mark.parametrize("script", ["relay", "broadcast"])
@pytest.mark.parametrize(("members", "cups"), [(4, 3), (8, 3), (3, 4)])
def test_a_protocol_is_right_in_the_words_and_rounds_of_the_theory(
    script: str, members: int, cups: int
) -> None:
    found = figures(script, team={"member": members}, cups=cups, deadline=8)
    assert found["accuracy"] == 1.0
    assert found["rounds"] == theory.rounds(script, members)
    # Four standard errors of at most 2.5 words an episode.
    assert found["tokens_said"] == pytest.approx(
        theory.words(script, members, cups), abs=4 * 2.5 / COUNT**0.5
    )


def test_the_oracle_is_the_relay() -> None:
    assert Cups().script("oracle") == Cups().script("relay") != Cups().script("verbose")


def test_who_repeats_the_cup_speaks_in_every_turn() -> None:
    found = figures("verbose")
    assert (found["accuracy"], found["tokens_said"]) == (1.0, 3.0)


@pytest.mark.parametrize(
    ("script", "settings", "right", "rounds"),
    [("reader", {}, 1.0, 4), ("reader", {"deadline": 3}, 1 / 3, 3), ("guess", {}, 1 / 3, 1)],
)
def test_the_single_agent_knows_all_or_nothing(
    script: str, settings: dict, right: float, rounds: int
) -> None:
    found = figures(script, team={"member": 1}, pages=4, **settings)
    margin = 4 * (right * (1 - right) / COUNT) ** 0.5
    assert found["accuracy"] == pytest.approx(right, abs=margin)
    assert (found["rounds"], found["tokens_said"]) == (rounds, 0)


def test_an_unknown_script_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="agent.script"):
        Cups().script("loud")
    assert all(callable(Cups().script(name)) for name in NAMES)


@pytest.mark.parametrize(
    ("deadline", "told"), [(None, [{"blue"}, {"", "red"}]), (2, [{"blue"}, {"red blue"}])]
)
def test_the_teacher_tells_a_part_and_often_repeats_the_last_cup(
    deadline: int | None, told: list[set[str]]
) -> None:
    world = Cups(deadline=deadline)
    still = ((0, 1, 2),)
    state = State(0, {"member_0": ((1, 0, 2),), "member_1": still, "member_2": still})
    script = world.teacher(TeacherStyle(terse=0.2, silent=0.25, best=0.2, frames=1))

    def said(agent: str) -> list[str]:
        view = TurnView(agent, world.facts_for(state, agent), "", False)
        return [script(view, Random(seed)) for seed in range(400)]

    # Two rounds are too short for a relay of three, so all tell their parts at once.
    assert [set(said(f"member_{place}")) for place in (0, 1)] == told
    last = said("member_2")
    assert set(last) == {"", "red"}
    assert last.count("") / 400 == pytest.approx(0.25, abs=0.09)
