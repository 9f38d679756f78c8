"""Exchange of groups between the runs of a swarm through a folder.

    <folder>/<name of the run>/<group>.json

A file holds one group: the task as plain data, the seed of the reset, and for each episode the text
that every agent wrote in every round. Weights, token ids and rewards are not shared; a reader
scores and tokenizes by itself. Each message has its log-probability under its author, for readers
that correct for it. A file is written aside and renamed, so a reader finds all of it or nothing.
Each run writes to its own part of the folder and reads the parts of the others.

Records become plain data field by field, and the types of the fields decide how they are read. A
value of another type is refused.

Source: the messages of a SAPO node (arXiv 2509.08721).
"""

from __future__ import annotations

import json
import math
import os
import re
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.learners import untrusted_files
from laconic.learners.episode import Episode, Group

FORM = "laconic-swarm-1"
"""Name of the file format."""
MAX_BYTES = 16 * 2**20
"""Largest size of a file in bytes."""
MAX_EPISODES, MAX_MESSAGES = 256, 65_536
"""Largest numbers of episodes and of messages in a group."""
_ROUNDING = 1e-3
"""Tolerance for the log-probability of a reply above 0, by rounding."""
_HUGE = 2**63
"""Size from which a whole number is refused: arrays have no room for it, and floats not always."""
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class SharedMessage:
    """Message of one agent in one round."""

    agent: str
    """Author of the message."""
    round: int
    """Round of the episode, from 0."""
    text: str
    """Text as written, before any budget; empty for silence."""
    logprob: float | None = None
    """Natural log-probability of the whole reply under its author. None without tokens, or with a
    thought, which is not shared."""

    def __post_init__(self) -> None:
        """Refuse a log-probability that is not finite."""
        if self.logprob is not None and not math.isfinite(self.logprob):
            raise ValueError(f"expected a finite log-probability, got {self.logprob!r}")


SharedEpisode = tuple[SharedMessage, ...]
"""Messages of an episode, by round and agent."""


@dataclass(frozen=True, slots=True)
class SharedGroup:
    """Group of episodes as stored in the folder."""

    benchmark: str
    """Name of the benchmark that grades the task."""
    task: Task
    """Task of the group."""
    seed: int
    """Seed of the environment's reset."""
    agents: tuple[str, ...]
    """Agents of the team."""
    episodes: tuple[SharedEpisode, ...]
    """Episodes of the task, at least two."""
    has_details: bool = True
    """True if the details of the task are shared; False if they are not plain data."""

    def __post_init__(self) -> None:
        """Refuse groups that no run can have played."""
        if len(self.episodes) < 2:
            raise ValueError(f"expected at least two episodes, got {len(self.episodes)}")
        if self.seed < 0:
            raise ValueError(f"expected a seed of at least 0, got {self.seed}")


class DamagedError(ValueError):
    """Error for a file of the folder that is not, or not yet, a shared group."""


