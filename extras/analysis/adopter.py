"""Scripted agents that adopt and drop a false claim by chance, as the dynamics of spread assume.

All agents say something in every round: the false statement, or that the fact is unclear. An agent
that has not adopted the falsehood does so with probability 1 - (1 - β)^k after it read k messages
with it. An agent that has adopted it drops it with probability δ.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.checks import Share, check_fields
from laconic.envs.dialogue.budget import Tokenize, split_words
from laconic.envs.dialogue.faults import Faults
from laconic.envs.dialogue.option import option_of
from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.interfaces import Request

_UNSURE = "That fact is unclear."


@dataclass
class AdopterTeam:
    """Team that plays the dynamics of an error."""

    beta: Share = 0.3
    """Probability β that a message with the falsehood makes a reader adopt it."""
    delta: Share = 0.1
    """Probability δ that an agent drops it before its next message."""
    tokenize: Tokenize = split_words
    """Function that cuts text into tokens; environments count budgets with it."""

    def __post_init__(self) -> None:
        """Check the probabilities."""
        check_fields(self, "agent")

    @staticmethod
    def defaults(imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit scripts, by dotted key."""
        return {"env.instructions": "full"}

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> Mapping[str, ScriptedPolicy]:
        """Return one policy for all agents.

        Raises:
            SettingError: no agent of the environment makes a false claim.
        """
        faults = option_of(environment, Faults)
        kind = faults and faults.settings.kind
        if kind != "false_claim":
            raise SettingError(
                "agent=adopter spreads a false claim; set env.fault.kind=false_claim, or choose"
                f" another agent; got env.fault.kind={kind}"
            )
        return dict.fromkeys(environment.possible_agents, ScriptedPolicy(self._reply, {}))

    def _reply(self, task: Task, request: Request, generator: random.Random) -> str:
        info = request.info
        if "fault" not in info or info["round"] == 0:
            return _UNSURE
        false = info["fault"]["statement"]
        if false in info["message"]:
            return _UNSURE if generator.random() < self.delta else false
        # The first text holds the fact itself, which is no message.
        messages = request.text.count(f": {false}")
        adopts = generator.random() < 1 - (1 - self.beta) ** messages
        return false if adopts else _UNSURE
