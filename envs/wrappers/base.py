"""Base classes of the wrappers: a settable price, numeric infos and a global state.

Clients that stack infos into arrays need the same numeric keys in every info, and name a task by a
number. Clients with a central critic need `state()` and `state_space`. Clients without a memory
need `FullTranscript`, which puts the whole conversation into every observation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space
from numpy.typing import NDArray
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from laconic.envs.checks import is_whole
from laconic.envs.dialogue.messages import Message, format_messages
from laconic.envs.dialogue.reward import PAY
from laconic.envs.errors import UnknownNameError

Array = NDArray[Any]
Infos = dict[str, dict[str, Any]]
Options = dict[str, Any] | None
ResetResult = tuple[dict[str, Any], Infos]
StepResult = tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], Infos]


class Wrapper(BaseParallelWrapper[str, Any, Any]):
    """A wrapper that passes a new price on to its environment."""

    @property
    def reward(self) -> Any:
        """Reward settings of the environment, if it has any."""
        return self.env.reward  # type: ignore[attr-defined]

    @reward.setter
    def reward(self, reward: Any) -> None:
        self.env.reward = reward  # type: ignore[attr-defined]


class ArrayWrapper(Wrapper, ABC):
    """A text environment whose observations are arrays of one shape for all agents.

    Every info has the same numbers, and those that a wrapper adds:

    - `task`: number of the task in its source, -1 if it has none;
    - `round`, `tokens_said`, `tokens_read`, `tokens_thought`;
    - `tokens_left`: most tokens of the next message;
    - `informed`: 1, 0, or -1 if unknown;
    - `score`, `solved`: 0 before the end; `solved` is -1 where the task has no verdict;
    - `task_reward`, `billed`, `charged`: 0 after a reset, and only if the environment reports them.

    `reset(options={"task": number})` names the task.
    """

    def __init__(
        self, env: ParallelEnv[str, Any, Any], space: Box, make_action: Callable[[], Space[Any]]
    ) -> None:
        """Give every agent a copy of `space` and the space that `make_action` returns."""
        super().__init__(env)
        self._observation_spaces = {agent: _repeat(space) for agent in env.possible_agents}
        self._action_spaces = {agent: make_action() for agent in env.possible_agents}
        self.state_space = _repeat(space, len(env.possible_agents))
        self._empty = np.zeros(space.shape, space.dtype)
        self._last: dict[str, Array] = {}
        """Latest array of each agent, for `state`."""
        self._numbers = {key: n for n, key in enumerate(getattr(env, "tasks", ()))}

    @property
    def tasks(self) -> dict[int, Any]:
        """Tasks of the environment by number; empty if it has none."""
        return dict(enumerate(getattr(self.env, "tasks", {}).values()))

    def observation_space(self, agent: str) -> Any:
        """Return the observation space of an agent, the same object at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return the action space of an agent, the same object at every call."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: Options = None) -> ResetResult:
        """Start an episode; see the wrapped environment.

        Raises:
            UnknownNameError: there is no task of this number or key.
        """
        self._last = {}
        observations, infos = self.env.reset(seed=seed, options=self._with_key(options))
        return self._to_arrays(observations, infos)

    def step(self, actions: Mapping[str, Any]) -> StepResult:
        """Play a round; an agent without an action is silent.

        Returns:
            The results of the environment, as arrays and numbers.

        Raises:
            SettingError: an action is not in the action space.
        """
        messages = dict.fromkeys(self.agents, "")
        messages |= {agent: self._message(agent, action) for agent, action in actions.items()}
        observations, rewards, terminated, truncated, infos = self.env.step(messages)
        arrays, figures = self._to_arrays(observations, infos)
        return arrays, rewards, terminated, truncated, figures

    def state(self) -> Array:
        """Concatenate the observations of all agents; zeros for those that observe nothing."""
        arrays = [self._last.get(agent, self._empty) for agent in self.possible_agents]
        return np.concatenate(arrays)

    @abstractmethod
    def _message(self, agent: str, action: Any) -> str:
        """Return the message that an action stands for."""

    @abstractmethod
    def _to_arrays(self, observations: Mapping[str, Any], infos: Infos) -> ResetResult:
        """Return observations as arrays and infos as numbers."""

    def _figures(self, observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return the numbers of an info."""
        tokens_left = observation.get("tokens_left") if isinstance(observation, Mapping) else None
        informed = info.get("informed")
        return {
            "task": self._numbers.get(info.get("task"), -1),
            "round": int(info.get("round", 0)),
            "tokens_left": -1 if tokens_left is None else int(np.ravel(tokens_left)[0]),
            "tokens_said": int(info.get("tokens_said", 0)),
            "tokens_read": int(info.get("tokens_read", 0)),
            "tokens_thought": int(info.get("tokens_thought", 0)),
            "informed": -1 if informed is None else int(informed),
            "score": float(info.get("score", 0.0)),
            "solved": int(info.get("solved", -("score" in info))),
            **{key: float(info[key]) for key in PAY if key in info},
        }

    def _with_key(self, options: Options) -> Options:
        """Return options whose task is named by key instead of by number."""
        number = (options or {}).get("task")
        if not is_whole(number):
            return options
        keys = tuple(self._numbers)
        if not 0 <= number < len(keys):
            numbers = [f"0 to {len(keys) - 1}"] if keys else []
            raise UnknownNameError("number of a task", int(number), numbers)
        return {**(options or {}), "task": keys[number]}


def text_of(observation: Any) -> str:
    """Return the text of an observation, which is a string or has one under `text`."""
    return str(observation["text"] if isinstance(observation, Mapping) else observation)


def _repeat(space: Box, times: int = 1) -> Box:
    return Box(np.tile(space.low, times), np.tile(space.high, times), dtype=space.dtype.type)


class FullTranscript(Wrapper):
    """View in which an agent observes everything it has read and said, oldest first.

    Its own messages have the form in which it hears others (`solver_0: #### 12`). The ledger of
    tokens read still counts only new text. The environment may be any text environment; an
    observation is a string or has one under `text`.
    """

    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        """Wrap the environment."""
        super().__init__(env)
        self._texts: dict[str, list[str]] = {}

    def reset(self, seed: int | None = None, options: Options = None) -> ResetResult:
        """Start an episode with an empty transcript; see the wrapped environment."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._texts = {agent: [] for agent in observations}
        return self._extend(observations), infos

    def step(self, actions: Mapping[str, Any]) -> StepResult:
        """Play a round; see the wrapped environment."""
        observations, rewards, terminated, truncated, infos = self.env.step(dict(actions))
        for agent in observations:
            # The published message, if the environment reports it: it may have been cut.
            text = str(infos.get(agent, {}).get("message", actions.get(agent, "")))
            if text:
                message = Message(agent, 0, text, 0)
                self._texts[agent].append(format_messages((message,)))
        return self._extend(observations), rewards, terminated, truncated, infos

    def _extend(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        """Add new texts to the transcripts and return these as observations."""
        extended: dict[str, Any] = {}
        for agent, observation in observations.items():
            # The transcript of an agent that joins later begins there.
            texts = self._texts.setdefault(agent, [])
            texts.append(text_of(observation))
            transcript = "\n".join(filter(None, texts))
            is_mapping = isinstance(observation, Mapping)
            extended[agent] = {**observation, "text": transcript} if is_mapping else transcript
        return extended
