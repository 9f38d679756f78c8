"""One seat of a team for TRL's `GRPOTrainer`, whose environments are tools of the model.

    GRPOTrainer(model, args=..., environment_factory=seat(make, "solver_0"), ...)

The model speaks by a tool, `say(message)`, which plays a round and returns what the agent reads
next; what it writes outside calls is a thought that nobody hears and that costs nothing. When it
calls no more it is silent to the end. The reward is what the agent earned, prices included. It
needs nothing of TRL's, which looks for `reset`, `get_reward` and tools alone; tried with 1.16.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.wrappers.base import text_of
from laconic.envs.wrappers.single_agent import SingleAgent
from laconic.envs.wrappers.teammates import Teammate, silent

OVER = "The episode is over."
"""What a call after the end returns."""


class Seat:
    """An agent of a team as TRL meets it; every public method but two is a tool of the model."""

    def __init__(self, env: SingleAgent) -> None:
        """Sit down; the episode begins with `reset`."""
        self._env = env
        self._over = True
        self._earned = 0.0
        self._info: dict[str, Any] = {}

    def reset(self, task: Any = None, seed: int | None = None, **columns: Any) -> str:
        """Start an episode, of the task and with the seed that a row of the data has.

        Returns:
            What the agent reads first; TRL puts it behind the prompt.
        """
        options = {} if task is None else {"task": task}
        seen, self._info = self._env.reset(seed=seed, options=options)
        self._over, self._earned = False, 0.0
        return text_of(seen)

    def say(self, message: str) -> str:
        """
        Say a message to your team and read what it says.

        Args:
            message: What you say; an empty message is silence and costs nothing.

        Returns:
            What you read next.
        """  # noqa: D212  # TRL's parser of docstrings wants it so.
        if self._over:
            return OVER
        seen, reward, terminated, truncated, self._info = self._env.step(str(message))
        self._earned += reward
        self._over = terminated or truncated
        return OVER if self._over else text_of(seen) or "(nothing new)"

    def get_reward(self) -> float:
        """What the agent earned; an episode that it has left is played to its end in silence."""
        while not self._over:
            self.say("")
        return self._earned


def seat(
    make: Callable[[], ParallelEnv[str, Any, str]], agent: str, teammates: Teammate | None = None
) -> Callable[[], Seat]:
    """A factory of seats for `environment_factory`, each with an environment of its own.

    Args:
        make: makes the environment of the whole team.
        agent: whose seat it is.
        teammates: decides for all others; None for silent ones.

    Raises:
        UnknownNameError: there is no such agent.
    """
    SingleAgent(make(), agent).close()
    return lambda: Seat(SingleAgent(make(), agent, teammates or silent))
