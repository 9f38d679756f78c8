"""A split of tasks by seed and share, for sources that have none of their own."""

from __future__ import annotations

from random import Random

from laconic.envs.errors import SettingError
from laconic.envs.task import Split, Task


def held_out(tasks: tuple[Task, ...], split: Split, share: float, seed: int) -> tuple[Task, ...]:
    """The part of tasks that belongs to a split, in their order; each part has at least one.

    Args:
        tasks: all of them.
        split: `evaluation` for the share that is drawn, `train` for the rest.
        share: of the tasks, between 0 and 1; it is rounded to whole tasks.
        seed: what is drawn by; texts do not matter, so that equal tasks may fall in both parts.

    Raises:
        SettingError: there are fewer than two tasks.
    """
    if len(tasks) < 2:
        raise SettingError(f"env.holdout={share} needs two tasks to part; got {len(tasks)}")
    count = min(max(round(share * len(tasks)), 1), len(tasks) - 1)
    drawn = {*Random(seed).sample(range(len(tasks)), count)}
    evaluation = split == "evaluation"
    return tuple(one for place, one in enumerate(tasks) if (place in drawn) == evaluation)
