"""What is told at the start of a program: conditions of grading, and limits that contradict."""

from __future__ import annotations

from typing import Any

from pettingzoo import ParallelEnv

from laconic.experiments.session.setup import tell_conditions


def tell_start(team: Any, environment: ParallelEnv[str, Any, Any]) -> None:
    """Print under which conditions an environment grades answers, and limits that contradict."""
    tell_conditions(environment)
    for words in contradictions(team, environment):
        print(f"limits: {words}")


def contradictions(team: Any, environment: ParallelEnv[str, Any, Any]) -> list[str]:
    """What limits of a team and its environment make of each other, in words.

    A reply ends at the smaller of two limits; what a cap allows beyond the other is never used.
    """
    settings = {"": getattr(team, "sampling", None)} | {
        f"members.{name}.": getattr(one, "sampling", None)
        for name, one in getattr(team, "members", {}).items()
    }
    budget = getattr(environment, "budget", None)
    cap, found = getattr(budget, "message", None), []
    for where, sampling in settings.items():
        most = getattr(sampling, "max_reply_tokens", None)
        if cap is None or most is None or most == cap + 1:
            continue
        # The token that ends a reply counts among its own, and not among those of a message.
        found.append(
            f"replies end after {min(most, cap + 1)} tokens:"
            f" agent.{where}sampling.max_reply_tokens={most}, env.budget.message={cap} and one to"
            " end"
        )
    episode = getattr(budget, "episode", None)
    thought = getattr(budget, "thought", None)
    for where, sampling in settings.items():
        most = getattr(sampling, "thinking_tokens", None)
        if thought is not None and most is not None and thought != most:
            found.append(
                f"thoughts end after {min(thought, most)} tokens:"
                f" agent.{where}sampling.thinking_tokens={most}, env.budget.thought={thought}"
            )
    if cap is not None and episode is not None and episode < cap:
        found.append(
            f"no message has the {cap} tokens of env.budget.message: env.budget.episode={episode}"
        )
    return found
