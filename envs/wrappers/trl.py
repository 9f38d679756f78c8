"""One agent of a team as an environment of TRL's `GRPOTrainer`, which gives the model tools.

    GRPOTrainer(model, args=..., environment_factory=seat(make, "solver_0"), ...)

The model speaks by the tool `say(message)`, which plays a round and returns the agent's next
observation. Text outside of tool calls is a free thought that no agent hears. After its last call
the agent is silent to the end. The reward is the agent's return, prices included. The module does
not import TRL, which looks for `reset`, `get_reward` and tools alone; tried with 1.16.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.wrappers.base import text_of
from laconic.envs.wrappers.interfaces import SingleAgent, Teammate, silent

__all__ = ["OVER", "Seat", "seat"]

OVER = "The episode is over."
"""Result of a call after the end."""


class Seat:
    """An agent of a team for TRL; all public methods except `reset` and `get_reward` are tools."""

    def __init__(self, env: SingleAgent) -> None:
        """Take the environment; `reset` starts the episode."""
        self._env = env
        self._over = True
        self._earned = 0.0
        self._info: dict[str, Any] = {}

    def reset(self, task: Any = None, seed: int | None = None, **columns: Any) -> str:
        """Start an episode with the task and seed of a row of the data.

        Returns:
            The first observation; TRL appends it to the prompt.
        """
        options = {} if task is None else {"task": task}
        observation, self._info = self._env.reset(seed=seed, options=options)
        self._over, self._earned = False, 0.0
        return text_of(observation)

    def say(self, message: str) -> str:
        """
        Say a message to your team and read its messages.

        Args:
            message: Your message; an empty one is silence and costs nothing.

        Returns:
            The messages you read next.
        """  # noqa: D212  # TRL's parser of docstrings wants it so.
        if self._over:
            return OVER
        observation, reward, terminated, truncated, self._info = self._env.step(str(message))
        self._earned += reward
        self._over = terminated or truncated
        return OVER if self._over else text_of(observation) or "(nothing new)"

    def get_reward(self) -> float:
        """Return the agent's total reward, after playing the rest of the episode in silence."""
        while not self._over:
            self.say("")
        return self._earned


def seat(
    make: Callable[[], ParallelEnv[str, Any, str]], agent: str, teammates: Teammate | None = None
) -> Callable[[], Seat]:
    """Return a factory for `environment_factory`; each seat has an environment of its own.

    Args:
        make: makes the environment of the whole team.
        agent: the agent that the model plays.
        teammates: chooses the actions of all other agents; None for silent ones.

    Raises:
        UnknownNameError: there is no such agent.
    """
    SingleAgent(make(), agent).close()
    return lambda: Seat(SingleAgent(make(), agent, teammates or silent))
