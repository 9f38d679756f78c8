"""Samples of one task, the most frequent answer, and the number of samples."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic import envs
from laconic.extras.compare.vote import vote, votes_for
from laconic.learners.interfaces import Reply
from laconic.learners.metrics import summarize
from laconic.learners.rollout.play import Start, play


class Says:
    """A policy that says what it is told to."""

    def __init__(self, text, thought=""):
        self.text, self.thought = text, thought

    def reply(self, requests, *, seed, greedy):
        return [Reply(self.text, thought=self.thought) for _ in requests]


@pytest.fixture
def solo():
    return envs.make(
        "gsm8k",
        free=True,
        tasks=3,
        team={"solver": 1},
        rounds=1,
        reward={"price": 0.0, "normalizer": 100},
    )


def sample(environment, text, thought=""):
    start = Start(0, next(iter(environment.tasks)))
    (episode,) = play([environment], {"solver_0": Says(text, thought)}, [start], seed=0)
    return episode


def right(environment):
    return f"#### {next(iter(environment.tasks.values())).answer}"


def test_the_commonest_answer_counts(solo):
    texts = ["#### -1", right(solo), right(solo), ""]
    samples = [sample(solo, text) for text in texts]
    assert [sampled.solved for sampled in samples] == [False, True, True, False]
    assert vote(solo, samples).solved
    assert not vote(solo, samples[:1] + samples[3:]).solved


def test_everything_said_and_read_is_counted(solo):
    samples = [sample(solo, text) for text in ("#### -1", right(solo))]
    voted = vote(solo, samples)
    by_sample = [sum(sampled.tokens_said.values()) for sampled in samples]
    assert sum(voted.tokens_said.values()) == sum(by_sample)
    assert voted.tokens_read["solver_0_1"] == samples[1].tokens_read["solver_0"]
    assert [turn.agent for turn in voted.turns] == ["solver_0_0", "solver_0_1"]


def test_thoughts_of_all_samples_are_counted(solo):
    samples = [sample(solo, "#### 1", "so " * n) for n in (2, 3)]
    voted = vote(solo, samples)
    thought = [sum(sampled.tokens_thought.values()) for sampled in samples]
    assert 0 < thought[0] < thought[1]
    assert list(voted.tokens_thought.values()) == thought
    assert summarize([voted])["tokens_spent"] == sum(thought) + sum(voted.tokens_said.values())


def test_a_sample_is_paid_for_the_vote_not_for_its_own_answer(solo):
    samples = [sample(solo, text) for text in ("#### -1", right(solo), right(solo))]
    assert set(vote(solo, samples).returns.values()) == {1.0}


def test_silent_samples_leave_nothing_to_grade(solo):
    voted = vote(solo, [sample(solo, ""), sample(solo, "")])
    assert (voted.solved, voted.answer) == (False, "")


@pytest.mark.parametrize(
    ("reference", "per_sample", "votes"),
    # The nearest whole number, at least one sample, at most eight, and eight where they are free.
    [(70.0, 14.0, 5), (76.0, 14.0, 5), (78.0, 14.0, 6), (3.0, 14.0, 1), (500.0, 14.0, 8)]
    + [(70.0, 0.0, 8)],
)
def test_the_number_of_samples_matches_the_tokens_of_the_reference(reference, per_sample, votes):
    assert votes_for(reference, per_sample, most=8) == votes


def test_a_vote_keeps_the_task_reward_and_the_bill_of_every_sample():
    priced = {"price": 1.0, "normalizer": 100, "exempt_answer": False}
    solo = envs.make("gsm8k", free=True, tasks=3, team={"solver": 1}, rounds=1, reward=priced)
    samples = [sample(solo, text) for text in ("#### -1", right(solo), right(solo))]
    voted = vote(solo, samples)
    assert voted.task_rewards == {f"solver_0_{number}": (1.0,) for number in range(3)}
    assert [*voted.bills.values()] == [sampled.bills["solver_0"] for sampled in samples]
    assert all(bill[0] > 0 for bill in voted.bills.values())
    assert all(
        voted.rewards[agent][0] == pytest.approx(1.0 - bill[0], rel=1e-12)
        for agent, bill in voted.bills.items()
    )
    assert (voted.max_reward, voted.common, voted.when) == (1.0, True, "always")


def test_a_vote_ended_as_its_samples_did(solo):
    answered, silent = sample(solo, right(solo)), sample(solo, "")
    assert (answered.ended_by, silent.ended_by) == ("answer", "rounds")
    assert vote(solo, [answered, answered]).ended_by == "answer"
    assert vote(solo, [answered, silent]).ended_by == ""
    spent = replace(silent, ended_by="budget")
    assert vote(solo, [answered, spent]).cut_short
