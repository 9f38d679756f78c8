"""The scripts of cups in played episodes, beside what theory says."""

from __future__ import annotations

from random import Random

import pytest

from laconic import envs
from laconic.envs.errors import UnknownNameError
from laconic.envs.library.cups import theory
from laconic.envs.library.cups.rules import Cups, State
from laconic.envs.library.cups.scripts import NAMES, Coded
from laconic.envs.worlds.base import TeacherStyle, TurnView
from laconic.learners.agents.scripted import ScriptedTeam, Teacher, teacher_policy
from laconic.learners.metrics import summarize
from laconic.learners.rollout.play import Start, play

COUNT = 400


def figures(script: str, count: int = COUNT, **settings) -> dict[str, float]:
    environments = [
        envs.make("cups", free=True, tasks=count, split="evaluation", **settings) for _ in range(50)
    ]
    starts = [Start(seed, key) for seed, key in enumerate(environments[0].tasks)]
    policies = ScriptedTeam(script).policies(environments[0])
    return summarize(play(environments, policies, starts, seed=0))


@pytest.mark.parametrize("script", ["relay", "broadcast"])
@pytest.mark.parametrize(("members", "cups"), [(4, 3), (8, 3), (3, 4)])
def test_a_protocol_is_right_in_the_words_and_rounds_of_the_theory(
    script: str, members: int, cups: int
) -> None:
    # A large team plays fewer tasks; they meet the same bound.
    count = COUNT if members < 8 else COUNT // 4
    found = figures(script, count, team={"member": members}, cups=cups, deadline=8)
    assert found["accuracy"] == 1.0
    words, rounds = theory.plain(script, members, cups)
    assert found["rounds"] == rounds
    # Four standard errors of at most 2.5 words an episode.
    assert found["tokens_said"] == pytest.approx(words, abs=4 * 2.5 / COUNT**0.5)


