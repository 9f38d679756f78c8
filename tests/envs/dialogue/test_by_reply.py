"""Links made by replies: the graph, the order of delivery, and the answer nearest to the centroid.

One character is one token, unless a test says otherwise.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from math import sqrt

import numpy as np
import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.dialogue.budget import split_words
from laconic.envs.dialogue.by_reply import (
    RULE,
    ByReply,
    contributions,
    nearest,
    sources,
    unit,
    vectors,
)
from laconic.envs.errors import SettingError, UnknownNameError

FIVE = {"a_0": "abcd", "a_1": "abc", "a_2": "ab", "a_3": "abx", "a_4": "yz"}
"""Replies of five agents. Counts over a, b, c, d, x, y, z, divided by their lengths:

r0 = (1,1,1,1,0,0,0) / 2, r1 = (1,1,1,0,0,0,0) / √3, r2 = (1,1,0,0,0,0,0) / √2,
r3 = (1,1,0,0,1,0,0) / √3, r4 = (0,0,0,0,0,1,1) / √2
"""
BY_REPLY = {"kind": "by_reply", "similarity": 0.6}


def five():
    return vectors([list(reply) for reply in FIVE.values()])


def test_contributions_of_five_replies_worked_out_by_hand():
    # Cosines: r0r1 = √3/2, r0r2 = 1/√2, r0r3 = 1/√3, r1r2 = 2/√6, r1r3 = 2/3, r2r3 = 2/√6; r4: 0.
    sums = [
        1 + sqrt(3) / 2 + 1 / sqrt(2) + 1 / sqrt(3),  # 3.1505
        sqrt(3) / 2 + 1 + 2 / sqrt(6) + 2 / 3,  # 3.3492
        1 / sqrt(2) + 2 / sqrt(6) + 1 + 2 / sqrt(6),  # 3.3401
        1 / sqrt(3) + 2 / 3 + 2 / sqrt(6) + 1,  # 3.0606
        1.0,
    ]
    # ψ_n = r_n Σr / |Σr|, and |Σr|² is the sum of all cosines: √13.9004 = 3.7283.
    psi = [0.8450, 0.8983, 0.8959, 0.8209, 0.2682]
    assert contributions(five()) == pytest.approx(psi, abs=5e-5)
    assert contributions(five()) == pytest.approx(np.array(sums) / sqrt(sum(sums)), abs=1e-12)


def test_the_graph_of_five_replies_worked_out_by_hand():
    # At least 0.6: all pairs of the first four but (0, 3) = 0.577. ψ falls in the order 1, 2, 0, 3.
    hears = ByReply(0.6).hearing([*FIVE], FIVE, list)
    assert hears == {
        "a_0": ("a_1", "a_2"),
        "a_1": (),
        "a_2": ("a_1",),
        "a_3": ("a_1", "a_2"),
        "a_4": (),
    }
    # At 0.7 the pair (1, 3) = 0.667 goes, and at 0.5 the pair (0, 3) comes.
    assert ByReply(0.7).hearing([*FIVE], FIVE, list)["a_3"] == ("a_2",)
    assert ByReply(0.5).hearing([*FIVE], FIVE, list)["a_3"] == ("a_1", "a_2", "a_0")


def test_the_answer_is_the_reply_nearest_to_the_centroid():
    # Σ_m ψ_m cos(m, n): 0: .8450 + .8983 √3/2 + .8959/√2 + .8209/√3 = 2.7304; 1: .8450 √3/2 + .8983
    # + .8959 2/√6 + .8209 2/3 = 2.9089; 2: .8450/√2 + (.8983 + .8209) 2/√6 + .8959 = 2.8972.
    assert nearest(five(), range(5)) == 1
    assert nearest(five(), [0, 2, 4]) == 2
    assert ByReply().nearest(FIVE, (), list) == "a_1"
    assert ByReply().nearest(FIVE, {"a_0", "a_4"}, list) == "a_0"
    # The first of equals.
    assert ByReply().nearest({"b": "x", "a": "x"}, (), list) == "b"


def test_no_graph_of_ten_thousand_has_a_cycle():
    generator, links = np.random.default_rng(0), 0
    for _ in range(10_000):
        agents, width = generator.integers(2, 7, size=2)
        # Few different counts, so that many vectors and contributions are equal.
        units = unit(generator.integers(0, 3, size=(agents, width)))
        hears = sources(units, float(generator.uniform(0.05, 1.0)))
        # Raises CycleError for a cycle.
        places = [*TopologicalSorter(dict(enumerate(hears))).static_order()]
        assert sorted(places) == [*range(agents)]
        links += sum(map(len, hears))
        psi = contributions(units)
        assert all([*each] == sorted(each, key=lambda m: -psi[m]) for each in hears)
    assert links > 10_000


@pytest.mark.parametrize("agents", range(1, 18))
def test_equal_replies_make_no_links(agents):
    names = [f"a_{place}" for place in range(agents)]
    hears = ByReply(0.05).hearing(names, dict.fromkeys(names, "the sum is 7; #### 7"), split_words)
    assert hears == dict.fromkeys(names, ())


def test_an_agent_without_a_reply_hears_no_one_and_counts_in_no_mean():
    silent = ["a_9", *FIVE]
    hears = ByReply(0.6).hearing(silent, FIVE, list)
    assert hears == {"a_9": (), **ByReply(0.6).hearing([*FIVE], FIVE, list)}
    assert ByReply(0.6).hearing(silent, {}, list) == dict.fromkeys(silent, ())


def test_a_hook_makes_the_vectors():
    # Angles of 0, 40 and 90 degrees: the mean points to about 43, so the second is nearest to it.
    angles = {"east": 0, "between": 40, "north": 90}

    def embed(texts):
        # Any length.
        return [3 * np.exp(1j * np.radians(angles[text])) for text in texts]

    def plane(texts):
        return [(value.real, value.imag) for value in embed(texts)]

    replies = {"a_0": "east", "a_1": "between", "a_2": "north"}
    # cos 40 = 0.77, cos 50 = 0.64, cos 90 = 0.
    by_reply = ByReply(0.7, plane)
    assert by_reply.hearing([*replies], replies, list) == {"a_0": ("a_1",), "a_1": (), "a_2": ()}
    assert by_reply.nearest(replies, (), list) == "a_1"


@pytest.mark.parametrize("returned", [[[1.0]], [1.0, 2.0], [[1.0], [np.nan]]])
def test_a_hook_that_returns_other_than_vectors_is_refused(returned):
    with pytest.raises(SettingError, match=r"env\.topology\.embed must return 2 vectors"):
        ByReply(0.6, lambda texts: returned).hearing(["a", "b"], {"a": "x", "b": "y"}, list)


@pytest.mark.parametrize(
    ("topology", "error", "words"),
    [
        ({"kind": "by_answer"}, UnknownNameError, "env.topology.kind"),
        ({"kind": "by_reply", "similar": 0.6}, UnknownNameError, "setting of env.topology"),
        ({"kind": "by_reply", "similarity": 0}, SettingError, "env.topology.similarity"),
        ({"kind": "by_reply", "similarity": 1.1}, SettingError, "env.topology.similarity"),
        ({"kind": "by_reply", "embed": "a/model"}, SettingError, "env.topology.embed"),
    ],
)
def test_wrong_settings_are_refused(topology, error, words):
    with pytest.raises(error, match=words):
        envs.make("gsm8k", free=True, tasks=2, topology=topology)


def made(**settings):
    settings = {"answer": "majority", "team": {"solver": 4}, "rounds": 2, **settings}
    return envs.make("gsm8k", free=True, tasks=8, topology=BY_REPLY, **settings)


SAID = {
    "solver_0": "6 and 1 are 7. #### 7",
    "solver_1": "6 and 1 are 8. #### 8",
    "solver_2": "6 and 1 are 8. So 8. #### 8",
    "solver_3": "",
}


def test_a_round_links_the_agents_that_spoke():
    env = made()
    env.reset(seed=0)
    observations = env.step(SAID)[0]
    texts = {agent: observation["text"] for agent, observation in observations.items()}
    # Tokens of solver_1: 6, and, 1, are, 8, ".", four "#", 8 with a blank. All three are alike.
    # solver_1 shares more with each of the others than they share with one another.
    assert texts["solver_0"] == "\n".join(f"{who}: {SAID[who]}" for who in ("solver_1", "solver_2"))
    assert texts["solver_1"] == texts["solver_3"] == "Nobody spoke."
    assert texts["solver_2"] == f"solver_1: {SAID['solver_1']}"
    # In the next round the last messages count, also of an agent that is silent now.
    infos = env.step({"solver_3": "#### 9"})[4]
    assert infos["solver_0"]["answer"] == "8"


def test_messages_are_read_in_topological_order():
    env = made()
    env.reset(seed=0)
    swapped = {**SAID, "solver_1": SAID["solver_2"], "solver_2": SAID["solver_1"]}
    text = env.step(swapped)[0]["solver_0"]["text"]
    assert text == f"solver_2: {SAID['solver_1']}\nsolver_1: {SAID['solver_2']}"
    # So it is over a channel that loses messages.
    env = made(channel={"lose": 1e-9, "mark": True})
    env.reset(seed=0)
    assert env.step(swapped)[0]["solver_0"]["text"] == text


def test_an_agent_that_was_silent_in_a_round_keeps_its_last_reply():
    env = made(rounds=3)
    env.reset(seed=0)
    env.step(SAID)
    # solver_1 is the source of all links, and is silent now: it is heard, and there is no message.
    texts = env.step({"solver_0": SAID["solver_0"]})[0]
    assert texts["solver_0"]["text"] == "Nobody spoke."
    assert env.round == 2


def test_the_answer_is_one_that_an_agent_commits_to():
    env = made(rounds=1)
    env.reset(seed=0)
    # Nearest to the centroid is solver_0, which names no answer; then solver_1.
    said = {"solver_0": "a b c", "solver_1": "a b c #### 5", "solver_2": "a b", "solver_3": "b c"}
    assert env.step(said)[4]["solver_0"]["answer"] == "5"


def test_one_answering_role_answers_as_ever():
    env = made(answer="solver", team={"solver": 1, "helper": 2}, schedule=["helper", "solver"])
    env.reset(seed=0)
    env.step({"helper_0": "a b", "helper_1": "a b c"})
    assert env.step({"solver_0": "#### 3"})[4]["solver_0"]["answer"] == "3"


def test_agents_read_who_hears_whom_and_whose_answer_counts():
    opening = made(instructions="full").reset(seed=0)[0]["solver_0"]["text"]
    assert RULE in opening
    names = "solver_0, solver_1, solver_2, solver_3"
    assert f"The answer of the team is the one most like what all of {names} say." in opening


def test_prices_of_listeners_budgets_and_addresses_follow_the_links():
    reward = {"price": 1, "normalizer": 100, "charge": "listeners", "exempt_answer": False}
    env = made(reward=reward, rounds=3)
    env.reset(seed=0)
    rewards = env.step(SAID)[1]
    # 12 tokens each: solver_1 has two listeners, solver_0 none, which costs one copy. solver_2 has
    # 15 tokens and one listener.
    counts = {agent: len(env.tokenize(text)) for agent, text in SAID.items()}
    assert counts == {"solver_0": 11, "solver_1": 11, "solver_2": 14, "solver_3": 0}
    assert rewards["solver_0"] == pytest.approx(-0.11)
    assert rewards["solver_1"] == pytest.approx(-0.22)
    assert rewards["solver_2"] == pytest.approx(-0.14)
    env = made(addressing="names")
    env.reset(seed=0)
    said = {agent: f"@solver_2: {text}" for agent, text in SAID.items() if text}
    texts = env.step(said)[0]
    assert texts["solver_0"]["text"] == "Nobody spoke."
    assert texts["solver_2"]["text"].startswith("solver_1: @solver_2:")


def test_the_contract_holds():
    check_env(lambda: made(budget={"message": 12, "round": 30, "episode": 60}))
    check_env(lambda: envs.make("commons", free=True, tasks=4, topology=BY_REPLY))


def voters(solvers, wrong, *, episodes=400, first=700):
    """Let voters answer with three sums each; return plurality's and the centroid's accuracy.

    A step is right with probability 0.3 ** (1 / 3), so a voter with 0.3. A wrong number is one of
    `wrong` ones. Right replies are alike, and wrong ones agree with them in their right steps.
    """
    generator, share = np.random.default_rng(0), 0.3 ** (1 / 3)
    settings = {"answer": "majority", "team": {"solver": solvers}, "rounds": 1, "tasks": 64}
    plain = envs.make("gsm8k", free=True, topology="none", **settings)
    by_reply = envs.make("gsm8k", free=True, topology={"kind": "by_reply"}, **settings)
    outcomes, least = [], 1.0
    for episode in range(episodes):
        plain.reset(seed=episode)
        by_reply.reset(seed=0, options={"task": plain.task.key})
        said = {}
        for agent in plain.possible_agents:
            right = generator.random(3) < share
            draws = generator.integers(wrong, size=4)
            steps = [900 + k if right[k] else first + draws[k] for k in range(3)]
            answer = plain.task.answer if right.all() else first + draws[3]
            said[agent] = f"{steps[0]}, then {steps[1]}, then {steps[2]}. #### {answer}"
        units = vectors([plain.tokenize(text) for text in said.values()])
        least = min(least, (units @ units.T).min())
        outcomes.append([env.step(said)[4]["solver_0"]["solved"] for env in (plain, by_reply)])
    # The condition of the paper's Theorem 1: vectors of one length, inner products with a bound.
    assert least > 0.3
    return np.array(outcomes, dtype=np.float64)


@pytest.mark.parametrize("solvers", [5, 9])
def test_scattered_errors_and_right_answers_alike_the_centroid_beats_the_plurality(solvers):
    # Two voters are right with 0.3² = 0.09, and agree on a wrong answer with 0.7² / 20 = 0.02.
    outcomes = voters(solvers, wrong=20)
    gain = outcomes[:, 1] - outcomes[:, 0]
    assert gain.mean() - 1.96 * gain.std() / sqrt(len(gain)) > 0.1


def test_where_all_errors_agree_neither_vote_beats_a_voter():
    # Two voters agree on the only wrong answer with 0.49, more than the 0.09 of the right one.
    outcomes = voters(5, wrong=1)
    spread = outcomes.std(axis=0) / sqrt(len(outcomes))
    assert (outcomes.mean(axis=0) + 1.96 * spread < 0.3).all()


def test_wrong_answers_that_share_tokens_count_as_alike():
    # 5000 to 5019 share the token 500 or 501; counts of tokens take them for much the same.
    outcomes = voters(9, wrong=20, first=5000)
    assert outcomes[:, 1].mean() < outcomes[:, 0].mean()
