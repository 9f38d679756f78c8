"""Agreement without content: teams that learn from their vote become right, or one-worded."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from laconic import envs
from laconic.envs.library.signal.benchmark import COLORS
from laconic.envs.task import Task
from laconic.extras.methods.consensus import Consensus
from laconic.extras.methods.rlccf import Votes
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
