"""Journal of an evaluation, from which a resumed evaluation continues.

Every finished episode is a row of `episodes.jsonl`, and every reply of a model server a row of
`replies.jsonl`. A resumed evaluation reads the finished episodes. It replays unfinished episodes
with the recorded replies, so that no server is asked twice. A recorded reply is used only in the
same conversation.

Figures and transcripts need no token ids and log-probabilities, so these are recorded on request
only (`evaluation.tokens`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import RunFolder, drop_rows, read_rows
from laconic.learners.episode import Episode, Turn
from laconic.learners.interfaces import Reply, Request, Usage
from laconic.learners.rollout.play import Listener, Start

_IDS = ("prompt_ids", "reply_ids", "behavior_logprobs")
_LEDGERS = ("rewards", "task_rewards", "bills")
"""Fields of an episode that have a number for each agent and round."""
_TURN = {field.name for field in fields(Turn)}
_STEP = {"step": 0}
"""Step of every row; a separate evaluation has only step 0."""


class Journal:
    """Finished episodes and replies of one evaluation, in its run folder."""

    def __init__(self, folder: RunFolder, starts: Sequence[Start], tokens: bool = False) -> None:
        """Read the recorded part of an evaluation that plays these starts.

        With `tokens` token ids and log-probabilities are recorded too.

        Raises:
            SettingError: a recorded episode has another start, because the tasks have changed.
        """
        self._folder, self._starts, self._tokens = folder, starts, tokens
        for path in (folder.episodes, folder.replies):
            # A kill may leave an incomplete line, to which the next row would be appended.
            drop_rows(path)
        self.episodes: dict[int, Episode] = {}
        """Finished episodes by the place of their start."""
        for row in read_rows(folder.episodes):
            self._check(row)
            self.episodes[row["place"]] = episode_from(row["episode"])
        self._replies: dict[int, dict[tuple[str, int], tuple[str, Reply]]] = {}
        for row in read_rows(folder.replies):
            replies = self._replies.setdefault(row["place"], {})
            usage = None if row["usage"] is None else Usage(**row["usage"])
            reply = Reply(row["message"], usage=usage, thought=row.get("thought", ""))
            replies[row["agent"], row["round"]] = (row["asked"], reply)

    @property
    def played(self) -> list[Episode]:
        """Finished episodes in the order of their starts."""
        return [self.episodes[place] for place in sorted(self.episodes)]

    def missing(self, first: int, count: int) -> list[int]:
        """Return the unfinished places among the `count` places from `first`."""
        last = min(first + count, len(self._starts))
        return [place for place in range(first, last) if place not in self.episodes]

    def start(self, place: int) -> Start:
        """Return the start of an episode with its recorded replies."""
        start = self._starts[place]
        recorded = self._replies.get(place, {})
        replies = {turn: _reply_to(key, reply) for turn, (key, reply) in recorded.items()}
        return replace(start, replies={**start.replies, **replies})

    def keep_reply(self, place: int, round: int, request: Request, reply: Reply) -> None:
        """Record a reply of a server."""
        row = {"place": place, "agent": request.agent, "round": round, "asked": digest(request)}
        row |= {"message": reply.message, "thought": reply.thought}
        row |= {"usage": None if reply.usage is None else asdict(reply.usage)}
        self._folder.append_reply({**_STEP, **row})

    def keep_episode(self, place: int, episode: Episode) -> None:
        """Record a finished episode."""
        row = {"place": place, "seed": self._starts[place].seed, "task": episode.task}
        self._folder.append_episode({**_STEP, **row, "episode": as_plain(episode, self._tokens)})
        self.episodes[place] = episode

    def take_over(self, episodes: Mapping[int, Episode]) -> None:
        """Record the finished episodes of other processes, by place."""
        for place in sorted(episodes.keys() - self.episodes.keys()):
            self.keep_episode(place, episodes[place])

    def _check(self, row: Mapping[str, Any]) -> None:
        place = row["place"]
        start = self._starts[place] if place < len(self._starts) else None
        if start is None or row["seed"] != start.seed or start.task not in (None, row["task"]):
            raise SettingError(
                f"{self._folder.episodes} holds an episode of task {row['task']!r}, but the"
                f" evaluation plays another task at place {place}: the task source has changed;"
                " restore it, or start a new evaluation with hydra.run.dir=<folder>"
            )


class ReplyLog(Listener):
    """Listener of a play that records its replies and episodes in a journal."""

    def __init__(
        self,
        journal: Journal,
        places: Sequence[int],
        tell: Callable[[], None],
        stop: Callable[[], bool],
    ) -> None:
        """Connect a journal with a play of the episodes at these places.

        `tell` is called after each episode, and `stop` after each reply of a server. If `stop`
        returns True, the play ends.
        """
        self._journal, self._places = journal, places
        self._tell, self._stop = tell, stop

    def said(self, place: int, round: int, request: Request, reply: Reply) -> None:
        """Record a reply of a server.

        Raises:
            KeyboardInterrupt: the user stopped the evaluation.
        """
        self._journal.keep_reply(self._places[place], round, request, reply)
        if self._stop():
            # Servers are slow, and the rest of the batch may take minutes.
            raise KeyboardInterrupt

    def ended(self, place: int, episode: Episode) -> None:
        """Record an episode."""
        self._journal.keep_episode(self._places[place], episode)
        self._tell()


def digest(request: Request) -> str:
    """Return a hash of everything that a reply depends on: the conversation and the limit."""
    prompt = [request.agent, request.max_tokens, request.text, list(request.texts)]
    messages = [reply.message for reply in request.history]
    return hashlib.sha256(json.dumps([prompt, messages]).encode()).hexdigest()


def as_plain(episode: Episode, tokens: bool = False) -> dict[str, Any]:
    """Convert an episode to JSON types, token ids on request; `episode_from` reads it."""
    plain = asdict(episode)
    for turn in () if tokens else plain["turns"]:
        for name in _IDS:
            del turn[name]
    return plain


def episode_from(plain: Mapping[str, Any]) -> Episode:
    """Read an episode from the result of `as_plain`; numbers that were not finite are NaN."""
    turns = []
    for turn in plain["turns"]:
        usage = None if turn["usage"] is None else Usage(**turn["usage"])
        ids = {name: tuple(turn[name]) for name in _IDS if name in turn}
        known = {name: value for name, value in turn.items() if name in _TURN}
        # In earlier journals what features add had fields of its own, or None.
        former = {name: turn[name] for name in turn.keys() - _TURN if turn[name] is not None}
        extra = {**turn.get("extra", {}), **former}
        turns.append(Turn(**{**known, **ids, "usage": usage, "extra": extra}))
    ledgers = {
        name: {agent: tuple(map(_number, numbers)) for agent, numbers in plain[name].items()}
        for name in _LEDGERS
    }
    own = {
        "turns": tuple(turns),
        "score": _number(plain["score"]),
        # Journals of earlier versions have no graphs.
        "topology": tuple(
            {agent: tuple(speakers) for agent, speakers in hears.items()}
            for hears in plain.get("topology", ())
        ),
    }
    return Episode(**{**plain, **ledgers, **own})


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _reply_to(key: str, reply: Reply) -> Callable[[Request], Reply | None]:
    """Return a function that gives the reply to the request with this digest, else None."""
    return lambda request: reply if digest(request) == key else None
