"""Agents that speak with a model behind an OpenAI-compatible server, for evaluation.

`ApiTeam` is the team of `agent=api`, `ApiExpert` an expert for `env.feedback=expert`. They ask
`<base_url>/chat/completions`, which vLLM, SGLang, `transformers serve` and most vendors have.
"""

from laconic.learners.agents.api.expert import ApiExpert
from laconic.learners.agents.api.policy import ApiPolicy
from laconic.learners.agents.api.settings import ApiSamplingSettings, Prices, RequestLimits, Server
from laconic.learners.agents.api.team import ApiTeam

__all__ = [
    "ApiExpert",
    "ApiPolicy",
    "ApiSamplingSettings",
    "ApiTeam",
    "RequestLimits",
    "Prices",
    "Server",
]
