"""What the comparisons with other libraries share: methods, random conversations, kept differences.

Run with `pytest -m parity tests/parity` where the library is installed; elsewhere they skip. With
`PARITY_ROWS=<folder>` the differences are written there, for `table.py`.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from places import CONF
from torch import Tensor

from laconic.learners.advantages.credit import own
from laconic.learners.advantages.group import Advantages, Estimator
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training.objective import Objective
from laconic.learners.training.sequences import Batch, TokenSequence, collate, sequences_of

VOCABULARY = 24
PROMPT = 3
PAD = 0

_rows: list[dict[str, Any]] = []


@dataclass(frozen=True)
class Method:
    """The parts of a learner config that have numbers of their own."""

    name: str
    advantages: Estimator
    objective: Objective
    credit: str
    unit: str
    whiten: bool


@pytest.fixture(scope="session")
def method() -> Callable[[str], Method]:
    """Build the parts of `conf/learner/<name>.yaml`."""
    hydra = pytest.importorskip("hydra")
    from hydra.utils import instantiate

    @cache
    def build(name: str, *overrides: str) -> Method:
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            cfg = hydra.compose("train", overrides=[f"learner={name}", *overrides]).learner
        parts = {
            part: instantiate(cfg[part], _convert_="all") for part in ("advantages", "objective")
        }
        return Method(
            name, **parts, credit=cfg.credit, unit=cfg.unit, whiten=cfg.get("whiten", False)
        )

    return build


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Keep how far two results of one seed are from each other, for the table."""

    def keep(
        library: str,
        ours: str,
        theirs: str,
        quantity: str,
        seed: int,
        got: Tensor,
        expected: Tensor,
    ) -> None:
        _rows.append(
            {
                "ours": ours,
                "library": library,
                "theirs": theirs,
                "quantity": quantity,
                "seed": seed,
                "difference": (got - expected).abs().max().item(),
                "size": expected.abs().max().item(),
                "test": request.node.nodeid.partition("[")[0],
            }
        )

    return keep


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was kept, one file per library."""
    folder = os.environ.get("PARITY_ROWS")
    if not folder:
        return
    for library in {row["library"] for row in _rows}:
        path = Path(folder) / f"{library.replace(' ', '_')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([row for row in _rows if row["library"] == library]))


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Any]:
    """Makes a Qwen2 of two layers with random weights."""
    transformers = pytest.importorskip("transformers")

    def make(seed: int = 0) -> Any:
        torch.manual_seed(seed)
        config = transformers.Qwen2Config(
            vocab_size=VOCABULARY,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            initializer_range=0.3,
        )
        return transformers.Qwen2ForCausalLM(config)

    return make


@pytest.fixture(scope="session")
def make_tokenizer() -> Callable[[], Any]:
    """Makes a tokenizer of whole words."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")

    def make() -> Any:
        words = {f"w{index}": index for index in range(VOCABULARY - 2)} | {"[PAD]": 22, "[END]": 23}
        core = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
        core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=core, pad_token="[PAD]", eos_token="[END]"
        )

    return make


@pytest.fixture(scope="session")
def logprobs_of() -> Callable[[Any, Batch], Tensor]:
    """Log-probability of every token given those before it; 0 for the first."""

    def call(model: Any, batch: Batch) -> Tensor:
        logits = model(batch.token_ids, attention_mask=batch.attention_mask.long()).logits
        chosen = batch.token_ids[:, 1:, None]
        logprobs = logits[:, :-1].float().log_softmax(-1).gather(-1, chosen)[..., 0]
        return torch.nn.functional.pad(logprobs, (1, 0))

    return call


@pytest.fixture
def episodes() -> Callable[[int], tuple[Episode, ...]]:
    """Four random two-round episodes of three agents, who speak in every round."""

    def build(seed: int) -> tuple[Episode, ...]:
        draw = random.Random(seed)

        def turn(agent: str, turn_round: int, prompt: int, reply: int) -> Turn:
            return Turn(
                agent=agent,
                round=turn_round,
                message="",
                prompt_ids=tuple(draw.randrange(1, VOCABULARY) for _ in range(prompt)),
                reply_ids=tuple(draw.randrange(1, VOCABULARY) for _ in range(reply)),
                behavior_logprobs=tuple(-draw.expovariate(0.3) for _ in range(reply)),
            )

        agents = ("helper_0", "helper_1", "solver_0")
        return tuple(
            Episode(
                task="t",
                turns=tuple(
                    turn(agent, number, PROMPT if number == 0 else 2, draw.choice((1, 2, 5, 11)))
                    for number in (0, 1)
                    for agent in agents
                ),
                rewards={agent: (draw.gauss(0, 1), draw.gauss(0, 1)) for agent in agents},
            )
            for _ in range(4)
        )

    return build


@pytest.fixture
def conversations(episodes: Callable[[int], tuple[Episode, ...]]) -> Callable[[int], Batch]:
    """Random conversations as a batch.

    One more row than they have has no generated token at all, as a turn that was masked entirely.
    """

    def build(seed: int) -> Batch:
        sequences = sequences_of(Group("t", episodes(seed)), credit=own, advantages=Advantages())
        nothing = TokenSequence(
            task="t",
            agent="solver_0",
            episode=0,
            round=None,
            token_ids=tuple(range(1, 9)),
            generated=(False,) * 8,
            behavior_logprobs=(0.0,) * 8,
            return_to_go=0.0,
            advantage=1.5,
        )
        return collate([*sequences, nothing], pad_id=PAD)

    return build
