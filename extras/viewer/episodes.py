"""Read the episodes of a run folder, their prices, and filter them."""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.foreign import read_status, without_controls
from laconic.experiments.run_folder.records import Transcript, TurnRecord
from laconic.experiments.run_folder.runs import read_transcript
from laconic.experiments.session.rule_kinds import silence_to_watch
from laconic.learners.untrusted_files import open_regular, parse_json, read_yaml

Solved = Literal["", "solved", "unsolved"]
_PRICING = ("price", "normalizer", "charge", "thought_weight")


@dataclass(frozen=True, slots=True)
class Filter:
    """Filter of episodes."""

    solved: Solved = ""
    """Outcome: solved episodes, unsolved ones, or all."""
    silent: bool = False
    """Only episodes with a silent turn."""
    collapsed: bool = False
    """Only episodes that failed in silence, see `collapsed`."""
    step: int | None = None
    """Training step of the evaluation; None for all."""
    words: str = ""
    """Words that the episode contains, in any letter case."""

    def admits(self, episode: Transcript) -> bool:
        """Return whether an episode is shown."""
        return (
            (not self.solved or episode.solved is (self.solved == "solved"))
            and (not self.silent or any(not turn.text for turn in episode.messages))
            and (not self.collapsed or collapsed(episode))
            and self.step in (None, episode.step)
            and self.words.casefold() in _text(episode).casefold()
        )

    def __str__(self) -> str:
        """Return the filter in words; empty if all episodes are shown."""
        step = "" if self.step is None else f"step {self.step}"
        quiet = ["silent"] * self.silent + ["collapsed"] * self.collapsed
        words = f"{self.words!r}" if self.words else ""
        return ", ".join(filter(None, [self.solved, *quiet, step, words]))


def collapsed(episode: Transcript) -> bool:
    """Return whether an episode failed because no agent spoke that should have.

    `rule_kinds.Collapse` watches for this sign: the task is not solved, and all agents that held
    something useful kept silent. Where it is not known who did, all turns were silent.
    """
    informed = [bool(turn.text) for turn in episode.messages if turn.informed]
    turns = [not turn.text for turn in episode.messages]
    rates = {"silence_rate": sum(turns) / len(turns) if turns else 0.0}
    rates |= {"spoke_if_informed": sum(informed) / len(informed)} if informed else {}
    return episode.solved is False and silence_to_watch(rates) == 1


class Episodes:
    """Transcripts of a run folder, read as they are written."""

    def __init__(self, folder: Path) -> None:
        """Open a folder; the run need not have started."""
        self.folder = folder
        self.all: list[Transcript] = []
        """Episodes in the order of the file."""
        self._transcripts = Tail(folder / "transcripts.jsonl")
        self._metrics = Tail(folder / "metrics.jsonl")
        self._prices: dict[int, float] = {}
        self._reward: Mapping[str, Any] | None = None
        self.last_step = 0
        """Last training step with metrics."""

    def refresh(self) -> bool:
        """Read new rows; return whether the file was replaced, so earlier episodes are void."""
        rows, replaced = self._metrics.read()
        self._prices = {} if replaced else self._prices
        self.last_step = 0 if replaced else self.last_step
        for row in rows:
            step = row.get("step")
            if isinstance(step, int):
                self.last_step = max(self.last_step, step)
                if isinstance(price := row.get("train/price"), int | float):
                    self._prices[step] = float(price)
        rows, replaced = self._transcripts.read()
        new = (read_transcript(without_controls(row)) for row in rows)
        self.all = [
            *([] if replaced else self.all),
            *(episode for episode in new if episode is not None),
        ]
        return replaced

    @property
    def steps(self) -> list[int]:
        """Steps with episodes, rising."""
        return sorted({transcript.step for transcript in self.all})

    @property
    def state(self) -> str:
        """State of the run as its status says (`running`, `finished`); empty if unknown."""
        try:
            return str(read_status(self.folder).get("state") or "")
        except (OSError, ValueError):
            return ""

    def reward(self, step: int) -> Reward | None:
        """Return the priced reward at a step; None if the price is unknown."""
        settings = self._settings()
        steps = sorted(self._prices)
        place = bisect_right(steps, step)
        if steps:
            settings = {**settings, "price": self._prices[steps[max(place - 1, 0)]]}
        pricing = {key: settings[key] for key in _PRICING if key in settings}
        try:
            return Reward(**pricing) if "price" in pricing else None
        except ValueError:
            return None

    def _settings(self) -> Mapping[str, Any]:
        """Return the configured settings of the reward; empty if unknown."""
        if self._reward is None:
            try:
                settings = read_yaml(self.folder / "config.yaml")["env"]["reward"]
            except (SettingError, LookupError, TypeError):
                return {}
            self._reward = dict(settings) if isinstance(settings, Mapping) else {}
        return self._reward


def cost(turn: TurnRecord, reward: Reward) -> float:
    """Return the cost of a message in reward units, without the exemption of answers."""
    tokens = turn.tokens + reward.thought_weight * turn.tokens_thought
    return reward.price * tokens / reward.normalizer


def verdict(episode: Transcript) -> str:
    """Return a sign for whether an episode was solved."""
    return {True: "✓", False: "✗", None: "?"}[episode.solved]


def score(episode: Transcript) -> str:
    """Return the score of an episode with two decimals; empty if unknown."""
    is_known = episode.score is not None and math.isfinite(episode.score)
    return f"{episode.score:.2f}" if is_known else ""


def _text(episode: Transcript) -> str:
    parts = (
        episode.task,
        episode.question,
        *episode.statements,
        *(turn.text for turn in episode.messages),
    )
    return "\n".join(parts)


class Tail:
    """Reader of a JSON Lines file that another process is writing.

    Each row is read once. A line without its end is read later. A resumed run replaces the file by
    a shorter one; then everything is read again.
    """

    def __init__(self, path: Path) -> None:
        """Start before the first row; the file need not exist yet."""
        self._path = path
        self._inode = -1
        self._offset = 0

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """Return the new rows, and whether the file was replaced or cut since the last call.

        Lines that are not JSON objects are left out. A file that cannot be opened has no rows.
        """
        try:
            with open_regular(self._path) as file:
                inode, size = _identity(file.fileno())
                replaced = inode != self._inode or size < self._offset
                self._inode, start = inode, 0 if replaced else self._offset
                file.seek(start)
                # A line without its end is read next time.
                whole = file.read().rpartition(b"\n")[0]
        except OSError:
            return [], False
        self._offset = start + len(whole) + 1 if whole else start
        return [row for line in whole.split(b"\n") if (row := _row(line)) is not None], replaced


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_ino, status.st_size


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = parse_json(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
