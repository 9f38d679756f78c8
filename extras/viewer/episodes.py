"""What the viewer shows of a run folder: its episodes, the price they were played at, filters."""

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
from laconic.experiments.reporting.records import Said, Transcript
from laconic.experiments.reporting.runs import read_transcript
from laconic.experiments.running.foreign import read_status, without_controls
from laconic.experiments.running.rules import silence_to_watch
from laconic.learners.untrusted_files import open_regular, parse_json, read_yaml

Solved = Literal["", "solved", "unsolved"]
_PRICING = ("price", "normalizer", "charge", "thought_weight")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which episodes are shown."""

    solved: Solved = ""
    """Those that were solved, those that were not, or all."""
    silent: bool = False
    """Those in which somebody kept silent."""
    collapsed: bool = False
    """Those that failed in silence, see `collapsed`."""
    step: int | None = None
    """Those of one evaluation; None for all."""
    words: str = ""
    """Those that hold these words, in any case of letters."""

    def admits(self, one: Transcript) -> bool:
        """Whether an episode is shown."""
        return (
            (not self.solved or one.solved is (self.solved == "solved"))
            and (not self.silent or any(not said.text for said in one.messages))
            and (not self.collapsed or collapsed(one))
            and self.step in (None, one.step)
            and self.words.casefold() in _text(one).casefold()
        )

    def __str__(self) -> str:
        """In words; empty where all are shown."""
        step = "" if self.step is None else f"step {self.step}"
        quiet = ["silent"] * self.silent + ["collapsed"] * self.collapsed
        words = f"{self.words!r}" if self.words else ""
        return ", ".join(filter(None, [self.solved, *quiet, step, words]))


def collapsed(one: Transcript) -> bool:
    """Return whether an episode failed because no agent spoke that should have.

    `rules.Collapse` watches for this sign: the task is not solved, and all agents that held
    something useful kept silent. Where it is not known who did, all turns were silent.
    """
    informed = [bool(said.text) for said in one.messages if said.informed]
    turns = [not said.text for said in one.messages]
    rates = {"silence_rate": sum(turns) / len(turns) if turns else 0.0}
    rates |= {"spoke_if_informed": sum(informed) / len(informed)} if informed else {}
    return one.solved is False and silence_to_watch(rates) == 1


class Episodes:
    """The transcripts of a run folder, read again as they come."""

    def __init__(self, folder: Path) -> None:
        """Look into a folder; the run may not have begun to write."""
        self.folder = folder
        self.all: list[Transcript] = []
        """Every episode, as written."""
        self._transcripts = Tail(folder / "transcripts.jsonl")
        self._metrics = Tail(folder / "metrics.jsonl")
        self._prices: dict[int, float] = {}
        self._reward: Mapping[str, Any] | None = None
        self.last_step = 0
        """The last training step with figures."""

    def refresh(self) -> bool:
        """Read what came since; whether what was read before is void."""
        rows, anew = self._metrics.read()
        self._prices = {} if anew else self._prices
        self.last_step = 0 if anew else self.last_step
        for row in rows:
            step = row.get("step")
            if isinstance(step, int):
                self.last_step = max(self.last_step, step)
                if isinstance(price := row.get("train/price"), int | float):
                    self._prices[step] = float(price)
        rows, anew = self._transcripts.read()
        read = (read_transcript(without_controls(row)) for row in rows)
        self.all = [*([] if anew else self.all), *(one for one in read if one is not None)]
        return anew

    @property
    def steps(self) -> list[int]:
        """The steps that have episodes, rising."""
        return sorted({one.step for one in self.all})

    @property
    def state(self) -> str:
        """What the run says of itself: `running`, `finished`, and so on; empty if nothing."""
        try:
            return str(read_status(self.folder).get("state") or "")
        except (OSError, ValueError):
            return ""

    def reward(self, step: int) -> Reward | None:
        """The price of a token at a step, and whom it charges; None where it cannot be told."""
        settings = self._settings()
        steps = sorted(self._prices)
        place = bisect_right(steps, step)
        if steps:
            settings = {**settings, "price": self._prices[steps[max(place - 1, 0)]]}
        known = {key: settings[key] for key in _PRICING if key in settings}
        try:
            return Reward(**known) if "price" in known else None
        except ValueError:
            return None

    def _settings(self) -> Mapping[str, Any]:
        """The settings of the reward as the run began with them; empty where nothing tells."""
        if self._reward is None:
            try:
                found = read_yaml(self.folder / "config.yaml")["env"]["reward"]
            except (SettingError, LookupError, TypeError):
                return {}
            self._reward = dict(found) if isinstance(found, Mapping) else {}
        return self._reward


def cost(said: Said, reward: Reward) -> float:
    """What a message takes from the reward of whom it charges, an answer's exemption aside."""
    tokens = said.tokens + reward.thought_weight * said.tokens_thought
    return reward.price * tokens / reward.normalizer


def verdict(one: Transcript) -> str:
    """Whether an episode was solved, as one sign."""
    return {True: "✓", False: "✗", None: "?"}[one.solved]


def score(one: Transcript) -> str:
    """The score of an episode in two places; empty where it is not known."""
    known = one.score is not None and math.isfinite(one.score)
    return f"{one.score:.2f}" if known else ""


def _text(one: Transcript) -> str:
    parts = (one.task, one.question, *one.statements, *(said.text for said in one.messages))
    return "\n".join(parts)


class Tail:
    """The rows of a file that were not read yet."""

    def __init__(self, path: Path) -> None:
        """Begin before the first row; the file need not exist yet."""
        self._path = path
        self._inode = -1
        self._offset = 0

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """The rows that came since the last call, and whether they are all there are.

        The second is true where the file was replaced or cut: what was read before is void. Lines
        that are no JSON object are left out. A file that cannot be opened has no rows.
        """
        try:
            with open_regular(self._path) as file:
                inode, size = _identity(file.fileno())
                anew = inode != self._inode or size < self._offset
                self._inode, start = inode, 0 if anew else self._offset
                file.seek(start)
                # A line that has no end yet is read next time.
                whole = file.read().rpartition(b"\n")[0]
        except OSError:
            return [], False
        self._offset = start + len(whole) + 1 if whole else start
        return [row for line in whole.split(b"\n") if (row := _row(line)) is not None], anew


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_ino, found.st_size


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = parse_json(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
