"""Measure what the closed forms of voting need, and predict teams from evaluations of one agent.

`laconic predict` is the program, and `extras.analysis.synergy` has the closed forms. Evaluations
are told apart by their settings: one answering agent, a relay, or a team (`Played.shape`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laconic.envs.checks import number
from laconic.envs.dialogue.roster import Roster
from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import flatten
from laconic.experiments.run_folder.foreign import read_config
from laconic.experiments.statistics.words import level
from laconic.extras.analysis.synergy import Vote, best_leaf, fit_power
from laconic.extras.interop.chat import recorded_episodes
from laconic.learners.commands import command
from laconic.learners.metrics import RESAMPLES, Interval, resample, wilson

Samples = NDArray[np.float64]
"""A figure and its bootstrap samples, (1 + resamples,); the figure comes first."""
_SAME = ("agent", "env.name", "env._target_", "env.source", "env.generator", "evaluation.greedy")
"""Beginnings of the keys that all evaluations share."""
_FREE = ("agent.sampling.max_reply_tokens",)
"""Keys below them that may differ."""
_ONE, _RELAY = "one answering agent", "a relay of two agents"


@dataclass(frozen=True, slots=True)
class Shape:
    """How the votes of a team are counted."""

    fan_in: int
    """Votes of a count."""
    depth: int
    """Counts between an agent's own vote and the answer."""
    passed: bool
    """True if votes are messages, False if the environment counts them."""


def shape_of(roster: Roster, rounds: int, information: str) -> Shape | None:
    """Return how the votes of a team are counted; None for one answering agent.

    With split information the other agents tell what they know, which is no vote.

    Raises:
        SettingError: the team is no regular tree in which each voter speaks once.
    """
    voters = roster.answering if information == "split" else roster.agents
    if len(voters) == 1:
        return None
    turns = {agent: [at for at in range(rounds) if roster.in_turn(agent, at)] for agent in voters}
    if any(len(rounds_of) != 1 for rounds_of in turns.values()):
        raise _irregular(f"turns in rounds {turns}")
    children = {
        agent: [
            other
            for other in voters
            if turns[other] < turns[agent]
            and other in roster.hearing[turns[other][0] % len(roster.hearing)][agent]
        ]
        for agent in voters
    }
    tier, counts = list(roster.answering), list[int]()
    if len(tier) > 1:
        if any(children[agent] for agent in tier):
            raise _irregular("answering agents that hear other voters first")
        return Shape(len(tier), 1, False)
    reached = list(tier)
    while any(children[agent] for agent in tier):
        counts += [len(children[agent]) for agent in tier]
        tier = [child for agent in tier for child in children[agent]]
        reached += tier
    if len({*counts}) > 1 or len(reached) > len({*reached}) or len(reached) < len(voters):
        raise _irregular(f"agents that hear {children}")
    return Shape(counts[0], _levels(counts[0], len(counts)), True) if counts else None


def _levels(fan_in: int, counts: int) -> int:
    """Return the levels of a regular tree with this number of agents above the leaves."""
    levels, agents = 0, 1
    while counts > 0:
        counts -= agents
        agents *= fan_in
        levels += 1
    return levels


def _irregular(received: str) -> SettingError:
    return SettingError(
        "expected a regular tree of votes, in which each agent speaks once and all that hear others"
        f" hear equally many; got {received}. Set env.rounds, env.schedule and env.topology as"
        " laconic.extras.analysis.voter.tree does"
    )


