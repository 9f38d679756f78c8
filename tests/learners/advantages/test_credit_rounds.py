"""The price of time under each credit, worked out by hand on the door game.

Both tellers say `key` in round 0 and the solver says `open` in round 1. A round costs 0.1, a word
0.05. So the team earns 1 - 2 x 0.1 = 0.8 for three words. Without a key the solver tries the door
in the last of four rounds, in vain: -0.4 for one word.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from door_game import Players, door

from laconic.learners.advantages.credit import (
    Credits,
    credit,
    for_group,
    pass_rate,
    rank_weights,
    team_parts,
)
from laconic.learners.advantages.group import Advantages
from laconic.learners.episode import Episode, Turn
from laconic.learners.rollout.collectors.base import Independent
from laconic.learners.rollout.collectors.counterfactual import collector_for
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.sequences import sequences_of

AGENTS = ("teller_0", "teller_1", "solver_0")
BILLS = {"teller_0": (0.05, 0.0), "teller_1": (0.05, 0.0), "solver_0": (0.0, 0.05)}
HAND: dict[str, tuple[dict, dict]] = {
    # T of a round is -0.1, and 1 - 0.1 in the last one.
    "own": (dict.fromkeys(AGENTS, (-0.1, 0.9)), BILLS),
    "team": (dict.fromkeys(AGENTS, (-0.1, 0.9)), dict.fromkeys(AGENTS, (0.1, 0.05))),
    "outcome": (dict.fromkeys(AGENTS, (0.0, 0.8)), dict.fromkeys(AGENTS, (0.0, 0.15))),
    # One key is enough: without the other nothing is lost but its price. Without `open` the solver
    # opens a round later: 0.7 for as many words.
    "silence": (
        {"teller_0": (0.0, 0.0), "teller_1": (0.0, 0.0), "solver_0": (0.0, 0.1)},
        {"teller_0": (0.05, 0.0), "teller_1": (0.05, 0.0), "solver_0": (0.0, 0.0)},
    ),
    # The first key is worth 0.8 + 0.4 = 1.2, the second one nothing: 0.6 each.
    "shapley": (
        {"teller_0": (0.6, 0.0), "teller_1": (0.6, 0.0), "solver_0": (0.0, 0.1)},
        {"teller_0": (0.05, 0.0), "teller_1": (0.05, 0.0), "solver_0": (0.0, 0.0)},
    ),
    # Nobody is said to be informed, so the local reward is 0, and weights are 1.
    "rank": (dict.fromkeys(AGENTS, (-0.1, 0.9)), BILLS),
}


def played(kind: str = "own", tellers=("teller_0", "teller_1"), **settings) -> Episode:
    """Play the game as above, measured for a credit."""
    environments = [door(**settings) for _ in range(2)]
    policies = dict.fromkeys(environments[0].possible_agents, Players(tellers))
    collect = collector_for(Independent(), kind, "episode")
    (group,) = collect(environments, policies, [Start(0)], 2, seed=0)
    return group.episodes[0]


def close(credits: Credits, task: dict, cost: dict) -> None:
    for item, expected in ((credits.task, task), (credits.cost, cost)):
        assert item.keys() == expected.keys()
        for agent, rounds in expected.items():
            assert item[agent] == pytest.approx(rounds, abs=1e-12)


@pytest.mark.parametrize("kind", HAND)
def test_time_is_off_the_task_part_and_no_part_of_the_cost(kind):
    episode = played(kind)
    close(for_group(credit(kind), [episode])(episode), *HAND[kind])


@pytest.mark.parametrize("kind", HAND)
def test_a_slow_episode_is_paid_less_by_the_rounds_it_took(kind):
    # An episode that a key opens after 2 rounds, and one without a key after 4: T 0.8 and -0.4.
    # `silence` and `shapley` pay the only teller 0.8 + 0.4 and the solver 0.8 - 0.7; the `open` in
    # vain ends with the last round as silence would, so it earns 0.
    fast, slow = played(kind, ("teller_0",)), played(kind, ())
    group = [fast, slow]
    paid = [sum(for_group(credit(kind), group)(each).task["solver_0"]) for each in group]
    differences = kind in ("silence", "shapley")
    assert paid == pytest.approx([0.1, 0.0] if differences else [0.8, -0.4])


def test_a_lone_key_is_worth_the_rounds_that_it_saves_and_the_door():
    for kind in ("silence", "shapley"):
        episode = played(kind, ("teller_0",))
        assert credit(kind)(episode).task["teller_0"] == pytest.approx((1.2, 0.0))


def test_the_charge_to_whom_and_when_leaves_time_alone():
    for charge in ("own", "team", "listeners"):
        for when in ("always", "solved"):
            for tellers, earned in ((("teller_0",), 0.8), ((), -0.4)):
                parts = team_parts(played(tellers=tellers, charge=charge, when=when))
                assert parts.task == pytest.approx(earned)
                # An unsolved episode is charged nothing with `solved`, but its time is gone.
                if not tellers:
                    assert parts.cost == pytest.approx(0.05 if when == "always" else 0.0)


def test_a_share_of_the_price_of_words_is_no_share_of_the_price_of_time():
    env = door()
    policies = dict.fromkeys(env.possible_agents, Players())
    (episode,) = play([env], policies, [Start(0, price_share=0.25)], seed=0)
    assert team_parts(episode) == pytest.approx((0.8, 0.25 * 0.15))


def test_a_solved_task_counts_one_and_a_failed_one_nothing_whatever_time_costs():
    solved, failed = played(), played(tellers=())
    assert (pass_rate([solved]), pass_rate([failed])) == (1.0, 0.0)
    # Of a graded task counts what it earned: 0.8 of 1.
    assert pass_rate([replace(solved, graded=True)]) == pytest.approx(0.8)
    assert pass_rate([replace(failed, graded=True)]) == 0.0


def test_score_and_verdict_stay_without_time():
    for tellers, score in ((("teller_0",), 1.0), ((), 0.0)):
        episode = played(tellers=tellers)
        assert (episode.score, episode.solved) == (score, score == 1.0)


def test_ranks_of_earnings_below_zero_are_those_of_earnings_above():
    turns = [Turn("a", 0, text, informed=True) for text in ("word", "")]
    turns_b = [Turn("b", 0, text, informed=False) for text in ("word", "")]
    # a is right to speak in the episode that earns more, b is right in the other one.
    for gains in ((0.8, -0.4), (1.0, 0.0)):
        weights = rank_weights(
            [
                Episode(
                    "t", (turns[n], turns_b[n]), dict.fromkeys("ab", (gain,)),
                    task_rewards=dict.fromkeys("ab", (gain,)), common=True,
                )
                for n, gain in enumerate(gains)
            ]
        )  # fmt: skip
        # a ranks them rightly: 1. b puts the better one second: 1 / log2(3) = 0.6309.
        assert weights == pytest.approx({"a": 1 / 0.81546, "b": 0.63093 / 0.81546}, rel=1e-4)


def test_advantages_compare_rounds_like_task_reward():
    environments = [door(price=0.0)]
    policies = dict.fromkeys(environments[0].possible_agents, Players())
    (group,) = Independent()(environments, policies, [Start(0)], 2, seed=0)
    late = played(tellers=(), price=0.0)
    turns = [
        replace(turn, prompt_ids=(1,), reply_ids=(2,), behavior_logprobs=(-0.5,))
        for turn in late.turns
    ]
    first = replace(
        group.episodes[0],
        turns=tuple(
            replace(turn, prompt_ids=(1,), reply_ids=(2,), behavior_logprobs=(-0.5,))
            for turn in group.episodes[0].turns
        ),
    )
    both = replace(group, episodes=(first, replace(late, turns=tuple(turns))))
    advantages = Advantages(scale="none")
    sequences = sequences_of(both, credit=credit("own"), advantages=advantages, unit="episode")
    # Around the mean of 0.8 and -0.4.
    found = {(each.agent, each.episode): each.advantage for each in sequences}
    assert found == pytest.approx({(a, n): 0.6 - 1.2 * n for a in AGENTS for n in (0, 1)})
