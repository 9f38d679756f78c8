"""A dialogue or a world for numeric agents: arrays in, the number of a message out.

Observation: float32 of shape (size,), from 0 to 1 (`envs.wrappers.numeric.Reader`).
Action: `Discrete`, an entry of the menu (`envs.wrappers.numeric.Menu`); 0 is silence. Messages that
exceed the budget are off the menu, and so are acts out of turn and speech that no agent would hear.
Choosing an entry off the menu is silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

from laconic.envs.checks import choice
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.errors import SettingError
from laconic.envs.worlds import WorldEnv
from laconic.envs.wrappers.base import ArrayWrapper, Infos, ResetResult
from laconic.envs.wrappers.numeric import Bag, Layout, Menu, Reader


class DiscreteMessages(ArrayWrapper):
    """Agents send an entry of the menu by its number.

    Args:
        env: the environment.
        menu: the messages; None makes the menu of this environment's tasks.
        words: a vocabulary, or the number of places of a hashed one.
        mask: `info` puts the mask of entries on the menu into `infos[agent]["action_mask"]`;
            `observation` makes observations `{"observation": array, "action_mask": mask}`. A mask
            is int8 of shape (menu.size,), 1 for entries on the menu.

    Raises:
        SettingError: the environment is no `DialogueEnv` or `WorldEnv`, or there are no words.
        UnknownNameError: `mask` is neither of the two.
    """

    def __init__(
        self,
        env: DialogueEnv | WorldEnv,
        *,
        menu: Menu | None = None,
        words: int | Sequence[str] = 128,
        mask: Literal["info", "observation"] = "info",
    ) -> None:
        """Fix menu and layout, which are the same for all agents and tasks."""
        if not isinstance(env, DialogueEnv | WorldEnv):
            raise SettingError(
                "DiscreteMessages needs a DialogueEnv or WorldEnv, which make its menu; got"
                f" {type(env).__name__}. TokenArrays takes any text environment"
            )
        self.menu = menu or Menu.of(env)
        facts = env.world.facts if isinstance(env, WorldEnv) else None
        self.layout = Layout(env.possible_agents, self.menu, Bag(words), facts)
        count = self.menu.size
        space = Box(0.0, 1.0, (self.layout.size,), np.float32)
        super().__init__(env, space, lambda: Discrete(count))
        self._team = env
        self._masked = choice("mask", mask, ("info", "observation")) == "observation"
        self._masked_spaces = {
            agent: Dict({"observation": space, "action_mask": Box(0, 1, (count,), np.int8)})
            for agent, space in self._observation_spaces.items()
        }
        self._readers: dict[str, Reader] = {}

    def observation_space(self, agent: str) -> Any:
        """Return the observation space of an agent, the same object at every call."""
        return (self._masked_spaces if self._masked else self._observation_spaces)[agent]

    def entries(self, agent: str) -> tuple[str, ...]:
        """Return an agent's messages in this episode by number; missing ones are empty."""
        return self._readers[agent].entries

    def _reader(self, agent: str, info: Mapping[str, Any]) -> Reader:
        """Return the reader of an agent at the beginning of an episode."""
        task, share = self._team.task, info["share"]
        entries = self.menu.entries(task, share, agent, info["answering"])
        statements = tuple(task.statements[index] for index in share)
        return Reader(self.layout, agent, task.question, statements, entries, self._team.tokenize)

    def _message(self, agent: str, action: Any) -> str:
        number = np.asarray(action)
        is_integer = number.size == 1 and number.dtype.kind in "iu"
        if not is_integer or number.item() not in range(self.menu.size):
            raise SettingError(
                f"the action of {agent!r} must be a whole number from 0 to {self.menu.size - 1},"
                f" the number of a message; got {action!r}"
            )
        return self._readers[agent].message(number.item()) if agent in self._readers else ""

    def _to_arrays(self, observations: Mapping[str, Any], infos: Infos) -> ResetResult:
        arrays: dict[str, Any] = {}
        figures: Infos = {}
        for agent, observation in observations.items():
            info = infos[agent]
            if info["round"]:
                self._readers[agent].hear(observation["text"])
            else:
                self._readers[agent] = self._reader(agent, info)
            reader = self._readers[agent]
            if "facts" in info:
                reader.learn(info["facts"])
            progress, tokens_left = info["round"] / info["rounds"], observation["tokens_left"]
            array = self._last[agent] = reader.look(
                progress, tokens_left, self._team.offered(agent)
            )
            figures[agent] = self._figures(observation, info)
            if self._masked:
                arrays[agent] = {"observation": array, "action_mask": reader.mask}
            else:
                arrays[agent] = array
                figures[agent]["action_mask"] = reader.mask
        return arrays, figures
