"""Evaluate a trained policy at the token price of its training step.

A price may change during training, and evaluations within training use the price of their step. A
later evaluation uses the same price, which it reads from the rows of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from laconic.experiments.run_folder.folder import RunFolder, read_rows
from laconic.experiments.run_folder.foreign import read_config
from laconic.experiments.session.setup import Environments, set_price
from laconic.learners import checkpoint
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
    step_price = training_price(cfg)
    if step_price is None or any(override.startswith(_OWN) for override in typed):
        return
    step, price, tokens = step_price
    reward = environments[0].reward
    if tokens is None or tokens == reward.normalizer:
        unit = ""
    else:
        # A run of another unit, such as those before each environment had its own.
        unit = f" ({price:g} for {tokens:g} tokens)"
        price *= reward.normalizer / tokens
    set_price(environments, price)
    print(f"price: {price:g}{unit}, as in training at step {step} (env.reward.price sets another)")


def training_price(cfg: DictConfig) -> tuple[int, float, float | None] | None:
    """Return the training step of the evaluated policy, its price, and the tokens that it buys.

    None if unknown; the tokens alone are None for a run whose configuration does not say them.

    `agent.model` may be a run folder, with `agent.step`, or the `policy/` folder of a run.
    """
    model = OmegaConf.select(cfg, "agent.model")
    if not isinstance(model, str):
        return None
    folder = Path(model).expanduser().absolute()
    run = next((path for path in (folder, *folder.parents[:2]) if run_folder(str(path))), None)
    if run is None or (run != folder and "policy" not in (folder.name, folder.parent.name)):
        return None
    env = read_config(run).get("env") or {}
    name, tokens = env.get("name"), (env.get("reward") or {}).get("normalizer")
    if name is None or name != cfg.env.get("name"):
        return None
    step = _step(run, folder, OmegaConf.select(cfg, "agent.step"))
    rows = read_rows(RunFolder(run).metrics)
    prices = {row["step"]: row["train/price"] for row in rows if "train/price" in row}
    steps = [priced for priced in prices if step is None or priced <= step]
    return (max(steps), float(prices[max(steps)]), tokens) if steps else None


def _step(run: Path, folder: Path, step: int | None) -> int | None:
    """Return the step of the weights; None for the last."""
    if step is not None or folder != run:
        return step
    newest = checkpoint.latest(run / "checkpoints")
    return None if newest is None else int(newest.name.removeprefix("step_")[:8])
