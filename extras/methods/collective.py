"""Reward without labels: an agent is paid where it gives the answer that all agents elect.

RLCCF (arXiv 2508.12338, from a summary). Each of N agents answers a task K times, and no agent
hears another. With o_nk the k-th answer of agent n:

    SC_n = share of agent n's answers that are its most common one (self-consistency)
    elected = argmax over a of sum over n of SC_n * sum over k of 1[o_nk = a]
    pay of o_nk = 1 if it is the elected answer, else 0

A `plain` vote has SC_n = 1. No answer, written "", counts as an answer where answers are described,
and is never elected or paid. Pure functions; they know neither tokens nor reference answers.

PS-GRPO (arXiv 2510.04392, from a summary) pays for consistency instead: the plays of a task are in
several wordings, and an answer earns the share of equal ones among the agent's own answers to other
wordings, or among `consistency` of them that are drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from laconic.envs.checks import Whole, check_fields
from laconic.envs.errors import SettingError

__all__ = ["Collective", "effective_voters"]

Table = Sequence[Sequence[str]]
"""Answers (agents, plays) to one task; empty for none."""
Weights = Literal["weighted", "plain"]
Guard = Literal["stop", "warn"]


@dataclass(frozen=True, slots=True)
class Collective:
    """Answers that are paid: those that a vote elects, or consistent ones."""

    vote: Weights = "weighted"
    """`weighted`: an agent's answers count by its self-consistency; `plain`: all count the same."""

    consistency: Whole = 0
    """Answers to other wordings of the task that an answer is compared with; 0: the vote pays."""

    guard: Guard = "stop"
    """Response to agreement without content: `stop` ends the run, `warn` only warns."""

    def __post_init__(self) -> None:
        """Refuse unknown choices (`UnknownNameError`) and numbers below 0 (`SettingError`)."""
        check_fields(self, "learner.collective")

    def check_run(self, settings: Mapping[str, Any], environment: Any) -> None:
        """Check the agents of a run (`SettingError`).

        Args:
            settings: composed configuration of the run.
            environment: its environment; None if it is not known yet.
        """
        sharing = {
            f"{group}.sharing": settings[group].get("sharing") for group in ("agent", "learner")
        }
        received = ", ".join(f"{key}={value}" for key, value in sharing.items())
        check_separate("shared" not in sharing.values(), received)
        if environment is not None:
            check_voters(environment)

    def pays(
        self, answers: Table, wordings: Sequence[int], generator: np.random.Generator
    ) -> list[list[float]]:
        """Return the pay of each answer, (agents, plays) from 0 to 1.

        Args:
            answers: answers to one task.
            wordings: number of the wording of each play, (plays,).
            generator: draws the answers that consistency compares with.
        """
        if self.consistency:
            return [self._consistent(row, wordings, generator) for row in answers]
        elected = self.elect(answers)
        return [[float(answer != "" and answer == elected) for answer in row] for row in answers]

    def _consistent(
        self, answers: Sequence[str], wordings: Sequence[int], generator: np.random.Generator
    ) -> list[float]:
        """Return the share of equal answers among those to other wordings, (plays,)."""
        pay = []
        for answer, wording in zip(answers, wordings, strict=True):
            others = [other for other, own in zip(answers, wordings, strict=True) if own != wording]
            chosen = generator.permutation(len(others))[: self.consistency]
            pay.append(fmean(answer != "" and others[place] == answer for place in chosen))
        return pay

    def elect(self, answers: Table) -> str:
        """Return the elected answer; empty if no agent gives any.

        Of equal answers the one that the earliest agent gives wins, and of several of that agent's
        the one in its earliest play.
        """
        totals: dict[str, int] = {}
        for row in answers:
            # All agents answer equally often, so a count stands for the share. Whole numbers keep
            # ties exact.
            weight = _most_common(row) if self.vote == "weighted" else 1
            for answer in filter(None, row):
                totals[answer] = totals.get(answer, 0) + weight
        # Of equal totals `max` returns the first.
        return max(totals, key=totals.__getitem__, default="")


def _most_common(row: Sequence[str]) -> int:
    """Return how often an agent gives its most common answer."""
    return max(Counter(filter(None, row)).values(), default=0)


def check_separate(separate: bool, received: str) -> None:
    """Check that every agent has a policy of its own.

    Args:
        separate: whether it has.
        received: settings as they are, for the error.

    Raises:
        SettingError: two agents share weights, or there is one agent.
    """
    if not separate:
        raise SettingError(
            "learner.collective needs two or more agents, each with a policy of its own, because"
            f" equal policies agree on any answer; got {received}: set agent.sharing=separate,"
            " learner.sharing=separate and several agents in env.team"
        )


def check_voters(environment: Any) -> None:
    """Check that each agent of an environment reads the whole task and answers it alone.

    Raises:
        SettingError: it does not, or it charges tokens by the reference answer, or time.
    """
    agents = getattr(environment, "possible_agents", ())
    answering = getattr(environment, "answering", ())
    rounds = getattr(environment, "rounds", None)
    information = getattr(environment, "information", None)
    alone = rounds == 1 and information == "full" and not getattr(environment, "joint", False)
    if not alone or list(answering) != list(agents):
        raise SettingError(
            "learner.collective pays agents that each read a task and answer it alone: expected"
            f" env.rounds=1, env.information=full and agents that all answer; got rounds={rounds},"
            f" information={information} and {len(answering)} answers of {len(agents)} agents; take"
            " experiment=rlccf ~env.team.helper"
        )
    if environment.reward.when == "solved":
        raise SettingError(
            "env.reward.when=solved charges by the reference answer, and learner.collective has"
            " none; set env.reward.when=always"
        )
    if environment.reward.round_price:
        raise SettingError(
            "learner.collective pays answers of one round in place of the task, so a price of time"
            f" has no effect: expected 0, got env.reward.round_price="
            f"{environment.reward.round_price:g}; leave it out"
        )


def answer_entropy(answers: Iterable[str]) -> float:
    """Return the entropy of answers in bits: 0 if all are equal."""
    counts = Counter(answers)
    total = counts.total()
    return sum(count / total * math.log2(total / count) for count in counts.values())


def effective_voters(answers: Table) -> float:
    """Return K* of the agents: 1 if all answer alike, their number if no two agree in any play.

    The vector of an agent counts its answers.
    """
    names = sorted(set().union(*answers))
    counts = np.array([[list(row).count(name) for name in names] for row in answers], float)
    return channels(counts / np.linalg.norm(counts, axis=1, keepdims=True))


def channels(units: NDArray[np.float64]) -> float:
    """Return K* = 2^H of unit vectors (count, size), H the entropy of their Gram spectrum.

    K* is 1 if all are equal, and their number if no two have anything in common (effective
    channels, arXiv 2602.03794).
    """
    spectrum = np.linalg.eigvalsh(units @ units.T).clip(0.0)
    shares = spectrum[spectrum > 1e-12] / spectrum.sum()
    return float(2.0 ** -(shares * np.log2(shares)).sum())
