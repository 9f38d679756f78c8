"""The rules of cups, by hand."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.errors import SettingError
from laconic.envs.library.cups.rules import Cups, State
from laconic.envs.task import Task

WORLD = Cups()
# Red and green change places, then red to blue, blue to green, green to red; then nothing.
STATE = State(1, {"member_0": ((2, 1, 0),), "member_1": ((1, 2, 0),), "member_2": ((0, 1, 2),)})


def test_the_ball_ends_where_all_parts_bring_it() -> None:
    # Blue stays, then goes to green.
    assert STATE.end == 2
    assert State(0, STATE.parts).end == 0


def test_an_agent_reads_its_part_and_the_beginning() -> None:
    assert WORLD.observe(STATE, "member_0") == (
        "Your part: red to green, blue to blue, green to red. The ball begins under blue."
    )
    assert WORLD.observe(STATE, "member_2").startswith(
        "Your part: red to red, blue to blue, green to green."
    )
    after, _ = WORLD.apply(STATE, {}, {"member_0": ""}, None)
    assert WORLD.observe(after, "member_0") == ""


def test_pages_are_read_one_a_round() -> None:
    world = Cups(pages=3)
    state = State(1, {"member_0": tuple(part[0] for part in STATE.parts.values())})
    assert world.facts_for(state, "member_0")["goes_blue"] == 2
    after, _ = world.apply(state, {}, {}, None)
    assert world.observe(after, "member_0") == "red to blue, blue to green, green to red."
    facts = world.facts_for(after, "member_0")
    # Red went to green, and from there to red.
    assert (facts["goes_red"], facts["goes_blue"], facts["goes_green"]) == (1, 3, 2)
    assert (facts["read"], facts["pages"], facts["begin"], facts["members"]) == (2, 3, 2, 1)


def test_messages_are_names_or_whole_parts() -> None:
    assert WORLD.phrases[:4] == ("red", "blue", "green", "red blue")
    assert len(WORLD.phrases) == 3 + 6 and len(Cups(cups=4).phrases) == 4 + 24
    after, _ = WORLD.apply(STATE, {}, {"member_0": "blue green", "member_1": ""}, None)
    facts = WORLD.facts_for(after, "member_2")
    assert WORLD.phrases[int(facts["said_0_0"]) - 1] == "blue green"
    assert facts["said_1_0"] == 0 and facts["place"] == 2


@pytest.mark.parametrize(("answer", "gain"), [("green", 1.0), ("red", 0.0)])
def test_the_last_agent_ends_the_game_by_its_answer(answer: str, gain: float) -> None:
    assert WORLD.legal_acts(STATE, "member_1") == ()
    assert WORLD.legal_acts(STATE, "member_2") == ("red", "blue", "green")
    after, gains = WORLD.apply(STATE, {"member_2": answer}, {}, None)
    assert gains == dict.fromkeys(STATE.parts, gain) and WORLD.is_over(after)
    score = WORLD.score(after)
    assert (score.value, score.solved, score.answer) == (gain, gain == 1.0, answer)


def test_silence_ends_nothing_before_the_deadline() -> None:
    env = envs.make("cups", tasks=1, deadline=6)
    env.reset(seed=0)
    for _ in range(5):
        env.step({})
        assert env.agents
    *_, infos = env.step({})
    assert not env.agents and infos["member_0"]["solved"] is False


def test_parts_and_beginnings_are_uniform() -> None:
    agents, ends, begins = ["member_0", "member_1"], [0, 0, 0], [0, 0, 0]
    for number in range(3000):
        state = WORLD.start(Task("t", f"cups {number}", (), ""), agents, None)
        begins[state.begin] += 1
        ends[(state.end - state.begin) % 3] += 1
    # Four standard errors.
    assert all(abs(count - 1000) < 4 * (3000 * 2 / 9) ** 0.5 for count in (*ends, *begins))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"cups": 2}, r"env\.cups"),
        ({"cups": 5}, r"env\.cups"),
        ({"pages": 0}, r"env\.pages"),
        ({"deadline": 0}, r"env\.deadline"),
        ({"team": {"member": 9}}, "at most 8 agents; got env.team with 9"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(settings: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        envs.make("cups", tasks=1, **settings)


@pytest.mark.parametrize(
    ("settings", "best"),
    [
        # The unit is what a relay of three says, 4 / 3 words; a word costs 0.09.
        ({}, 1 - 0.12),
        ({"reward": {"round_price": 0.1}}, 1 - 11 / 6 * 0.09 - 0.2),
        ({"reward": {"round_price": 0.045}}, 1 - 25 / 18 * 0.09 - 5 / 2 * 0.045),
        ({"deadline": 2}, 1 - 11 / 6 * 0.09),
        ({"team": {"member": 1}, "pages": 4}, 1.0),
        ({"team": {"member": 1}, "pages": 4, "deadline": 3}, 1 / 3),
        ({"team": {"member": 2}}, 1 - 2 / 3 * 0.09),
        ({"team": {"member": 4}}, None),
        ({"cups": 4}, None),
        ({"pages": 2}, None),
    ],
)
def test_the_best_reward_is_that_of_the_theory(settings: dict, best: float | None) -> None:
    expected = None if best is None else pytest.approx(best, abs=1e-3)
    assert envs.make("cups", tasks=1, **settings).best_reward == expected


def test_the_environment_keeps_the_contract() -> None:
    check_env(lambda: envs.make("cups", tasks=20))
    check_env(lambda: envs.make("cups", tasks=20, team={"member": 1}, pages=4))
