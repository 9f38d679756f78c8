"""Check the settings of a program, without torch and without building its parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from omegaconf import DictConfig, ListConfig, OmegaConf

from laconic.envs.checks import choice, flag, number, whole
from laconic.envs.errors import SettingError
from laconic.experiments.session.sweep_result import names_of

SPLITS = ("evaluation", "train")
"""Parts of a task source."""
CAP = "env.max_rounds"
"""Config key of the number of rounds after which an unfinished episode is an error."""

COUNTS = {
    "seed": 0,
    "threads": 1,
    "evaluation.tasks": 1,
    "evaluation.batch": 1,
    "evaluation.transcripts": 0,
}
"""Counts that all evaluating programs share -> minimum of each."""


def check_counts(cfg: DictConfig, least: Mapping[str, int], optional: Collection[str] = ()) -> None:
    """Check settings that are whole numbers.

    Args:
        cfg: composed configuration.
        least: dotted key -> minimum.
        optional: keys that may be null.

    Raises:
        SettingError: names the key and its value.
    """
    for key, bound in least.items():
        whole(key, OmegaConf.select(cfg, key), bound, optional=key in optional)


def check_discounts(cfg: DictConfig) -> None:
    """Check that a team that fails is charged less in one way only.

    Two of them together charge by a power of the pass rate that no one chose.

    Raises:
        SettingError: names the settings and what each is set to without its discount.
    """
    target = OmegaConf.select(cfg, "learner.price._target_", default="")
    follows = str(target).endswith(".PassRate")
    if follows and OmegaConf.select(cfg, "env.reward.when") == "solved":
        raise SettingError(
            "learner/price=pass_rate lowers the price while a team fails, and"
            " env.reward.when=solved charges solved episodes alone, which together charge twice for"
            " failing: keep one of them, and set learner/price=fixed or env.reward.when=always"
        )


def check_train(cfg: DictConfig, processes: int = 1) -> None:
    """Check the counts of a training by this number of processes.

    Raises:
        SettingError: names the key and its value.
    """
    names = ("tasks_per_step", "group_size", "checkpoint_every", "evaluate_every")
    least = {"train.steps": 0} | {f"train.{name}": 1 for name in names}
    check_counts(
        cfg,
        COUNTS | least,
        ("threads", "train.evaluate_every", "evaluation.tasks"),
    )
    number("train.minutes", cfg.train.minutes, above=0, optional=True)
    names_of(cfg.sweep_metric)
    check_discounts(cfg)
    split = OmegaConf.select(cfg, "env.information") == "split"
    if split and OmegaConf.select(cfg, "learner.follow_up") == "outcome":
        raise SettingError(
            "learner.follow_up=outcome tells agents that lack a part of a split task whether their"
            " guess was right, so they would learn to guess; got env.information=split: set"
            " learner.follow_up=next_round, or env.information=full"
        )
    if cfg.train.tasks_per_step < processes:
        raise SettingError(
            f"train.tasks_per_step must be at least the {processes} processes, because each plays"
            f" whole groups; got {cfg.train.tasks_per_step}: raise it, or start fewer processes"
        )


def check_play(
    cfg: DictConfig, least: Mapping[str, int], flags: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Check the settings of a program that plays tasks, and further counts and flags.

    Raises:
        SettingError: names the key and its value.
        UnknownNameError: the split is unknown.
    """
    check_counts(cfg, {**COUNTS, **least}, ("threads", "evaluation.tasks", *optional))
    choice("evaluation.split", cfg.evaluation.split, SPLITS)
    for name in ("evaluation.greedy", *flags):
        flag(name, OmegaConf.select(cfg, name))


def check_evaluate(cfg: DictConfig) -> None:
    """Check the settings of an evaluation."""
    check_play(cfg, {"evaluation.samples": 1}, ("resume", "evaluation.tokens"))
    check_samples(cfg.evaluation.samples, cfg.evaluation.pass_at, cfg.evaluation.greedy)


def check_compare(cfg: DictConfig) -> None:
    """Check the settings of a comparison."""
    least = {"compare.budget": 1, "compare.most_votes": 1}
    check_play(cfg, least, ("compare.equal",), optional=("compare.budget",))


def check_samples(samples: int, chosen: object, greedy: bool) -> None:
    """Check that samples can differ, and that there are enough of them for each estimate.

    Raises:
        SettingError: greedy play is repeated, or a k is not a number from 1 to `samples`.
    """
    if samples > 1 and greedy:
        raise SettingError(
            f"evaluation.samples={samples} repeats every task, but greedy play is the same every"
            " time; set evaluation.greedy=false"
        )
    numbers = list(chosen) if isinstance(chosen, (list, tuple, ListConfig)) else [None]
    if any(type(k) is not int or not 1 <= k <= samples for k in numbers):
        raise SettingError(
            "evaluation.pass_at must be a list of whole numbers from 1 to evaluation.samples"
            f" ({samples}); got {chosen!r}"
        )
