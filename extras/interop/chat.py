"""Episodes as chat JSON Lines, which fine-tuning tools read, and back again without a loss.

    laconic import chat.jsonl imported

A line is the conversation of one agent in one episode:

    messages  what the agent read (`user`) and said (`assistant`), in turns; silence is empty
    agent     name of the agent
    episode   number of the episode
    turns     for each reply: its place in the episode, and all other fields of
              `learners.episode.Turn` (token ids, log-probabilities, cuts, thoughts, ...)
    details   of the first line of an episode: JSON text with its seed, the settings of its
              environment (budgets, prices, who hears whom) and all other fields of
              `learners.episode.Episode`; empty on its other lines

Tools that read `messages` alone can leave the other keys out. `laconic export` writes such a file
from an evaluation, and `laconic import` makes an evaluation's `episodes.jsonl` of it, which
`learner/collect=recorded` imitates. Numbers that are not finite become NaN.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.arguments import Argument, read_arguments
from laconic.experiments.command_line.echo import echo, echo_error
from laconic.experiments.run_folder.folder import RunFolder, read_rows, strict, write_atomically
from laconic.experiments.run_folder.foreign import read_config
from laconic.experiments.run_folder.journal import as_plain
from laconic.extras.swarm.exchange import from_plain, to_plain
from laconic.learners.episode import Episode, Turn
from laconic.learners.untrusted_files import MAX_ROWS, parse_json, read_text

_IN_MESSAGES = ("agent", "message", "read")
"""Fields of a turn that are in the messages of its line."""
_LEDGERS = ("rewards", "task_rewards", "bills")
"""Fields of an episode with a number for each agent and round."""


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """An episode with what it was played in."""

    episode: Episode
    """The episode."""
    seed: int = 0
    """Seed of the environment's reset."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the environment as plain data; empty if unknown."""


def write_chat(path: Path, episodes: Sequence[RecordedEpisode]) -> int:
    """Write episodes as chat JSON Lines; return the number of lines."""
    lines = [
        json.dumps(strict(row), allow_nan=False)
        for place, recorded in enumerate(episodes)
        for row in chat_rows(recorded, place)
    ]
    write_atomically(path, "".join(f"{line}\n" for line in lines))
    return len(lines)


