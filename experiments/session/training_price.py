"""Evaluate a trained policy at the price of the environment that it was trained in.

A learner may charge a part of that price at a step; evaluations have the whole one, within a
training and after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from laconic.experiments.run_folder.foreign import read_config
from laconic.experiments.session.setup import Environments, set_price
from laconic.learners.agents.trained import run_folder

_OWN = ("env.reward=", "env.reward.price=", "env.reward.normalizer=")
"""Beginnings of overrides that set the price of an evaluation."""


def set_training_price(
    cfg: DictConfig, environments: Environments, overrides: Iterable[str]
) -> None:
    """Set and print the price of the training that `agent.model` comes from, if it has one.

    The configured price stays if the overrides set it, or the run was in another environment.
    """
    typed = [override.lstrip("+") for override in overrides]
    trained = training_price(cfg)
    if trained is None or any(override.startswith(_OWN) for override in typed):
        return
    price, tokens = trained
    reward = environments[0].reward
    if tokens is None or tokens == reward.normalizer:
        unit = ""
    else:
        # A run of another unit, such as those before each environment had its own.
        unit = f" ({price:g} for {tokens:g} tokens)"
        price *= reward.normalizer / tokens
    set_price(environments, price)
    print(f"price: {price:g}{unit}, as in the training (env.reward.price sets another)")


def training_price(cfg: DictConfig) -> tuple[float, float | None] | None:
    """Return the price of the environment of the evaluated policy's run, and its tokens.

    None if unknown; the tokens alone are None for a run whose configuration does not say them.

    `agent.model` may be a run folder, or the `policy/` folder of a run.
    """
    model = OmegaConf.select(cfg, "agent.model")
    if not isinstance(model, str):
        return None
    folder = Path(model).expanduser().absolute()
    run = next((path for path in (folder, *folder.parents[:2]) if run_folder(str(path))), None)
    if run is None or (run != folder and "policy" not in (folder.name, folder.parent.name)):
        return None
    env = read_config(run).get("env") or {}
    name, reward = env.get("name"), env.get("reward") or {}
    if name is None or name != cfg.env.get("name") or reward.get("price") is None:
        return None
    return float(reward["price"]), reward.get("normalizer")
