"""Scripts of worlds (`envs.worlds`) as agents' scripts: asked by request, blind to tasks."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from laconic.envs.task import Task
from laconic.envs.worlds import Script, TurnView
from laconic.learners.interfaces import Request


def of_world(play: Script) -> Callable[[Task, Request, Random], str]:
    """Adapt a world's script to the form that `ScriptedPolicy` calls."""

    def script(task: Task, request: Request, generator: Random) -> str:
        spoken = any(reply.message for reply in request.history)
        info = request.info
        turn = TurnView(request.agent, info["facts"], request.text, spoken, info["offered"])
        return play(turn, generator)

    return script