@pytest.mark.parametrize("waiting", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("members", "cups", "deadline"), [(3, 3, 4), (4, 3, 4), (5, 3, 3), (3, 4, 4), (2, 3, 2)]
)
def test_a_code_is_right_in_the_words_and_rounds_of_the_theory(
    waiting: int, members: int, cups: int, deadline: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The four codes that are best somewhere, of one waiting part to four.
    ratio = (3.0, 0.9, 0.5, 0.2)[waiting]
    code = theory.best_code(0.01, 0.01 * ratio, cups)
    monkeypatch.setattr(Cups, "script", lambda self, name: Coded(self.names, self.phrases, code))
    found = figures("coded", team={"member": members}, cups=cups, deadline=deadline)
    known = theory.coded(members, 0.01, 0.01 * ratio, cups, deadline)
    assert found["accuracy"] == 1.0
    assert found["rounds"] == pytest.approx(known.rounds, abs=4 * 0.8 / COUNT**0.5)
    assert found["tokens_said"] == pytest.approx(known.words, abs=4 * 1.6 / COUNT**0.5)


@pytest.mark.parametrize(
    ("script", "words", "rounds"), [("coded", 11 / 6, 2), ("early", 4 / 3, 8 / 3)]
)
def test_named_codes_take_the_fewest_rounds_or_words(
    script: str, words: float, rounds: float
) -> None:
    found = figures(script)
    assert found["accuracy"] == 1.0
    assert found["tokens_said"] == pytest.approx(words, abs=4 * 0.8 / COUNT**0.5)
    assert found["rounds"] == pytest.approx(rounds, abs=4 * 0.5 / COUNT**0.5)


def test_the_oracle_is_the_relay() -> None:
    assert Cups().script("oracle") == Cups().script("relay") != Cups().script("verbose")


def test_who_is_verbose_speaks_in_every_turn() -> None:
    # Three members in three rounds, and the last word is the answer.
    found = figures("verbose")
    assert (found["accuracy"], found["tokens_said"]) == (1.0, 8.0)


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


ONE, TWO, STILL = ((1, 0, 2),), ((1, 2, 0),), ((0, 1, 2),)


def said(world: Cups, state: State, agent: str) -> list[str]:
    script = world.teacher(TeacherStyle(terse=0.2, silent=0.25, best=0.2, frames=1))
    view = TurnView(agent, world.facts_for(state, agent), "", False)
    return [script(view, Random(seed)) for seed in range(400)]


def test_members_of_the_teacher_tell_their_part_at_once_or_wait() -> None:
    # Red goes to blue, to green, and stays there.
    state = State(
        0, dict(zip(("member_0", "member_1", "member_2"), (ONE, TWO, STILL), strict=True))
    )
    assert set(said(Cups(), state, "member_0")) == {"blue"}
    middle = said(Cups(), state, "member_1")
    # Its own part brings red to blue, which helps nobody yet.
    assert set(middle) == {"", "blue", "blue green"}
    assert middle.count("blue green") / 400 == pytest.approx(0.5, abs=0.1)
    assert middle.count("") / 400 == pytest.approx(0.125, abs=0.07)
    # Two rounds are too short for a relay of three.
    assert set(said(Cups(deadline=2), state, "member_1")) == {"blue green"}
    assert set(said(Cups(), state, "member_2")) == {"", "red"}


@pytest.mark.parametrize(
    ("heard", "middle", "last"),
    [
        # The part was told, so the last member can answer, and the other only repeats it.
        ({"member_0": "blue", "member_1": "blue green"}, {"", "green"}, {"> green"}),
        # It is the turn of the other one, whose silence may also be taken for a part that stays.
        ({"member_0": "blue"}, {"green"}, {"", "red", "> blue"}),
        # The other one has spoken, so it will speak again.
        ({"member_0": "blue", "member_1": "blue"}, {"green"}, {"", "blue"}),
    ],
)
def test_the_teacher_uses_what_it_heard(
    heard: dict[str, str], middle: set[str], last: set[str]
) -> None:
    parts = {"member_0": ONE, "member_1": TWO, "member_2": STILL}
    state = State(0, parts, 1, (heard,))
    assert set(said(Cups(), state, "member_1")) == middle
    assert set(said(Cups(), state, "member_2")) == last


def test_the_teacher_is_more_often_silent_than_not_where_the_ball_stays() -> None:
    parts = {"member_0": STILL, "member_1": TWO, "member_2": STILL}
    first = said(Cups(), State(0, parts), "member_0")
    assert set(first) == {"", "red"}
    assert first.count("") / 400 == pytest.approx(0.6, abs=0.1)
    # Silence in a turn means that the ball stays.
    assert set(said(Cups(), State(0, parts, 1, ({},)), "member_1")) == {"blue"}


def test_the_teacher_tells_no_part_that_moves_nothing_at_once() -> None:
    parts = {"member_0": ONE, "member_1": STILL, "member_2": TWO}
    middle = said(Cups(), State(0, parts), "member_1")
    # Half of the members wait, and say in three turns of four where red, the first cup, goes.
    assert set(middle) == {"", "red"}
    assert middle.count("") / 400 == pytest.approx(0.5 + 0.5 * 0.25, abs=0.1)


def test_the_last_teacher_answers_over_silence_in_three_turns_of_ten() -> None:
    parts = {"member_0": ONE, "member_1": STILL, "member_2": TWO}
    last = said(Cups(), State(0, parts, 1, ({"member_0": "blue"},)), "member_2")
    assert last.count("> green") / 400 == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize(
    ("settings", "right"),
    # The last member errs where it does not wait; two rounds leave it no time to.
    [({}, 0.97), ({"team": {"member": 5}, "cups": 4, "deadline": 5}, 0.93), ({"deadline": 2}, 1.0)],
)
def test_a_team_of_teachers_is_nearly_always_right(settings: dict, right: float) -> None:
    environments = [
        envs.make("cups", free=True, tasks=COUNT, split="evaluation", **settings) for _ in range(50)
    ]
    policy = teacher_policy(Teacher(), environments[0])
    starts = [Start(seed, key) for seed, key in enumerate(environments[0].tasks)]
    agents = environments[0].possible_agents
    episodes = play(environments, dict.fromkeys(agents, policy), starts, seed=0)
    assert summarize(episodes)["accuracy"] >= right


def test_the_teacher_with_pages_names_the_cup_after_each_and_answers_after_the_last() -> None:
    # Red goes to blue, to green, and stays there.
    world, parts = Cups(pages=3), {"member_0": (*ONE, *TWO, *STILL)}
    for round, (silent, spoken) in enumerate([("", "blue"), ("", "green")]):
        view = said(world, State(0, parts, round), "member_0")
        assert set(view) == {silent, spoken}
        assert view.count("") / 400 == pytest.approx(0.25, abs=0.09)
    assert set(said(world, State(0, parts, 2), "member_0")) == {"> green"}
