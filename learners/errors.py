"""Everything the learner's side raises on purpose beyond `envs.errors`, one class per failure.

The policy: a setting or a name that is wrong raises the classes of `envs.errors`; what the machine
refuses while a run is saved, or a server that is asked, raises one of these, says what was needed,
where, and what to do, and leaves what was saved before untouched. Every class is also the built-in
error a caller expects. The checks of settings that raise the former are here too.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from laconic.envs.errors import SettingError


class ServerError(RuntimeError):
    """A model server gave no usable answer; what it gave to other requests is kept."""


class CheckpointError(OSError):
    """A checkpoint cannot be written or read; earlier ones are untouched."""


def check_count(name: str, value: object, least: int, what: str = "") -> None:
    """Refuse a setting that is no whole number of at least `least`; `what` says what is counted.

    Raises:
        SettingError: names the key and its value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingError(
            f"{name} must be a whole number {what + ' ' if what else ''}of at least {least};"
            f" got {value!r}"
        )


def check_number(
    name: str,
    value: object,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    finite: bool = True,
) -> None:
    """Refuse a setting that is no number or outside its range.

    Args:
        name: the setting's config key.
        value: what it was set to.
        least: the smallest it may be; `above` excludes the bound itself.
        above: what it has to be larger than.
        most: the largest it may be; `below` excludes the bound itself.
        below: what it has to be smaller than.
        finite: whether infinity is refused; NaN always is.

    Raises:
        SettingError: names the key, the range and its value.
    """
    bounds = {"of at least": least, "above": above, "at most": most, "below": below}
    if isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value):
        right = (
            (least is None or value >= least)
            and (above is None or value > above)
            and (most is None or value <= most)
            and (below is None or value < below)
        )
        if right and (math.isfinite(value) or not finite):
            return
    told = " and ".join(f"{word} {end:g}" for word, end in bounds.items() if end is not None)
    kind = "finite number" if finite else "number"
    raise SettingError(f"{name} must be a {kind} {told}; got {value!r}")


def check_choice(name: str, value: object, known: Collection[str]) -> None:
    """Refuse a setting that is none of the known words.

    Raises:
        SettingError: names the key, the words and its value.
    """
    if value not in known:
        raise SettingError(f"{name} must be one of {', '.join(known)}; got {value!r}")
