"""What an evaluation has done so far, so that it is never done again.

A finished episode is a row of `episodes.jsonl`, and every reply that a model server gave a row of
`replies.jsonl`, both written as they come. A resumed evaluation reads the first back, and plays
episodes that were not finished again up to where they were, with the replies it has: nobody is
asked twice for what came. A reply is taken only in the very conversation it was given in.

Token ids and their log-probabilities are left out, since figures and transcripts need none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import RunFolder, drop_rows, read_rows
from laconic.learners.episode import Episode, Turn
from laconic.learners.interfaces import Reply, Request, Usage
from laconic.learners.rollout.play import Listener, Start

_IDS = ("prompt_ids", "reply_ids", "behavior_logprobs")
_LEDGERS = ("rewards", "task_rewards", "bills")
"""Fields of an episode that have a number for each agent and round."""
_FORM = {"step": 0}
"""Every row of a run folder says its step; an evaluation by itself has but one."""


class Journal:
    """The finished episodes and the replies of one evaluation, in its run folder."""

    def __init__(self, folder: RunFolder, starts: Sequence[Start]) -> None:
        """Read back what the folder holds of an evaluation that plays all these starts.

        Raises:
            SettingError: the folder's episodes began otherwise, since the tasks have changed.
        """
        self._folder, self._starts = folder, starts
        for path in (folder.episodes, folder.replies):
            # The next row must not be glued to one that a kill has torn.
            drop_rows(path)
        self.episodes: dict[int, Episode] = {}
        """What was played, by the place of its start."""
        for row in read_rows(folder.episodes):
            self._check(row)
            self.episodes[row["place"]] = episode_from(row["episode"])
        self._replies: dict[int, dict[tuple[str, int], tuple[str, Reply]]] = {}
        for row in read_rows(folder.replies):
            mine = self._replies.setdefault(row["place"], {})
            usage = None if row["usage"] is None else Usage(**row["usage"])
            reply = Reply(row["message"], usage=usage, thought=row.get("thought", ""))
            mine[row["agent"], row["round"]] = (row["asked"], reply)

    @property
    def played(self) -> list[Episode]:
        """The finished episodes in the order of their starts."""
        return [self.episodes[place] for place in sorted(self.episodes)]

    def missing(self, first: int, count: int) -> list[int]:
        """The places from `first` on, out of `count`, whose episodes are not finished."""
        last = min(first + count, len(self._starts))
        return [place for place in range(first, last) if place not in self.episodes]

    def start(self, place: int) -> Start:
        """Where an episode begins, with the replies that need not be asked for again."""
        start = self._starts[place]
        known = self._replies.get(place, {})
        given = {turn: _if_asked(asked, reply) for turn, (asked, reply) in known.items()}
        return Start(start.seed, start.task, {**start.replies, **given})

    def keep_reply(self, place: int, round: int, request: Request, reply: Reply) -> None:
        """Write down what a server replied."""
        usage = None if reply.usage is None else asdict(reply.usage)
        row = {"place": place, "agent": request.agent, "round": round, "asked": digest(request)}
        told = {"message": reply.message, "thought": reply.thought, "usage": usage}
        self._folder.append_reply({**_FORM, **row, **told})

    def keep_episode(self, place: int, episode: Episode) -> None:
        """Write down a finished episode."""
        row = {"place": place, "seed": self._starts[place].seed, "task": episode.task}
        self._folder.append_episode({**_FORM, **row, "episode": as_plain(episode)})
        self.episodes[place] = episode

    def take_over(self, episodes: Mapping[int, Episode]) -> None:
        """Write down the episodes that other processes have finished, by their place."""
        for place in sorted(episodes.keys() - self.episodes.keys()):
            self.keep_episode(place, episodes[place])

    def _check(self, row: Mapping[str, Any]) -> None:
        place = row["place"]
        start = self._starts[place] if place < len(self._starts) else None
        if start is None or row["seed"] != start.seed or start.task not in (None, row["task"]):
            raise SettingError(
                f"{self._folder.episodes} holds an episode of task {row['task']!r}, which is not"
                f" what its evaluation plays at place {place}: the task source has changed since;"
                " restore it, or evaluate anew with hydra.run.dir=<folder>"
            )


class Keeper(Listener):
    """Writes down what happens in a play of some of an evaluation's episodes."""

    def __init__(
        self,
        journal: Journal,
        places: Sequence[int],
        tell: Callable[[], None],
        stop: Callable[[], bool],
    ) -> None:
        """Join a journal and a play of the episodes at these places.

        `tell` is called after each episode; `stop` says after each reply of a server if it ends.
        """
        self._journal, self._places = journal, places
        self._tell, self._stop = tell, stop

    def said(self, place: int, round: int, request: Request, reply: Reply) -> None:
        """Keep a reply that came from a server.

        Raises:
            KeyboardInterrupt: the user has asked to stop.
        """
        self._journal.keep_reply(self._places[place], round, request, reply)
        if self._stop():
            # Servers are slow; the rest of the batch may take longer than anybody waits.
            raise KeyboardInterrupt

    def ended(self, place: int, episode: Episode) -> None:
        """Keep an episode."""
        self._journal.keep_episode(self._places[place], episode)
        self._tell()


def digest(request: Request) -> str:
    """A short form of all that a reply depends on: the conversation and the limit."""
    told = [request.agent, request.max_tokens, request.text, list(request.texts)]
    said = [reply.message for reply in request.history]
    return hashlib.sha256(json.dumps([told, said]).encode()).hexdigest()


def as_plain(episode: Episode) -> dict[str, Any]:
    """An episode in types of JSON; `episode_from` reads it back, token ids excepted."""
    plain = asdict(episode)
    for turn in plain["turns"]:
        for name in _IDS:
            del turn[name]
    return plain


def episode_from(plain: Mapping[str, Any]) -> Episode:
    """Read what `as_plain` made of an episode; a number that was not finite is NaN."""
    turns = []
    for turn in plain["turns"]:
        usage = None if turn["usage"] is None else Usage(**turn["usage"])
        turns.append(Turn(**{**turn, "usage": usage}))
    ledgers = {
        name: {agent: tuple(map(_number, paid)) for agent, paid in plain[name].items()}
        for name in _LEDGERS
    }
    score = _number(plain["score"])
    return Episode(**{**plain, "turns": tuple(turns), **ledgers, "score": score})


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _if_asked(asked: str, reply: Reply) -> Callable[[Request], Reply | None]:
    """The reply, for the request it was given to and no other."""
    return lambda request: reply if digest(request) == asked else None
