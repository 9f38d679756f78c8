"""Self-consistency: play a task several times and take the most frequent answer.

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
    """Return the number of samples, 1 to `most`, that spend about as many tokens as the reference.

    `reference` and `sample` are mean tokens of an episode; if `sample` is 0, return `most`.
    """
    return most if sample <= 0 else min(max(round(reference / sample), 1), most)


def vote(environment: DialogueEnv, samples: Sequence[Episode]) -> Episode:
    """Merge several plays of one task into one episode that has the score of the vote.

    Agents are numbered by play, as in `solver_0_2` for the third play of `solver_0`.
    """
    task = environment.tasks[samples[0].task]
    answers = _numbered([_graded(environment, sample) for sample in samples])
    score = environment.benchmark.score(task, answers)
    differences = [score.value - sample.score for sample in samples]
    rewards, task_rewards = (
        [
            {agent: _regraded(rewards, difference) for agent, rewards in ledger.items()}
            for ledger, difference in zip(ledgers, differences, strict=True)
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
        graded=samples[0].graded,
        common=samples[0].common,
        when=samples[0].when,
        ended_by=_ending(samples),
        charge=samples[0].charge,
        tokens_said=_numbered([sample.tokens_said for sample in samples]),
        tokens_read=_numbered([sample.tokens_read for sample in samples]),
        tokens_thought=_numbered([sample.tokens_thought for sample in samples]),
    )


def _ending(samples: Sequence[Episode]) -> str:
    """Return how all plays ended: `budget` if any spent it, else empty if they differ."""
    endings = {sample.ended_by for sample in samples}
    if "budget" in endings:
        return "budget"
    return endings.pop() if len(endings) == 1 else ""


def _graded(environment: DialogueEnv, sample: Episode) -> dict[str, str]:
    """Return each answering agent's last committed message, else its last one, like the referee."""
    last: dict[str, str] = {}
    committed: dict[str, str] = {}
    for turn in sample.turns:
        if turn.message and turn.agent in environment.answering:
            last[turn.agent] = turn.message
            if environment.benchmark.committed(turn.message) is not None:
                committed[turn.agent] = turn.message
    return last | committed


def _regraded(rewards: tuple[float, ...], difference: float) -> tuple[float, ...]:
    """Add the difference between the score of the vote and the sample's own to the last reward."""
    return (*rewards[:-1], rewards[-1] + difference) if rewards else ()


def _numbered(plays: Sequence[Mapping[str, V]]) -> dict[str, V]:
    return {f"{agent}_{i}": value for i, play in enumerate(plays) for agent, value in play.items()}
