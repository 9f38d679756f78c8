"""Playing of one episode: reads observations, asks policies for replies, and records the results.

The environment may be ours or any PettingZoo `ParallelEnv`:

- An observation is a string, or a mapping with a string under `text`. The first entry of
  `tokens_left`, if present, limits the next message.
- These info keys are used if present: `task`, `message`, `cut`, `informed`, `tokens_said`,
  `tokens_read`, `tokens_thought`, `act`, `feedback`, `score`, `solved`, `answer`, `ended_by`,
  `task_reward`, `billed`, `measures`.
- Of the metadata: `reward`, `when`, `charge`, `max_reward`, `graded` and `chance`
  (`envs.dialogue.reward`), `max_rounds`, `slow_step`, and `thought_tokens`, without which thoughts
  are not sent (`envs.dialogue.messages`).

PettingZoo leaves room for interpretation: text spaces, info values, rewards as arrays of one.
Anything with a single reading is accepted. The rest raises `SettingError` with the agent's name
and the remedy; where `check_env` has a rule for it, in the words of that rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
from gymnasium.spaces import Space, Text
from gymnasium.spaces.text import alphanumeric
from pettingzoo import ParallelEnv

from laconic.envs import contract
from laconic.envs.checks import check_agents, number
from laconic.envs.contract.episodes import Rule, are_dicts, broken, describe, number_of
from laconic.envs.contract.text import texts
from laconic.envs.dialogue.messages import BEGIN, join_thought
from laconic.envs.errors import ContractError, SettingError
from laconic.envs.task import Task
from laconic.learners.episode import Episode, Graph, Turn
from laconic.learners.interfaces import Reply, Request

Env: TypeAlias = ParallelEnv[str, Any, Any]

MAX_ROUNDS = 1000
"""Maximum rounds of an episode, unless the environment or the start names another number."""
_CHECKED: WeakValueDictionary[int, Env] = WeakValueDictionary()
"""Environments that passed the checks, by id; each of them plays many episodes."""
ADVICE = "wrap the environment in one that does (docs/own_environment.md)"
_TOKEN_KEYS = ("tokens_said", "tokens_read", "tokens_thought")
"""Info keys that count an agent's tokens since the reset."""
_NUMBERS: Mapping[str, Callable[[float | None], bool]] = {
    "score": lambda number: number is not None,
    "solved": lambda number: number in (0.0, 1.0),
    **dict.fromkeys(_TOKEN_KEYS, lambda number: number is not None and number >= 0),
}
"""Info keys that hold a number -> whether a number, None for anything else, may stand there."""
_LEDGERS = {"reward": "rewards", "task_reward": "task_rewards", "billed": "bills"}
"""Kind of pay -> field of `AgentState` that holds it; the last two are info keys."""


@dataclass(frozen=True, slots=True)
class Start:
    """Initial state of an episode: equal starts give equal first observations."""

    seed: int
    """Seed of the environment's reset."""
    task: str | Task | None = None
    """Key of a task of the environment, or a task that it does not hold. None: it draws one."""
    replies: Mapping[tuple[str, int], Reply | Callable[[Request], Reply | None]] = field(
        default_factory=dict
    )
    """Replies by agent and round that are played instead of asking the policy. With them an episode
    is replayed up to a round, or with one message changed. A function maps the request to a reply;
    if it returns None, the policy is asked."""
    max_rounds: int | None = None
    """Maximum rounds; a longer episode is an error. None: `metadata["max_rounds"]` of the
    environment, or 1,000."""
    topology: Graph = ()
    """Who hears whom in this episode; empty for the topology of the environment."""
    price_share: float = 1.0
    """Part of the environment's price that its update charges (`learners.prices`). A collector that
    plays further episodes passes it on to them."""
    weight: float = 1.0
    """Weight of the episode in the means of an evaluation (`Task.weight`)."""


class Listener:
    """Receives replies and episodes as they come; override the methods you need.

    `place` is the index of the episode's start among the starts of the play.
    """

    def said(self, place: int, round: int, request: Request, reply: Reply) -> None:
        """Receive a reply of a `Streaming` policy."""

    def ended(self, place: int, episode: Episode) -> None:
        """Receive a finished episode; others may still be running."""


