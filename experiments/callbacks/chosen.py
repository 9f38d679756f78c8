"""The callbacks of a training: those of this package, and those that `callbacks` adds."""

from __future__ import annotations

from hydra.errors import InstantiationException
from hydra.utils import instantiate

from laconic.envs.errors import SettingError
from laconic.experiments.callbacks.display import PriceSentence, ProgressLine
from laconic.experiments.callbacks.own_accuracy import OwnAccuracy
from laconic.experiments.callbacks.records import GroupLog, Status, Trackers
from laconic.experiments.callbacks.time_limit import TimeLimit
from laconic.experiments.callbacks.warnings import Divergence, Warnings
from laconic.experiments.session.training_run import USERS, Callback, TrainingRun


def own_callbacks(run: TrainingRun) -> dict[str, Callback]:
    """Build the callbacks of every run, in the order in which they are called."""
    cfg = run.cfg
    return {
        "group_log": GroupLog(),
        **({"own_accuracy": OwnAccuracy()} if run.imitates else {}),
        "time_limit": TimeLimit(cfg.train.minutes),
        # What follows shows and writes: first the warnings of a step, then its line.
        "trackers": Trackers(cfg.logger if run.processes.is_main else None),
        "warnings": Warnings(cfg),
        "price_sentence": PriceSentence(),
        "progress": ProgressLine(),
        "divergence": Divergence(),
        # With the warnings of the trackers' end; the report reads it.
        "status": Status(),
    }


def callbacks_of_users(run: TrainingRun) -> dict[str, Callback]:
    """Build the callbacks of the config group `callbacks`, which are called after the others.

    Raises:
        SettingError: a node makes another object.
        Exception: what a constructor raised, as if a method had.
    """
    callbacks = dict[str, Callback]()
    for name, node in (run.cfg.get("callbacks") or {}).items():
        with run.calling(f"{USERS}{name}", "__init__"):
            try:
                callback = instantiate(node, _convert_="all")
            except InstantiationException as error:
                # Wrong settings of a part of it stay one line.
                if isinstance(error.__cause__, ImportError | TypeError | None):
                    raise
                raise error.__cause__ from None
        if not isinstance(callback, Callback):
            raise SettingError(
                f"{USERS}{name} must make a laconic.experiments.Callback; {node._target_} made"
                f" {callback!r}"
            )
        callbacks[f"{USERS}{name}"] = callback
    return callbacks
