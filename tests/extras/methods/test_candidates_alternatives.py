"""C3's alternatives to single turns, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from omegaconf import OmegaConf
from places import ROOT

from laconic.envs.errors import SettingError
from laconic.extras.methods.candidates import Alternatives
from laconic.learners.advantages.credit import team
from laconic.learners.advantages.group import Advantages, Key
from laconic.learners.episode import Group
from laconic.learners.interfaces import Reply, Request
from laconic.learners.rollout.collectors.counterfactual import collector_for, silence
from laconic.learners.rollout.play import Start
from laconic.learners.training.sequences import sequences_of

C3 = Advantages(**OmegaConf.load(ROOT / "extras" / "conf" / "learner" / "c3.yaml").advantages)


class Deck:
    """Takes the next reply from each agent's deck of each round, with tokens by its length."""

    def __init__(self, tokens: bool = True, **decks: Sequence[Sequence[str]]) -> None:
        self.tokens = tokens
        self.decks = {agent: [list(words) for words in rounds] for agent, rounds in decks.items()}

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        assert not greedy
        return [self._one(self.decks[each.agent][len(each.history)].pop(0)) for each in requests]

    def _one(self, message: str) -> Reply:
        if not self.tokens:
            return Reply(message)
        return Reply(message, (5,), (len(message) + 1, 7), (-0.5, -0.5))


def credits(groups: Sequence[Group]) -> list[tuple[str, int, list[str], list[float]]]:
    """Author, round, alternatives and their credits of every context."""
    contexts = []
    for group in groups:
        turns = [turn for episode in group.episodes for turn in episode.turns if turn.trained]
        sequences = sequences_of(group, credit=team, advantages=C3, unit="reply")
        assert len(sequences) == len(turns) == len(group.episodes)
        (key,) = {(turn.agent, turn.round) for turn in turns}
        advantages = [sequence.advantage for sequence in sequences]
        contexts.append((*key, [turn.message for turn in turns], advantages))
    return contexts


def test_a_tree_of_two_replies_each_is_credited_with_the_difference_of_its_leaves(relay, relayers):
    # One task reward of 6 for the team; every word costs 1; y says "right" and then nothing.
    # First episode: left, right, "" | "", "", left right: 6 - 4 = 2, of which 4 in round 1.
    # x says "c" and z ends on "right": 0 - 3 = -3, so 2 - (-3) = 5.
    # z says "hm" and the same later: 6 - 5 = 1, so 2 - 1 = 1.
    # x says "d e" in round 1: 6 - 4 = 2 there, so 4 - 2 = 2.
    # z says "right" in round 1: 0 - 1 = -1 there, so 4 - (-1) = 5.
    deck = Deck(
        x_0=[["left", "c"], ["", "", "", "d e"]],
        z_0=[["", "hm"], ["left right", "right", "left right", "right"]],
    )
    policies = {"x_0": deck, "y_0": relayers(), "z_0": deck}
    collector = Alternatives(turns="all")
    groups = collector([relay], policies, [Start(0, "t")], 2, seed=0)
    assert credits(groups) == [
        ("x_0", 0, ["left", "c"], [5.0, -5.0]),
        ("z_0", 0, ["", "hm"], [1.0, -1.0]),
        ("x_0", 1, ["", "d e"], [2.0, -2.0]),
        ("z_0", 1, ["left right", "right"], [5.0, -5.0]),
    ]
    # One episode, and one alternative to each of its four turns with tokens.
    assert len(relay.played) == 1 + 4
    assert collector.metrics == {"replays": 4, "alternatives": 8, "distinct_alternatives": 8}


def test_everything_before_an_alternative_stays_and_so_do_the_messages_beside_it(relay, relayers):
    deck = Deck(x_0=[["left", "c"], ["", "", "d"]])
    policies = {"x_0": deck, "y_0": relayers(), "z_0": relayers()}
    groups = Alternatives(turns="all")([relay], policies, [Start(0, "t")], 2, seed=0)
    said = [
        [{turn.agent: turn.message for turn in episode.turns if turn.round == 0} for episode in e]
        for e in (group.episodes for group in groups)
    ]
    first = {"x_0": "left", "y_0": "right", "z_0": "hm"}
    assert said == [[first, {**first, "x_0": "c"}], [first, first]]


@pytest.mark.parametrize("alternatives", [2, 3, 4, 8])
def test_credits_of_a_context_add_up_to_nothing(alternatives):
    draw = np.random.default_rng(alternatives)
    returns = draw.normal(size=alternatives).tolist()
    keys = [Key("t", "a", 0, place, (place,)) for place in range(alternatives)]
    result = C3(returns, keys)
    assert sum(result) == pytest.approx(0.0, abs=1e-12)
    others = [(sum(returns) - each) / (alternatives - 1) for each in returns]
    expected = [each - mean for each, mean in zip(returns, others, strict=True)]
    assert result == pytest.approx(expected)


