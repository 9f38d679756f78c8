"""Scripted team-mates for `SingleAgent`: silent ones, and ones that do their part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.roster import role_of
from laconic.envs.task import Task

Teammate = Callable[[str, Any, Mapping[str, Any]], Any]
"""Decides what another agent of a team does: from its name, observation and info to its action."""


def silent(agent: str, observation: Any, info: Mapping[str, Any]) -> str:
    """Say nothing."""
    return ""


def mattering(task: Task, share: Sequence[int]) -> list[str]:
    """The statements of a share that matter; without flags all do."""
    flags = task.relevant or (True,) * len(task.statements)
    return [task.statements[index] for index in share if flags[index]]


def is_complete(task: Task, share: Sequence[int], heard: str) -> bool:
    """Whether who has a share of the statements and heard a text knows all that matters."""
    lacking = [index for index, text in enumerate(task.statements) if text not in heard]
    return not mattering(task, sorted({*lacking} - {*share}))


class Oracle:
    """Says what matters once, and answers when it knows all that matters.

    It looks at the task behind the episode, as no agent can: at which statements matter, and at the
    answer. Where all agents write one piece of work it writes the best draft of its role.
    """

    def __init__(self, env: DialogueEnv) -> None:
        """Look at the environment that is played, without its wrappers."""
        self._env = env
        self._read: dict[str, str] = {}

    def __call__(self, agent: str, observation: Any, info: Mapping[str, Any]) -> str:
        """What the agent says now."""
        task, share = self._env.task, info["share"]
        self._read[agent] = ("" if info["round"] == 0 else self._read[agent]) + observation["text"]
        if info["answering"] and not task.drafts:
            return task.answer_text if is_complete(task, share, self._read[agent]) else ""
        if info["tokens_said"]:
            return ""
        if task.drafts:
            return task.drafts[role_of(agent)][0]
        return self._env.benchmark.separator.join(mattering(task, share))
