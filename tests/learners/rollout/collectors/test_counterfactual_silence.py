"""The credit of a message against silence, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.learners.episode import Episode, Group, Parts
from laconic.learners.rollout.collectors.counterfactual import differences, silence
from laconic.learners.rollout.play import Start, collect


def measure(env, policy, group_size: int = 2, **settings) -> list[Group]:
    policies = dict.fromkeys(env.possible_agents, policy)
    return silence(**settings)([env, type(env)()], policies, [Start(0)], group_size, seed=0)


def credits(episode: Episode) -> dict[tuple[str, int], Parts | None]:
    return {(turn.agent, turn.round): turn.credit for turn in episode.turns}


def test_nobody_spoke_is_no_question():
    assert differences([], np.random.default_rng(0)) == {}


def test_a_team_that_says_nothing_is_credited_with_nothing_and_replays_nothing(relay, relayers):
    collector = silence()
    policies = dict.fromkeys(relay.possible_agents, relayers(x_0="", y_0="", z_0=""))
    (group,) = collector([relay], policies, [Start(0)], 2, seed=0)
    assert [set(credits(episode).values()) for episode in group.episodes] == [{(0.0, 0.0)}] * 2
    assert collector.metrics == {"replays": 0.0}


@pytest.mark.parametrize("greedy", [True, False])
def test_a_message_is_credited_with_what_the_team_would_have_lost_without_it(
    relay, relayers, greedy
):
    # The team is paid 6 once. As played it says 1 + 1 + 1 words and then 2.
    # Without "left", z says "right" in the end: 0 earned, 1 + 1 + 1 words. So for "right".
    # Without "hm" it earns the same and says a word less.
    # Without the answer: 0 earned, 2 words less.
    (group,) = measure(relay, relayers(), greedy=greedy)
    assert credits(group.episodes[0]) == {
        ("x_0", 0): (6.0, 2.0),
        ("y_0", 0): (6.0, 2.0),
        ("z_0", 0): (0.0, 1.0),
        ("x_0", 1): (0.0, 0.0),
        ("y_0", 1): (0.0, 0.0),
        ("z_0", 1): (6.0, 2.0),
    }


def test_two_that_say_the_same_are_credited_with_only_their_price(relay, relayers):
    # Without either "left" nothing is lost but its price of 1.
    (group,) = measure(relay, relayers(z_0="left"))
    result = credits(group.episodes[0])
    assert result["x_0", 0] == result["z_0", 0] == (0.0, 1.0)


def test_nothing_but_the_credit_is_added(relay, relayers):
    policies = dict.fromkeys(relay.possible_agents, relayers())
    plain = collect([type(relay)()], policies, [Start(0)], 2, seed=0)
    (group,) = measure(relay, relayers())
    for measured, episode in zip(group.episodes, plain[0].episodes, strict=True):
        assert measured.rewards == episode.rewards
        assert [turn.message for turn in measured.turns] == [t.message for t in episode.turns]
    assert group.task == plain[0].task


def test_equal_counterfactuals_are_played_once(relay, relayers):
    collector = silence()
    policies = dict.fromkeys(relay.possible_agents, relayers())
    collector([relay], policies, [Start(0)], 5, seed=0)
    # Round 0 as it was and without x, y and z; round 1 without z. The end as it was is recorded.
    assert collector.metrics == {"replays": 5.0}


def test_starts_of_their_own_share_no_counterfactual(relay, relayers):
    collector = silence()
    policies = dict.fromkeys(relay.possible_agents, relayers())
    groups = collector([relay], policies, [Start(0), Start(0)], 2, seed=0)
    assert collector.metrics == {"replays": 10.0}
    assert groups[0].episodes == groups[1].episodes


def test_later_rounds_are_played_on_greedily_unless_told_otherwise(relay, relayers):
    for greedy in (True, False):
        policy = relayers()
        measure(relay, policy, greedy=greedy)
        # The two recorded episodes sample their six turns each.
        assert [request for _, request in policy.asked[12:]] == [greedy] * len(policy.asked[12:])
        assert len(policy.asked) > 12


def test_the_silent_author_goes_on_from_tokens_of_silence(relay, relayers):
    policy = relayers(tokens=True)
    measure(relay, policy)
    without_x = [
        request
        for request, greedy in policy.asked
        if greedy and request.agent == "x_0" and request.text == "right hm"
    ]
    assert [request.history[0].message for request in without_x] == [""]
    assert (without_x[0].history[0].prompt_ids, without_x[0].history[0].reply_ids) == ((5,), (8, 7))
    z = next(
        r for r, greedy in policy.asked if greedy and r.agent == "z_0" and r.text == "right hm"
    )
    assert z.history[0].reply_ids == (9, 7)
