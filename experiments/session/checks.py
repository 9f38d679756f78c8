"""Check settings of a program together, without torch and without building its parts."""

from __future__ import annotations

from omegaconf import DictConfig, ListConfig, OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.session.sweep_result import names_of


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
    """Check a training by this number of processes.

    Raises:
        SettingError: names the keys and their values.
    """
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


def check_evaluate(cfg: DictConfig) -> None:
    """Check that samples can differ, and that there are enough of them for each estimate.

    Raises:
        SettingError: greedy play is repeated, or a k is not a number from 1 to `samples`.
    """
    samples = cfg.evaluation.samples
    if samples > 1 and cfg.evaluation.greedy:
        raise SettingError(
            f"evaluation.samples={samples} repeats every task, but greedy play is the same every"
            " time; set evaluation.greedy=false"
        )
    chosen: object = cfg.evaluation.pass_at
    numbers = list(chosen) if isinstance(chosen, (list, tuple, ListConfig)) else [None]
    if any(type(k) is not int or not 1 <= k <= samples for k in numbers):
        raise SettingError(
            "evaluation.pass_at must be a list of whole numbers from 1 to evaluation.samples"
            f" ({samples}); got {chosen!r}"
        )
