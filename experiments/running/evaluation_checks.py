"""Refuses settings of a play of tasks that are out of range, before anything is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omegaconf import DictConfig, ListConfig, OmegaConf

from laconic.envs.checks import choice, flag
from laconic.envs.errors import SettingError
from laconic.experiments.running import setup

SPLITS = ("evaluation", "train")
"""Parts of a task source."""


def check_play(
    cfg: DictConfig, least: Mapping[str, int], flags: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Refuse settings of a play of tasks that are out of range; more counts and flags of a program.

    Raises:
        SettingError: names the key and its value.
        UnknownNameError: there is no such split.
    """
    setup.check_counts(cfg, {**setup.COUNTS, **least}, ("threads", "evaluation.tasks", *optional))
    choice("evaluation.split", cfg.evaluation.split, SPLITS)
    for name in ("evaluation.greedy", *flags):
        flag(name, OmegaConf.select(cfg, name))


def check_samples(samples: int, chosen: object, greedy: bool) -> None:
    """Refuse samples that are all the same, and estimates from too few of them.

    Raises:
        SettingError: greedy play is to be repeated, or a k is not a number from 1 to `samples`.
    """
    if samples > 1 and greedy:
        raise SettingError(
            f"evaluation.samples={samples} plays every task so often, and greedy play is the same"
            " every time; set evaluation.greedy=false"
        )
    numbers = list(chosen) if isinstance(chosen, (list, tuple, ListConfig)) else [None]
    if any(type(k) is not int or not 1 <= k <= samples for k in numbers):
        raise SettingError(
            "evaluation.pass_at must be a list of whole numbers from 1 to evaluation.samples"
            f" ({samples}); got {chosen!r}"
        )