@dataclass(slots=True)
class AgentState:
    """One agent's side of a running episode."""

    agent: str
    """Name of the agent."""
    space: Space[Any] | None = None
    """Space that its messages must lie in. None: unknown."""
    unread: list[str] = field(default_factory=list)
    """Texts shown since its last reply."""
    texts: list[str] = field(default_factory=list)
    """Text read before each reply."""
    history: list[Reply] = field(default_factory=list)
    """Replies so far, oldest first."""
    rewards: list[float] = field(default_factory=list)
    """Reward of each round."""
    task_rewards: list[float] = field(default_factory=list)
    """Reported task reward of each round; shorter where a round reported none."""
    bills: list[float] = field(default_factory=list)
    """Reported cost of its own tokens in each round; shorter where a round reported none."""
    max_tokens: int | None = None
    """Tokens that its next message may have. None: no limit."""
    general: str = ""
    """Beginning of its first text, the same for all agents."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """Last info, without keys whose value is None."""

    def read(self, observation: Any, info: Mapping[str, Any] | None) -> None:
        """Store an observation and its info.

        Raises:
            ContractError: the observation has no text, or `tokens_left` no number.
        """
        keyed = isinstance(observation, Mapping)
        text = observation.get("text") if keyed else observation
        if not isinstance(text, str):
            received = (
                f"a mapping with the keys {sorted(map(str, observation))}"
                if keyed and "text" not in observation
                else f"{type(observation).__name__} {_short(observation)}"
            )
            raise _refusal(texts, received, self.agent)
        self.unread.append(str(text))
        tokens_left = observation.get("tokens_left") if keyed else None
        self.max_tokens = None
        if tokens_left is not None:
            first = next(iter(np.ravel(tokens_left)), None)
            if (count := number_of(first)) is None:
                raise _refusal(texts, f"tokens_left={_short(tokens_left)}", self.agent)
            self.max_tokens = int(count)
        self.info = drop_none(info)
        self.general = self.general or str(self.info.get("general", ""))

    def book(self, reward: Any, info: Mapping[str, Any], *, left: bool = False) -> None:
        """Book the reward of a round, and the task reward and bill that its info reports.

        Args:
            reward: the reward; None if the environment names none.
            info: the info after the round.
            left: whether the agent left before the round, and is paid for its last one.

        Raises:
            ContractError: one of them is not a finite number.
        """
        paid = {"reward": reward, **{key: info[key] for key in _LEDGERS if key in info}}
        for key, value in paid.items():
            ledger: list[float] = getattr(self, _LEDGERS[key])
            if (amount := number_of(value)) is None:
                received = "no reward, not even 0.0" if value is None else f"{key}={_short(value)}"
                raise _refusal(contract.rewards, received, self.agent)
            if key == "billed" and amount < 0:
                raise _refusal(contract.rewards, f"billed={_short(value)}", self.agent)
            if not left:
                ledger.append(amount)
            elif len(ledger) == len(self.rewards):
                ledger[-1] += amount


class EpisodeRunner:
    """Plays one episode, one round per call of `step`."""

    def __init__(self, environment: Env, start: Start) -> None:
        """Reset the environment and read its first observations.

        Raises:
            SettingError: agents are not named by strings, or `reset` has an older signature.
        """
        if _CHECKED.get(id(environment)) is not environment:
            _check_environment(environment)
            _CHECKED[id(environment)] = environment
        self._environment = environment
        self._start = start
        metadata = self._metadata = getattr(environment, "metadata", None) or {}
        self.slow = bool(metadata.get("slow_step", False))
        """True if a step waits for other processes."""
        most = metadata.get("max_reward")
        self._max_reward = None if most is None else float(most)
        # An environment that says how much it pays at most, and no more, counts as graded.
        self._graded = bool(metadata.get("graded", self._max_reward not in (None, 1.0)))
        self._max_rounds = start.max_rounds or int(metadata.get("max_rounds") or MAX_ROUNDS)
        self._max_thought_tokens: int | None = metadata.get("thought_tokens")
        self.round = 0
        options: dict[str, Any] = {} if start.task is None else {"task": start.task}
        options |= {"topology": start.topology} if start.topology else {}
        returned: Any = environment.reset(seed=start.seed, options=options or None)
        if not are_dicts(returned, 2):
            raise _refusal(contract.reset, describe(returned))
        observations, infos = returned
        self._check_infos(contract.reset, infos)
        if len(set(environment.agents)) < len(environment.agents):
            raise _refusal(contract.reset, f"agents {_short(environment.agents)}, some twice")
        self._states = {
            agent: AgentState(agent, speech_space(environment, agent))
            for agent in environment.agents
        }
        self._outcome: dict[str, Any] = {}
        self._turns: list[Turn] = []
        self._truncated = False
        # Some environments still list agents that they terminated or truncated.
        self._ended: set[str] = set()
        self._read(contract.reset, observations, infos)

    @property
    def running(self) -> bool:
        """True while the environment lists an agent that it has not ended."""
        return any(agent not in self._ended for agent in self._environment.agents)

    def requests(self) -> list[tuple[Request, Reply | None]]:
        """Return a request for each living agent with tokens left, and the reply of the start.

        A reply of None means that the agent's policy has to be asked.

        Raises:
            SettingError: the episode goes on after its maximum number of rounds.
        """
        if self.round >= self._max_rounds:
            raise SettingError(
                f"the episode of seed {self._start.seed} did not end within env.max_rounds="
                f"{self._max_rounds} rounds; let {type(self._environment).__name__} end or truncate"
                " it, or raise env.max_rounds (in Python: Start(max_rounds=...))"
            )
        pairs: list[tuple[Request, Reply | None]] = []
        for agent in self._environment.agents:
            state = self._states[agent]
            if agent in self._ended or state.max_tokens == 0:
                continue
            request = Request(
                agent=agent,
                text="\n".join(filter(None, state.unread)),
                history=tuple(state.history),
                texts=tuple(state.texts),
                max_tokens=state.max_tokens,
                max_thought_tokens=self._max_thought_tokens,
                general=state.general,
                info=state.info,
            )
            reply = self._start.replies.get((agent, self.round))
            pairs.append((request, reply(request) if callable(reply) else reply))
        return pairs

    def step(self, replies: Sequence[tuple[Request, Reply]]) -> None:
        """Play one round with replies to its requests; all other agents are silent.

        Raises:
            SettingError: the environment refuses a message outside its action space.
            ContractError: it returns something other than five dicts of the agents, pays a reward
                that is not a finite number, shows an observation without a text, or adds an agent.
        """
        alive = [agent for agent in self._environment.agents if agent not in self._ended]
        # Environments that still list ended agents may also require their actions.
        actions = dict.fromkeys(self._environment.agents, "")
        sent = dict(actions)
        for request, reply in replies:
            state = self._states[request.agent]
            message = actions[request.agent] = fit_to_space(state.space, reply.message)
            has_thought = bool(reply.thought) or message.startswith(BEGIN)
            thinks = self._max_thought_tokens is not None and has_thought
            sent[request.agent] = join_thought(reply.thought, message) if thinks else message
            state.unread.clear()
            state.texts.append(request.text)
            state.history.append(reply)
        try:
            returned: Any = self._environment.step(sent)
        except Exception as error:
            spaces = {agent: self._states[agent].space for agent in actions}
            if outside := _outside(spaces, actions):
                raise SettingError(f"the environment took no step: {outside}") from error
            raise
        if not are_dicts(returned, 5):
            raise _refusal(contract.step, describe(returned))
        observations, rewards, terminations, truncations, infos = returned
        self._check_infos(contract.step, infos)
        own_infos = {agent: drop_none(infos.get(agent)) for agent in alive}
        for request, reply in replies:
            agent = request.agent
            self._turns.append(_turn(self.round, request, reply, actions[agent], own_infos[agent]))
        for agent in alive:
            self._states[agent].book(rewards.get(agent), own_infos[agent])
            for flags in (terminations, truncations):
                if number_of(flags.get(agent)) is None:
                    received = f"{_short(flags.get(agent))} among {_short(dict(flags))}"
                    raise _refusal(contract.step, received, agent)
                if flags[agent]:
                    self._ended.add(agent)
        for agent in (agent for agent in rewards if agent not in alive):
            self._pay_late(agent, rewards[agent], drop_none(infos.get(agent)))
        if joined := [agent for agent in self._environment.agents if agent not in actions]:
            received = f"agents {self._environment.agents} after {list(actions)}"
            raise _refusal(contract.leaving, received, joined[0])
        self._read(contract.step, observations, infos)
        self._truncated |= any(truncations.values())
        self.round += 1

    def _check_infos(self, rule: Rule, infos: Mapping[str, Any]) -> None:
        for agent, info in infos.items():
            # None and a missing info say the same as an empty one.
            if not isinstance(info, Mapping | None):
                raise _refusal(rule, f"the info {_short(info)}", agent)
            for key, value in drop_none(info).items():
                if key in _NUMBERS and not _NUMBERS[key](number_of(value)):
                    raise _refusal(rule, f"{key}={_short(value)} in an info", agent)

    def _pay_late(self, agent: str, reward: Any, info: Mapping[str, Any]) -> None:
        """Add pay for an agent that has left to its last round; refuse pay for a stranger."""
        if agent in self._states and self._states[agent].rewards:
            if reward is not None:
                self._states[agent].book(reward, info, left=True)
        elif reward is not None and number_of(reward) != 0:
            raise _refusal(contract.step, f"a reward of {_short(reward)} for no agent", agent)

    def episode(self) -> Episode:
        """Return the finished episode."""
        states, outcome = self._states, self._outcome
        rewards = {agent: tuple(state.rewards) for agent, state in states.items()}
        returns = [sum(state.rewards) for state in states.values()] or [0.0]
        counts: dict[str, dict[str, int]] = {key: {} for key in _TOKEN_KEYS}
        for key in counts:
            # Empty where no info counts these tokens.
            if any(key in state.info for state in states.values()):
                counts[key] = {a: int(state.info.get(key, 0)) for a, state in states.items()}
        measures = outcome.get("measures")
        task_rewards = _complete(rewards, {a: s.task_rewards for a, s in states.items()})
        bills = _complete(rewards, {a: s.bills for a, s in states.items()})
        return Episode(
            task=str(outcome.get("task", self._start.task or self._start.seed)),
            turns=tuple(self._turns),
            rewards=rewards,
            score=float(outcome.get("score", np.mean(returns))),
            solved=bool(outcome["solved"]) if "solved" in outcome else None,
            answer=str(outcome.get("answer", "")),
            truncated=self._truncated,
            # Other shapes are left out.
            measures={
                str(name): float(value)
                for name, value in (measures.items() if isinstance(measures, Mapping) else ())
                if isinstance(value, int | float)
            },
            # One without the other says nothing: rewards may already be less the bills.
            task_rewards=task_rewards if bills else {},
            bills=bills if task_rewards else {},
            max_reward=self._max_reward,
            graded=self._graded,
            chance=float(self._metadata.get("chance", 0.0)),
            common=self._metadata.get("reward") == "common",
            when=str(self._metadata.get("when", "always")),
            ended_by=str(outcome.get("ended_by", "")),
            charge=str(self._metadata.get("charge", "own")),
            unread={a: "\n".join(filter(None, s.unread)) for a, s in states.items()},
            topology=self._start.topology,
            price_share=self._start.price_share,
            weight=self._start.weight,
            **counts,
        )

    def _read(self, rule: Rule, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> None:
        for agent in self._environment.agents:
            if agent not in observations and agent not in self._ended:
                raise _refusal(rule, "no observation", agent)
        for agent, observation in observations.items():
            # Some environments show something to agents that take no part in this episode.
            if agent in self._states:
                self._states[agent].read(observation, infos.get(agent))
        for info in infos.values():
            # Agents may end at different times; the last value of a key counts.
            self._outcome.update(drop_none(info))


def _check_environment(env: Env) -> None:
    """Check names, `max_reward`, `chance` and the signature of `reset` (`SettingError`)."""
    check_agents(env.possible_agents)
    metadata = getattr(env, "metadata", None) or {}
    most = metadata.get("max_reward")
    number("metadata['max_reward'] of the environment", most, above=0, optional=True)
    chance = metadata.get("chance", 0.0)
    number("metadata['chance'] of the environment", chance, lowest=0, below=1)
    signature = inspect.signature(env.reset)
    try:
        signature.bind(seed=0, options=None)
    except TypeError as error:
        raise SettingError(
            f"{type(env).__name__}.reset must take seed and options, as PettingZoo asks; it is"
            f" reset{signature}. Write reset(self, seed=None, options=None)"
        ) from error


def _refusal(rule: Rule, received: str, agent: str = "") -> ContractError:
    """Return the error of a rule of `check_env` that an environment broke in a rollout."""
    return broken(rule, f"{received}; {ADVICE}", agent)


def drop_none(info: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an info without the keys whose value is None."""
    return {key: value for key, value in (info or {}).items() if value is not None}


