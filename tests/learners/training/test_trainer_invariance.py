"""Loss and gradient do not hang on how an update is cut, padded or computed, in any architecture.

As TRL tests it. All in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from random import Random

import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen3Config,
)

from laconic.learners.agents import folders
from laconic.learners.distributed.processes import Processes
from laconic.learners.training import logprobs
from laconic.learners.training.logprobs import current_logprobs
from laconic.learners.training.objective import LossInputs, Objective
from laconic.learners.training.sequences import Batch, TokenSequence, collate, microbatches
from laconic.learners.training.trainer import microbatches_of_rank

LOSS, GRADIENT = 2e-6, 2e-5
"""Largest differences, of the loss in parts of it, of gradients in parts of their norm."""
VOCABULARY, WINDOW = 40, 8
_SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": 128,
}
CONFIGS: dict[str, Callable[[], PreTrainedConfig]] = {
    "qwen3-tied": lambda: Qwen3Config(tie_word_embeddings=True, **_SHAPE),
    "qwen3-untied": lambda: Qwen3Config(tie_word_embeddings=False, **_SHAPE),
    "llama": lambda: LlamaConfig(**_SHAPE),
    "gemma3": lambda: Gemma3TextConfig(
        sliding_window=WINDOW, layer_types=["sliding_attention", "full_attention"], **_SHAPE
    ),
    "mistral": lambda: MistralConfig(sliding_window=WINDOW, **_SHAPE),
    "gpt2": lambda: GPT2Config(
        bos_token_id=None,
        eos_token_id=None,
        vocab_size=VOCABULARY,
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=128,
    ),
}
SLOW = pytest.param(
    "smollm2",
    marks=[
        pytest.mark.slow,
        pytest.mark.skipif(
            folders.find_smollm2() == folders.SMOLLM2_HUB, reason="needs `make smollm2`"
        ),
    ],
)
every_model = pytest.mark.parametrize("name", [*CONFIGS, SLOW])


@cache
def model_of(name: str, attention: str = "sdpa") -> PreTrainedModel:
    """Return a model with the same weights whatever the attention."""
    if name == "smollm2":
        return AutoModelForCausalLM.from_pretrained(
            folders.find_smollm2(), dtype=torch.float32, attn_implementation=attention
        ).eval()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(CONFIGS[name](), attn_implementation=attention)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4.0)
    return model.eval()


def replies() -> list[TokenSequence]:
    """Return sequences of five conversations, all except the first longer than the window."""
    draw, sequences = Random(0), []
    for episode in range(5):
        ids: tuple[int, ...] = ()
        for round in range(1 + episode % 3):
            ids += tuple(draw.randrange(1, VOCABULARY) for _ in range(draw.randint(3, 9)))
            reply = tuple(draw.randrange(1, VOCABULARY) for _ in range(draw.randint(1, 5)))
            marks = (False,) * len(ids) + (True,) * len(reply)
            ids += reply
            behavior = tuple(-4.0 - draw.random() if mark else 0.0 for mark in marks)
            sequence = TokenSequence("t", "a", episode, round, ids, marks, behavior, 0.0)
            sequences.append(replace(sequence, advantage=draw.uniform(-1, 1)))
    return sequences


REPLIES = replies()
OBJECTIVE = Objective("none")


def summed(model: PreTrainedModel, batches: Iterable[Batch]) -> tuple[float, dict[str, Tensor]]:
    """Return the loss and the gradient of all batches together."""
    model.zero_grad(set_to_none=True)
    loss = 0.0
    for batch in batches:
        loss_inputs = batch.behavior_logprobs, batch.generated_mask, batch.advantages
        logprobs = current_logprobs(model, batch, 0.7)
        part = OBJECTIVE(LossInputs(logprobs, *loss_inputs, sequences=len(REPLIES))).loss
        part.backward()
        loss += float(part.detach())
    return loss, {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


@cache
def expected(name: str) -> tuple[float, dict[str, Tensor]]:
    """Return log-probabilities of each reply alone, from all logits, without padding."""
    loss, gradient = summed(model_of(name), (collate([reply], 0) for reply in REPLIES))
    return loss, {name: tensor.clone() for name, tensor in gradient.items()}


def check(name: str, batches: Iterable[Batch], model: PreTrainedModel | None = None) -> None:
    loss, gradient = expected(name)
    result, slopes = summed(model or model_of(name), batches)
    norm = torch.cat([tensor.flatten() for tensor in gradient.values()]).norm()
    assert abs(loss) > 1e-2 and norm > 1e-2 and gradient.keys() == slopes.keys()
    assert result == pytest.approx(loss, rel=LOSS)
    assert (
        max(float((slopes[n] - slope).abs().max()) for n, slope in gradient.items())
        < GRADIENT * norm
    )


def batches_of(parts: Iterable[Sequence[TokenSequence]]) -> list[Batch]:
    return [collate(part, 0) for part in parts]


@every_model
@pytest.mark.parametrize("most", [1, 30, 10**6])
def test_the_size_of_microbatches(name, most):
    """With rows that are shared by the replies of a conversation."""
    parts = microbatches(REPLIES, most)
    assert len(parts) == {1: 5, 30: 4, 10**6: 3}[most]
    check(name, batches_of(parts))


@every_model
def test_all_replies_in_one_pass_in_whatever_order(name):
    mixed = Random(1).sample(REPLIES, len(REPLIES))
    for order in (REPLIES, REPLIES[::-1], mixed):
        check(name, batches_of([order]))


@every_model
def test_attention_written_out(name):
    check(name, batches_of([REPLIES]), model_of(name, "eager"))


@every_model
def test_logits_in_chunks(name, monkeypatch):
    size = model_of(name).config.vocab_size
    for tokens in (1, 5):
        monkeypatch.setattr(logprobs, "CHUNK", tokens * size)
        check(name, batches_of([REPLIES]))


@every_model
def test_padding_on_the_left(name):
    """Positions are counted from the first column; where they are learned that is another text."""
    if name == "gpt2":
        pytest.skip("learned positions")
    batch = collate(REPLIES, 0)
    lengths = batch.attention_mask.sum(1).tolist()

    def turned(matrix: Tensor) -> Tensor:
        rows = [row.roll(len(row) - length) for row, length in zip(matrix, lengths, strict=True)]
        return torch.stack(rows)

    names = ("token_ids", "attention_mask", "generated_mask", "behavior_logprobs")
    moved = {name: turned(getattr(batch, name)) for name in names}
    # A beginning does not stand where it does in the longer one.
    check(name, [replace(batch, **moved, row_of=torch.arange(len(REPLIES)))])


@every_model
@pytest.mark.parametrize("count", [2, 3])
def test_one_process_or_several(name, count):
    """What each of them is dealt, added up; tests/behavior/test_gloo.py has real ones."""

    class Part(Processes):
        def __init__(self, rank: int) -> None:
            self.rank, self.count = rank, count

    parts = [
        part for rank in range(count) for part, _ in microbatches_of_rank(REPLIES, 30, Part(rank))
    ]
    assert sorted(map(id, sum(parts, []))) == sorted(map(id, REPLIES))
    check(name, batches_of(parts))
