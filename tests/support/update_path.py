"""Records which functions of ours a learning update passes through."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from places import ROOT

SETTINGS = [
    "seed=0",
    "threads=1",
    "train.steps=2",
    "train.tasks_per_step=2",
    # Whole replies solve some tasks. Without a contrast there is no loss, and half of the way.
    "train.group_size=4",
    "env.tasks=20",
    "evaluation.tasks=2",
    "report=false",
]
"""A training whose second update learns."""


@contextmanager
def recorded() -> Iterator[set[tuple[str, str]]]:
    """Fill a set with file and name of what is called up to the last step of the optimizer.

    The second update of the training that is run meanwhile is recorded.
    """
    from laconic.experiments import train

    root, update = str(ROOT), train.update
    called: set[tuple[str, str]] = set()
    before_last_step: set[tuple[str, str]] = set()

    def watch(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call":
            return
        if code.co_name == "step" and "/torch/optim/" in code.co_filename:
            before_last_step.update(called)
        path, name = code.co_filename.partition(root)[2], code.co_qualname
        # Comprehensions, lambdas and generator expressions belong to their functions.
        if path and "site-packages" not in path and not name.endswith(">"):
            called.add((path.removeprefix("/src/laconic"), name))

    def profiled(state: Any, step: int) -> Any:
        watching: Callable[..., None] | None = watch if step == 2 else None
        threading.setprofile(watching)
        sys.setprofile(watching)
        try:
            return update(state, step)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "update", profiled)
        yield before_last_step
