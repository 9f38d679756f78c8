"""What a token costs in the evaluation of a policy that a training has left.

A price moves over training, and an evaluation within it is at the price of its step. One that comes
later is at the same price, which the rows of the run tell.
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
"""Overrides after which an evaluation has a price of its own."""


def set_training_price(
    cfg: DictConfig, environments: Environments, overrides: Iterable[str]
) -> None:
    """Set, and say, the price of the training that `agent.model` comes from, where it has one.

    Left as it is configured where the overrides set it, or the run was in another environment.
    """
    given = [one.lstrip("+") for one in overrides]
    found = training_price(cfg)
    if found is None or any(one.startswith(_OWN) for one in given):
        return
    step, price = found
    set_price(environments, price)
    print(f"price: {price:g}, that of training at step {step} (env.reward.price sets another)")


def training_price(cfg: DictConfig) -> tuple[int, float] | None:
    """The step of the policy that is evaluated, and the price of a token then; None for neither.

    `agent.model` may be a run folder, with `agent.step`, or the `policy/` that a run has left.
    """
    model = OmegaConf.select(cfg, "agent.model")
    if not isinstance(model, str):
        return None
    at = Path(model).expanduser().absolute()
    run = next((one for one in (at, *at.parents[:2]) if run_folder(str(one))), None)
    if run is None or (run != at and "policy" not in (at.name, at.parent.name)):
        return None
    name = (read_config(run).get("env") or {}).get("name")
    if name is None or name != cfg.env.get("name"):
        return None
    step = _step(run, at, OmegaConf.select(cfg, "agent.step"))
    rows = read_rows(RunFolder(run).metrics)
    prices = {row["step"]: row["train/price"] for row in rows if "train/price" in row}
    known = [one for one in prices if step is None or one <= step]
    return (max(known), float(prices[max(known)])) if known else None


def _step(run: Path, at: Path, step: int | None) -> int | None:
    """The step of the weights; None for the last."""
    if step is not None or at != run:
        return step
    newest = checkpoint.latest(run / "checkpoints")
    return None if newest is None else int(newest.name.removeprefix("step_")[:8])
