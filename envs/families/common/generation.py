"""What all generators of tasks share: the checks of their settings, and which part a problem is in.

A digest of a problem's content says whether it is a train or an evaluation problem. So no problem
is ever in both, whatever the seeds, and neither the order of the statements nor the distractors can
smuggle one across.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from laconic.envs.checks import check_names, choice, is_whole, whole
from laconic.envs.errors import SettingError
from laconic.envs.task import Split

_EVALUATION_SHARE = 4
"""One problem in so many is an evaluation problem."""


def split_of(content: str) -> Split:
    """The part a problem belongs to, by a digest of its content."""
    digest = int.from_bytes(blake2b(content.encode(), digest_size=4).digest())
    return "train" if digest % _EVALUATION_SHARE else "evaluation"


def check_request(seed: object, count: object, split: str) -> None:
    """Refuse what no generator can do.

    Args:
        seed: any whole number.
        count: how many tasks, at least 0.
        split: `train` or `evaluation`.

    Raises:
        SettingError: seed or count is no whole number, or count is negative.
        UnknownNameError: there is no such part.
    """
    whole("generator.seed", seed)
    whole("count", count, 0)
    choice("env.split", split, ("train", "evaluation"))


def span(name: str, value: object, limits: tuple[int, int]) -> tuple[int, int]:
    """Setting `generator.<name>`, a whole number or a pair of them, as a pair within limits.

    Raises:
        SettingError: it is anything else.
    """
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if (
        len(pair) != 2
        or not all(map(is_whole, pair))
        or not limits[0] <= pair[0] <= pair[1] <= limits[1]
    ):
        raise SettingError(
            f"generator.{name} must be a whole number from {limits[0]} to {limits[1]},"
            f" or a pair of them from fewest to most; got {value!r}"
        )
    return pair


def refuse(unknown: Iterable[str], *known: str) -> None:
    """Refuse settings that a generator does not have.

    Args:
        unknown: names of settings that were given and not taken.
        *known: names of those it has, besides the seed.

    Raises:
        UnknownNameError: there is one.
    """
    check_names("setting of generator", unknown, ("seed", *known))


def ran_out(kind: str, count: int, found: int) -> SettingError:
    """The error of a generator that meets nothing but problems it has drawn before.

    Args:
        kind: what there are too few of, e.g. `train problems of level (1, 1)`.
        count: how many were asked for.
        found: how many there are.
    """
    return SettingError(
        f"count must be at most the number of different {kind}; got {count!r}, and found {found}"
        " before they ran out. Ask for fewer, or for more levels or kinds"
    )