@dataclass(frozen=True)
class Played:
    """An evaluation, and what it is for."""

    folder: Path
    """Its folder."""
    settings: Mapping[str, Any]
    """Settings by dotted key."""
    role: str
    """Role that answers; the first one if all agents do."""
    others: tuple[tuple[str, int], ...]
    """Other roles, with their number of agents."""
    agents: int
    """Number of agents."""
    shape: Shape | None
    """Shape of the vote; None for one answering agent."""
    solved: Samples
    """Solved plays of each task, (tasks,)."""
    plays: Samples
    """Plays of each task, (tasks,)."""
    tokens_said: float
    """Mean tokens that all agents said in an episode."""
    tokens_read: float
    """Mean tokens that all agents read in an episode."""

    @property
    def split(self) -> bool:
        """Return whether the statements of a task were dealt among the agents."""
        return bool(self.settings["env.information"] == "split")

    @property
    def cap(self) -> int | None:
        """Return the cap on messages; None for no cap."""
        cap: int | None = self.settings.get("env.budget.message")
        return cap

    @property
    def is_relay(self) -> bool:
        """Return whether one agent tells another what it knows."""
        return self.shape is None and self.split and self.agents == 2

    @cached_property
    def weights(self) -> Samples:
        """Return the weight of each task in the evaluation and its resamples."""
        resamples = resample(RESAMPLES, len(self.plays), np.random.default_rng(0))
        return np.vstack([np.ones(len(self.plays)), resamples])

    @cached_property
    def bias(self) -> Samples:
        """Return 2 p - 1, for the accuracy p."""
        bias: Samples = 2 * (self.weights @ self.solved) / (self.weights @ self.plays) - 1
        return bias

    @cached_property
    def shared(self) -> Samples:
        """Return the correlation of success between two plays of a task, from 0 to 1.

        It is 0 where all or no plays succeed, and NaN without two plays of a task.
        """
        pairs = self.weights @ (self.plays * (self.plays - 1))
        both = self.weights @ (self.solved * (self.solved - 1))
        accuracy = (1 + self.bias) / 2
        variance = accuracy * (1 - accuracy)
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = np.where(variance > 0, both / pairs - accuracy**2, 0 * both / pairs)
            share: Samples = np.clip(excess / np.where(variance > 0, variance, 1.0), 0.0, 1.0)
        return share

    @property
    def accuracy(self) -> Interval:
        """Return the accuracy with its interval: Wilson's where each task was played once."""
        count = int(self.plays.sum())
        if (self.plays == 1).all():
            return Interval(float((1 + self.bias[0]) / 2), *wilson(self.solved.sum(), count), count)
        return interval((1 + self.bias) / 2, count)


def interval(samples: Samples, count: int = 0) -> Interval:
    """Return a figure with the middle 95 % of its samples; the ends are NaN without finite ones."""
    finite = samples[1:][np.isfinite(samples[1:])]
    low, high = np.percentile(finite, (2.5, 97.5)) if len(finite) else (math.nan, math.nan)
    return Interval(float(samples[0]), float(low), float(high), count)


def read(folder: Path) -> Played:
    """Read the folder of an evaluation, which may come from a stranger.

    Raises:
        SettingError: it is none, its environment is no dialogue, or its team no tree of votes.
    """
    episodes = [recorded.episode for recorded in recorded_episodes(folder)]
    settings = flatten(read_config(folder))
    env = read_config(folder).get("env") or {}
    if "information" not in env or any(episode.solved is None for episode in episodes):
        raise SettingError(
            f"{str(folder)!r}: expected an evaluation of a dialogue with solved and unsolved tasks,"
            f" such as gsm8k; got env.name={env.get('name')}"
        )
    team = env["team"]
    try:
        roster = Roster.of(team, env["topology"], env["schedule"], env["answer"], env["rounds"])
        shape = shape_of(roster, env["rounds"], env["information"])
    except (SettingError, KeyError, TypeError) as error:
        raise SettingError(f"{str(folder)!r}: {error}") from error
    role = env["answer"] if env["answer"] in team else next(iter(team))
    flags: dict[str, list[bool]] = {}
    for episode in episodes:
        flags.setdefault(episode.task, []).append(bool(episode.solved))
    return Played(
        folder,
        settings,
        role,
        tuple((other, count) for other, count in team.items() if other != role),
        len(roster.agents),
        shape,
        np.array([sum(of_task) for of_task in flags.values()], dtype=np.float64),
        np.array([len(of_task) for of_task in flags.values()], dtype=np.float64),
        float(np.mean([sum(episode.tokens_said.values()) for episode in episodes])),
        float(np.mean([sum(episode.tokens_read.values()) for episode in episodes])),
    )