def chat_rows(recorded: RecordedEpisode, place: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of one episode, one for each agent that had a turn.

    An episode without turns is one line without an agent.
    """
    plain = to_plain(recorded.episode)
    turns: list[dict[str, Any]] = plain.pop("turns")
    details = {"seed": recorded.seed, "env": dict(recorded.env), "episode": plain}
    text = json.dumps(strict(details), allow_nan=False)
    for agent in dict.fromkeys(turn["agent"] for turn in turns) or [""]:
        own = [(index, turn) for index, turn in enumerate(turns) if turn["agent"] == agent]
        yield {
            "messages": [
                {"role": role, "content": turn[name]}
                for _, turn in own
                for role, name in (("user", "read"), ("assistant", "message"))
            ],
            "agent": agent,
            "episode": place,
            "turns": [
                {"place": index, **{k: v for k, v in turn.items() if k not in _IN_MESSAGES}}
                for index, turn in own
            ],
            "details": text,
        }
        text = ""


def read_chat(path: Path) -> list[RecordedEpisode]:
    """Read the episodes of a file of `write_chat`, which may come from a stranger.

    Raises:
        SettingError: the file cannot be read or has another form; the message names the line.
    """
    try:
        lines = read_text(path, MAX_ROWS).splitlines()
    except OSError as error:
        raise SettingError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    by_episode: dict[int, list[tuple[int, Turn]]] = {}
    details: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines, start=1):
        try:
            row = parse_json(line)
            by_episode.setdefault(row["episode"], []).extend(_turns(row))
            if row["details"]:
                if row["episode"] in details:
                    raise ValueError(f"episode {row['episode']} has details twice")
                details[row["episode"]] = parse_json(row["details"])
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise SettingError(
                f"line {number} of {str(path)!r} is no conversation that laconic export wrote:"
                f" {type(error).__name__}: {str(error)[:200]}"
            ) from error
    return [_recorded(path, place, by_episode[place], details.get(place)) for place in by_episode]


def recorded_episodes(folder: Path) -> list[RecordedEpisode]:
    """Return the episodes of an evaluation's folder, which may come from a stranger.

    Raises:
        SettingError: the folder holds none, or they have another form.
    """
    path = folder / "episodes.jsonl"
    rows = read_rows(path)
    if not rows:
        raise SettingError(
            f"expected the folder of an evaluation, with episodes in episodes.jsonl;"
            f" {str(folder)!r} has none. laconic evaluate writes them, with token ids if"
            " evaluation.tokens=true"
        )
    env = read_config(folder).get("env") if (folder / "config.yaml").exists() else None
    try:
        return [
            RecordedEpisode(episode_of(row["episode"]), _seed(row["seed"]), env or {})
            for row in rows
        ]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise SettingError(
            f"{str(path)!r} does not hold episodes as this version writes them:"
            f" {type(error).__name__}: {str(error)[:200]}"
        ) from error


def episode_of(plain: Mapping[str, Any]) -> Episode:
    """Read an episode from plain data, in which null stands for a number that is not finite.

    Raises:
        TypeError, ValueError, AttributeError: a field is unknown or has another type.
    """
    ledgers = {
        name: {agent: [_number(x) for x in numbers] for agent, numbers in plain[name].items()}
        for name in _LEDGERS
        if name in plain
    }
    measures = {name: _number(x) for name, x in plain.get("measures", {}).items()}
    sizes = {"score": _number(plain["score"])} if "score" in plain else {}
    if plain.get("max_reward") is not None:
        sizes["max_reward"] = _number(plain["max_reward"])
    return from_plain(Episode, {**plain, **ledgers, "measures": measures, **sizes})


def write_evaluation(folder: Path, episodes: Sequence[RecordedEpisode]) -> int:
    """Write episodes as an evaluation's `episodes.jsonl`; return their number.

    If all have the same settings of their environment, these are written to `config.yaml`.

    Raises:
        SettingError: the folder holds episodes already, or cannot be written to.
    """
    run = RunFolder(folder)
    if run.episodes.exists():
        raise SettingError(f"{str(run.episodes)!r} exists already; name another folder")
    for place, each in enumerate(episodes):
        row = {"step": 0, "place": place, "seed": each.seed, "task": each.episode.task}
        run.append_episode({**row, "episode": as_plain(each.episode, tokens=True)})
    env = episodes[0].env if episodes else {}
    if env and all(each.env == env for each in episodes):
        write_atomically(run.path / "config.yaml", yaml.safe_dump({"env": env}, sort_keys=False))
    return len(episodes)


def _turns(row: Mapping[str, Any]) -> Iterator[tuple[int, Turn]]:
    """Yield the turns of a line with their places in the episode."""
    if type(row["episode"]) is not int or not isinstance(row["agent"], str):
        raise TypeError("expected a number as episode and a name as agent")
    roles = [message["role"] for message in row["messages"]]
    if roles != ["user", "assistant"] * len(row["turns"]):
        raise ValueError(f"expected a user and an assistant message for each turn; got {roles}")
    contents = [message["content"] for message in row["messages"]]
    for turn, read, message in zip(row["turns"], contents[::2], contents[1::2], strict=True):
        fields = {name: value for name, value in turn.items() if name != "place"}
        logprobs = [_number(value) for value in turn.get("behavior_logprobs", [])]
        words = {"agent": row["agent"], "message": message, "read": read}
        yield turn["place"], from_plain(Turn, {**fields, **words, "behavior_logprobs": logprobs})


def _recorded(
    path: Path, place: int, turns: Sequence[tuple[int, Turn]], details: Any
) -> RecordedEpisode:
    try:
        if details is None:
            raise ValueError("none of its lines has details")
        order = sorted(turns, key=lambda pair: pair[0])
        if [index for index, _ in order] != [*range(len(order))]:
            raise ValueError("its turns are not complete")
        episode = episode_of({**details["episode"], "turns": []})
        whole = {name: getattr(episode, name) for name in Episode.__slots__}
        whole["turns"] = tuple(turn for _, turn in order)
        env = details["env"] if isinstance(details["env"], dict) else {}
        return RecordedEpisode(Episode(**whole), _seed(details["seed"]), env)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise SettingError(
            f"episode {place} of {str(path)!r} cannot be read: {type(error).__name__}:"
            f" {str(error)[:200]}"
        ) from error


def _seed(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"expected a seed from 0 to 2^63 - 1; got {value!r:.60}")
    return value


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected a finite number or null; got {value!r}")
    return math.nan if value is None else value


def main(arguments: Sequence[str] | None = None) -> None:
    """Make an evaluation's episodes of the file on the command line."""
    wanted = {
        "file": Argument("chat JSON Lines of laconic export", Path, placed=True, needed=True),
        "folder": Argument("new folder for episodes.jsonl", Path, placed=True, needed=True),
    }
    options = read_arguments("import", __doc__, arguments, wanted)
    try:
        count = write_evaluation(options.folder, read_chat(options.file))
    except SettingError as error:
        echo_error(f"error: {error}")
        sys.exit(1)
    echo(f"{count} episodes written to {options.folder / 'episodes.jsonl'}")


if __name__ == "__main__":
    main()
