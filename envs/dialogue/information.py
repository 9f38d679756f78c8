"""Who knows what at the start of an episode.

`full`: every agent reads the whole task. `split`: the statements are dealt among the agents that
hold information and only the question is read by all, so somebody has to speak, and only those who
hold something that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from laconic.envs.task import Task

Information = Literal["full", "split"]
Shares = dict[str, tuple[int, ...]]
"""For each agent, the indices of the statements it reads, in reading order."""


def deal(
    task: Task,
    information: Information,
    agents: Sequence[str],
    holders: Sequence[str],
    generator: np.random.Generator,
) -> Shares:
    """The share of every agent; with fewer statements than holders some shares are empty.

    Args:
        task: the task.
        information: `full` or `split`.
        agents: all agents.
        holders: the agents among whom a split task is dealt.
        generator: source of the random deal; not drawn from for full information.
    """
    if information == "full":
        return dict.fromkeys(agents, tuple(range(len(task.statements))))
    shares: dict[str, list[int]] = {agent: [] for agent in agents}
    order = generator.permutation(len(holders))
    for place, statement in enumerate(generator.permutation(len(task.statements))):
        shares[holders[order[place % len(holders)]]].append(int(statement))
    return {agent: tuple(sorted(share)) for agent, share in shares.items()}


def informed(
    task: Task, information: Information, share: Sequence[int], spoken: bool
) -> bool | None:
    """Whether an agent's next message could tell the team something that matters.

    What it says first (`spoken`) counts as all it knows. None where nobody can say: everybody reads
    everything, or the source has no flags.
    """
    if information == "full":
        return None
    if spoken:
        return False
    return None if task.relevant is None else any(task.relevant[index] for index in share)
