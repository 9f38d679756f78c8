"""Settings and names of earlier versions that are gone, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_AGAIN = "an older run goes on as a new one, agent.model=<its folder>"
GONE = {
    "learner.charge_power": "learner.price.power replaces learner.charge_power, and"
    f" learner/price=fixed its value 0; {_AGAIN}",
    "learner/price/ramp": "learner/price=pass_rate, the default, raises the price with what is"
    f" solved; {_AGAIN}",
}
"""Dotted key, or group and option -> advice."""
_COLLECTORS = "laconic.learners.rollout.collectors"
_MOVED = {
    "laconic.experiments.PlayedEntry": "laconic.extras.compare.columns.PlayedEntry",
    "laconic.learners.advantages.collective": "laconic.extras.methods.collective",
    "laconic.learners.agents.api": "laconic.extras.api",
    "laconic.learners.agents.population": "laconic.extras.methods.population",
    "laconic.learners.algorithms.collective": "laconic.extras.methods.rlccf",
    "laconic.learners.algorithms.sdpo": "laconic.extras.methods.sdpo",
    f"{_COLLECTORS}.contrast.Contrast": f"{_COLLECTORS}.contrast.DynamicSampling",
    f"{_COLLECTORS}.demonstrations.OwnBest": f"{_COLLECTORS}.demonstrations.RejectionSampling",
    f"{_COLLECTORS}.demonstrations.Taught": f"{_COLLECTORS}.demonstrations.TeacherDemos",
    "laconic.learners.rollout.collectors.candidates": "laconic.extras.methods.candidates",
    "laconic.learners.rollout.collectors.edges": "laconic.extras.methods.edges",
}
"""Dotted name of an earlier version, or its beginning -> the present one."""

_AGENTS, _TEAMS = "laconic.learners.agents", "laconic.extras.methods.gated_team"
_GATES = ("gate", "speaker")
_GATED = {
    f"{_AGENTS}.hf.HFTeam": f"{_TEAMS}.GatedTeam",
    f"{_AGENTS}.smollm2.SmolLM2Team": f"{_TEAMS}.GatedSmolLM2Team",
    f"{_AGENTS}.tiny.TinyTeam": f"{_TEAMS}.GatedTinyTeam",
}
"""Class of a team -> the one that takes `_GATES`, as every team of an earlier version did."""
ELSEWHERE = {
    f"agent.{name}": "choose agent=gated, gated_hf or gated_smollm2, which take it"
    for name in _GATES
}
"""Key that other options take now -> advice."""


def present_class(settings: Mapping[str, Any]) -> str:
    """Return the present name of the class of a recorded node."""
    name = present_name(settings["_target_"])
    return _GATED.get(name, name) if any(map(settings.get, _GATES)) else name


def present_name(name: str) -> str:
    """Return the present form of a dotted name; a name that has not moved stays."""
    for old, new in _MOVED.items():
        if name == old or name.startswith(f"{old}."):
            return new + name.removeprefix(old)
    return name
