"""Agents whose model is behind an OpenAI-compatible server, for evaluation.

`ApiTeam` is the team of `agent=api`; `ApiExpert` is an expert for `env.feedback=expert`. Both send
requests to `<base_url>/chat/completions`.
"""

from laconic.learners.agents.api.expert import ApiExpert
from laconic.learners.agents.api.policy import ApiPolicy, ApiTeam
from laconic.learners.agents.api.settings import (
    ApiSamplingSettings,
    Endpoint,
    Prices,
    RequestLimits,
)

__all__ = [
    "ApiExpert",
    "ApiPolicy",
    "ApiSamplingSettings",
    "ApiTeam",
    "Endpoint",
    "Prices",
    "RequestLimits",
]
