"""Mixture: in each episode one of several environments, for training on all of them at once."""

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
    """One of several environments an episode, drawn by the seed of its reset.

    Its agents are those of all of them; those of the environment that is played take part. Episodes
    of one seed, such as those of a group, are in the same environment.
    """

    def __init__(self, parts: Parts, drawn: Sequence[str] | None = None) -> None:
        """Put environments on the same tasks together.

        Args:
            parts: by name; the first one stands for all where they are asked about tasks, price
                and tokens.
            drawn: names among which an episode's is drawn evenly, repeated ones more often; None
                for each once.

        Raises:
            SettingError: there are none.
            UnknownNameError: a name is of none of them.
        """
        self.parts = dict(parts)
        self._drawn = tuple(self.parts if drawn is None else drawn)
        if not self._drawn:
            raise SettingError("a mixture needs at least one environment; got none")
        for name in self._drawn:
            choice("part of a mixture", name, tuple(self.parts))
        self._first: Any = next(iter(self.parts.values()))
        self.metadata = dict(self._first.metadata)
        self.render_mode = self._first.render_mode
        each = self.parts.values()
        agents = dict.fromkeys(agent for one in each for agent in one.possible_agents)
        self.possible_agents = [*agents]
        self._generator: np.random.Generator | None = None
        self.part = self._drawn[0]
        """Name of the environment that is played."""

    @property
    def played(self) -> Any:
        """The environment that is played."""
        return self.parts[self.part]

    @property
    def agents(self) -> list[str]:  # type: ignore[override]
        """Who is in the episode."""
        return list(self.played.agents)

    @property
    def answering(self) -> frozenset[str]:
        """Who answers in any of the environments."""
        return frozenset().union(*(getattr(one, "answering", ()) for one in self.parts.values()))

    @property
    def tasks(self) -> Any:
        """The tasks by key, the same in all environments."""
        return self._first.tasks

    @tasks.setter
    def tasks(self, tasks: Any) -> None:
        for one in self.parts.values():
            one.tasks = tasks  # type: ignore[attr-defined]

    @property
    def reward(self) -> Any:
        """The reward settings, the same in all environments."""
        return self._first.reward

    @reward.setter
    def reward(self, reward: Any) -> None:
        for one in self.parts.values():
            one.reward = reward  # type: ignore[attr-defined]
        rules = self._first.metadata
        self.metadata |= {key: rules[key] for key in PAY_RULES if key in rules}

    @property
    def graded(self) -> Any:
        """Whether episodes end with a score."""
        return self._first.graded

    @graded.setter
    def graded(self, graded: bool) -> None:
        for one in self.parts.values():
            one.graded = graded  # type: ignore[attr-defined]

    @property
    def unwrapped(self) -> Any:
        """The environment that is played, without wrappers."""
        return self.played.unwrapped

    def __getattr__(self, name: str) -> Any:
        """What else environments of this kind have, of the first one."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._first, name)

    def observation_space(self, agent: str) -> Space[Any]:
        """The observation space of an agent."""
        space: Space[Any] = self._of(agent).observation_space(agent)
        return space

    def action_space(self, agent: str) -> Space[Any]:
        """The action space of an agent."""
        space: Space[Any] = self._of(agent).action_space(agent)
        return space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode in one of the environments, which is given seed and options.

        `options={"part": name}` names it; else it is drawn.

        Raises:
            UnknownNameError: there is no environment of that name.
        """
        if seed is not None or self._generator is None:
            self._generator, _ = seeding.np_random(seed)
        index = int(self._generator.integers(len(self._drawn)))
        self.part = (options or {}).get("part", self._drawn[index])
        choice("part of a mixture", self.part, tuple(self.parts))
        started: tuple[dict[str, Any], dict[str, Any]] = self.played.reset(
            seed=seed, options=options
        )
        return started

    def step(self, actions: Mapping[str, Any]) -> Any:
        """Play a round of it."""
        return self.played.step(actions)

    def render(self) -> Any:
        """Show the episode as the environment that is played does."""
        return self.played.render()

    def close(self) -> None:
        """Close all of them."""
        for one in self.parts.values():
            one.close()

    def _of(self, agent: str) -> Any:
        """The first environment that has an agent, the one that is played before others."""
        if agent in self.played.possible_agents:
            return self.played
        return next(one for one in self.parts.values() if agent in one.possible_agents)