def speech_space(env: Env, agent: str) -> Space[Any] | None:
    """Return an agent's action space; None where the environment does not name one.

    Raises:
        SettingError: it is one of Gymnasium's spaces, and not one of texts.
    """
    try:
        space: Space[Any] = env.action_space(agent)
    except (AttributeError, KeyError):
        return None
    if type(space).__module__.startswith("gymnasium.spaces") and not isinstance(space, Text):
        raise SettingError(
            f"an action must be a text; agent {agent!r} has the action space {space}; {ADVICE}"
        )
    return space


def fit_to_space(space: Space[Any] | None, message: str) -> str:
    """Drop the characters that a text space does not hold, and cut at its maximum length.

    Gymnasium's default character set is letters and digits. A space with this set was most likely
    made without a thought about characters, so it limits the length alone.
    """
    if not isinstance(space, Text) or message in space:
        return message
    if space.character_set != alphanumeric:
        message = "".join(filter(space.character_set.__contains__, message))
    return message[: space.max_length]


def _outside(spaces: Mapping[str, Space[Any] | None], actions: Mapping[str, str]) -> str:
    """Describe the actions that lie outside their spaces; empty for none."""
    outside = {
        agent: action
        for agent, action in actions.items()
        if (space := spaces[agent]) is not None and action not in space
    }
    sentences = [
        f"agent {agent!r} said {_short(action)}, which is not in its action space"
        f" {_short(spaces[agent])}"
        for agent, action in outside.items()
    ]
    if not all(outside.values()):
        sentences.append("agents may be silent, so it must hold the empty text: Text(min_length=0)")
    if any(outside.values()):
        sentences.append("it must hold natural language with blanks: Text(charset=...)")
    return "; ".join(sentences)


def _short(value: Any) -> str:
    """Return the representation of a value in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _complete(
    rewards: Mapping[str, tuple[float, ...]], ledger: Mapping[str, Sequence[float]]
) -> dict[str, tuple[float, ...]]:
    """Return a ledger by agent and round; empty if a round of any agent is missing."""
    if not any(ledger.values()) or any(len(ledger[a]) != len(rewards[a]) for a in rewards):
        return {}
    return {agent: tuple(values) for agent, values in ledger.items()}


def _turn(round: int, request: Request, reply: Reply, action: str, info: Mapping[str, Any]) -> Turn:
    """Join a request, its reply and the info after it."""
    before = request.info
    return Turn(
        agent=request.agent,
        round=round,
        message=str(info.get("message", action)),
        prompt_ids=reply.prompt_ids,
        reply_ids=reply.reply_ids,
        behavior_logprobs=reply.behavior_logprobs,
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
        feedback=str(info.get("feedback", "")),
        extra=reply.extra,
    )
