"""Which collector a learner needs: a counterfactual credit has to be measured by replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from laconic.envs.errors import SettingError
from laconic.learners.rollout.collectors.base import Collector, PlaysGroups, as_collector
from laconic.learners.rollout.collectors.counterfactual import CounterfactualCredit
from laconic.learners.rollout.collectors.shapley import shapley
from laconic.learners.rollout.collectors.silence import silence

MEASURES: Mapping[str, Callable[[Collector], CounterfactualCredit]] = MappingProxyType(
    {"silence": silence, "shapley": shapley}
)
"""Credits that need a measure, and what measures the episodes of a collector."""


def collector_for(collect: PlaysGroups, credit: str, unit: str) -> Collector:
    """Return the collector that a learner with these settings can learn from.

    It is `collect` itself, or, where the credit is counterfactual and `collect` does not measure
    it, a collector that measures with its defaults what `collect` plays.

    Raises:
        SettingError: by its own `credit` or `unit`, `collect` needs another one than the learner's.
    """
    found = as_collector(collect)
    for name, needed, setting in (("credit", found.credit, credit), ("unit", found.unit, unit)):
        if needed not in (None, setting):
            raise SettingError(
                f"learner.collect ({found.kind}) works with learner.{name}={needed};"
                f" got learner.{name}={setting}"
            )
    if credit in MEASURES and found.credit != credit:
        return MEASURES[credit](found)
    return found