def check_same(evaluations: Sequence[Played]) -> None:
    """Check that all evaluations have the same agents and tasks (`SettingError`)."""

    def compared(played: Played) -> dict[str, Any]:
        return {
            key: value
            for key, value in played.settings.items()
            if key not in _FREE and any(key == s or key.startswith(f"{s}.") for s in _SAME)
        }

    first = evaluations[0]
    for other in evaluations[1:]:
        mine, theirs = compared(first), compared(other)
        for key in sorted({*mine, *theirs}):
            if mine.get(key) != theirs.get(key):
                raise SettingError(
                    f"expected evaluations of one policy on one kind of tasks; {key} is"
                    f" {mine.get(key)!r} in {str(first.folder)!r} and {theirs.get(key)!r} in"
                    f" {str(other.folder)!r}. Name folders that agree"
                )


@dataclass(frozen=True, slots=True)
class Prediction:
    """Prediction for a team, beside its measured accuracy."""

    folder: str
    """Folder of the team."""
    fan_in: int
    """Votes of a count."""
    depth: int
    """Counts between an agent's own vote and the answer."""
    cap: int | None
    """Cap on messages in tokens; None for no cap."""
    voter: Interval
    """Accuracy of one agent at this cap."""
    shared: Interval
    """Probability ρ that all votes of a count are one and the same."""
    fidelity: Interval
    """Fidelity γ of a message; 1 where the environment counts the votes."""
    amplification: float
    """Factor α by which a count multiplies a small bias."""
    exponent: float
    """Exponent s of the tree."""
    beta: Interval | None
    """Exponent β of one agent; None without two caps at which it solves more than half."""
    leaf_tokens: float | None
    """Best cap of a leaf, if each also pays for what one agent reads; None if one agent is better,
    or without a positive β."""
    predicted: Interval
    """Predicted accuracy."""
    measured: Interval
    """Measured accuracy."""

    @property
    def inside(self) -> bool:
        """Return whether the prediction is inside the interval of the measured accuracy."""
        return self.measured.low <= self.predicted.mean <= self.measured.high

    @property
    def verdict(self) -> str:
        """Return in a sentence whether such teams pay."""
        tree = (
            f"counts of {self.fan_in} votes multiply a small bias by α = {self.amplification:.3f},"
            f" so that trees have the exponent s = {self.exponent:.3f}"
        )
        if self.beta is None:
            return (
                f"{tree}; the exponent of one agent is unknown, because fewer than two caps were"
                " played at which it solves more than half"
            )
        tree = f"{tree} and one agent has β = {level('beta', self.beta)}"
        if self.exponent < self.beta.low:
            return f"{tree}: one agent with the whole budget is predicted to do better"
        if not self.exponent > self.beta.high:
            return f"{tree}: which of the two is higher is open; evaluate more tasks"
        size = "" if self.leaf_tokens is None else f", best at a cap of {self.leaf_tokens:.0f}"
        return f"{tree}: votes are predicted to do better than one agent{size}"


def predict(evaluations: Sequence[Played], shared: float | None = None) -> list[Prediction]:
    """Predict the accuracy of each team from the evaluations of one agent.

    Args:
        evaluations: evaluations of one policy, those of teams among them.
        shared: probability ρ of a shared vote. None: measured.

    Raises:
        SettingError: an evaluation is missing, or there is no team.
    """
    number("shared", shared, lowest=0, highest=1, optional=True)
    check_same(evaluations)
    teams = [played for played in evaluations if played.shape is not None]
    if not teams:
        raise SettingError(
            "expected at least one team whose votes are counted; in all of these folders one agent"
            f" answers: {', '.join(str(played.folder) for played in evaluations)}. Evaluate one"
            f" with {command('evaluate', 'env.team={solver:3,helper:3}', 'env.topology=complete')}"
        )
    return [_predict(team, evaluations, shared) for team in teams]


