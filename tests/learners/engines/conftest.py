"""A team of two agents on a random model, and servers of our own that speak for it."""

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
from laconic.learners.engines.served import Served
from laconic.learners.engines.vllm import VLLM
from laconic.learners.rollout.play import Start, collect

TEAM = {"solver": 1, "helper": 1}
IMPATIENT = {"patience_seconds": 5.0, "timeout_seconds": 5.0}
"""A server that does not come back is given up soon."""


@pytest.fixture
def base(make_policy: Callable[..., HFPolicy], tmp_path: Path) -> Callable[..., Path]:
    """Saves a random model; `tied` has one matrix for embeddings and output."""

    def save(tied: bool = False) -> Path:
        folder = tmp_path / f"base{tied}"
        # vLLM on a processor knows heads of 32 numbers and more.
        sizes = {"hidden_size": 64, "head_dim": 32, "intermediate_size": 64}
        make_policy(model={"tie_word_embeddings": tied, "scale": 4.0, **sizes}).save(folder)
        return folder

    return save


@pytest.fixture
def make_team(
    base: Callable[..., Path], make_env: Callable[..., Any]
) -> Callable[..., dict[str, HFPolicy]]:
    """The policies of a solver and a helper."""

    def make(
        sharing: str = "lora",
        tied: bool = False,
        speech: dict[str, Any] | None = None,
        **settings: Any,
    ) -> dict[str, HFPolicy]:
        usual = {"max_reply_tokens": 6, "temperature": 0.8, "explain_silence": False}
        how = SamplingSettings(**{**usual, **(speech or {})})
        team = HFTeam(str(base(tied)), sharing=sharing, speech=how, lora=Lora(rank=4), **settings)
        return team.policies(make_env(team=TEAM))

    return make


@pytest.fixture
def start_server() -> Iterator[Callable[..., FakeEngine]]:
    """Starts servers of ours, by default for the base of a team."""
    started: list[FakeEngine] = []

    def start(policies: dict[str, HFPolicy], **given: Any) -> FakeEngine:
        started.append(FakeEngine(policies["solver_0"].base, **given))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Opens an engine on some servers, and closes it in the end."""
    made: list[Served] = []

    def open_on(policies: dict[str, HFPolicy], *servers: FakeEngine, **settings: Any) -> Served:
        urls = [one.url for one in servers]
        made.append(VLLM(url=urls, **{**IMPATIENT, **settings}))
        made[-1].open(policies, tmp_path / "run")
        return made[-1]

    yield open_on
    for one in made:
        one.close()


@pytest.fixture
def play_groups(make_env: Callable[..., Any]) -> Callable[..., Any]:
    """Plays two groups of two episodes."""

    def play(policies: dict[str, HFPolicy], seed: int = 3, **settings: Any) -> Any:
        environments = [make_env(team=TEAM, rounds=2, **settings) for _ in range(4)]
        return collect(environments, policies, [Start(1, "fruit"), Start(2, "birds")], 2, seed=seed)

    return play


@pytest.fixture
def nudge() -> Callable[..., None]:
    """Changes what is trained of some policies, as an update does."""

    def change(policies: dict[str, HFPolicy], size: float = 0.05, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        for policy in {id(one): one for one in policies.values()}.values():
            with torch.no_grad():
                for one in policy.model.parameters():
                    if one.requires_grad:
                        one.add_(size * torch.randn(one.shape, generator=generator))

    return change
