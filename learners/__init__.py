"""Everything with gradients: agents, rollouts, advantages, objectives, updates."""

from __future__ import annotations

if __name__ == "learners":
    raise ImportError(
        "this folder is imported as laconic.learners: write `from laconic import learners`"
    )

from importlib import import_module
from typing import TYPE_CHECKING, Any

from laconic.records import explain

if TYPE_CHECKING:
    from laconic.learners.advantages.credit import Credits, credit
    from laconic.learners.advantages.group import Advantages, Estimator, Key
    from laconic.learners.agents.hf import HFTeam
    from laconic.learners.agents.scripted import ScriptedTeam
    from laconic.learners.agents.tiny import TinyTeam
    from laconic.learners.algorithms.base import Learner
    from laconic.learners.algorithms.group import GroupLearner
    from laconic.learners.engines.base import Engine
    from laconic.learners.engines.client import ServerClient
    from laconic.learners.engines.served import ServedEngine
    from laconic.learners.episode import Episode, Group, Turn
    from laconic.learners.interfaces import (
        AsyncSampler,
        Policy,
        Prompt,
        Reply,
        Request,
        SampledReply,
        Sampler,
    )
    from laconic.learners.metrics import Interval, intervals, summarize, wilson
    from laconic.learners.prices.schedule import Price
    from laconic.learners.rollout.collectors.base import Collector, Players
    from laconic.learners.rollout.play import Start, play
    from laconic.learners.training.logprobs import current_logprobs
    from laconic.learners.training.objective import LossInputs, LossOutputs, Objective
    from laconic.learners.training.sequences import Batch, TokenSequence, collate, sequences_of

__all__ = [
    "Advantages",
    "AsyncSampler",
    "Batch",
    "Collector",
    "Credits",
    "Engine",
    "Episode",
    "Estimator",
    "Group",
    "GroupLearner",
    "HFTeam",
    "Interval",
    "Key",
    "Learner",
    "LossInputs",
    "LossOutputs",
    "Objective",
    "Players",
    "Policy",
    "Price",
    "Prompt",
    "Reply",
    "Request",
    "SampledReply",
    "Sampler",
    "ScriptedTeam",
    "ServedEngine",
    "ServerClient",
    "Start",
    "TinyTeam",
    "TokenSequence",
    "Turn",
    "collate",
    "credit",
    "current_logprobs",
    "intervals",
    "play",
    "sequences_of",
    "summarize",
    "wilson",
]

_NAMES = {
    "advantages.credit": "Credits credit",
    "advantages.group": "Advantages Estimator Key",
    "agents.hf": "HFTeam",
    "agents.scripted": "ScriptedTeam",
    "agents.tiny": "TinyTeam",
    "algorithms.base": "Learner",
    "algorithms.group": "GroupLearner",
    "engines.base": "Engine",
    "engines.client": "ServerClient",
    "engines.served": "ServedEngine",
    "episode": "Episode Group Turn",
    "interfaces": "AsyncSampler Policy Prompt Reply Request SampledReply Sampler",
    "metrics": "Interval intervals summarize wilson",
    "prices.schedule": "Price",
    "rollout.collectors.base": "Collector Players",
    "rollout.play": "Start play",
    "training.logprobs": "current_logprobs",
    "training.objective": "LossInputs LossOutputs Objective",
    "training.sequences": "Batch TokenSequence collate sequences_of",
}
"""Module of the package -> its public names."""


def __getattr__(name: str) -> Any:
    """Load the module of a public name when it is first used, so that the import stays light."""
    for module, names in _NAMES.items():
        if name in names.split():
            thing = getattr(import_module(f"{__name__}.{module}"), name)
            explain([thing])
            return thing
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names too, which are not loaded yet."""
    return sorted({*globals(), *__all__})
