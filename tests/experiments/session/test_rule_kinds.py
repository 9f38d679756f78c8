"""Agreement without content: teams that learn from their vote become right, or one-worded."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import pytest

from laconic import envs
from laconic.envs.library.signal.benchmark import COLORS
from laconic.envs.task import Task
from laconic.experiments.session.rule_kinds import Consensus, Fall
from laconic.experiments.session.rules import Context, Rules
from laconic.learners.algorithms.collective import Votes
from laconic.learners.interfaces import Reply, Request
from laconic.learners.rollout.play import Start

Answer = Callable[[float, str, random.Random], str]
NAMES = ("agreement", "effective_voters", "elected_entropy")


def votes(rule: Consensus, *figures: Sequence[float]) -> list[int]:
    """Return the places of the figures (agreement, voters, entropy) with a warning."""
    return [
        place
        for place, values in enumerate(figures)
        if rule.observe(
            place, {f"train/{name}": value for name, value in zip(NAMES, values, strict=True)}
        )
    ]


APART, ALIKE, CONSTANT = (0.5, 1.8, 2.0), (0.95, 1.1, 1.9), (0.95, 1.1, 0.2)


def test_a_team_that_elects_one_answer_to_all_tasks_is_warned_once() -> None:
    # Means of the last five, with n constant ones: entropy 2 - .36 n is at most half of 2 from
    # n = 3 on.
    rule = Consensus()
    assert votes(rule, *[APART] * 5, *[CONSTANT] * 5) == [7]
    assert rule.holds() and "entropy of elected answers 0.2 bits (at the start 2)" in rule.figure()
    # It recovers in between.
    assert votes(rule, *[APART] * 5, *[CONSTANT] * 5) == [7] and rule.holds()


def test_a_team_that_agrees_on_answers_that_follow_the_task_is_not() -> None:
    assert votes(Consensus(), *[APART] * 5, *[ALIKE] * 9) == []


def test_few_answers_without_more_agreement_or_from_as_many_voters_are_no_consensus() -> None:
    assert votes(Consensus(), *[CONSTANT] * 9) == []
    assert votes(Consensus(), *[APART] * 5, *[(0.4, 1.1, 0.2)] * 9) == []
    assert votes(Consensus(), *[APART] * 5, *[(0.9, 1.8, 0.2)] * 9) == []
    assert votes(Consensus(), *[(0.2, 1.5, 0.0)] * 5, *[(0.9, 1.0, 0.0)] * 9) == []


def test_rows_without_votes_say_nothing_of_them() -> None:
    rule = Consensus()
    assert rule.observe(0, {"train/accuracy": 1.0}) is None and rule.figure() == ""


class Voter:
    """Answers tasks in a way that depends on the progress of training, from 0 to 1."""

    def __init__(self, tasks: Mapping[str, Task], answer: Answer) -> None:
        self.tasks, self.answer, self.draw = tasks, answer, random.Random(0)
        self.progress = 0.0

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        right = [self.tasks[request.info["task"]].answer for request in requests]
        return [Reply(f"#### {self.answer(self.progress, each, self.draw)}") for each in right]


def updates(answer: Answer) -> list[list[float]]:
    """Return the figures of 20 updates of 8 tasks with 4 plays of 3 voters."""
    alone = {"team": {"solver": 3}, "information": "full", "topology": "none", "schedule": "all"}
    room = envs.make("signal", free=True, **alone, rounds=1, tasks=160, generator={"colors": 4})
    keys, voter = list(room.tasks), Voter(room.tasks, answer)
    policies = dict.fromkeys(room.possible_agents, voter)
    figures = []
    for update in range(20):
        voter.progress = update / 19
        starts = [Start(place, key) for place, key in enumerate(keys[8 * update :][:8])]
        groups = Votes()([room], policies, starts, 4, seed=0)
        episodes = [episode for group in groups for episode in group.episodes]
        figures.append([fmean(each.measures[name] for each in episodes) for name in NAMES])
    return figures


def test_a_team_that_becomes_right_on_all_tasks_is_not_warned() -> None:
    def answer(progress: float, right: str, draw: random.Random) -> str:
        return right if draw.random() < 0.3 + 0.7 * progress else draw.choice(COLORS[:4])

    figures = updates(answer)
    # All agree in the end, as one voter, on answers of four colors to eight tasks.
    assert figures[-1][:2] == [1.0, 1.0] and figures[-1][2] > 1
    assert votes(Consensus(), *figures) == []


def test_a_team_that_collapses_to_one_answer_is_warned_before_its_samples_are_equal() -> None:
    def answer(progress: float, right: str, draw: random.Random) -> str:
        return "red" if draw.random() < progress else draw.choice([right, *COLORS[:4]])

    figures = updates(answer)
    assert figures[-1] == [1.0, 1.0, 0.0]
    (place,) = votes(Consensus(), *figures)
    assert place < 15 and figures[place][0] < 0.9


# What hurts


def told(rules: Rules, rows, name: str) -> list[int]:
    """Return the places of the rows at which a rule warned."""
    return [step for step, each in enumerate(rows) if name in rules.judge(step, each)]


def test_informed_agents_that_fall_silent_are_told_while_accuracy_holds() -> None:
    # All speak at first, and 80 % from place 10 on: means of five there are .96, .92 and .88, and
    # the third of them is the first at least 10 points below.
    rows = [{"train/spoke_if_informed": spoke} for spoke in [1.0] * 10 + [0.8] * 8]
    assert told(Rules(Context(follows=True)), rows, "informed_silence") == [12]


@pytest.mark.parametrize(
    "spoken",
    [
        [1.0] * 5 + [0.97] * 20,
        # Eight turns an update: their noise is no fall.
        [1.0, 0.75, 1.0, 0.875, 0.875, 0.75, 1.0, 0.875, 1.0, 0.75, 0.875, 1.0, 0.875, 0.75],
        # One bad update is none either.
        [1.0] * 9 + [0.6] + [1.0] * 9,
    ],
)
def test_informed_agents_that_hardly_change_are_not(spoken) -> None:
    rows = [{"train/spoke_if_informed": spoke} for spoke in spoken]
    assert told(Rules(Context(follows=True)), rows, "informed_silence") == []


@pytest.mark.parametrize(
    ("solved", "steps"),
    [
        # Down by 20 points once four of the last five are at .55: .8 - .2 = .6.
        ([0.8] * 10 + [0.55] * 9, [13]),
        # The dip of a healthy run.
        ([0.84, 0.73, 0.77, 0.81, 0.8, 0.7, 0.72, 0.75, 0.8, 0.85, 0.9, 0.95], []),
        # A weak team has lost half: .2 to .1 is five at .1.
        ([0.2] * 10 + [0.1] * 6, [14]),
        # Below 5 points chance alone decides.
        ([0.04] * 10 + [0.0] * 9, []),
        # It is told again after half of it came back: .75 is above .7; 2 x .75 + 3 x .5 is 5 x .6.
        ([0.8] * 5 + [0.5] * 6 + [0.75] * 6 + [0.5] * 6, [9, 19]),
    ],
)
def test_accuracy_is_compared_with_the_first_updates(solved, steps) -> None:
    rows = [{"train/accuracy": each} for each in solved]
    assert told(Rules(Context(follows=True)), rows, "lost_accuracy") == steps


HEALTHY = (
    *(-0.36, -0.35, -0.29, -0.29, -0.2, -0.15, -0.13, -0.13, -0.05, -0.09, -0.06, 0.06, 0.0, 0.06),
    *(0.04, 0.09, 0.09, 0.03, 0.13, 0.12, 0.15, 0.16, 0.11, 0.22, 0.2, 0.17, 0.2, 0.22, 0.24),
)
"""Reward less charge of the updates of a training, recorded."""


def charged(*amounts: float, silence: float = 0.0) -> list[dict[str, float]]:
    """Return rows that earn 0.8 at some charges, after one that says what silence earns."""
    first = {"eval/silence_earns": silence}
    rows = [
        {
            "train/price": 2.0,
            "train/task_reward": 0.8,
            "train/billed": 2 * amount,
            "learner/charge_factor": 0.5,
        }
        for amount in amounts
    ]
    return [first, *rows]


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        # 0.8 - 1.4 = -0.6 and no nearer: told when ten updates have been seen.
        (charged(*[1.4] * 14), [10]),
        # 0.15 nearer an update: 0.75 in a window of five.
        (charged(*[3.0 - 0.15 * n for n in range(20)]), []),
        # The quickstart at a price that a brief team can pay, a quarter of its reward.
        (charged(*[0.8 - reward for reward in HEALTHY]), []),
        # A charge of 0.75 is less than the 0.8 earned, but more than the 0.5 that words bring.
        (charged(*[0.75] * 12), []),
        (charged(*[0.75] * 12, silence=0.3), [10]),
        # Just below silence is no finding: 0.05 of 0.85.
        (charged(*[0.85] * 12), []),
        # Nearly free words are not why a team earns less than a silent one.
        (charged(*[0.01] * 12, silence=0.9), []),
    ],
)
def test_a_team_that_rests_below_silence_is_told(rows, steps) -> None:
    assert told(Rules(Context(follows=True)), rows, "below_silence") == steps


def test_what_hurts_is_told_after_a_resumption_as_without() -> None:
    rows = [
        {**each, "train/spoke_if_informed": spoke, "train/accuracy": spoke}
        for each, spoke in zip(charged(*[1.4] * 20), [1.0] * 8 + [0.5] * 13, strict=True)
    ]
    whole, first, second = (Rules(Context(follows=True)) for _ in range(3))
    expected = [whole.observe(step, each) for step, each in enumerate(rows)]
    warnings = [first.observe(step, each) for step, each in enumerate(rows[:10])]
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    warnings += [second.observe(10 + i, each) for i, each in enumerate(rows[10:])]
    assert warnings == expected and sum(map(len, expected)) == 4


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_not_finite_is_no_fall(value: float) -> None:
    def warned(figures: Sequence[float]) -> list[int]:
        fall = Fall("train/x", lambda start: 0.1, "{mean} {start}", "{step} {rows} {mean} {start}")
        return [step for step, x in enumerate(figures) if fall.observe(step, {"train/x": x})]

    assert warned([value] * 20) == warned([0.9] * 5 + [value] + [0.9] * 20) == []
    # Mean of the last five: 0.8 at the tenth finite figure. It falls once.
    assert warned([0.9] * 5 + [value] + [0.8] * 20) == [10]
    assert warned([0.9] * 2 + [value] * 3 + [0.9] * 3 + [0.8, value] * 9) == [16]
