"""One running episode: an environment, the conversations of its agents, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.learners.agents.base import Reply, Request
from laconic.learners.episode import Episode, Turn
from laconic.learners.rollout.text_env import (
    fitted,
    known,
    number_of,
    speech_space,
    text_of,
    unspeakable,
)


@dataclass(frozen=True, slots=True)
class Start:
    """How an episode begins: the same start gives the same first observations."""

    seed: int
    """Seed of the environment's reset."""
    task: str | Task | None = None
    """Key of the task, or one that the environment does not have among its own; None lets the
    environment draw one."""
    given: Mapping[tuple[str, int], Reply | Callable[[Request], Reply | None]] = field(
        default_factory=dict
    )
    """Replies by agent and round that are played instead of being asked for: an episode is played
    again up to some point, or with one message changed. A function makes the reply of the request,
    for who knows the words but not yet the tokens before them; where it makes None, the policy is
    asked."""


@dataclass(slots=True)
class Seat:
    """One agent's side of a running episode."""

    agent: str
    space: Space[Any] | None = None
    """Where its messages have to lie; None where that is not known."""
    unread: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    history: list[Reply] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    max_tokens: int | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    def read(self, observation: Any, info: Mapping[str, Any]) -> None:
        """Take in what the environment shows."""
        self.unread.append(text_of(self.agent, observation))
        left = observation.get("tokens_left") if isinstance(observation, Mapping) else None
        self.max_tokens = None if left is None else int(np.ravel(left)[0])
        self.info = info

    def request(self) -> Request:
        """What the agent's policy is asked."""
        return Request(
            agent=self.agent,
            text="\n".join(self.unread),
            history=tuple(self.history),
            texts=tuple(self.texts),
            max_tokens=self.max_tokens,
            info=self.info,
        )

    def answer(self, request: Request, reply: Reply) -> None:
        """Write the reply into the conversation."""
        self.unread.clear()
        self.texts.append(request.text)
        self.history.append(reply)


class Table:
    """One running episode."""

    def __init__(self, environment: ParallelEnv[str, Any, Any], start: Start) -> None:
        """Reset the environment as the start says and take in what it shows."""
        self._environment = environment
        self._start = start
        options = None if start.task is None else {"task": start.task}
        observations, infos = environment.reset(seed=start.seed, options=options)
        self.seats = {
            agent: Seat(agent, speech_space(environment, agent)) for agent in environment.agents
        }
        self._outcome: dict[str, Any] = {}
        self._read(observations, infos)
        self.turns: list[Turn] = []
        self.round = 0
        self.truncated = False

    @property
    def slow(self) -> bool:
        """Whether a step waits for other processes."""
        metadata = getattr(self._environment, "metadata", None) or {}
        return bool(metadata.get("slow_step", False))

    @property
    def open(self) -> bool:
        """Whether anybody is left to speak."""
        return bool(self._environment.agents)

    def requests(self) -> list[Request]:
        """One for each living agent that has something to say it with."""
        return [
            self.seats[agent].request()
            for agent in self._environment.agents
            if self.seats[agent].max_tokens != 0
        ]

    def given(self, request: Request) -> Reply | None:
        """The reply that the start has for a request of this round."""
        found = self._start.given.get((request.agent, self.round))
        return found(request) if callable(found) else found

    def step(self, requests: Sequence[Request], replies: Sequence[Reply]) -> None:
        """Play a round: what was replied to the requests, and silence of everybody else."""
        alive = tuple(self._environment.agents)
        actions = dict.fromkeys(alive, "")
        for request, reply in zip(requests, replies, strict=True):
            seat = self.seats[request.agent]
            actions[request.agent] = fitted(seat.space, reply.message)
            seat.answer(request, reply)
        observations, rewards, _, truncations, infos = self._stepped(actions)
        for request, reply in zip(requests, replies, strict=True):
            info = known(infos.get(request.agent))
            said = int(info.get("tokens_said", 0)) - int(request.info.get("tokens_said", 0))
            self.turns.append(_turn(self.round, request, reply, actions, info, said))
        for agent in alive:
            self.seats[agent].rewards.append(number_of(agent, rewards.get(agent)))
        self._read(observations, infos)
        self.truncated |= any(truncations.values())
        self.round += 1

    def _stepped(self, actions: dict[str, str]) -> tuple[dict[str, Any], ...]:
        try:
            stepped: tuple[dict[str, Any], ...] = self._environment.step(actions)
            return stepped
        except Exception as error:
            spaces = {agent: self.seats[agent].space for agent in actions}
            if said := unspeakable(spaces, actions):
                raise SettingError(f"the environment took no step: {said}") from error
            raise

    def _read(self, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> None:
        for agent in self._environment.agents:
            if agent not in self.seats:
                raise SettingError(
                    f"agent {agent!r} joined after the reset; agents may leave early, but all that"
                    " take part have to be there from the start, as PettingZoo asks"
                )
        for agent, observation in observations.items():
            # Some environments show something to agents that take no part in this episode.
            if agent in self.seats:
                self.seats[agent].read(observation, known(infos.get(agent)))
        for info in infos.values():
            # Agents may end at different times; what was said of the episode last counts.
            self._outcome.update(known(info))

    def episode(self) -> Episode:
        """What came of it."""
        infos = {agent: seat.info for agent, seat in self.seats.items()}
        last = self._outcome
        returns = [sum(seat.rewards) for seat in self.seats.values()] or [0.0]
        return Episode(
            task=str(last.get("task", self._start.task or self._start.seed)),
            turns=tuple(self.turns),
            rewards={agent: tuple(seat.rewards) for agent, seat in self.seats.items()},
            score=float(last.get("score", np.mean(returns))),
            solved=bool(last["solved"]) if "solved" in last else None,
            answer=str(last.get("answer", "")),
            truncated=self.truncated,
            tokens_said=_counted("tokens_said", infos),
            tokens_read=_counted("tokens_read", infos),
        )


def _counted(key: str, infos: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """By agent; empty where no info tells."""
    told = any(key in info for info in infos.values())
    return {agent: int(info.get(key, 0)) for agent, info in infos.items()} if told else {}


def _turn(
    round: int,
    request: Request,
    reply: Reply,
    actions: Mapping[str, str],
    info: Mapping[str, Any],
    tokens_said: int,
) -> Turn:
    action = actions[request.agent]
    return Turn(
        agent=request.agent,
        round=round,
        message=str(info.get("message", action)),
        prompt_ids=reply.prompt_ids,
        reply_ids=reply.reply_ids,
        behaviour_logprobs=reply.behaviour_logprobs,
        tokens_said=tokens_said,
        informed=request.info.get("informed"),
        cut=bool(info.get("cut", False)) or action != reply.message,
        written=reply.message,
        usage=reply.usage,
    )
