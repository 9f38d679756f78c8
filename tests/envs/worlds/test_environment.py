"""A team in a world: budgets, prices, silence, acts and topology, on the commons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.contract.episodes import play
from laconic.envs.dialogue.budget import UNLIMITED
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.commons.rules import Commons
from laconic.envs.worlds.environment import WorldEnv

FIVE = [f"fisher_{number}" for number in range(5)]
VARIANTS = [
    {},
    {"talk": "published", "months": 3},
    {"language": "none", "months": 4},
    {"newcomer": True, "months": 15, "topology": "ring"},
    {"wording": "trash", "reward": {"price": 1.0, "charge": "team"}, "months": 4},
    {
        "budget": {"message": 4, "agent": 9, "round": 12, "episode": 20},
        "talk_rounds": 1,
        "months": 4,
    },
    {"channel": {"lose": 0.5, "mark": True}, "budget": {"thought": 5}, "months": 4},
]


class Judged(Commons):
    """A commons whose episodes are solved if the stock lasts."""

    verdict = True

    def score(self, state):
        score = super().score(state)
        return replace(score, solved=score.measures["survived"] == 1)


def two_judged_months(reward):
    """Make two months of it with one round of talk; a character is a token."""
    world = Judged(months=2, talk_rounds=1)
    return WorldEnv(world, world.generate(0, 1), tokenize=list, reward=envs.Reward(**reward))


@pytest.fixture(params=VARIANTS, ids=lambda settings: "-".join(map(str, settings)) or "plain")
def make(request):
    """Make the commons in each variant; a character is a token."""
    return lambda **more: envs.make(
        "commons", free=True, tasks=4, tokenize=list, **request.param | more
    )


def test_the_contract_holds_in_every_variant(make):
    check_env(make, episodes=2)


def test_a_silent_team_loses_no_reward_and_a_spent_budget_ends_no_world(make):
    env = make()
    env.reset(seed=0)
    gained = dict.fromkeys(env.agents, 0.0)
    while env.agents:
        _, rewards, _, truncated, infos = env.step({})
        assert not any(truncated.values())
        ended_by = [info.get("ended_by") for info in infos.values()]
        assert ended_by == [None if env.agents else "rules"] * 5
        gained = {agent: gained[agent] + rewards[agent] for agent in gained}
    assert all(value >= 0 for value in gained.values())


def test_hostile_messages_raise_nothing(make):
    pieces = ["> ", "catch ", "next ", "end", "fisher_1", "9" * 30, "\n", "\r", "\u2028", "\x00"]
    pieces += ["<think>", "</think>", " ", "\ud800", "10", "-", "> catch 10", "\u0661"]

    def speak(env, agent, generator):
        return "".join(generator.choice(pieces) for _ in range(generator.integers(12)))

    for seed in range(6):
        assert play(make(), seed, speak).steps


def test_speech_is_charged_and_an_act_is_not():
    env = envs.make(
        "commons",
        free=True,
        tasks=1,
        talk="published",
        tokenize=list,
        reward={"price": 1.0, "normalizer": 10},
        budget={"message": 4},
    )
    observations, _ = env.reset(seed=0)
    # Room for a line break and the longest act, and none to say anything.
    act_room = len("\n> next fisher_999")
    assert observations["fisher_0"]["tokens_left"].tolist() == [act_room, *[UNLIMITED] * 3]
    _, rewards, _, _, infos = env.step(dict.fromkeys(FIVE, "> catch 12"))
    assert rewards == pytest.approx(dict.fromkeys(FIVE, 0.1), rel=1e-12)
    assert infos["fisher_0"]["tokens_said"] == 0
    observations, rewards, _, _, infos = env.step({"fisher_0": "Hello\n> next fisher_2"})
    # Cut to 4 characters of speech, 0.1 each; the act is heard and done all the same. The fifth
    # character costs as much: the agent said it, and reads it again.
    assert rewards["fisher_0"] == pytest.approx(-0.5, rel=1e-12)
    assert infos["fisher_0"]["message"] == "Hell" and infos["fisher_0"]["cut"]
    assert infos["fisher_0"]["tokens_said"] == 4 and infos["fisher_0"]["tokens_thought"] == 1
    assert infos["fisher_0"]["act"] == "> next fisher_2"
    assert observations["fisher_2"]["text"] == "fisher_0: Hell"
    assert observations["fisher_2"]["tokens_left"][0] == 4 + act_room


def test_who_has_no_tokens_left_can_still_act():
    env = envs.make(
        "commons", free=True, tasks=1, tokenize=list, talk_rounds=1, budget={"episode": 3}
    )
    env.reset(seed=0)
    env.step(dict.fromkeys(FIVE, "> catch 10"))
    observations, *_ = env.step(dict.fromkeys(FIVE, "Well"))
    assert sum(len(message.text) for message in env.messages) == 3
    assert observations["fisher_0"]["tokens_left"][0] > 0
    _, rewards, _, _, infos = env.step(dict.fromkeys(FIVE, "> catch 6"))
    assert rewards["fisher_4"] == 0.05 and infos["fisher_4"]["legal"]


def test_who_thinks_too_long_neither_speaks_nor_acts():
    env = envs.make("commons", free=True, tasks=1, tokenize=list, budget={"thought": 3})
    env.reset(seed=0)
    *_, infos = env.step(
        {
            "fisher_0": "<think>abc</think>> catch 10",
            "fisher_1": "<think>abcd</think>> catch 10",
        }
    )
    assert [infos[agent]["act"] for agent in FIVE[:2]] == ["> catch 10", ""]
    assert [infos[agent]["tokens_thought"] for agent in FIVE[:2]] == [3, 3]


def test_charges_wait_for_the_end_where_only_solved_episodes_are_charged():
    reward = {"price": 1.0, "normalizer": 10, "when": "solved"}
    for units, owed in ((10, 0.5), (30, 0.0)):
        env = two_judged_months(reward)
        env.reset(seed=0)
        total, gained = 0.0, 0
        while env.agents:
            harvest = env.world_state.talk is None
            message = f"> catch {units}" if harvest else "Hello" * (env.world_state.month == 0)
            _, rewards, *_ = env.step({agent: message for agent in env.agents})
            total += rewards["fisher_0"]
        gained = sum(month.caught["fisher_0"] for month in env.world_state.months)
        assert total == pytest.approx(gained / 120 - owed, rel=1e-12)


def test_the_topology_says_who_hears_whom_and_lost_messages_are_lost():
    env = envs.make("commons", free=True, tasks=1, topology="star")
    env.reset(seed=0)
    env.step({})
    observations, *_ = env.step({"fisher_1": "Eight each."})
    assert observations["fisher_0"]["text"] == "fisher_1: Eight each."
    assert observations["fisher_2"]["text"] == "Nobody spoke."
    env = envs.make("commons", free=True, tasks=1, channel={"lose": 1.0, "mark": True})
    env.reset(seed=0)
    env.step({})
    observations, *_ = env.step({"fisher_1": "Eight each."})
    assert observations["fisher_2"]["text"] == "fisher_1 could not be heard."


def test_infos_tell_acts_and_facts_and_at_the_end_the_outcome():
    env = envs.make("commons", free=True, tasks=1, months=1, language="none")
    _, infos = env.reset(seed=0)
    info = infos["fisher_0"]
    assert (info["act"], info["legal"], info["informed"], info["share"]) == ("", True, None, ())
    assert info["facts"]["stock"] == 100 and set(info["facts"]) == set(env.world.facts)
    assert "score" not in info
    *_, infos = env.step(dict.fromkeys(FIVE, "> catch 10"))
    assert infos["fisher_0"]["score"] == pytest.approx(10 / 120)
    assert infos["fisher_0"]["answer"] == "1 months, 10, 10, 10, 10, 10 each"


def test_prices_and_talk_do_not_change_the_luck_of_a_seed():
    caught = set()
    for settings in ({}, {"language": "none"}, {"reward": {"price": 2.0}}, {"topology": "none"}):
        env = envs.make("commons", free=True, tasks=1, **settings)
        env.reset(seed=3)
        env.step(dict.fromkeys(FIVE, "> catch 40"))
        caught.add(tuple(env.world_state.months[0].caught.values()))
    assert len(caught) == 1


def test_a_measure_that_worlds_do_not_have_is_refused():
    with pytest.raises(UnknownNameError, match="multiply_by"):
        envs.make("commons", free=True, tasks=1, reward={"multiply_by": "gain"})


@pytest.mark.parametrize("name", ["commons", "matrix"])
def test_charging_solved_episodes_alone_is_refused_where_none_has_a_verdict(name):
    words = (
        rf"reward\.when=solved .* env={name} .*expected always, got solved; set env\.reward\.when"
    )
    with pytest.raises(SettingError, match=words):
        envs.make(name, free=True, tasks=1, reward={"when": "solved"})
    env = envs.make(name, free=True, tasks=1)
    before = env.reward
    with pytest.raises(SettingError, match=words):
        env.reward = envs.Reward(when="solved")
    assert env.reward is before and env.metadata["when"] == "always"


def test_a_transcript_shows_acts():
    env = envs.make("commons", free=True, tasks=1, render_mode="ansi")
    env.reset(seed=0)
    env.step({"fisher_0": "> catch 7"})
    assert "[0] fisher_0 (0): (silent) > catch 7" in env.render()
    assert isinstance(env, WorldEnv) and np.isfinite(env.rounds)


def test_the_room_for_acts_is_counted_by_the_tokenizer_at_hand():
    pieces = [str.split]
    env = envs.make("commons", free=True, tasks=1, tokenize=lambda text: pieces[0](text))
    # `>`, `next`, `fisher_999`; then a character each, a line break too.
    for tokenize, room in ((str.split, 3), (list, len("\n> next fisher_999"))):
        pieces[0] = tokenize
        observations, _ = env.reset(seed=0)
        assert observations["fisher_0"]["tokens_left"][0] == room


@pytest.mark.parametrize("charge", ["own", "team"])
@pytest.mark.parametrize("when", ["always", "solved"])
def test_infos_say_what_was_gained_what_it_cost_and_what_was_taken_off(charge, when):
    reward = {"price": 1.0, "normalizer": 10, "charge": charge, "when": when}
    env = two_judged_months(reward)
    env.reset(seed=0)
    catches = [12, 10, 8, 6, 4]
    rounds = []
    while env.agents:
        harvest = env.world_state.talk is None
        # Only the first speaks, five tokens a month, and the second thinks two.
        says = ["Hello", "<think>hm</think>", "", "", ""]
        acts = [f"> catch {units}" for units in catches]
        _, rewards, _, _, infos = env.step(dict(zip(FIVE, acts if harvest else says, strict=True)))
        assert all(rewards[a] == i["task_reward"] - i["charged"] for a, i in infos.items())
        rounds.append(infos)
    gained = [[infos[agent]["task_reward"] for infos in rounds] for agent in FIVE]
    assert gained == [[units / 120, 0.0] * 2 for units in catches]
    billed = [[infos[agent]["billed"] for infos in rounds] for agent in FIVE]
    assert billed == [[0.0, 0.5] * 2, [0.0, 0.2] * 2, *[[0.0] * 4] * 3]
    charged = [sum(infos[agent]["charged"] for infos in rounds) for agent in FIVE]
    # The stock lasts, so all that was said is charged: to its speaker, or 0.7 a month to each.
    assert rounds[-1]["fisher_0"]["solved"]
    assert charged == pytest.approx([1.4] * 5 if charge == "team" else [1.0, 0.4, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(("months", "most"), [(12, 1.0), (6, 0.5), (15, 1.25)])
@pytest.mark.parametrize("wording", ["fishery", "trash"])
def test_fair_shares_gain_the_most_that_a_world_says_its_task_pays(wording, months, most):
    env = envs.make("commons", free=True, tasks=1, wording=wording, months=months, language="none")
    assert env.metadata["max_reward"] == pytest.approx(most, rel=1e-12)
    assert env.metadata["reward"] == "own"
    env.reset(seed=0)
    gained = 0.0
    while env.agents:
        _, _, _, _, infos = env.step({a: f"> {env.world.words.verb} 10" for a in env.agents})
        gained += next(iter(infos.values()))["task_reward"]
    assert gained == pytest.approx(most, rel=1e-12)


def _round_of(env, message):
    """Return the ledgers, flags and bill of a round in which only fisher_0 acts."""
    *_, infos = env.step({"fisher_0": message})
    info = infos["fisher_0"]
    names = ("message", "tokens_said", "tokens_thought", "legal", "cut", "act")
    return (*(info[name] for name in names), round(10 * info["billed"]))


PRICED = {"reward": {"price": 1.0, "normalizer": 10}, "tokenize": list, "tasks": 1}


@pytest.mark.parametrize(
    ("message", "result"),
    [
        ("> catch 10", ("", 0, 0, True, False, "> catch 10", 0)),
        # Words before an act or in its place, which no agent hears.
        ("Hi\n> catch 10", ("", 0, 2, True, True, "> catch 10", 2)),
        ("I take ten", ("", 0, 10, True, True, "", 10)),
        ("Hi\n> take 10", ("", 0, 11, False, True, "", 11)),
        # One space is the form of an act; the rest is padding.
        (">catch 10", ("", 0, 0, True, False, ">catch 10", 0)),
        ("> catch 10\n", ("", 0, 0, True, False, "> catch 10", 0)),
        ("> catch 10" + "\t" * 400, ("", 0, 399, True, False, "> catch 10", 399)),
        (">" + "\t" * 400 + "catch 10", ("", 0, 399, True, False, ">\tcatch 10", 399)),
        ("\n" * 400 + "> catch 10", ("", 0, 398, True, False, "> catch 10", 398)),
        ("> catch 000010", ("", 0, 4, True, False, "> catch 000010", 4)),
        ("> catch 0", ("", 0, 0, True, False, "> catch 0", 0)),
        ("", ("", 0, 0, True, False, "", 0)),
        # Lines of 9, 15 and 1 tokens that are no act of a harvest.
        ("> take 10", ("", 0, 9, False, False, "", 9)),
        ("> catch -5 of 9", ("", 0, 15, False, False, "", 15)),
        (">", ("", 0, 1, False, False, "", 1)),
        # A thought of two, and a line of six.
        ("<think>ab</think>> hm 42", ("", 0, 9, False, False, "", 9)),
    ],
)
def test_a_line_that_is_no_legal_act_is_charged_as_a_thought(message, result):
    env = envs.make("commons", free=True, **PRICED)
    env.reset(seed=0)
    # Nobody is heard while all harvest.
    assert _round_of(env, message) == result


def test_an_act_out_of_place_is_charged_beside_the_speech_before_it():
    env = envs.make("commons", free=True, **PRICED)
    env.reset(seed=0)
    env.step({})
    # Two tokens said, and a harvest of ten tokens while all talk.
    assert _round_of(env, "Hi\n> catch 10") == ("Hi", 2, 10, False, False, "", 12)
    half = envs.make(
        "commons", free=True, **PRICED | {"reward": {**PRICED["reward"], "thought_weight": 0.5}}
    )
    half.reset(seed=0)
    assert _round_of(half, "> 12345678") == ("", 0, 10, False, False, "", 5)


def test_a_line_that_is_no_legal_act_is_capped_with_the_thought_before_it():
    env = envs.make("commons", free=True, **PRICED, budget={"thought": 5})
    env.reset(seed=0)
    env.step({})
    # Two tokens thought and three of the line, which is longer than that: charged and silent.
    assert _round_of(env, "<think>ab</think>Hi\n> four") == ("", 0, 5, False, True, "", 5)
    assert _round_of(env, "<think>a</think>Hi\n> 42") == ("Hi", 2, 10, False, False, "", 7)


def test_a_line_of_an_agent_that_has_no_room_is_neither_heard_nor_charged():
    env = envs.make("commons", free=True, **PRICED, talk="published")
    env.reset(seed=0)
    env.step({})
    # fisher_0 has the word.
    *_, infos = env.step({"fisher_1": "> next fisher_2, who knows more"})
    assert (infos["fisher_1"]["tokens_thought"], infos["fisher_1"]["legal"]) == (0, False)


def test_a_world_that_reads_acts_in_any_dress_gives_no_free_notes(monkeypatch):
    env = envs.make("commons", **PRICED)
    monkeypatch.setattr(
        type(env.world), "parse_act", lambda *args: 10 if "10" in args[-1] else None
    )
    env.reset(seed=0)
    # The longest act, and the line break before it, have 18 characters; this one has 26.
    note = "> catch 10, as we all know"
    assert _round_of(env, note) == ("", 0, 8, True, False, note, 8)


def test_padding_beyond_the_cap_on_thoughts_takes_an_act_back():
    env = envs.make("commons", **PRICED, budget={"thought": 5})
    env.reset(seed=0)
    assert _round_of(env, "> catch 10" + " " * 6) == ("", 0, 5, True, False, "> catch 10", 5)
    env.reset(seed=0)
    assert _round_of(env, "> catch 10" + " " * 7) == ("", 0, 5, True, True, "", 5)
    assert env.world_state.months[0].caught["fisher_0"] == 0