class Exchange:
    """View of the folder by one run."""

    def __init__(self, folder: str | Path, name: str) -> None:
        """Check the name; the first file creates the folder.

        Args:
            folder: folder of the swarm, possibly shared by several machines.
            name: name of this run, unique in the swarm.

        Raises:
            SettingError: the name is not a plain file name.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise SettingError(
                "learner.collect.name must be letters, digits, '.', '_' and '-', because a folder"
                f" is named after the run; got {name!r}"
            )
        self.folder = Path(folder)
        self.name = name
        self._damaged: dict[str, untrusted_files.Mark] = {}

    def publish(self, shared: SharedGroup, name: str) -> bool:
        """Write a group, or replace the one of that name.

        Returns:
            True if it was written; groups that are too large for readers are not.

        Raises:
            SettingError: the folder cannot be written to.
        """
        plain = to_plain(shared)
        data = (json.dumps({"form": FORM, **plain}) + "\n").encode()
        if len(data) > MAX_BYTES or _is_large(plain):
            return False
        try:
            (self.folder / self.name).mkdir(parents=True, exist_ok=True)
            with untrusted_files.opened_folder(self.folder, self.name) as own:
                untrusted_files.write(own, f"{name}.json", data)
        except OSError as error:
            raise SettingError(
                f"learner.collect.folder {str(self.folder)!r} cannot be written to:"
                f" {error.strerror}; pass another folder"
            ) from error
        return True

    def offered(self, newest: int) -> list[str]:
        """Return the names of the groups of other runs, oldest first.

        Args:
            newest: number of newest files to consider, of all other runs together.

        Returns:
            Names for `read`, `<name of the run>/<file>`; empty without a folder.
        """
        parts = (entry for entry in _entries(self.folder) if entry.is_dir(follow_symlinks=False))
        files = []
        for part in parts:
            for file in _entries(part.path) if part.name != self.name else ():
                # Another process may remove files meanwhile.
                with suppress(OSError):
                    if file.name.endswith(".json") and not file.name.startswith("."):
                        age = file.stat(follow_symlinks=False).st_mtime_ns
                        files.append((age, f"{part.name}/{file.name}"))
        return [name for _, name in sorted(files)[-newest:]]

    def read(self, name: str) -> SharedGroup:
        """Read a group; the key of its task is prefixed with the name of its run.

        A damaged file is read again only after it has changed.

        Raises:
            DamagedError: the file is missing, incomplete, of another format, not a regular file, or
                too large.
        """
        author, _, file = name.partition("/")
        mark = None
        try:
            with untrusted_files.opened_folder(self.folder, author) as part:
                mark = untrusted_files.mark(part, file)
                if self._damaged.get(name) == mark:
                    raise ValueError("has not changed since it was found damaged")
                data = untrusted_files.read(part, file, MAX_BYTES)
            plain = json.loads(data.decode("utf-8"), parse_float=_finite, parse_constant=_finite)
            shared = _group_from(plain)
            _refuse_excess(author, shared)
        except Exception as error:  # Untrusted data can fail in any way.
            if mark is not None:
                self._damaged[name] = mark
            raise DamagedError(f"{name!r} is not a shared group: {error!r:.200}") from error
        return replace(shared, task=replace(shared.task, key=f"{author}/{shared.task.key}"))


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; empty if it is missing or cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def share(benchmark: str, group: Group, task: Task, seed: int) -> SharedGroup:
    """Return the part of a group that is shared.

    Args:
        benchmark: name of the benchmark of the task.
        group: group as played.
        task: task of the group.
        seed: seed of the reset of its episodes.
    """
    has_details = _is_plain(task.details)
    return SharedGroup(
        benchmark=benchmark,
        task=task if has_details else replace(task, details={}),
        seed=seed,
        agents=tuple(group.episodes[0].rewards),
        episodes=tuple(_shared_episode(episode) for episode in group.episodes),
        has_details=has_details,
    )


def _shared_episode(episode: Episode) -> SharedEpisode:
    return tuple(
        SharedMessage(
            agent=turn.agent,
            round=turn.round,
            text=turn.message if turn.written is None else turn.written,
            # With a thought the reply is more than this text.
            logprob=None if turn.thought or not turn.reply_ids else sum(turn.behavior_logprobs),
        )
        for turn in episode.turns
    )


def _is_plain(details: Mapping[str, Any]) -> bool:
    """Return whether details are unchanged after writing and reading them as JSON."""
    try:
        return bool(json.loads(json.dumps(dict(details))) == details)
    except (TypeError, ValueError):
        return False


def _group_from(plain: Any) -> SharedGroup:
    """Read the data of `Exchange.publish`; any other data raises a built-in error."""
    if plain["form"] != FORM:
        raise ValueError(f"expected the form {FORM!r}, got {plain['form']!r}")
    if _is_large(plain):
        raise ValueError(f"expected {MAX_EPISODES} episodes and {MAX_MESSAGES} messages at most")
    written = {name: value for name, value in plain.items() if name != "form"}
    if plain["task"].get("details", {}) is None:
        # The first version of the format wrote null for details that are not shared.
        written |= {"task": {**plain["task"], "details": {}}, "has_details": False}
    return from_plain(SharedGroup, written)


def _is_large(plain: Mapping[str, Any]) -> bool:
    episodes = plain["episodes"]
    return len(episodes) > MAX_EPISODES or sum(map(len, episodes)) > MAX_MESSAGES


def _refuse_excess(author: str, shared: SharedGroup) -> None:
    """Refuse a well-formed group that no run of this project writes.

    Raises:
        ValueError: names the fault.
    """
    messages = [message for episode in shared.episodes for message in episode]
    faults = {
        "the name of a run that none can have": not _NAME.fullmatch(author),
        "a key that cannot be shown": not shared.task.key.isprintable(),
        "a seed of more than 63 bits": shared.seed >= 2**63,
        "an agent twice": len(set(shared.agents)) < len(shared.agents),
        "a message of nobody": not {message.agent for message in messages} <= set(shared.agents),
        "a round below 0": any(message.round < 0 for message in messages),
        "two messages of one turn": any(map(_repeats_a_turn, shared.episodes)),
        "a probability above 1": any((message.logprob or 0.0) > _ROUNDING for message in messages),
    }
    if fault := next((fault for fault, holds in faults.items() if holds), ""):
        raise ValueError(fault)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"expected finite numbers, got {text}")
    return number


def _repeats_a_turn(episode: SharedEpisode) -> bool:
    return len({(message.agent, message.round) for message in episode}) < len(episode)


Record = TypeVar("Record")


def to_plain(value: Any) -> Any:
    """Return records, and containers of them, as plain data."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[Record], plain: Any) -> Record:
    """Read a record of this class from plain data; missing fields get their defaults.

    Raises:
        TypeError: a value has another type than its field, or a field without default is missing.
        ValueError: a field is unknown, or the record refuses a value.
    """
    if not isinstance(plain, Mapping):
        raise TypeError(f"expected the fields of {kind.__name__}; got {plain!r:.60}")
    record_fields = fields(kind)  # type: ignore[arg-type]
    if strange := set(plain) - {record_field.name for record_field in record_fields}:
        raise ValueError(f"{kind.__name__} has no field {sorted(strange)[0]!r:.60}")
    hints = _types(kind)  # type: ignore[arg-type]
    values = {}
    for record_field in record_fields:
        if record_field.name in plain:
            values[record_field.name] = _read(
                hints[record_field.name], plain[record_field.name], record_field.name
            )
        elif record_field.default is MISSING and record_field.default_factory is MISSING:
            raise TypeError(f"{kind.__name__} needs the field {record_field.name!r}")
    return kind(**values)


