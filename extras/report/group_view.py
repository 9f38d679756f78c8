"""Show one training group side by side: returns, bills and advantages, and its tokens by color.

The group is a row of `groups.jsonl`, which may come from a stranger: values of another type are
left out. A token has four colorings:

    log-probability  its natural logarithm at sampling
    ratio            its probability after the update by that at sampling
    advantage        that of its sequence, by the largest of the group
    mask             whether the update learned from it

`classes` names the color of a token. The page (`report.css`) and `laconic watch` give it a color.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.foreign import without_controls
from laconic.experiments.run_folder.group_log import nearest
from laconic.experiments.run_folder.runs import read_record

COLORINGS: Mapping[str, str] = {
    "logprob": "log-probability",
    "ratio": "ratio",
    "advantage": "advantage",
    "mask": "mask",
}
"""Coloring -> its name on the page."""
LEGENDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "logprob": (
        ("l0", "above −0.1"),
        ("l1", "above −0.5"),
        ("l2", "above −1.5"),
        ("l3", "above −3"),
        ("l4", "below"),
    ),
    "ratio": (
        ("r0", "× 0.74 or less"),
        ("r1", "× 0.9"),
        ("r2", "× 0.98"),
        ("r3", "about 1"),
        ("r4", "× 1.02"),
        ("r5", "× 1.1"),
        ("r6", "× 1.35 or more"),
    ),
    "advantage": (
        ("a0", "lowest"),
        ("a1", ""),
        ("a2", ""),
        ("a3", "none"),
        ("a4", ""),
        ("a5", ""),
        ("a6", "highest"),
    ),
    "mask": (("m1", "learned from"), ("m0", "left out")),
}
"""Coloring -> class of each color and its meaning."""
_SURPRISE = (0.1, 0.5, 1.5, 3.0)
"""Bounds of -log p between the colors of a log-probability."""
_LOG_RATIO = (-0.3, -0.1, -0.02, 0.02, 0.1, 0.3)
"""Bounds of the log-ratio between the colors of a ratio."""
_PART = (-2 / 3, -1 / 3, -1e-6, 1e-6, 1 / 3, 2 / 3)
"""Bounds of an advantage, as a part of the group's largest, between its colors."""
MOST_TOKENS, MOST_EPISODES = 6000, 16
"""Maximum numbers of tokens and episodes that are shown."""


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """One turn of a logged episode, with the keys of `groups.jsonl`."""

    agent: str
    """Name of the agent."""
    round: int
    """Round, from 0."""
    message: str
    """Published message; empty for silence."""
    truncated: bool
    """True if a limit ended the reply early."""
    cut: bool
    """True if the message was over budget."""
    informed: bool | None
    """True if the agent held something useful; None if unknown."""
    learned: bool | None
    """True if the update learned from the reply; None if unknown."""
    texts: tuple[str, ...]
    """(tokens,) text of each reply token; empty if not recorded."""
    logprobs: tuple[float, ...]
    """(tokens,) natural log-probabilities at sampling."""
    logprobs_after: tuple[float, ...]
    """(tokens,) the same after the update; empty if not recorded."""


@dataclass(frozen=True, slots=True)
class LoggedSequence:
    """What one importance ratio covers: return and advantage; reward units."""

    agent: str
    """Name of the agent."""
    episode: int
    """Index of the episode in its group."""
    round: int | None
    """Round of the reply; None if the sequence covers the whole episode."""
    task: float | None
    """Task part T of the return."""
    cost: float | None
    """Bill C of the words."""
    factor: float | None
    """Charge factor w."""
    value: float | None
    """Return X = T - w C."""
    advantage: float | None
    """Advantage A."""


@dataclass(frozen=True, slots=True)
class LoggedEpisode:
    """One episode of a logged group."""

    solved: bool | None
    """True if the task was solved; None if unknown."""
    score: float | None
    """Task reward before any charge."""
    answer: str
    """Graded answer."""


