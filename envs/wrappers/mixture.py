"""Mixture: every episode is played in one of several environments, to train on all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from laconic.envs.checks import choice
from laconic.envs.dialogue.reward import PAY_RULES
from laconic.envs.errors import SettingError

Parts = Mapping[str, ParallelEnv[str, Any, Any]]


class Mixture(ParallelEnv[str, Any, Any]):
    """Several environments on the same tasks, one of which is played in an episode.

    The seed of a reset draws it, so episodes of one seed, such as those of a group, share an
    environment. The possible agents are those of all environments; those of the one that is played
    take part.
    """

    def __init__(self, parts: Parts, names: Sequence[str] | None = None) -> None:
        """Join environments.

        Args:
            parts: environments by name. The first one answers for all of them on tasks, price and
                tokens.
            names: names to draw from, uniformly; a repeated name is drawn more often. None takes
                each once.

        Raises:
            SettingError: there is no environment.
            UnknownNameError: no environment has a name that is drawn.
        """
        self.parts = dict(parts)
        self._names = tuple(self.parts if names is None else names)
        if not self._names:
            raise SettingError("a mixture needs at least one environment; got none")
        for name in self._names:
            choice("part of a mixture", name, tuple(self.parts))
        self._first: Any = next(iter(self.parts.values()))
        self.metadata = dict(self._first.metadata)
        self.render_mode = self._first.render_mode
        environments = self.parts.values()
        agents = dict.fromkeys(agent for env in environments for agent in env.possible_agents)
        self.possible_agents = [*agents]
        self._generator: np.random.Generator | None = None
        self.part = self._names[0]
        """Name of the environment that is played."""

    @property
    def played(self) -> Any:
        """Environment that is played."""
        return self.parts[self.part]

    @property
    def agents(self) -> list[str]:  # type: ignore[override]
        """Agents in the episode."""
        return list(self.played.agents)

    @property
    def answering(self) -> frozenset[str]:
        """Agents that answer in any of the environments."""
        return frozenset().union(*(getattr(env, "answering", ()) for env in self.parts.values()))

    @property
    def tasks(self) -> Any:
        """Tasks by key, the same in all environments."""
        return self._first.tasks

    @tasks.setter
    def tasks(self, tasks: Any) -> None:
        for env in self.parts.values():
            env.tasks = tasks  # type: ignore[attr-defined]

    @property
    def reward(self) -> Any:
        """Reward settings, the same in all environments."""
        return self._first.reward

    @reward.setter
    def reward(self, reward: Any) -> None:
        for env in self.parts.values():
            env.reward = reward  # type: ignore[attr-defined]
        rules = self._first.metadata
        self.metadata |= {key: rules[key] for key in PAY_RULES if key in rules}

    @property
    def graded(self) -> Any:
        """True if episodes end with a score."""
        return self._first.graded

    @graded.setter
    def graded(self, graded: bool) -> None:
        for env in self.parts.values():
            env.graded = graded  # type: ignore[attr-defined]

    @property
    def unwrapped(self) -> Any:
        """Environment that is played, without wrappers."""
        return self.played.unwrapped

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the first environment."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._first, name)

    def observation_space(self, agent: str) -> Space[Any]:
        """Return the observation space of an agent."""
        space: Space[Any] = self._of(agent).observation_space(agent)
        return space

    def action_space(self, agent: str) -> Space[Any]:
        """Return the action space of an agent."""
        space: Space[Any] = self._of(agent).action_space(agent)
        return space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode in one of the environments, which gets seed and options.

        `options={"part": name}` names the environment; otherwise it is drawn.

        Raises:
            UnknownNameError: no environment has this name.
        """
        if seed is not None or self._generator is None:
            self._generator, _ = seeding.np_random(seed)
        index = int(self._generator.integers(len(self._names)))
        self.part = (options or {}).get("part", self._names[index])
        choice("part of a mixture", self.part, tuple(self.parts))
        result: tuple[dict[str, Any], dict[str, Any]] = self.played.reset(
            seed=seed, options=options
        )
        return result

    def step(self, actions: Mapping[str, Any]) -> Any:
        """Play a round in it."""
        return self.played.step(actions)

    def render(self) -> Any:
        """Render the environment that is played."""
        return self.played.render()

    def close(self) -> None:
        """Close all environments."""
        for env in self.parts.values():
            env.close()

    def _of(self, agent: str) -> Any:
        """Return an environment that has an agent, if possible the one that is played."""
        if agent in self.played.possible_agents:
            return self.played
        return next(env for env in self.parts.values() if agent in env.possible_agents)