def _predict(team: Played, evaluations: Sequence[Played], shared: float | None) -> Prediction:
    assert team.shape is not None
    curve = voters_alone(team, evaluations)
    voter = _at_cap(team, curve, _ONE)
    rho = voter.shared if shared is None else np.full_like(voter.bias, shared)
    if math.isnan(rho[0]):
        raise SettingError(
            f"expected several plays of each task, for the correlation of errors;"
            f" {str(voter.folder)!r} has one. Set evaluation.samples=4 and evaluation.greedy=false,"
            " or pass shared=<number from 0 to 1>"
        )
    gamma = fidelity(team, evaluations) if team.shape.passed else np.ones_like(voter.bias)
    samples = [
        (1 + Vote(team.shape.fan_in, *pair).by_depth(bias, team.shape.depth)[-1]) / 2
        if not math.isnan(sum(pair))
        else math.nan
        for bias, *pair in zip(voter.bias.tolist(), gamma.tolist(), rho.tolist(), strict=True)
    ]
    vote = Vote(team.shape.fan_in, float(gamma[0]), float(rho[0]))
    beta = exponent(curve)
    leaf, count = math.inf, voter.accuracy.count
    if beta is not None and beta.mean > 0:
        leaf = best_leaf(vote.exponent, beta.mean, voter.tokens_read)
    return Prediction(
        str(team.folder),
        team.shape.fan_in,
        team.shape.depth,
        team.cap,
        voter.accuracy,
        interval(rho, count),
        interval(gamma, count),
        vote.amplification,
        vote.exponent,
        beta,
        leaf if math.isfinite(leaf) else None,
        interval(np.array(samples), count),
        team.accuracy,
    )


def voters_alone(team: Played, evaluations: Sequence[Played]) -> list[Played]:
    """Return the evaluations in which one agent answers that is like each voter of a team."""
    return [
        played
        for played in evaluations
        if played.shape is None
        and played.split == team.split
        and (played.others == team.others if team.split else played.agents == 1)
    ]


def fidelity(team: Played, evaluations: Sequence[Played]) -> Samples:
    """Return the fidelity γ of messages at the cap of a team, from 0 to 1.

    Raises:
        SettingError: there is no relay at this cap, or an agent that reads the whole task does not
            solve more than half.
    """
    relay = _at_cap(team, [played for played in evaluations if played.is_relay], _RELAY)
    direct = _at_cap(team, voters_alone(team, evaluations), _ONE)
    if direct.bias[0] <= 0:
        raise SettingError(
            "expected one agent that solves more than half of the tasks, for the fidelity of a"
            f" message; {str(direct.folder)!r} has {level('accuracy', direct.accuracy)}. Raise"
            " env.budget.message, or take easier tasks"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(direct.bias > 0, relay.bias / direct.bias, np.nan)
    return np.clip(ratio, 0.0, 1.0)


def _at_cap(team: Played, candidates: Sequence[Played], what: str) -> Played:
    """Return the first candidate with the cap of a team."""
    match = next((played for played in candidates if played.cap == team.cap), None)
    if match is not None:
        return match
    relay = what == _RELAY
    others = (("helper", 1),) if relay else team.others if team.split else ()
    agents = ",".join(f"{role}:{count}" for role, count in ((team.role, 1), *others))
    alone = {} if others else {"env.rounds": 1, "env.schedule": "all"}
    # Hydra merges mappings, so roles that are not needed have to be removed.
    removed = [f"~env.team.{role}" for role, _ in team.others if role not in dict(others)]
    advice = command(
        "evaluate",
        f"env.team={{{agents}}}",
        *removed,
        **{"env.information": "split" if others else "full", "env.budget.message": team.cap},
        **alone,
        **{"evaluation.samples": 4, "evaluation.greedy": False},
    )
    raise SettingError(
        f"{str(team.folder)!r} has env.budget.message={team.cap}; expected an evaluation of {what}"
        f" at this cap too, and got none. Add the folder of {advice}, with its other settings"
    )


def exponent(curve: Sequence[Played]) -> Interval | None:
    """Fit β to the bias of one agent at its caps on messages; None without two different ones."""
    capped = {played.cap: played for played in curve if played.cap}
    fits = [
        fit_power([*capped], [played.bias[place] for played in capped.values()])
        for place in range(1 + RESAMPLES if capped else 0)
    ]
    if not fits or fits[0] is None:
        return None
    count = sum(played.accuracy.count for played in capped.values())
    return interval(np.array([math.nan if fit is None else fit[1] for fit in fits]), count)
