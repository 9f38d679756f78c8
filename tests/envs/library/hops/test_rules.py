"""The rules of hops, by hand."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.errors import SettingError
from laconic.envs.library.hops.rules import Hops, State
from laconic.envs.task import Task

AGENTS = ("member_0", "member_1")
WORLD = Hops(names=6, steps=3)
# Ana asks Cal, Cal asks Ben, Ben asks Dee, Dee asks Eli, Eli asks Fay, Fay asks Ana.
STATE = State((0, 2, 1, 3, 4, 5), {"member_0": ((0, 1, 4),), "member_1": ((2, 3, 5),)})


def test_a_member_reads_its_links_and_the_question() -> None:
    assert WORLD.observe(STATE, "member_0") == (
        "Ana asks Cal. Ben asks Dee. Eli asks Fay. Who is 3 steps after Ana?"
    )
    after, _ = WORLD.apply(STATE, {}, {"member_0": "Cal", "member_1": ""}, None)
    assert WORLD.observe(after, "member_0") == ""
    assert Hops(names=6, steps=1).observe(STATE, "member_1").endswith("Who is 1 step after Ana?")


def test_pages_are_read_one_a_round() -> None:
    world = Hops(names=6, steps=3, pages=2)
    state = State(STATE.chain, {"member_0": ((0, 1, 4), (2, 3, 5))})
    assert world.facts_for(state, "member_0")["next_Cal"] == 0
    after, _ = world.apply(state, {}, {}, None)
    assert world.observe(after, "member_0") == "Cal asks Ben. Dee asks Eli. Fay asks Ana."
    facts = world.facts_for(after, "member_0")
    assert (facts["next_Cal"], facts["next_Fay"], facts["next_Ana"]) == (2, 1, 3)
    assert (facts["round"], facts["first"], facts["steps"], facts["deadline"]) == (1, 1, 3, 3)


def test_what_was_said_is_known_by_its_round() -> None:
    after, gains = WORLD.apply(STATE, {}, {"member_0": "Cal", "member_1": ""}, None)
    after, _ = WORLD.apply(after, {}, {"member_0": "Cal", "member_1": "Ben"}, None)
    facts = WORLD.facts_for(after, "member_1")
    assert gains == {} and (facts["said_Cal"], facts["said_Ben"], facts["said_Dee"]) == (1, 2, 0)


@pytest.mark.parametrize(
    ("acts", "gain"),
    [
        ({"member_0": "Dee"}, 1.0),
        ({"member_0": "Dee", "member_1": "Dee"}, 1.0),
        ({"member_0": "Ben"}, 0.0),
        # A team that guesses two names does not win by chance.
        ({"member_0": "Dee", "member_1": "Ben"}, 0.0),
    ],
)
def test_the_first_answers_end_the_game(acts: dict[str, str], gain: float) -> None:
    after, gains = WORLD.apply(STATE, acts, {}, None)
    assert gains == dict.fromkeys(AGENTS, gain)
    assert WORLD.is_over(after)
    score = WORLD.score(after)
    assert (score.value, score.solved) == (gain, gain == 1.0)
    assert score.answer == " ".join(dict.fromkeys(acts.values()))


def test_silence_ends_nothing_before_the_deadline() -> None:
    env = envs.make("hops", tasks=1, deadline=5)
    env.reset(seed=0)
    for _ in range(4):
        env.step({})
        assert env.agents
    *_, infos = env.step({})
    assert not env.agents and infos["member_0"]["solved"] is False


def test_the_circle_is_one_and_dealt_once() -> None:
    world = Hops(names=12)
    for number in range(50):
        agents = [f"member_{i}" for i in range(4)]
        state = world.start(Task("t", f"hops {number}", (), ""), agents, None)
        assert sorted(state.chain) == list(range(12))
        held = [name for pages in state.pages.values() for page in pages for name in page]
        assert sorted(held) == list(range(12))
        assert {len(page) for pages in state.pages.values() for page in pages} == {3}


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"names": 3}, r"env\.names"),
        ({"names": 25}, r"env\.names"),
        ({"steps": 12}, r"env\.steps"),
        ({"pages": 0}, r"env\.pages"),
        ({"deadline": 0}, r"env\.deadline"),
        ({"team": {"member": 5}}, "12 cannot be divided by 5"),
        ({"pages": 2, "team": {"member": 4}}, "12 cannot be divided by 8"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(settings: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        envs.make("hops", tasks=1, **settings)


@pytest.mark.parametrize(
    ("settings", "best"),
    [
        ({}, 1 - 0.06 * 1.556033),
        ({"reward": {"round_price": 0.1}}, 1 - 0.06 * 1.556033 - 0.28),
        ({"reward": {"price": 2}}, 31 / 220),
        ({"team": {"member": 1}, "pages": 4}, 0.693182),
        # Where the deadline allows for all pages, one agent wins.
        ({"team": {"member": 1}, "pages": 4, "steps": 4}, 1.0),
        ({"team": {"member": 1}, "pages": 4, "reward": {"round_price": 0.1}}, None),
        # The last name is the one before the first: its holder knows it.
        ({"steps": 11}, 1.0),
        ({"steps": 10}, 1 - 0.06 * 0.743802),
        ({"deadline": 2}, None),
        ({"deadline": 4}, None),
        ({"pages": 3}, None),
    ],
)
def test_the_best_reward_is_that_of_the_theory(settings: dict, best: float | None) -> None:
    expected = None if best is None else pytest.approx(best, abs=1e-6)
    assert envs.make("hops", tasks=1, **settings).best_reward == expected


def test_the_environment_keeps_the_contract() -> None:
    check_env(lambda: envs.make("hops", tasks=20))
    check_env(lambda: envs.make("hops", tasks=20, team={"member": 1}, pages=4))
