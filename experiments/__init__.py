"""Programs under Hydra: train, evaluate, warm start."""

from __future__ import annotations

if __name__ == "experiments":
    raise ImportError(
        "this folder is imported as laconic.experiments: write `from laconic import experiments`,"
        " or run `laconic train`"
    )

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from laconic.records import explain

if TYPE_CHECKING:
    from laconic.experiments.command_line.programs import Program
    from laconic.experiments.session.evaluation import AfterEvaluation, EvaluationRun, Findings
    from laconic.experiments.session.training_run import Callback, TrainingRun
    from laconic.experiments.tracking.loggers import Logger
    from laconic.experiments.tracking.trackers import Tracker

__all__ = [
    "AfterEvaluation",
    "Callback",
    "EvaluationRun",
    "Findings",
    "Logger",
    "Program",
    "Tracker",
    "TrainingRun",
]

_NAMES = {
    "command_line.programs": "Program",
    "session.evaluation": "AfterEvaluation EvaluationRun Findings",
    "session.training_run": "Callback TrainingRun",
    "tracking.loggers": "Logger",
    "tracking.trackers": "Tracker",
}
"""Module of the package -> its public names."""

# Read once, when torch loads its threads. By default threads spin while they wait for each other,
# and two programs on one machine then take ten times as long as one after the other.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def __getattr__(name: str) -> Any:
    """Load the module of a public name when it is first used, so that the import stays light."""
    for module, names in _NAMES.items():
        if name in names.split():
            thing = getattr(import_module(f"{__name__}.{module}"), name)
            explain([thing])
            return thing
    from laconic.experiments.command_line.gone import present_name

    if (moved := present_name(f"{__name__}.{name}")) != f"{__name__}.{name}":
        raise ImportError(f"{__name__}.{name} is {moved} now")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names too, which are not loaded yet."""
    return sorted({*globals(), *__all__})
