"""A gate: a small policy that decides in each turn whether a large one is asked to speak.

The gate reads the conversation of the agent. Where it says silent, the agent is silent: the turn
costs nothing, and the large policy is not called. A scripted gate knows who is `informed`. A gate
of weights is silent where its own reply would be. These are the settings; `learners.agents.gated`
plays them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from laconic.envs.checks import Share, Trust, check_fields
from laconic.envs.errors import SettingError, UnknownNameError

INFORMED = "informed"
"""Name of the scripted gate."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Settings of `agent.gate`."""

    policy: Annotated[Any, Trust((INFORMED,))] = INFORMED
    """`informed`, the script, or an agent as in conf/agent whose weights all agents share."""
    threshold: Share = 0.5
    """Probability of speaking from which a gate of weights speaks in greedy play, 0 to 1. In
    sampled play it draws."""
    speak_informed: Share = 1.0
    """Probability that the script speaks for an agent with something useful and untold. An agent
    for which this is unknown, such as one that answers, always speaks."""
    speak_uninformed: Share = 0.0
    """Probability that the script speaks for an agent without."""

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            UnknownNameError: there is no script of this name.
            SettingError: a number is out of its range, or `policy` is no language model that all
                agents share.
        """
        if isinstance(self.policy, str):
            if self.policy != INFORMED:
                raise UnknownNameError("agent.gate.policy", self.policy, (INFORMED,))
        else:
            check_partner("agent.gate.policy", self.policy)
        check_fields(self, "agent.gate")


def check_partner(key: str, team: Any) -> None:
    """Check that a setting holds a language model whose weights all agents share.

    Raises:
        SettingError: it does not.
    """
    sharing = getattr(team, "sharing", None)
    if sharing != "shared":
        received = repr(team) if sharing is None else f"{key}.sharing={sharing}"
        raise SettingError(
            f"{key} must be a language model of conf/agent with {key}.sharing=shared, as"
            f" '+agent@{key}=tiny' sets it; got {received}"
        )
