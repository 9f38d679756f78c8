"""A team of two agents on a random model, and fake servers that sample for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_engine import FakeEngine

from laconic.learners.agents.hf import HFTeam, SamplingSettings
from laconic.learners.agents.lora import Lora
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.engines.vllm import VLLM
from laconic.learners.rollout.play import Start, collect

TEAM = {"solver": 1, "helper": 1}
IMPATIENT = {"patience_seconds": 5.0, "timeout_seconds": 5.0}
"""Settings that give up soon on a server that does not come back."""


@pytest.fixture
def base(make_policy: Callable[..., HFPolicy], tmp_path: Path) -> Callable[..., Path]:
    """Return a function that saves a random model; a tied one shares embeddings and output head."""

    def save(tied: bool = False) -> Path:
        folder = tmp_path / f"base{tied}"
        # vLLM on a CPU needs attention heads of at least 32 numbers.
        sizes = {"hidden_size": 64, "head_dim": 32, "intermediate_size": 64}
        make_policy(model={"tie_word_embeddings": tied, "scale": 4.0, **sizes}).save(folder)
        return folder

    return save


@pytest.fixture
def make_team(
    base: Callable[..., Path], make_env: Callable[..., Any]
) -> Callable[..., dict[str, HFPolicy]]:
    """Return a function that makes the policies of a solver and a helper."""

    def make(
        sharing: str = "lora",
        tied: bool = False,
        sampling: dict[str, Any] | None = None,
        **settings: Any,
    ) -> dict[str, HFPolicy]:
        default = {"max_reply_tokens": 4, "temperature": 0.8, "explain_silence": False}
        sampling = SamplingSettings(**{**default, **(sampling or {})})
        team = HFTeam(
            str(base(tied)), sharing=sharing, sampling=sampling, lora=Lora(rank=4), **settings
        )
        return team.policies(make_env(team=TEAM))

    return make


@pytest.fixture
def start_server() -> Iterator[Callable[..., FakeEngine]]:
    """Return a function that starts a fake server with the base model of a team."""
    servers: list[FakeEngine] = []

    def start(policies: dict[str, HFPolicy], **settings: Any) -> FakeEngine:
        servers.append(FakeEngine(policies["solver_0"].base, **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., VLLM]]:
    """Return a function that opens an engine on some servers; the fixture closes it."""
    engines: list[VLLM] = []

    def open_on(policies: dict[str, HFPolicy], *servers: FakeEngine, **settings: Any) -> VLLM:
        urls = [server.url for server in servers]
        engines.append(VLLM(url=urls, **{**IMPATIENT, **settings}))
        engines[-1].open(policies, tmp_path / "run")
        return engines[-1]

    yield open_on
    for engine in engines:
        engine.close()


@pytest.fixture
def play_groups(make_env: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that rolls out two groups of two episodes."""

    def play(policies: dict[str, HFPolicy], seed: int = 3, **settings: Any) -> Any:
        environments = [make_env(team=TEAM, rounds=2, **settings) for _ in range(4)]
        return collect(environments, policies, [Start(1, "fruit"), Start(2, "birds")], 2, seed=seed)

    return play


@pytest.fixture
def nudge() -> Callable[..., None]:
    """Return a function that changes the trained weights of some policies, as an update does."""

    def change(policies: dict[str, HFPolicy], size: float = 0.05, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        for policy in {id(policy): policy for policy in policies.values()}.values():
            with torch.no_grad():
                for parameter in policy.model.parameters():
                    if parameter.requires_grad:
                        parameter.add_(size * torch.randn(parameter.shape, generator=generator))

    return change
