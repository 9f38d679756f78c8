"""Plays episodes in lockstep: environments and policies in, groups of episodes out.

All episodes of a step advance together. In each round every policy gets one batched call with the
requests of all its agents in all episodes. Works with any PettingZoo `ParallelEnv` over text: an
observation is a string, or a dict with a string under `text`; `tokens_left`, where there is one,
says in its first entry what the next message may have.

Knows no particular benchmark. Reads these info keys where an environment has them: `task`,
`message`, `cut`, `informed`, `tokens_said`, `tokens_read`, `score`, `solved`, `answer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from pettingzoo import ParallelEnv

from envs.task import Task
from learners.agents.base import Policy, Reply, Request
from learners.episode import Episode, Group, Turn

_THREADS = 32
"""Environments that step at the same time; they wait, so there are more than processors."""


@dataclass(frozen=True, slots=True)
class Start:
    """How an episode begins: the same start gives the same first observations."""

    seed: int
    """Seed of the environment's reset."""
    task: str | Task | None = None
    """Key of the task, or one that the environment does not have among its own; None lets the
    environment draw one."""
    given: Mapping[tuple[str, int], Reply | Callable[[Request], Reply]] = field(
        default_factory=dict
    )
    """Replies by agent and round that are played instead of being asked for: an episode is played
    again up to some point, or with one message changed. A function makes the reply of the request,
    for who knows the words but not yet the tokens before them."""


class Collector(Protocol):
    """Turns starts into groups of episodes; a learner may bring its own as `collect`."""

    def __call__(
        self,
        environments: Sequence[ParallelEnv[str, Any, Any]],
        policies: Mapping[str, Policy],
        starts: Sequence[Start],
        group_size: int,
        *,
        seed: int,
    ) -> list[Group]:
        """As `collect` below."""
        ...


def play(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    *,
    seed: int,
    greedy: bool = False,
    greedy_from: int | None = None,
) -> list[Episode]:
    """Play one episode from each start, as many at a time as there are environments.

    Args:
        environments: equal environments.
        policies: who speaks for each agent.
        starts: where the episodes begin.
        seed: of everything that is sampled; equal calls give equal episodes.
        greedy: let policies take their likeliest reply.
        greedy_from: the round from which on they do so in any case; None for no round.

    Returns:
        One episode for each start, in order.
    """
    episodes: list[Episode] = []
    for offset in range(0, len(starts), len(environments)):
        tables = [
            _Table(environment, start)
            for environment, start in zip(environments, starts[offset:], strict=False)
        ]
        seeds = np.random.default_rng((seed, offset))
        while any(table.open for table in tables):
            _play_round(tables, policies, seeds, greedy, greedy_from)
        episodes += [table.episode() for table in tables]
    return episodes


def collect(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    group_size: int,
    *,
    seed: int,
) -> list[Group]:
    """Play `group_size` episodes from each start: one group a start."""
    repeated = [start for start in starts for _ in range(group_size)]
    episodes = play(environments, policies, repeated, seed=seed)
    groups = [episodes[i : i + group_size] for i in range(0, len(episodes), group_size)]
    return [Group(members[0].task, tuple(members)) for members in groups]


def replies_of(turns: Iterable[Turn]) -> dict[tuple[str, int], Reply]:
    """The replies of some turns by agent and round, for `Start.given` of another play."""
    return {
        (turn.agent, turn.round): Reply(
            message=turn.message if turn.written is None else turn.written,
            prompt_ids=turn.prompt_ids,
            reply_ids=turn.reply_ids,
            behaviour_logprobs=turn.behaviour_logprobs,
        )
        for turn in turns
    }


