"""Return the result of a training to a sweeper: figures of its last evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.metrics import GLOSSARY


def names_of(setting: Any) -> tuple[str, ...]:
    """Return the metrics that `sweep_metric` names.

    Raises:
        SettingError: `sweep_metric` is neither a name nor a list of names.
    """
    several = tuple(setting) if isinstance(setting, Sequence) else ()
    names = (setting,) if isinstance(setting, str) else several
    if not names or not all(isinstance(name, str) for name in names):
        raise SettingError(
            f"sweep_metric must be a metric of the evaluation or a list of them; got {setting!r}"
        )
    return names


def check(setting: Any, figures: Iterable[str]) -> None:
    """Refuse a metric that no evaluation has; `figures` are the names of the first row.

    Raises:
        UnknownNameError: no evaluation has the metric.
    """
    # A row lacks rates of turns that did not occur; a later row may have them.
    names = {name for name in figures if name.startswith("eval/")}
    for name in names_of(setting):
        if name not in names | {f"eval/{metric}" for metric in GLOSSARY}:
            raise UnknownNameError("metric in sweep_metric", name, names)


def select(setting: Any, rows: Sequence[Mapping[str, Any]]) -> float | list[float]:
    """Return the figures of the last evaluation in rows of `metrics.jsonl`, at least one.

    Returns:
        A float, or a list of floats for a list of names; NaN for a figure that is missing or not
        finite.

    Raises:
        UnknownNameError: no evaluation has such a metric.
    """
    last = [row for row in rows if any(name.startswith("eval/") for name in row)][-1]
    check(setting, last)
    figures = [last.get(name) for name in names_of(setting)]
    values = [math.nan if figure is None else float(figure) for figure in figures]
    return values[0] if isinstance(setting, str) else values
