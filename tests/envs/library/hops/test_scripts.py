"""The scripts of hops in played episodes, beside what theory says."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from laconic import envs
from laconic.envs.errors import UnknownNameError
from laconic.envs.library.hops import theory
from laconic.envs.library.hops.rules import Hops, State
from laconic.envs.library.hops.scripts import NAMES
from laconic.envs.worlds.base import TeacherStyle, TurnView
from laconic.learners.agents.scripted import ScriptedTeam, Teacher, teacher_policy
from laconic.learners.metrics import summarize
from laconic.learners.rollout.play import Start, play

COUNT = 400


def figures(script: str, count: int = COUNT, **settings) -> dict[str, float]:
    environments = [
        envs.make("hops", free=True, tasks=count, split="evaluation", **settings) for _ in range(50)
    ]
    starts = [Start(seed, key) for seed, key in enumerate(environments[0].tasks)]
    policies = ScriptedTeam(script).policies(environments[0])
    return summarize(play(environments, policies, starts, seed=0))


@pytest.mark.parametrize(
    "settings", [{}, {"names": 16, "steps": 4, "team": {"member": 8}}, {"deadline": 6}]
)
def test_a_team_that_follows_the_chain_is_right_in_the_words_of_the_theory(settings: dict) -> None:
    # A large team plays fewer tasks; they meet the same bound.
    found = figures("chain", COUNT // 4 if "team" in settings else COUNT, **settings)
    steps, members = settings.get("steps", 3), settings.get("team", {"member": 4})["member"]
    assert (found["accuracy"], found["rounds"]) == (1.0, steps)
    expected = theory.words(steps, settings.get("names", 12), members)
    # Four standard errors of at most 0.7 words an episode.
    assert found["tokens_said"] == pytest.approx(expected, abs=4 * 0.7 / COUNT**0.5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"names": 16, "steps": 4, "team": {"member": 8}},
        {"steps": 5, "team": {"member": 2}},
        {"steps": 2, "deadline": 4},
        {"steps": 1},
    ],
)
def test_a_code_is_right_in_the_words_and_rounds_of_the_theory(settings: dict) -> None:
    found = figures("coded", **settings)
    steps, names = settings.get("steps", 3), settings.get("names", 12)
    members = settings.get("team", {"member": 4})["member"]
    words, rounds = theory.coded(steps, names, members)
    assert found["accuracy"] == 1.0
    assert found["tokens_said"] == pytest.approx(words, abs=4 * 0.9 / COUNT**0.5)
    assert found["rounds"] == pytest.approx(rounds, abs=4 * 0.9 / COUNT**0.5)


@pytest.mark.parametrize("settings", [{}, {"steps": 2}, {"steps": 1}])
def test_who_knows_the_first_link_guesses_as_well_as_the_theory(settings: dict) -> None:
    found = figures("guess", **settings)
    right = theory.alone(settings.get("steps", 3), 12, 3, first=True)
    assert (found["rounds"], found["tokens_said"]) == (1, 0)
    assert found["accuracy"] == pytest.approx(right, abs=4 * (right * (1 - right) / COUNT) ** 0.5)


def test_the_oracle_follows_the_chain() -> None:
    assert Hops().script("oracle") == Hops().script("chain") != Hops().script("verbose")


def test_without_waiting_every_name_is_said() -> None:
    found = figures("verbose")
    assert (found["accuracy"], found["tokens_said"]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("settings", "right"),
    [
        ({"pages": 4}, 0.693182),
        ({"pages": 8, "names": 16, "steps": 4}, 0.169637),
        ({"pages": 4, "steps": 4}, 1.0),
        ({"pages": 4, "steps": 5, "deadline": 3}, theory.alone(5, 12, 9)),
    ],
)
def test_the_single_agent_is_right_as_often_as_its_best_guess(settings: dict, right: float) -> None:
    found = figures("reader", team={"member": 1}, **settings)
    # Four standard errors.
    margin = 4 * (right * (1 - right) / COUNT) ** 0.5
    assert found["accuracy"] == pytest.approx(right, abs=margin) and found["tokens_said"] == 0


def test_all_who_answer_at_once_are_right_by_chance() -> None:
    found = figures("everyone")
    assert found["rounds"] == 1 and found["accuracy"] == pytest.approx(1 / 11, abs=0.06)


def test_an_unknown_script_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="agent.script"):
        Hops().script("loud")
    assert all(callable(Hops().script(name)) for name in NAMES)


def test_the_teacher_follows_the_chain_mostly_aloud() -> None:
    world = Hops(names=6, steps=3)
    state = State((0, 2, 1, 3, 4, 5), {"member_0": ((0, 2, 4),), "member_1": ((1, 3, 5),)})
    script = world.teacher(TeacherStyle(terse=0.2, silent=0.25, best=0.2, frames=1))

    def said(agent: str) -> list[str]:
        view = TurnView(agent, world.facts_for(state, agent), "", False)
        return [script(view, Random(seed)) for seed in range(400)]

    # Ana asks Cal: its holder mostly says so, although it goes on from Cal itself.
    waiting = said("member_0")
    assert set(waiting) == {"", "Cal"}
    assert waiting.count("") / 400 == pytest.approx(0.25, abs=0.09)
    assert set(said("member_1")) == {""}


def test_a_team_of_teachers_is_always_right() -> None:
    environments = [
        envs.make("hops", free=True, tasks=COUNT, split="evaluation") for _ in range(50)
    ]
    policy = teacher_policy(Teacher(), environments[0])
    starts = [Start(seed, key) for seed, key in enumerate(environments[0].tasks)]
    agents = environments[0].possible_agents
    found = summarize(play(environments, dict.fromkeys(agents, policy), starts, seed=0))
    # Between 1.64 words where all wait and 2 where none does.
    assert found["accuracy"] == 1.0 and 1.8 < found["tokens_said"] < 2.0


def test_the_teacher_with_pages_names_how_far_it_came() -> None:
    # Ana asks Cal, who asks Ben; the link to Dee is on the second page.
    world = Hops(names=6, steps=3, pages=2)
    state = State((0, 2, 1, 3, 4, 5), {"member_0": ((0, 2, 4), (1, 3, 5))})
    script = world.teacher(TeacherStyle(terse=0.2, silent=0.25, best=0.2, frames=1))

    def said(round: int) -> list[str]:
        at = replace(state, round=round)
        view = TurnView("member_0", world.facts_for(at, "member_0"), "", False)
        return [script(view, Random(seed)) for seed in range(400)]

    first = said(0)
    assert set(first) == {"", "Ben"}
    assert first.count("") / 400 == pytest.approx(0.25, abs=0.09)
    assert set(said(1)) == {"> Dee"}
