"""Scripted team-mates for `SingleAgent`: silent ones, and ones that do their part.

A team-mate is any callable from an agent's name, observation and info to its action.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.roster import role_of


class Teammate(Protocol):
    """Decides what the other agents of a team do."""

    def __call__(self, agent: str, observation: Any, info: Mapping[str, Any]) -> Any:
        """The action of an agent, given what it observes."""
        ...


def silent(agent: str, observation: Any, info: Mapping[str, Any]) -> str:
    """Say nothing."""
    return ""


class Oracle:
    """Says what matters once, and answers when it knows all that matters.

    It looks at the task behind the episode, as no agent can: at which statements matter, and at the
    answer. Without flags all statements matter. Where all agents write one piece of work it writes
    the best draft of its role.
    """

    def __init__(self, env: DialogueEnv) -> None:
        """Look at an environment.

        Args:
            env: the environment that is played, without its wrappers.
        """
        self._env = env
        self._read: dict[str, str] = {}

    def __call__(self, agent: str, observation: Any, info: Mapping[str, Any]) -> str:
        """What the agent says now."""
        task, first = self._env.task, info["round"] == 0
        self._read[agent] = ("" if first else self._read[agent]) + observation["text"]
        if task.drafts:
            return "" if info["tokens_said"] else task.drafts[role_of(agent)][0]
        flags = task.relevant or (True,) * len(task.statements)
        known = [task.statements[index] for index in info["share"] if flags[index]]
        if not info["answering"]:
            return "" if info["tokens_said"] else self._env.benchmark.separator.join(known)
        matters = [text for text, flag in zip(task.statements, flags, strict=True) if flag]
        complete = all(text in known or text in self._read[agent] for text in matters)
        return task.commitment if complete else ""
