"""Agents whose model is behind an OpenAI-compatible server, for evaluation.

`ApiTeam` is the team of `agent=api`; `ApiExpert` is an expert for `env.feedback=expert`. Both send
requests to `<base_url>/chat/completions`.
"""

from laconic.extras.api.expert import ApiExpert
from laconic.extras.api.policy import ApiPolicy, ApiTeam
from laconic.extras.api.settings import (
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
