"""What the wrappers share: a price that can be set, infos of numbers, and a state.

Clients that stack infos into arrays want the same numeric keys in every info, and name no task by
a string; those that learn centrally want `state()` and `state_space`.
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
from laconic.envs.dialogue.reward import PAY
from laconic.envs.errors import UnknownNameError

Array = NDArray[Any]
Infos = dict[str, dict[str, Any]]
Options = dict[str, Any] | None
Started = tuple[dict[str, Any], Infos]
Returned = tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], Infos]


class Wrapper(BaseParallelWrapper[str, Any, Any]):
    """A wrapper through which the price of a token is set, and not past it."""

    @property
    def reward(self) -> Any:
        """The reward settings of the environment, where it has any."""
        return self.env.reward  # type: ignore[attr-defined]

    @reward.setter
    def reward(self, reward: Any) -> None:
        self.env.reward = reward  # type: ignore[attr-defined]


class ArrayWrapper(Wrapper, ABC):
    """A text environment whose observations are arrays of one shape for all agents.

    Every info has these numbers, and what a wrapper adds: `task` (number of the task in its source,
    -1 where it has none), `round`, `tokens_left` (what the next message may have),
    `tokens_said`, `tokens_read`, `tokens_thought`, `informed` (1, 0, or -1 where nobody can say),
    and `score` and `solved`, which are 0 before the end. Where the environment reports what it
    pays, infos of steps have `task_reward`, `billed` and `charged` too, and those of a reset 0.
    `reset(options={"task": number})` names the task.
    """

    def __init__(
        self, env: ParallelEnv[str, Any, Any], space: Box, action: Callable[[], Space[Any]]
    ) -> None:
        """Give every agent a space like this one and one that `action` makes, and make a state."""
        super().__init__(env)
        self._arrays = {agent: _like(space) for agent in env.possible_agents}
        self._actions = {agent: action() for agent in env.possible_agents}
        self.state_space = _like(space, len(env.possible_agents))
        self._empty = np.zeros(space.shape, space.dtype)
        self._seen: dict[str, Array] = {}
        self._numbers = {key: n for n, key in enumerate(getattr(env, "tasks", ()))}

    @property
    def tasks(self) -> dict[int, Any]:
        """The tasks of the environment by number; empty where it has none."""
        return dict(enumerate(getattr(self.env, "tasks", {}).values()))

    def observation_space(self, agent: str) -> Any:
        """The space of an agent's observation, the same object at every call."""
        return self._arrays[agent]

    def action_space(self, agent: str) -> Any:
        """The space of an agent's action, the same object at every call."""
        return self._actions[agent]

    def reset(self, seed: int | None = None, options: Options = None) -> Started:
        """Start an episode; see the wrapped environment.

        Raises:
            UnknownNameError: there is no task of that number or key.
        """
        self._seen = {}
        observations, infos = self.env.reset(seed=seed, options=self._named(options))
        return self._shown(observations, infos)

    def step(self, actions: Mapping[str, Any]) -> Returned:
        """Play a round; what the environment returns, as arrays and numbers.

        An agent that has no action is silent.

        Raises:
            SettingError: an action is not of the action space.
        """
        said = dict.fromkeys(self.agents, "")
        said |= {agent: self._said(agent, action) for agent, action in actions.items()}
        observations, rewards, terminated, truncated, infos = self.env.step(said)
        shown, figures = self._shown(observations, infos)
        return shown, rewards, terminated, truncated, figures

    def state(self) -> Array:
        """What all agents observe, one after the other; zeros of those that observe nothing."""
        seen = [self._seen.get(agent, self._empty) for agent in self.possible_agents]
        return np.concatenate(seen)

    @abstractmethod
    def _said(self, agent: str, action: Any) -> str:
        """The message that an action stands for."""

    @abstractmethod
    def _shown(self, observations: Mapping[str, Any], infos: Infos) -> Started:
        """Observations and infos as arrays and numbers."""

    def _figures(self, observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
        """The numbers of an info."""
        left = observation.get("tokens_left") if isinstance(observation, Mapping) else None
        informed = info.get("informed")
        return {
            "task": self._numbers.get(info.get("task"), -1),
            "round": int(info.get("round", 0)),
            "tokens_left": -1 if left is None else int(np.ravel(left)[0]),
            "tokens_said": int(info.get("tokens_said", 0)),
            "tokens_read": int(info.get("tokens_read", 0)),
            "tokens_thought": int(info.get("tokens_thought", 0)),
            "informed": -1 if informed is None else int(informed),
            "score": float(info.get("score", 0.0)),
            "solved": int(info.get("solved", False)),
            **{key: float(info[key]) for key in PAY if key in info},
        }

    def _named(self, options: Options) -> Options:
        number = (options or {}).get("task")
        if not is_whole(number):
            return options
        keys = tuple(self._numbers)
        if not 0 <= number < len(keys):
            known = [f"0 to {len(keys) - 1}"] if keys else []
            raise UnknownNameError("number of a task", int(number), known)
        return {**(options or {}), "task": keys[number]}


def text_of(observation: Any) -> str:
    """The text of an observation, which is a string or has it under `text`."""
    return str(observation["text"] if isinstance(observation, Mapping) else observation)


def _like(space: Box, times: int = 1) -> Box:
    return Box(np.tile(space.low, times), np.tile(space.high, times), dtype=space.dtype.type)
