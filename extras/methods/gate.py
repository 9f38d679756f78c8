"""A gate: a small policy that decides in each turn whether a large one is asked to speak.

The gate reads the conversation of the agent. Where it says silent, the agent is silent: the turn
costs nothing, and the large policy is not called. A scripted gate knows who is `informed`. A gate
of weights is silent where its own reply would be. These are its settings, decisions and metrics;
`extras.methods.gated_team` has the teams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np

from laconic.envs.checks import Share, Trust, check_fields
from laconic.envs.declarations import Metric
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.episode import Episode, Turn
from laconic.learners.interfaces import Reply
from laconic.learners.metrics import Column, FeatureMetrics

NAME = "gate"
"""Name of the data in `Turn.extra`, and of the entry point of `METRICS`."""
_MOST_TOKENS = 2**53
"""Whole numbers from here on are not exact as floating-point ones."""
INFORMED = "informed"
"""Name of the scripted gate."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Settings of `agent.gate`."""

    policy: Annotated[Any, Trust((INFORMED,))] = INFORMED
    """`informed`, the script, or an agent as in conf/agent whose weights all agents share."""
    threshold: Share = 0.5
    """Probability of speaking from which a gate of weights speaks in greedy play, 0 to 1. In
    sampled play it draws."""
    speak_informed: Share = 1.0
    """Probability that the script speaks for an agent with something useful and untold. An agent
    for which this is unknown, such as one that answers, always speaks."""
    speak_uninformed: Share = 0.0
    """Probability that the script speaks for an agent without."""

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            UnknownNameError: there is no script of this name.
            SettingError: a number is out of its range, or `policy` is no language model that all
                agents share.
        """
        if isinstance(self.policy, str):
            if self.policy != INFORMED:
                raise UnknownNameError("agent.gate.policy", self.policy, (INFORMED,))
        else:
            check_partner("agent.gate.policy", self.policy)
        check_fields(self, "agent.gate")


def check_partner(key: str, team: Any) -> None:
    """Check that a setting holds a language model whose weights all agents share.

    Raises:
        SettingError: it does not.
    """
    sharing = getattr(team, "sharing", None)
    if sharing != "shared":
        received = repr(team) if sharing is None else f"{key}.sharing={sharing}"
        raise SettingError(
            f"{key} must be a language model of conf/agent with {key}.sharing=shared, as"
            f" '+agent@{key}=tiny' sets it; got {received}"
        )


@dataclass(frozen=True, slots=True)
class GateCall:
    """Decision of a gate in one turn, with the tokens that it took."""

    speaks: bool
    """True if the gate let the policy behind it speak."""
    gate_tokens: int = 0
    """Tokens that the gate read and wrote; 0 for a script."""
    tokens: int = 0
    """Tokens that the policy behind it read and wrote; 0 if it was not called."""

    def as_extra(self) -> dict[str, Any]:
        """Return it as a reply and its turn have it (`Reply.extra`)."""
        return {NAME: asdict(self)}


def gate_call(record: Reply | Turn) -> GateCall | None:
    """Return what a gate decided in a turn; None if the agent has none.

    Raises:
        SettingError: a journal of a stranger, or a damaged one, says something else.
    """
    found: Any = record.extra.get(NAME)
    if found is None:
        return None
    numbers = ("gate_tokens", "tokens")

    def fits(name: str, value: Any) -> bool:
        if name == "speaks":
            return isinstance(value, bool)
        return name in numbers and type(value) is int and 0 <= value < _MOST_TOKENS

    whole = isinstance(found, dict) and "speaks" in found
    if not whole or not all(map(fits, found.keys(), found.values())):
        raise SettingError(
            f"a turn with the decision of a gate: expected {NAME} with speaks (true or false) and"
            f" gate_tokens and tokens (whole numbers); got {str(found)[:100]}. The journal is"
            " damaged, or not one of this program"
        )
    return GateCall(**found)


def columns(episodes: Sequence[Episode]) -> list[Column]:
    """Compute sums and counts of `METRICS`, those with data."""
    turns = [
        [(turn, call) for turn in each.turns if (call := gate_call(turn))] for each in episodes
    ]
    known = [[pair for pair in own if pair[0].informed is not None] for own in turns]
    informed = np.array([sum(turn.informed is True for turn, _ in own) for own in known], float)
    passed = np.array([sum(gate.speaks for _, gate in own) for own in known], float)
    both = np.array(
        [sum(gate.speaks and turn.informed is True for turn, gate in own) for own in known], float
    )
    ledger = np.array(
        [
            np.sum([(1, gate.gate_tokens, gate.speaks, gate.tokens) for _, gate in own], axis=0)
            if own
            else np.zeros(4)
            for own in turns
        ],
        float,
    )
    rates = ((both, passed), (both, informed), (2 * both, passed + informed))
    per_episode = [(sums, np.ones(len(episodes))) for sums in ledger.T]
    named = zip(METRICS.metrics, (*rates, *per_episode), strict=True)
    return [(name, sums, counts) for name, (sums, counts) in named if counts.sum()]


METRICS = FeatureMetrics(
    {
        "gate_precision": Metric(
            "Share of the turns that a gate let through in which the agent was informed.", True
        ),
        "gate_recall": Metric(
            "Share of the turns of informed agents that a gate let through.", True
        ),
        "gate_f1": Metric("Harmonic mean of precision and recall.", high=1.0),
        "gate_calls": Metric("Decisions of a gate in an episode."),
        "gate_tokens": Metric("Tokens that a gate read and wrote in an episode; 0 for a script."),
        "gated_calls": Metric("Replies of the policies behind a gate in an episode."),
        "gated_tokens": Metric("Tokens that these policies read and wrote in an episode."),
    },
    columns,
)
"""Further metrics where a gate decides who speaks. The first three leave out turns in which it is
unknown whether the agent was informed."""
