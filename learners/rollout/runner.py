"""One running episode: an environment, the conversations of its agents, and what came of it.

What is read of an environment, and what it is told, is in `learners.rollout.text_env`. Knows no
particular benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from pettingzoo import ParallelEnv

from laconic.envs.checks import check_agents, number
from laconic.envs.dialogue.thoughts import BEGIN, join
from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.learners.agents.base import Reply, Request
from laconic.learners.episode import Episode, Turn
from laconic.learners.rollout.text_env import (
    ADVICE,
    fit_to_space,
    known,
    measures,
    outcome_of,
    reset,
    reward_of,
    short,
    speech_space,
    unspeakable,
)

LEDGERS = ("said", "read", "thought")
"""Tokens that infos count, as `tokens_said`."""
MAX_ROUNDS = 1000
"""Of an episode, where nobody says another number."""


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
    for callers that know the words but not yet the tokens before them; where it returns None, the
    policy is asked."""
    max_rounds: int | None = None
    """Rounds after which an episode that does not end is an error; None takes what the environment
    says in `metadata["max_rounds"]`, or 1,000."""


@dataclass(slots=True)
class AgentState:
    """One agent's side of a running episode."""

    agent: str
    max_thought_tokens: int | None = None
    """Of a thought before a message; None where the environment takes none."""
    space: Space[Any] | None = None
    """Where its messages have to lie; None where that is not known."""
    unread: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    history: list[Reply] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    task_rewards: list[float] = field(default_factory=list)
    bills: list[float] = field(default_factory=list)
    max_tokens: int | None = None
    general: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)

    def read(self, observation: Any, info: Mapping[str, Any] | None) -> None:
        """Take in what the environment shows.

        Raises:
            SettingError: an observation without a text.
        """
        keyed = isinstance(observation, Mapping)
        text = observation.get("text") if keyed else observation
        if not isinstance(text, str):
            came = (
                f"a mapping with the keys {sorted(map(str, observation))}"
                if keyed and "text" not in observation
                else f"{type(observation).__name__} {short(observation)}"
            )
            raise SettingError(
                "an observation must be a string or a mapping with a string under 'text'; agent"
                f" {self.agent!r} was shown {came}; {ADVICE}"
            )
        self.unread.append(str(text))
        left = observation.get("tokens_left") if keyed else None
        self.max_tokens = None if left is None else int(np.ravel(left)[0])
        self.info = known(info)
        self.general = self.general or str(self.info.get("general", ""))

    def earn(self, rewards: Mapping[str, Any], info: Mapping[str, Any]) -> None:
        """Book the pay of a round: the reward, and what the info says of it.

        Raises:
            SettingError: it is no finite number.
        """
        self.rewards.append(reward_of(self.agent, rewards))
        for key, ledger in (("task_reward", self.task_rewards), ("billed", self.bills)):
            if key in info:
                ledger.append(reward_of(self.agent, {self.agent: info[key]}, key))

    def request(self) -> Request:
        """What the agent's policy is asked."""
        return Request(
            agent=self.agent,
            text="\n".join(filter(None, self.unread)),
            history=tuple(self.history),
            texts=tuple(self.texts),
            max_tokens=self.max_tokens,
            max_thought_tokens=self.max_thought_tokens,
            general=self.general,
            info=self.info,
        )


