"""What a training returns to a sweeper: one figure of its last evaluation, or several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.metrics import GLOSSARY


def names_of(setting: Any) -> tuple[str, ...]:
    """The metrics that `objective` names.

    Raises:
        SettingError: it is neither a name nor a list of names.
    """
    several = tuple(setting) if isinstance(setting, Sequence) else ()
    names = (setting,) if isinstance(setting, str) else several
    if not names or not all(isinstance(name, str) for name in names):
        raise SettingError(
            f"objective must be a metric of the evaluation or a list of such; got {setting!r}"
        )
    return names


def check(setting: Any, figures: Iterable[str]) -> None:
    """Refuse what no evaluation has; the names in the row of the first one of a run can tell.

    Raises:
        UnknownNameError: names the metric and those that exist.
    """
    # A share with nothing behind it is left out of a row, and may be in the next.
    known = {name for name in figures if name.startswith("eval/")}
    for name in names_of(setting):
        if name not in known | {f"eval/{one}" for one in GLOSSARY}:
            raise UnknownNameError("metric in objective", name, known)


def objective(setting: Any, rows: Sequence[Mapping[str, Any]]) -> float | list[float]:
    """The figures of the last evaluation in rows of `metrics.jsonl`; there must be one.

    Returns:
        A float, or a list of floats for a list; NaN where the evaluation has no such figure or none
        that is finite.

    Raises:
        UnknownNameError: no evaluation has such a metric.
    """
    last = [row for row in rows if any(name.startswith("eval/") for name in row)][-1]
    check(setting, last)
    found = [last.get(name) for name in names_of(setting)]
    values = [math.nan if value is None else float(value) for value in found]
    return values[0] if isinstance(setting, str) else values