@cache
def _types(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, value: Any, name: str) -> Any:
    """Read a value as the type of its field."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        (kind,) = (item for item in inner if item is not type(None))
        return _read(kind, value, name)
    if is_dataclass(kind):
        return from_plain(kind, value)  # type: ignore[arg-type]
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = _types(kind)
        if not isinstance(value, Sequence) or len(value) != len(hints):
            raise TypeError(f"expected {len(hints)} values for {name!r}; got {value!r:.60}")
        return kind(
            *(_read(hints[item], each, item) for item, each in zip(hints, value, strict=True))
        )
    if origin is tuple and isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_read(inner[0], item, name) for item in value)
    if origin is Mapping and isinstance(value, Mapping):
        return {_read(str, key, name): _read(inner[1], item, name) for key, item in value.items()}
    if type(value) is int and kind in (int, float) and abs(value) >= _HUGE:
        raise ValueError(f"expected a number of at most 63 bits for {name!r}; got {value!r:.60}")
    if kind is float and type(value) in (int, float) and abs(value) == math.inf:
        raise ValueError(f"expected a finite number for {name!r}; got {value!r}")
    if kind is float and type(value) is int:
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise TypeError(f"expected {getattr(kind, '__name__', kind)} for {name!r}; got {value!r:.60}")
