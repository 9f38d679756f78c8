from __future__ import annotations

import csv
import math

import pytest

from laconic import envs
from laconic.extras.analysis.coordination import (
    FLOW_HEADS,
    HEADS,
    measure,
    save,
    vectorizer,
    write,
)
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.episode import Episode, Turn
from laconic.learners.rollout.play import Start, play


def episode(task: str, solved: bool, *messages: str) -> Episode:
    """Return an episode of one round in which each message has an agent of its own."""
    turns = tuple(Turn(f"a_{n}", 0, text) for n, text in enumerate(messages))
    tokens_said = {turn.agent: len(turn.message.split()) for turn in turns}
    return Episode(task=task, turns=turns, rewards={}, solved=solved, tokens_said=tokens_said)


WORDS = vectorizer(None, str.split)
ALONE = [episode("one", True, "#### 1"), episode("two", False, "#### 3")]
TEAM = [episode("one", True, "yes", "yes", ""), episode("two", True, "no", "so", "")]


def test_an_entry_is_measured_by_its_turns_and_words():
    figures = measure(TEAM, WORDS)
    assert (figures["turns"], figures["messages"]) == (3.0, 2.0)
    # One episode has two equal messages, the other two without a common word.
    assert (figures["redundancy"], figures["channels"]) == pytest.approx((0.5, 1.5))
    assert figures["solved"] == {"one": True, "two": True}
    assert measure(ALONE, WORDS)["channels"] is None


def test_entries_stand_beside_one_agent_alone(tmp_path):
    for name, episodes in (("single", ALONE), ("team", TEAM)):
        (tmp_path / name).mkdir()
        save(tmp_path / name, measure(episodes, WORDS))
    write(tmp_path, ["single", "team", "absent"], "single")
    with open(tmp_path / "coordination.csv", encoding="utf-8", newline="") as file:
        alone, team = csv.DictReader(file)
    assert tuple(team) == HEADS
    assert (alone["overhead"], alone["efficiency"], alone["redundancy"]) == ("0.0", "0.5", "")
    # Three turns for one; success 1 over three times the turns; one task fixed.
    assert (float(team["overhead"]), float(team["density"])) == pytest.approx((2.0, 2 / 3))
    assert float(team["efficiency"]) == pytest.approx(1 / 3)
    assert (team["broken"], team["fixed"], float(team["gain"])) == ("0", "1", 0.5)
    # Two words for the two of "#### 1", in both tasks.
    assert (float(alone["tokens_ratio"]), float(team["tokens_ratio_high"])) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("settings", "heard"),
    [
        # Three say a word in each of two rounds; what is said in the second, nobody reads.
        ({"topology": "complete"}, 3),
        ({"topology": "none"}, 0),
        ({"topology": "complete", "channel": {"lose": 1.0}}, 0),
        ({"topology": "complete", "channel": {"lose": 1.0, "mark": True}}, 0),
    ],
)
def test_a_message_is_heard_if_another_agent_reads_it(settings, heard):
    env = envs.make(
        "gsm8k", free=True, tasks=1, team={"solver": 3}, answer="majority", rounds=2, **settings
    )
    policies = dict.fromkeys(env.possible_agents, ScriptedPolicy(lambda *_: "so\nthere", {}))
    figures = measure(play([env], policies, [Start(0)], seed=0), WORDS)
    assert (figures["messages"], figures["heard"]) == (6.0, heard)


def test_a_quotation_does_not_count_as_heard():
    lost, quote = Turn("a", 0, "red"), Turn("b", 0, "a: red")
    listener = Turn("c", 1, "", read="b: a: red\nb: redder")
    (played,) = [Episode("one", (lost, quote, listener), {}, solved=True)]
    # Only what b said arrived.
    assert measure([played], WORDS)["heard"] == 1.0


def test_without_an_agent_alone_there_is_no_table(tmp_path):
    write(tmp_path, ["team"], "single")
    assert list(tmp_path.iterdir()) == []


def test_intermediate_answers_are_graded():
    env = envs.make("gsm8k", free=True, tasks=1, team={"solver": 2}, answer="majority")
    (key, task), *_ = env.tasks.items()
    right = f"#### {task.answer}"
    turns = (
        Turn("solver_0", 0, right),
        Turn("solver_1", 0, "#### 99999"),
        Turn("solver_0", 1, right),
        Turn("solver_1", 1, right),
    )
    flow = measure([Episode(task=key, turns=turns, rewards={}, solved=True)], WORDS, env)["flow"]
    # The one stays with what it said, the other follows it.
    assert flow == {"1": {"tt": [1, 0], "tf": [0, 0], "ft": [1, 1], "ff": [0, 0]}}
    assert measure(ALONE, WORDS)["flow"] == {}


def test_right_and_wrong_answers_have_channels_of_their_own_and_flows_are_by_round(tmp_path):
    env = envs.make("gsm8k", free=True, tasks=1, team={"solver": 4}, answer="majority", rounds=3)
    (key, task), *_ = env.tasks.items()
    right = f"#### {task.answer}"
    replies = (
        (f"so {right}", f"so {right}", "one #### 99998", "two #### 99999"),
        (f"so {right}", f"thus {right}", f"so {right}", ""),
        (right, right, right, right),
    )
    turns = [
        Turn(f"solver_{i}", number, text)
        for number, row in enumerate(replies)
        for i, text in enumerate(row)
    ]
    figures = measure([Episode(key, tuple(turns), {}, solved=True)], WORDS, env)
    # Rounds in turn: alike, one of three differs in one word of three, alike. The second one's Gram
    # matrix has a cosine of 2/3 twice and of 1 once; its spectrum is 0 and these two.
    a = [(3 + x) / 2 for x in (-math.sqrt(1 + 8 * 4 / 9), math.sqrt(1 + 8 * 4 / 9))]
    entropy = -sum(x / 3 * math.log2(x / 3) for x in a)
    assert figures["channels_right"] == pytest.approx((1 + 2**entropy + 1) / 3)
    # Two wrong ones share one word of three: spectrum (4/3, 2/3) of 2.
    halves = (2 / 3, 1 / 3)
    assert figures["channels_wrong"] == pytest.approx(2 ** -sum(x * math.log2(x) for x in halves))
    # Who is silent in a round flows neither in nor out.
    assert figures["flow"]["1"] == {"tt": [2, 2], "tf": [0, 0], "ft": [1, 1], "ff": [0, 0]}
    assert figures["flow"]["2"] == {"tt": [3, 3], "tf": [0, 0], "ft": [0, 0], "ff": [0, 0]}
    (tmp_path / "debate").mkdir()
    save(tmp_path / "debate", figures)
    write(tmp_path, ["debate"], "single")
    with open(tmp_path / "flow.csv", encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert tuple(first) == FLOW_HEADS
    assert (first["round"], first["ft"], first["ft_conforming"]) == ("1", "1", "1")
    assert (second["round"], second["tt"]) == ("2", "3")
