"""Times what an engine samples, and the whole step around it, on conversations of a training.

The episodes of a group begin with one task, so their conversations have beginnings in common, as in
any training. Processor time is that of this process and of all that it started, a server among
them; the share of one that somebody else runs is not known and not told.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from laconic.envs.errors import SettingError
from laconic.experiments.running.costs import now
from laconic.experiments.running.setup import (
    draw_starts,
    make_engine,
    make_environments,
    make_learner,
    task_keys,
)
from laconic.learners.engines.base import Engine
from laconic.learners.episode import Group
from laconic.learners.rollout.play import collect

PARTS = ("rollout", "update", "sync")
"""Of a step that are timed."""


class Watch:
    """Seconds, and seconds of processors, between one look and the next."""

    def __init__(self, engine: Engine) -> None:
        """Begin now."""
        self._psutil = require_psutil()
        # A server that was there before belongs to somebody else.
        self._counts = not engine.keeps_copies or getattr(engine, "start", False)
        self._last = self._read()

    def look(self, name: str) -> dict[str, float]:
        """What went by since the last look, as `<name>_seconds` and `<name>_cpu_seconds`."""
        last, self._last = self._last, self._read()
        wall, processor = (after - before for before, after in zip(last, self._last, strict=True))
        found = {f"{name}_seconds": wall}
        return found | ({f"{name}_cpu_seconds": processor} if self._counts else {})

    def _read(self) -> tuple[float, float]:
        started = self._psutil.Process().children(recursive=True) if self._counts else []
        return now(), time.process_time() + sum(map(self._processor_seconds, started))

    def _processor_seconds(self, process: Any) -> float:
        try:
            taken = process.cpu_times()
        except self._psutil.Error:
            return 0.0
        return float(taken.user + taken.system)


def require_psutil() -> Any:
    """The package that knows the processes of a machine, if it is installed.

    Raises:
        SettingError: it is not.
    """
    try:
        import psutil
    except ImportError as error:
        raise SettingError(
            "measure.conversations needs the package psutil: pip install 'laconic[engines]'"
        ) from error
    return psutil


def measure(cfg: DictConfig, team: Any, folder: Path) -> dict[str, float]:
    """Play so many conversations with the engine of a configuration, and learn from them.

    Args:
        cfg: of `measure-speed`; `measure.conversations` of all agents together, rounded up to whole
            groups.
        team: builds the policies.
        folder: of the run.
    """
    (one,) = make_environments(cfg, 1, "train", team)
    agents, size = len(one.possible_agents), cfg.train.group_size
    tasks = -(-cfg.measure.conversations // (agents * size))
    environments = [one, *make_environments(cfg, tasks * size - 1, "train", team)]
    policies = team.policies(one)
    learner = make_learner(cfg, policies)
    starts = draw_starts(task_keys(one), tasks, cfg.seed, 1)
    with make_engine(cfg) as engine:
        engine.open(policies, folder)
        watch = Watch(engine)
        engine.sync()
        found = watch.look("first_sync")
        groups = collect(environments, policies, starts, size, seed=cfg.seed)
        found |= watch.look("rollout") | counts(groups)
        learner.update(groups)
        found |= watch.look("update")
        engine.sync()
        found |= watch.look("sync")
    return found | rates(found)


def counts(groups: Sequence[Group]) -> dict[str, float]:
    """Conversations, and tokens that were sampled in them."""
    episodes = [episode for group in groups for episode in group.episodes]
    turns = [turn for episode in episodes for turn in episode.turns]
    return {
        "conversations": float(sum(len({turn.agent for turn in one.turns}) for one in episodes)),
        "sampled_tokens": float(sum(len(turn.reply_ids) for turn in turns)),
    }


def rates(found: Mapping[str, float]) -> dict[str, float]:
    """Tokens sampled by time, and the time of a step: play, update, and weights handed on."""
    rated = {}
    for second in ("second", "cpu_second"):
        if f"rollout_{second}s" in found:
            taken = {part: found[f"{part}_{second}s"] for part in PARTS}
            rated[f"sampled_tokens_per_{second}"] = found["sampled_tokens"] / taken["rollout"]
            rated[f"step_{second}s"] = sum(taken.values())
    return rated