def test_equal_alternatives_tie():
    # Replies 9, 9 and 8 are played to 1, 0 and -1. The equal ones have 1/2 each; the mean is 0.
    # Less the mean of the other two: 1/2 - (1/2 - 1) / 2 = 3/4, and -1 - 1/2 = -3/2.
    keys = [Key("t", "a", 0, place, tokens) for place, tokens in enumerate([(9,), (9,), (8,)])]
    assert C3([1.0, 0.0, -1.0], keys) == pytest.approx([0.75, 0.75, -1.5])
    # Numbers that are printed add up all the same: (1 - 1/2) / (2/3) = (0 + 1/2) / (2/3) = 3/4.
    scale = pytest.approx(2 / 3)
    assert C3.compare([1.0, 0.0, -1.0], keys) == ((0.5, scale), (-0.5, scale), (0.0, scale))
    # Without a price the task contributes all: its part of the center is the whole one.
    assert C3.centers([1.0, 0.0, -1.0], keys) == (0.5, -0.5, 0.0)
    # One reply alone teaches nothing, however it ends.
    assert C3([1.0, 0.0, -1.0], [key._replace(tokens=(9,)) for key in keys]) == (0.0,) * 3


def test_equal_alternatives_are_counted_once(relay, relayers):
    # In round 0 three of four differ; in round 1 all are silent.
    deck = Deck(x_0=[["left", "c", "left", "d e"], [""] * 7])
    policies = {"x_0": deck, "y_0": relayers(), "z_0": relayers()}
    collector = Alternatives(turns="all")
    groups = collector([relay], policies, [Start(0, "t")], 4, seed=0)
    assert collector.metrics == {"replays": 6, "alternatives": 8, "distinct_alternatives": 3 + 1}
    assert credits(groups)[1] == ("x_0", 1, [""] * 4, [0.0] * 4)


def test_an_alternative_is_worth_the_mean_of_its_continuations(relay, relayers):
    # "left" ends in 6 - 4 = 2 and in 0 - 3 = -3: -1/2. "c" ends in -3 twice. The mean is -7/4, and
    # the credit (-1/2 + 7/4) * 4/3 = 5/3: 2/3 of the difference of 5/2, because four plays count.
    deck = Deck(x_0=[["left", "c"], ["", "", "d", "", ""]])
    closing = Deck(tokens=False, z_0=[[""], ["left right", "right", "right", "right"]])
    policies = {"x_0": deck, "y_0": relayers(), "z_0": closing}
    collector = Alternatives(continuations=2, turns="all")
    groups = collector([relay], policies, [Start(0, "t")], 2, seed=0)
    agent, round, messages, advantages = credits(groups)[0]
    assert (agent, round, messages) == ("x_0", 0, ["left", "c", "left", "c"])
    assert advantages == pytest.approx([5 / 3, -5 / 3, 5 / 3, -5 / 3])
    # Two further alternatives, and four alternatives once more.
    assert collector.metrics == {"replays": 6, "alternatives": 4, "distinct_alternatives": 4}


def test_against_silence_alone_it_is_the_credit_of_silence(relay, relayers):
    deck = Deck(x_0=[["left", ""], [""] * 9])
    policies = {"x_0": deck, "y_0": relayers(), "z_0": relayers()}
    groups = Alternatives(turns="all")([relay], policies, [Start(0, "t")], 2, seed=0)
    played = Group("t", groups[0].episodes[:1])
    measured = silence(lambda *_, **__: [played], greedy=False)
    (group,) = measured([relay], policies, [Start(0, "t")], 1, seed=0)
    (credit,) = [
        turn.credit for turn in group.episodes[0].turns if (turn.agent, turn.round) == ("x_0", 0)
    ]
    # With "left" 6 - 5 words, without it 0 - 3 words: a difference of 6 less 2.
    assert credit == (6.0, 2.0)
    assert credits(groups)[0] == ("x_0", 0, ["left", ""], [6.0 - 2.0, -(6.0 - 2.0)])
    # Around the mean of both, as in AT-GRPO, it is half of that.
    mean = Advantages(("task", "agent", "round"), "mean", "none")
    halves = sequences_of(groups[0], credit=team, advantages=mean, unit="reply")
    assert [each.advantage for each in halves] == [2.0, -2.0]


def test_one_turn_per_agent_is_drawn_by_the_seed(relay, relayers):
    policies = {name: relayers(tokens=True) for name in relay.possible_agents}

    def drawn(seed: int) -> list[tuple[str, int]]:
        groups = Alternatives()([relay], policies, [Start(0, "t")], 2, seed=seed)
        return [context[:2] for context in credits(groups)]

    draws = [drawn(seed) for seed in range(8)]
    assert all([agent for agent, _ in each] == ["x_0", "y_0", "z_0"] for each in draws)
    assert {round for each in draws for _, round in each} == {0, 1}
    assert drawn(3) == draws[3]


def test_no_starts_and_no_tokens_give_no_groups(relay, relayers):
    policies = dict.fromkeys(relay.possible_agents, relayers())
    assert Alternatives()([relay], policies, [], 2, seed=0) == []
    assert Alternatives()([relay], policies, [Start(0, "t")], 2, seed=0) == []


def test_settings_are_checked():
    with pytest.raises(SettingError, match="learner.collect.continuations.*got 0"):
        Alternatives(continuations=0)
    with pytest.raises(ValueError, match="learner.collect.turns.*'some'"):
        Alternatives(turns="some")  # type: ignore[arg-type]
    assert collector_for(Alternatives(), "team", "reply") == Alternatives()
    for credit, unit, wanted in (
        ("own", "reply", "credit=team"),
        ("team", "episode", "unit=reply"),
    ):
        with pytest.raises(SettingError, match=f"Alternatives.*works with learner.{wanted}"):
            collector_for(Alternatives(), credit, unit)
