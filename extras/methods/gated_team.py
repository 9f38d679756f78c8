"""Teams behind a gate, and teams of gates with a speaker (`extras.methods.gate`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError
from laconic.extras.methods.gate import Gate, check_partner
from laconic.learners.agents.hf import HFTeam
from laconic.learners.agents.smollm2 import SmolLM2Team
from laconic.learners.agents.tiny import TinyTeam

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

__all__ = ["GatedSmolLM2Team", "GatedTeam", "GatedTinyTeam"]


@dataclass
class GatedTeam(HFTeam):
    """Team behind a gate, or of gates; without either it is the usual team."""

    gate: Gate | None = None
    """Gate that decides when these policies speak. None: they always may."""
    speaker: Any = None
    """Agent as in conf/agent that speaks where these policies, then gates, decide to; it is not
    trained. None: they speak themselves."""

    def __post_init__(self) -> None:
        """Check the settings, without loading a model.

        Raises:
            SettingError: the speaker is no shared language model, or there is a gate as well.
        """
        if isinstance(self.gate, Mapping):
            self.gate = Gate(**self.gate)
        if self.speaker is not None:
            check_partner("agent.speaker", self.speaker)
            if self.gate is not None:
                raise SettingError(
                    "agent.speaker makes the agent a gate, which takes no agent.gate; got both;"
                    " leave one out"
                )
        super().__post_init__()

    def for_environment(self, name: str) -> Self:
        """Return the team with a gate or speaker whose weights suit an environment, by its name."""
        gate, speaker = self.gate, self.speaker
        if gate is not None and hasattr(gate.policy, "for_environment"):
            gate = replace(gate, policy=gate.policy.for_environment(name))
        if speaker is not None:
            speaker = speaker.for_environment(name)
        return replace(self, gate=gate, speaker=speaker)

    @cached_property
    def tokenize(self) -> Callable[[str], Sequence[str]]:
        """Cuts text into the tokens of the model that speaks; budgets are counted with it."""
        if self.speaker is None:
            return super().tokenize
        tokenize: Callable[[str], Sequence[str]] = self.speaker.tokenize
        return tokenize

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, HFPolicy]:
        """Return the policy of each agent with its gate or its speaker; see `HFTeam`."""
        from laconic.extras.methods.gated import attach_gate, put_speaker

        policies = super().policies(environment)
        if self.gate is not None:
            attach_gate(self.gate, policies, environment)
        if self.speaker is not None:
            put_speaker(self.speaker, policies, environment)
        return policies

    def _kind(self) -> type[HFPolicy]:
        from laconic.extras.methods.gated import GatedPolicy, GatePolicy

        if self.gate is None and self.speaker is None:
            return super()._kind()
        return GatePolicy if self.gate is None else GatedPolicy


# The model's own class comes first: its defaults count.
@dataclass
class GatedTinyTeam(TinyTeam, GatedTeam):
    """Team of the shipped weights behind a gate, or of such gates."""


@dataclass
class GatedSmolLM2Team(SmolLM2Team, GatedTeam):
    """Team of SmolLM2 behind a gate, or of such gates."""
