"""Self-consistency: several episodes of one task, and the answer that most of them give.

Source: Wang et al., "Self-consistency improves chain of thought reasoning in language models"
(arXiv 2203.11171). The vote itself is the benchmark's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from laconic.envs.dialogue import DialogueEnv
from laconic.learners.episode import Episode


def votes_for(reference: float, sample: float, most: int) -> int:
    """How many samples say about as much as the reference.

    Args:
        reference: mean tokens that the reference says in an episode.
        sample: mean tokens of one sample.
        most: most samples.

    Returns:
        The nearest whole number of samples, from 1 to `most`; `most` where samples say nothing.
    """
    return most if sample <= 0 else min(max(round(reference / sample), 1), most)


def vote(environment: DialogueEnv, samples: Sequence[Episode]) -> Episode:
    """One episode of several samples: all that was said, and the score of the vote.

    Args:
        environment: the samples were played in one like it.
        samples: plays of one task. A returned agent is a sample's agent with its number after it.
    """
    task = environment.tasks[samples[0].task]
    answers: dict[str, str] = {}
    for number, sample in enumerate(samples):
        graded = _graded(environment, sample)
        answers |= {f"{agent}_{number}": text for agent, text in graded.items()}
    score = environment.benchmark.score(task, answers)
    return Episode(
        task=samples[0].task,
        turns=tuple(
            replace(turn, agent=f"{turn.agent}_{number}")
            for number, sample in enumerate(samples)
            for turn in sample.turns
        ),
        rewards={
            f"{agent}_{number}": _repaid(rewards, score.value - sample.score)
            for number, sample in enumerate(samples)
            for agent, rewards in sample.rewards.items()
        },
        score=score.value,
        solved=score.solved,
        answer=score.answer,
        truncated=any(sample.truncated for sample in samples),
        measures=score.measures,
        tokens_said=_numbered([sample.tokens_said for sample in samples]),
        tokens_read=_numbered([sample.tokens_read for sample in samples]),
    )


def _graded(environment: DialogueEnv, sample: Episode) -> dict[str, str]:
    """What each answering agent committed to last, or else said last, as the referee takes it."""
    said: dict[str, str] = {}
    committed: dict[str, str] = {}
    for turn in sample.turns:
        if turn.message and turn.agent in environment.answering:
            said[turn.agent] = turn.message
            if environment.benchmark.committed(turn.message) is not None:
                committed[turn.agent] = turn.message
    return said | committed


def _repaid(rewards: tuple[float, ...], more: float) -> tuple[float, ...]:
    """Rewards with the task reward of the vote in the place of the sample's own."""
    return (*rewards[:-1], rewards[-1] + more) if rewards else ()


def _numbered(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {
        f"{agent}_{number}": tokens
        for number, one in enumerate(counts)
        for agent, tokens in one.items()
    }
