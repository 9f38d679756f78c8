"""Self-consistency: several episodes of one task, and the answer that most of them give.

Source: Wang et al., "Self-consistency improves chain of thought reasoning in language models"
(arXiv 2203.11171). The vote itself is the benchmark's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from laconic.envs.dialogue import DialogueEnv
from laconic.learners.episode import Episode

V = TypeVar("V")


def votes_for(reference: float, sample: float, most: int) -> int:
    """How many samples say and think about as many tokens as the reference: from 1 to `most`.

    Takes mean tokens of an episode; where samples have none the answer is `most`.
    """
    return most if sample <= 0 else min(max(round(reference / sample), 1), most)


def vote(environment: DialogueEnv, samples: Sequence[Episode]) -> Episode:
    """One episode of several plays of one task: all that was said, and the score of the vote.

    Every agent has the number of its play after its name.
    """
    task = environment.tasks[samples[0].task]
    answers = _numbered([_graded(environment, sample) for sample in samples])
    score = environment.benchmark.score(task, answers)
    more = [score.value - sample.score for sample in samples]
    rewards, task_rewards = (
        [
            {agent: _repaid(paid, extra) for agent, paid in pay.items()}
            for pay, extra in zip(ledgers, more, strict=True)
        ]
        for ledgers in (
            [sample.rewards for sample in samples],
            [sample.task_rewards for sample in samples],
        )
    )
    return Episode(
        task=samples[0].task,
        turns=tuple(
            replace(turn, agent=f"{turn.agent}_{number}")
            for number, sample in enumerate(samples)
            for turn in sample.turns
        ),
        rewards=_numbered(rewards),
        score=score.value,
        solved=score.solved,
        answer=score.answer,
        truncated=any(sample.truncated for sample in samples),
        measures=score.measures,
        task_rewards=_numbered(task_rewards),
        bills=_numbered([sample.bills for sample in samples]),
        max_reward=samples[0].max_reward,
        common=samples[0].common,
        when=samples[0].when,
        ended_by=_ending(samples),
        charge=samples[0].charge,
        tokens_said=_numbered([sample.tokens_said for sample in samples]),
        tokens_read=_numbered([sample.tokens_read for sample in samples]),
        tokens_thought=_numbered([sample.tokens_thought for sample in samples]),
    )


def _ending(samples: Sequence[Episode]) -> str:
    """How all plays ended; `budget` if any of them spent it, else empty where they differ."""
    endings = {sample.ended_by for sample in samples}
    if "budget" in endings:
        return "budget"
    return endings.pop() if len(endings) == 1 else ""


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


def _numbered(found: Sequence[Mapping[str, V]]) -> dict[str, V]:
    return {f"{agent}_{i}": value for i, one in enumerate(found) for agent, value in one.items()}