@dataclass(frozen=True, slots=True)
class Token:
    """One reply token with its figures."""

    text: str
    """Text of the token."""
    words: str
    """Figures of the token in words."""
    classes: Mapping[str, str]
    """Coloring -> class of its color; without those that are unknown."""


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn as it is shown."""

    turn: LoggedTurn
    """The recorded turn."""
    tokens: tuple[Token, ...]
    """Its tokens; empty if they were not recorded."""
    left_out: int
    """Number of its tokens that are not shown."""


@dataclass(frozen=True, slots=True)
class ShownEpisode:
    """One episode as it is shown."""

    episode: LoggedEpisode
    """The recorded episode."""
    sequences: tuple[LoggedSequence, ...]
    """Its sequences."""
    turns: tuple[ShownTurn, ...]
    """Its turns."""


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """One group as it is shown."""

    step: int
    """Update that learned from the group."""
    task: str
    """Key of the task."""
    episodes: tuple[ShownEpisode, ...]
    """Its episodes."""
    left_out: int
    """Number of its episodes that are not shown."""

    @property
    def has_tokens(self) -> bool:
        """True if tokens were recorded."""
        return any(turn.tokens for episode in self.episodes for turn in episode.turns)


def group_of(folder: Path, step: int | None = None) -> ShownGroup | None:
    """Return the logged group of a run with the nearest step; None if there is none to show.

    Without `step` it is the last group.
    """
    try:
        row = nearest(folder / "groups.jsonl", step)
    except SettingError:
        return None
    return None if row is None else show(without_controls(row))


def show(row: Mapping[str, Any]) -> ShownGroup:
    """Read a row of `groups.jsonl`; values of another type than expected are left out."""
    sequences = [read_record(LoggedSequence, each) for each in _objects(row.get("sequences"))]
    highest = max((abs(each.advantage or 0.0) for each in sequences), default=0.0)
    episodes, rest = [], MOST_TOKENS
    recorded = _objects(row.get("episodes"))
    for index, episode in enumerate(recorded[:MOST_EPISODES]):
        own = tuple(each for each in sequences if each.episode == index)
        turns = []
        for turn in (read_record(LoggedTurn, each) for each in _objects(episode.get("turns"))):
            tokens = tuple(_tokens(turn, _advantage(turn, own), highest, rest))
            turns.append(ShownTurn(turn, tokens, len(turn.texts) - len(tokens)))
            rest -= len(tokens)
        episodes.append(ShownEpisode(read_record(LoggedEpisode, episode), own, tuple(turns)))
    return ShownGroup(
        int(row["step"]),
        str(row.get("task") or ""),
        tuple(episodes),
        len(recorded) - len(episodes),
    )


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _advantage(turn: LoggedTurn, sequences: tuple[LoggedSequence, ...]) -> float | None:
    """Return the advantage of the sequence that a turn belongs to."""
    for each in sequences:
        if each.agent == turn.agent and each.round in (None, turn.round):
            return each.advantage
    return None


def _tokens(
    turn: LoggedTurn, advantage: float | None, highest: float, most: int
) -> Iterator[Token]:
    for place, text in enumerate(turn.texts[:most]):
        before, after = _at(turn.logprobs, place), _at(turn.logprobs_after, place)
        log_ratio = None if before is None or after is None else after - before
        classes, words = {}, []
        if before is not None:
            classes["logprob"] = f"l{bisect_right(_SURPRISE, -before)}"
            words.append(f"log p {before:.2f}")
        if log_ratio is not None:
            classes["ratio"] = f"r{bisect_right(_LOG_RATIO, log_ratio)}"
            words.append(f"ratio {math.exp(max(min(log_ratio, 20.0), -20.0)):.3f}")
        if advantage is not None:
            part = advantage / highest if highest > 0 else 0.0
            classes["advantage"] = f"a{bisect_right(_PART, part)}"
            words.append(f"A {advantage:+.3f}")
        if turn.learned is not None:
            classes["mask"] = f"m{int(turn.learned)}"
            words.append("learned from" if turn.learned else "left out")
        yield Token(text, ", ".join(words), classes)


def _at(values: tuple[float, ...], place: int) -> float | None:
    """Return a number of a list; None if it is missing or not finite."""
    value = values[place] if place < len(values) else math.nan
    return value if math.isfinite(value) else None