@dataclass(slots=True)
class _Seat:
    """One agent's side of a running episode."""

    unread: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    history: list[Reply] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    max_tokens: int | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    def read(self, observation: Any, info: Mapping[str, Any]) -> None:
        """Take in what the environment shows."""
        is_mapping = isinstance(observation, Mapping)
        self.unread.append(str(observation["text"] if is_mapping else observation))
        left = observation.get("tokens_left") if is_mapping else None
        self.max_tokens = None if left is None else int(np.ravel(left)[0])
        self.info = info

    def request(self, agent: str) -> Request:
        """What the agent's policy is asked."""
        return Request(
            agent=agent,
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


class _Table:
    """One running episode."""

    def __init__(self, environment: ParallelEnv[str, Any, Any], start: Start) -> None:
        self._environment = environment
        self._start = start
        options = None if start.task is None else {"task": start.task}
        observations, infos = environment.reset(seed=start.seed, options=options)
        self.seats = {agent: _Seat() for agent in environment.agents}
        self._outcome: dict[str, Any] = {}
        self._read(observations, infos)
        self.turns: list[Turn] = []
        self.round = 0
        self.truncated = False

    @property
    def slow(self) -> bool:
        return bool(self._environment.metadata.get("slow_step", False))

    @property
    def open(self) -> bool:
        return bool(self._environment.agents)

    def requests(self) -> list[Request]:
        """One for each living agent that has something to say it with."""
        return [
            self.seats[agent].request(agent)
            for agent in self._environment.agents
            if self.seats[agent].max_tokens != 0
        ]

    def given(self, request: Request) -> Reply | None:
        """The reply that the start has for a request of this round."""
        found = self._start.given.get((request.agent, self.round))
        return found(request) if callable(found) else found

    def step(self, requests: Sequence[Request], replies: Sequence[Reply]) -> None:
        alive = tuple(self._environment.agents)
        actions = dict.fromkeys(alive, "")
        said_before = {r.agent: int(r.info.get("tokens_said", 0)) for r in requests}
        for request, reply in zip(requests, replies, strict=True):
            actions[request.agent] = reply.message
            self.seats[request.agent].answer(request, reply)
        observations, rewards, _, truncations, infos = self._environment.step(actions)
        for request, reply in zip(requests, replies, strict=True):
            info = infos.get(request.agent, {})
            said = int(info.get("tokens_said", 0)) - said_before[request.agent]
            self.turns.append(_turn(self.round, request, reply, info, said))
        for agent in alive:
            self.seats[agent].rewards.append(float(rewards.get(agent, 0.0)))
        self._read(observations, infos)
        self.truncated |= any(truncations.values())
        self.round += 1

    def _read(self, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> None:
        for agent, observation in observations.items():
            self.seats[agent].read(observation, infos.get(agent, {}))
        for info in infos.values():
            # Agents may end at different times; what was said of the episode last counts.
            self._outcome.update(info)

    def episode(self) -> Episode:
        infos = {agent: seat.info for agent, seat in self.seats.items()}
        last = self._outcome
        returns = [sum(seat.rewards) for seat in self.seats.values()] or [0.0]
        return Episode(
            task=str(last.get("task", self._start.task or self._start.seed)),
            turns=tuple(self.turns),
            rewards={agent: tuple(seat.rewards) for agent, seat in self.seats.items()},
            score=float(last.get("score", np.mean(returns))),
            solved=bool(last.get("solved", False)),
            answer=str(last.get("answer", "")),
            truncated=self.truncated,
            tokens_said={a: int(info.get("tokens_said", 0)) for a, info in infos.items()},
            tokens_read={a: int(info.get("tokens_read", 0)) for a, info in infos.items()},
        )


def _turn(
    round: int, request: Request, reply: Reply, info: Mapping[str, Any], tokens_said: int
) -> Turn:
    return Turn(
        agent=request.agent,
        round=round,
        message=str(info.get("message", reply.message)),
        prompt_ids=reply.prompt_ids,
        reply_ids=reply.reply_ids,
        behaviour_logprobs=reply.behaviour_logprobs,
        tokens_said=tokens_said,
        informed=request.info.get("informed"),
        cut=bool(info.get("cut", False)),
        written=reply.message,
    )


def _play_round(
    tables: Sequence[_Table],
    policies: Mapping[str, Policy],
    seeds: np.random.Generator,
    greedy: bool,
    greedy_from: int | None,
) -> None:
    asked = [(table, table.requests()) for table in tables if table.open]
    likeliest = greedy or (greedy_from is not None and asked[0][0].round >= greedy_from)
    flat = [(place, request) for place, (_, requests) in enumerate(asked) for request in requests]
    replies = [asked[place][0].given(request) for place, request in flat]
    by_policy: dict[int, list[int]] = {}
    for index, (_, request) in enumerate(flat):
        if replies[index] is None:
            by_policy.setdefault(id(policies[request.agent]), []).append(index)
    for indices in by_policy.values():
        policy = policies[flat[indices[0]][1].agent]
        seed = int(seeds.integers(2**31))
        answers = policy.reply([flat[i][1] for i in indices], seed=seed, greedy=likeliest)
        if len(answers) != len(indices):
            raise ValueError(
                f"{type(policy).__name__}.reply must give one reply per request ({len(indices)});"
                f" got {len(answers)}"
            )
        for index, reply in zip(indices, answers, strict=True):
            replies[index] = reply
    by_table: dict[int, list[Reply]] = {place: [] for place in range(len(asked))}
    for (place, _), answer in zip(flat, replies, strict=True):
        if answer is not None:
            by_table[place].append(answer)
    _step(asked, by_table)


def _step(
    asked: Sequence[tuple[_Table, Sequence[Request]]], replies: Mapping[int, Sequence[Reply]]
) -> None:
    """Step all tables; at the same time where a step waits for other processes."""

    def step(place: int) -> None:
        table, requests = asked[place]
        table.step(requests, replies[place])

    if any(table.slow for table, _ in asked):
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(step, range(len(asked))))
    else:
        for place in range(len(asked)):
            step(place)
