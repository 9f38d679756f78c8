"""Votes worked out by hand, and figures of answers."""

from __future__ import annotations

import numpy as np
import pytest

from laconic import envs
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.extras.methods.collective import (
    Collective,
    answer_entropy,
    channels,
    check_voters,
    effective_voters,
)

WEIGHTED, PLAIN = Collective(), Collective("plain")
TIED = ["aabb", "bbbc", "aaac"]
ALONE = {"information": "full", "rounds": 1, "topology": "none", "schedule": "all"}


def test_of_tied_answers_that_of_the_earliest_agent_wins():
    # Self-consistency in quarters: 2, 3, 3. a: 2 * 2 + 3 * 3 = 13; b: 2 * 2 + 3 * 3 = 13; c: 6.
    assert WEIGHTED.elect(TIED) == "a"
    assert WEIGHTED.elect(TIED[1:] + TIED[:1]) == "b"
    assert WEIGHTED.elect(TIED[::-1]) == "a"
    # a: 2 + 3 = 5; b: 2 + 3 = 5; c: 2.
    assert PLAIN.elect(TIED) == "a"
    # Within an agent the earliest play.
    assert WEIGHTED.elect(["bbaa"]) == "b"


def test_a_consistent_agent_outweighs_more_answers_of_others():
    answers = ["xxxx", "yyzw", "yyyz"]
    # x: 4 * 4 = 16; y: 2 * 2 + 3 * 3 = 13.
    assert WEIGHTED.elect(answers) == "x"
    # y: 2 + 3 = 5; x: 4.
    assert PLAIN.elect(answers) == "y"


def test_no_answer_is_never_elected_and_adds_no_consistency():
    # Agent 0 gives "a" once and nothing three times: weight 1, not 3.
    assert WEIGHTED.elect([["", "", "", "a"], ["b", "b", "", ""]]) == "b"
    assert WEIGHTED.elect([["", ""], ["", ""]]) == PLAIN.elect([[], []]) == ""


def test_consistency_pays_equal_answers_to_other_wordings():
    answers, wordings = [["a", "a", "b", "a"], ["", "", "a", "a"]], [0, 1, 0, 1]
    pays = Collective(consistency=9).pays(answers, wordings, np.random.default_rng(0))
    # Agent 0: a against a, a; a against a, b; b against a, a; a against a, b.
    # Agent 1: nothing, twice; a against nothing, a; a against nothing, a.
    assert pays == [[1.0, 0.5, 0.0, 0.5], [0.0, 0.0, 0.5, 0.5]]


def test_consistency_with_some_answers_is_the_same_on_average():
    generator, one = np.random.default_rng(0), Collective(consistency=1)
    draws = [one.pays(["aaba"], [0, 1, 0, 1], generator)[0] for _ in range(2000)]
    assert {pay for row in draws for pay in row} == {0.0, 1.0}
    # The standard error of a half is .011.
    assert np.mean(draws, axis=0) == pytest.approx([1.0, 0.5, 0.0, 0.5], abs=0.05)


def test_the_vote_pays_unless_answers_are_compared():
    pays = WEIGHTED.pays(TIED, [0] * 4, np.random.default_rng(0))
    assert pays == [[1.0, 1.0, 0.0, 0.0], [0.0] * 4, [1.0, 1.0, 1.0, 0.0]]
    with pytest.raises(SettingError, match=r"learner\.collective\.consistency .* got -1"):
        Collective(consistency=-1)


def test_another_vote_or_guard_is_refused():
    with pytest.raises(UnknownNameError, match=r"learner\.collective\.vote 'odd'"):
        Collective("odd")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match=r"learner\.collective\.guard 'odd'"):
        Collective(guard="odd")  # type: ignore[arg-type]


def test_entropy_is_that_of_answers_and_of_none():
    assert answer_entropy("aaaa") == answer_entropy([]) == 0.0
    assert answer_entropy(["a", "b", "c", ""]) == pytest.approx(2.0)
    # 3/4 log2(4/3) + 1/4 log2 4 = 0.3113 + 0.5.
    assert answer_entropy("aaab") == pytest.approx(0.8113, abs=1e-4)


def test_voters_count_by_how_their_answers_differ():
    assert effective_voters(["aab", "aba", "baa"]) == pytest.approx(1.0)
    assert effective_voters(["aaa", "bbb", ["", "", ""]]) == pytest.approx(3.0)
    assert effective_voters(["aa", "aa", "bb", "bb"]) == pytest.approx(2.0)
    # Unit vectors (1, 0) and (1, 1) / sqrt 2: eigenvalues 1 +- 1 / sqrt 2, shares .8536 and .1464,
    # H = .8536 * .2284 + .1464 * 2.7718 = .6009 bits.
    assert effective_voters(["aa", "ab"]) == pytest.approx(2**0.6009, abs=1e-4)


def test_equal_vectors_are_one_channel_and_unlike_ones_as_many_as_they_are():
    equal, unlike = np.tile([[0.6, 0.8]], (4, 1)), np.eye(4)
    assert channels(equal) == pytest.approx(1.0)
    assert channels(unlike) == pytest.approx(4.0)
    assert channels(np.repeat(np.eye(2), 3, axis=0)) == pytest.approx(2.0)


def test_channels_do_not_depend_on_order_or_rotation_and_never_exceed_number_and_size():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(5, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    turn, _ = np.linalg.qr(generator.normal(size=(3, 3)))
    assert channels(rows[::-1] @ turn) == pytest.approx(channels(rows))
    assert 1 <= channels(rows) <= 3


@pytest.mark.parametrize(
    ("settings", "received"),
    [
        ({"rounds": 2}, "rounds=2"),
        ({"information": "split"}, "information=split"),
        ({"team": {"solver": 2, "helper": 1}}, "2 answers of 3 agents"),
        ({"answer": "joint"}, "expected env.rounds=1"),
        ({"reward": envs.Reward(when="solved")}, "set env.reward.when=always"),
        ({"reward": envs.Reward(round_price=0.1)}, "expected 0, got env.reward.round_price=0.1"),
    ],
    ids=str,
)
def test_agents_that_do_not_answer_alone_are_refused(settings, received):
    environment = envs.make(
        "signal", free=True, tasks=2, **{"team": {"solver": 3}, **ALONE, **settings}
    )
    with pytest.raises(SettingError, match=received.replace(".", r"\.")):
        check_voters(environment)


def test_a_vote_of_roles_is_a_vote_of_agents_too():
    team = {"solver": 1, "helper": 2}
    check_voters(envs.make("signal", free=True, tasks=2, team=team, answer="majority", **ALONE))
    with pytest.raises(SettingError, match="got rounds=None"):
        check_voters(object())
