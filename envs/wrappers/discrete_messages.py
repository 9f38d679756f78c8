"""A dialogue for agents without a language: an array in, the number of a message out.

Observation: float32 of shape (size,), from 0 to 1; `envs.wrappers.reader` says what stands where.
Action: `Discrete`; the messages are those of `envs.wrappers.menu`, and 0 is silence. What does not
fit the budget whole is off the menu, and choosing what is off the menu is silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

from laconic.envs.checks import choice
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.errors import SettingError
from laconic.envs.wrappers.base import ArrayWrapper, Returned
from laconic.envs.wrappers.menu import Menu
from laconic.envs.wrappers.reader import Known, Layout, Reader
from laconic.envs.wrappers.words import Bag


class DiscreteMessages(ArrayWrapper):
    """Agents say a message of the menu by its number.

    Args:
        env: the environment.
        menu: the messages; None makes the menu of this environment's tasks.
        words: a vocabulary, or the number of places of a hashed one.
        mask: `info` puts the mask of what is on the menu into `infos[agent]["action_mask"]`,
            `observation` makes observations `{"observation": array, "action_mask": mask}`. A mask
            is int8 of shape (menu.size,), 1 for what is on the menu.

    Raises:
        SettingError: the environment is no `DialogueEnv`, or there are no words.
        UnknownNameError: `mask` is none of the two.
    """

    def __init__(
        self,
        env: DialogueEnv,
        *,
        menu: Menu | None = None,
        words: int | Sequence[str] = 128,
        mask: Literal["info", "observation"] = "info",
    ) -> None:
        """Fix menu and layout, which are the same for all agents and tasks."""
        if not isinstance(env, DialogueEnv):
            raise SettingError(
                "DiscreteMessages needs a DialogueEnv, whose tasks make its menu; got"
                f" {type(env).__name__}. TokenArrays takes any text environment"
            )
        self.menu = menu or Menu.of(env)
        self.layout = Layout(env.possible_agents, self.menu, Bag(words))
        super().__init__(env, Box(0.0, 1.0, (self.layout.size,), np.float32))
        self._dialogue = env
        self._masked = choice("mask", mask, ("info", "observation")) == "observation"
        count = self.menu.size
        self._actions = {agent: Discrete(count) for agent in env.possible_agents}
        self._masked_spaces = {
            agent: Dict({"observation": space, "action_mask": Box(0, 1, (count,), np.int8)})
            for agent, space in self._arrays.items()
        }
        self._readers: dict[str, Reader] = {}

    def observation_space(self, agent: str) -> Any:
        """The space of an agent's observation, the same object at every call."""
        return (self._masked_spaces if self._masked else self._arrays)[agent]

    def action_space(self, agent: str) -> Any:
        """The numbers of the menu, the same object at every call."""
        return self._actions[agent]

    def entries(self, agent: str) -> tuple[str, ...]:
        """The messages of an agent in this episode by number; empty where there is none."""
        return self._readers[agent].entries

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode; see `ArrayWrapper`."""
        observations, infos = super().reset(seed, options)
        task, env = self._dialogue.task, self._dialogue
        for agent, info in infos.items():
            entries = self.menu.entries(task, info["share"], agent, info["answering"])
            statements = tuple(task.statements[index] for index in info["share"])
            known = Known(task.question, statements, entries)
            self._readers[agent] = Reader(self.layout, agent, known, env.tokenize)
        return self._shown(observations, infos)

    def step(self, actions: Mapping[str, Any]) -> Returned:
        """Play a round.

        Args:
            actions: the number of each agent's message; an agent that is left out is silent.

        Returns:
            What the environment returns, as arrays and numbers.

        Raises:
            SettingError: an action is no number of the menu.
        """
        said = {agent: self._said(agent, action) for agent, action in actions.items()}
        observations, rewards, terminated, truncated, infos = self.env.step(said)
        for agent, observation in observations.items():
            self._readers[agent].hear(observation["text"])
        shown, figures = self._shown(observations, infos)
        return shown, rewards, terminated, truncated, figures

    def _said(self, agent: str, action: Any) -> str:
        number = np.asarray(action)
        if (
            number.size != 1
            or number.dtype.kind not in "iu"
            or number.item() not in range(self.menu.size)
        ):
            raise SettingError(
                f"the action of {agent!r} must be a whole number from 0 to {self.menu.size - 1},"
                f" the number of a message; got {action!r}"
            )
        return self._readers[agent].message(number.item()) if agent in self._readers else ""

    def _shown(
        self, observations: Mapping[str, Any], infos: Mapping[str, Mapping[str, Any]]
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Observations and infos as numbers."""
        shown: dict[str, Any] = {}
        figures: dict[str, dict[str, Any]] = {}
        for agent, observation in observations.items():
            reader, info = self._readers[agent], infos[agent]
            played = info["round"] / info["rounds"]
            array = self._seen[agent] = reader.look(played, observation["tokens_left"])
            figures[agent] = self._figures(observation, info)
            if self._masked:
                shown[agent] = {"observation": array, "action_mask": reader.mask}
            else:
                shown[agent] = array
                figures[agent]["action_mask"] = reader.mask
        return shown, figures