class EpisodeRunner:
    """Plays one episode, a round at a time."""

    def __init__(self, environment: ParallelEnv[str, Any, Any], start: Start) -> None:
        """Reset the environment as the start says and read its first observations.

        Raises:
            SettingError: its agents are not named by strings, or `reset` has an older form.
        """
        check_agents(environment.possible_agents)
        self._environment = environment
        self._start = start
        metadata = self._metadata = getattr(environment, "metadata", None) or {}
        self.slow = bool(metadata.get("slow_step", False))
        """Whether a step waits for other processes."""
        most = metadata.get("max_reward", 1.0)
        self._max_reward = number("metadata['max_reward'] of the environment", most, above=0)
        self._max_rounds = start.max_rounds or int(metadata.get("max_rounds") or MAX_ROUNDS)
        self.round = 0
        options = None if start.task is None else {"task": start.task}
        observations, infos = reset(environment, start.seed, options)
        agents = environment.agents
        self._thoughts: int | None = metadata.get("thought_tokens")
        self._states = {
            one: AgentState(one, self._thoughts, speech_space(environment, one)) for one in agents
        }
        self._outcome: dict[str, Any] = {}
        self._turns: list[Turn] = []
        self._truncated = False
        self._ended: set[str] = set()
        """Agents that were terminated or truncated; some environments go on listing them."""
        self._read(observations, infos)

    @property
    def running(self) -> bool:
        """Whether the episode goes on."""
        return bool(self._living)

    @property
    def _living(self) -> list[str]:
        """The agents that the environment lists and has not ended."""
        return [agent for agent in self._environment.agents if agent not in self._ended]

    def requests(self) -> list[tuple[Request, Reply | None]]:
        """One request for each living agent that has tokens left, with the reply the start gives.

        None in place of a reply: the agent's policy has to be asked.

        Raises:
            SettingError: the episode has had all its rounds and goes on.
        """
        if self.round >= self._max_rounds:
            raise SettingError(
                f"the episode of seed {self._start.seed} did not end within env.max_rounds="
                f"{self._max_rounds} rounds; let {type(self._environment).__name__} end or truncate"
                " it, or raise env.max_rounds (in Python: Start(max_rounds=...))"
            )
        found: list[tuple[Request, Reply | None]] = []
        for agent in self._living:
            if self._states[agent].max_tokens != 0:
                request = self._states[agent].request()
                given = self._start.given.get((agent, self.round))
                found.append((request, given(request) if callable(given) else given))
        return found

    def step(self, said: Sequence[tuple[Request, Reply]]) -> None:
        """Play a round with the replies to its requests; all other agents are silent.

        Raises:
            SettingError: the environment refuses a message that lies outside its action space,
                returns something other than five dicts, pays a reward that is no finite number,
                shows an observation without a text, or lets an agent join.
        """
        alive = self._living
        # Whom the environment goes on listing it may go on asking for an action.
        actions = dict.fromkeys(self._environment.agents, "")
        sent = dict(actions)
        for request, reply in said:
            state = self._states[request.agent]
            words = actions[request.agent] = fit_to_space(state.space, reply.message)
            thinks = reply.thought or words.startswith(BEGIN)
            taken = self._thoughts is not None and thinks
            sent[request.agent] = join(reply.thought, words) if taken else words
            state.unread.clear()
            state.texts.append(request.text)
            state.history.append(reply)
        try:
            returned = self._environment.step(sent)
        except Exception as error:
            spaces = {agent: self._states[agent].space for agent in actions}
            if outside := unspeakable(spaces, actions):
                raise SettingError(f"the environment took no step: {outside}") from error
            raise
        outcome = outcome_of(self._environment, returned)
        observations, rewards, terminations, truncations, infos = outcome
        for request, reply in said:
            info = known(infos.get(request.agent))
            self._turns.append(_turn(self.round, request, reply, actions[request.agent], info))
        for agent in alive:
            self._states[agent].earn(rewards, known(infos.get(agent)))
        self._read(observations, infos)
        self._truncated |= any(truncations.values())
        flags = (terminations, truncations)
        self._ended |= {agent for agent in alive if any(flag.get(agent) for flag in flags)}
        self.round += 1

    def episode(self) -> Episode:
        """What came of it."""
        states, last = self._states, self._outcome
        rewards = {agent: tuple(state.rewards) for agent, state in states.items()}
        returns = [sum(state.rewards) for state in states.values()] or [0.0]
        counts: dict[str, dict[str, int]] = {f"tokens_{one}": {} for one in LEDGERS}
        for key in counts:
            # Empty where no info counts these tokens.
            if any(key in state.info for state in states.values()):
                counts[key] = {agent: int(one.info.get(key, 0)) for agent, one in states.items()}
        return Episode(
            task=str(last.get("task", self._start.task or self._start.seed)),
            turns=tuple(self._turns),
            rewards=rewards,
            score=float(last.get("score", np.mean(returns))),
            solved=bool(last["solved"]) if "solved" in last else None,
            answer=str(last.get("answer", "")),
            truncated=self._truncated,
            measures=measures(last.get("measures")),
            task_rewards=_reported(rewards, {a: one.task_rewards for a, one in states.items()}),
            bills=_reported(rewards, {a: one.bills for a, one in states.items()}),
            max_reward=self._max_reward,
            common=self._metadata.get("reward") == "common",
            when=str(self._metadata.get("when", "always")),
            ended_by=str(last.get("ended_by", "")),
            charge=str(self._metadata.get("charge", "own")),
            **counts,
        )

    def _read(self, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> None:
        for agent in self._environment.agents:
            if agent not in self._states:
                raise SettingError(
                    f"agent {agent!r} joined after the reset; agents may leave early, but all that"
                    " take part have to be there from the start, as PettingZoo asks"
                )
        for agent, observation in observations.items():
            # Some environments show something to agents that take no part in this episode.
            if agent in self._states:
                self._states[agent].read(observation, infos.get(agent))
        for info in infos.values():
            # Agents may end at different times; what was said of the episode last counts.
            self._outcome.update(known(info))


def _reported(
    rewards: Mapping[str, tuple[float, ...]], ledger: Mapping[str, Sequence[float]]
) -> dict[str, tuple[float, ...]]:
    """Return a ledger of all agents by round; empty where a round of any agent is missing."""
    if not any(ledger.values()) or any(len(ledger[one]) != len(rewards[one]) for one in rewards):
        return {}
    return {agent: tuple(booked) for agent, booked in ledger.items()}


def _turn(round: int, request: Request, reply: Reply, action: str, info: Mapping[str, Any]) -> Turn:
    before = request.info
    return Turn(
        agent=request.agent,
        round=round,
        message=str(info.get("message", action)),
        prompt_ids=reply.prompt_ids,
        reply_ids=reply.reply_ids,
        behaviour_logprobs=reply.behaviour_logprobs,
        tokens_said=int(info.get("tokens_said", 0)) - int(before.get("tokens_said", 0)),
        informed=request.info.get("informed"),
        cut=bool(info.get("cut", False)) or action != reply.message,
        written=reply.message,
        usage=reply.usage,
        read=request.text,
        truncated=reply.truncated,
        thought=reply.thought,
        tokens_thought=int(info.get("tokens_thought", 0)) - int(before.get("tokens_thought", 0)),
        act=str(info.get("act", "")),
        version=reply.version,
    )
