"""Our loss against TRL's GRPO trainer, in value and gradient.

TRL computes the loss inside its trainer (`GRPOTrainer._compute_loss`), so a trainer is built around
a Qwen2 of two layers with random weights and a word-level tokenizer, both made in memory. The same
conversations go through both losses: TRL sees the agent's first prompt as prompt, everything after
it as completion, and what other agents said inside it as tool output, which `tool_mask` leaves out.
Gradients are taken once in the log-probabilities and once in the model's parameters.

Our KL is TRL's with `use_bias_correction_kl=False`; its default in 1.16 multiplies the KL by the
importance ratio.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from learners.objective import LossInputs, Objective
from learners.sequences import Batch

pytestmark = pytest.mark.parity
trl = pytest.importorskip("trl", reason="TRL is installed for `make parity` only")
tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

VOCABULARY, PROMPT = 24, 3
SEEDS = range(8)
PAPER, WIDE = (3e-4, 4e-4), (0.2, 0.28)


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A trainer around a random model; each test sets the loss it wants on it."""
    words = {f"w{index}": index for index in range(VOCABULARY - 2)} | {"[PAD]": 22, "[END]": 23}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="[PAD]", eos_token="[END]"
    )
    torch.manual_seed(0)
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
    return trl.GRPOTrainer(
        model=transformers.Qwen2ForCausalLM(config),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=_arguments(tmp_path_factory.mktemp("trl")),
        train_dataset=_dataset(),
        processing_class=tokenizer,
    )


def _arguments(folder: Path) -> Any:
    return trl.GRPOConfig(
        output_dir=str(folder),
        use_cpu=True,
        bf16=False,
        report_to=[],
        per_device_train_batch_size=4,
        num_generations=4,
        gradient_checkpointing=False,
        importance_sampling_level="sequence",
        loss_type="grpo",
        beta=0.0,
        use_bias_correction_kl=False,
        epsilon=PAPER[0],
        epsilon_high=PAPER[1],
    )


def _dataset() -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict({"prompt": ["w1 w2"] * 4})


def set_loss(trainer: Any, ours: Objective) -> None:
    """Ask TRL for the loss that `ours` describes."""
    trainer.importance_sampling_level = "token" if ours.ratio == "token" else "sequence"
    trainer.loss_type = "grpo" if ours.average == "sequence" else "bnpo"
    trainer.epsilon_low, trainer.epsilon_high = ours.clip_low, ours.clip_high
    trainer.beta = ours.kl
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()


def their_inputs(batch: Batch, old: Tensor, reference: Tensor) -> dict[str, Tensor]:
    """The batch as TRL wants it."""
    real = batch.attention_mask[:, PROMPT:].long()
    return {
        "prompt_ids": batch.token_ids[:, :PROMPT],
        "prompt_mask": batch.attention_mask[:, :PROMPT].long(),
        "completion_ids": batch.token_ids[:, PROMPT:],
        "completion_mask": real,
        "tool_mask": batch.generated_mask[:, PROMPT:].long(),
        "advantages": batch.advantages,
        "old_per_token_logps": old[:, PROMPT:],
        "ref_per_token_logps": reference[:, PROMPT:],
        "num_items_in_batch": batch.generated_mask.sum(),
    }


def model_logprobs(model: Any, batch: Batch) -> Tensor:
    """Log-probability of every token given those before it; 0 for the first."""
    logits = model(batch.token_ids, attention_mask=batch.attention_mask.long()).logits
    chosen = batch.token_ids[:, 1:, None]
    logprobs = logits[:, :-1].float().log_softmax(-1).gather(-1, chosen)[..., 0]
    return torch.nn.functional.pad(logprobs, (1, 0))


def drifted(logprobs: Tensor, seed: int, size: float) -> Tensor:
    """Log-probabilities of a policy some way off."""
    draw = torch.Generator().manual_seed(seed)
    return logprobs.detach() + size * torch.randn(logprobs.shape, generator=draw)


def largest(ours: Tensor, theirs: Tensor) -> float:
    """Largest absolute difference."""
    return (ours - theirs).abs().max().item()


def cases() -> list[Any]:
    """Every loss both libraries have, with the clip of each paper."""
    found = []
    for ratio in ("sequence", "sequence_token", "token"):
        for low, high in (PAPER, WIDE):
            for kl in (0.0, 0.04):
                found.append(Objective(ratio=ratio, clip_low=low, clip_high=high, kl=kl))
    found.append(Objective(ratio="token", clip_low=0.2, clip_high=0.28, average="token"))
    return [pytest.param(one, id=name(one)) for one in found]


def name(ours: Objective) -> str:
    """Our settings in a few words."""
    clip = f"clip {ours.clip_low:g}/{ours.clip_high:g}"
    return f"ratio {ours.ratio}, {clip}, kl {ours.kl:g}, by {ours.average}"


def row(trainer: Any, ours: Objective, where: str) -> tuple[str, str, str]:
    """What identifies a line of the table."""
    theirs = f"{trainer.importance_sampling_level}, {trainer.loss_type}; gradient in {where}"
    return f"TRL {trl.__version__}", theirs, f"ratio {ours.ratio}, by {ours.average}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ours", cases())
def test_the_loss_and_its_gradient_in_the_logprobs_equal_trls(
    trainer: Any,
    monkeypatch: pytest.MonkeyPatch,
    conversations: Callable[[int], Batch],
    record: Callable[..., None],
    ours: Objective,
    seed: int,
) -> None:
    batch = conversations(seed)
    behaviour = batch.behaviour_logprobs
    current = drifted(behaviour, seed, 6 * ours.clip_high).requires_grad_()
    reference = drifted(behaviour, seed + 100, 0.3)
    set_loss(trainer, ours)
    monkeypatch.setattr(
        trainer,
        "_get_per_token_logps_and_entropies",
        lambda *_, **__: (current[:, PROMPT:], torch.zeros_like(current[:, PROMPT:]), None),
    )
    theirs = trainer._compute_loss(trainer.model, their_inputs(batch, behaviour, reference))
    outputs = ours(
        LossInputs(current, behaviour, batch.generated_mask, batch.advantages, reference)
    )
    (their_grad,) = torch.autograd.grad(theirs, current)
    (our_grad,) = torch.autograd.grad(outputs.loss, current)
    record(
        row(trainer, ours, "log-probabilities"),
        seed,
        batch.token_ids.shape,
        largest(outputs.loss, theirs),
        largest(our_grad, their_grad),
    )
    assert 0 < outputs.metrics["clip_fraction"] < 1
    torch.testing.assert_close(outputs.loss, theirs, rtol=1e-6, atol=2e-7)
    torch.testing.assert_close(our_grad, their_grad, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ours", cases())
def test_the_loss_and_its_gradient_in_the_parameters_equal_trls(
    trainer: Any,
    conversations: Callable[[int], Batch],
    record: Callable[..., None],
    ours: Objective,
    seed: int,
) -> None:
    batch = conversations(seed)
    set_loss(trainer, ours)
    model = trainer.model
    parameters = [one for one in model.parameters() if one.requires_grad]
    current = model_logprobs(model, batch)
    behaviour = drifted(current, seed, 6 * ours.clip_high)
    reference = drifted(current, seed + 100, 0.3)
    outputs = ours(
        LossInputs(current, behaviour, batch.generated_mask, batch.advantages, reference)
    )
    our_grads = torch.autograd.grad(outputs.loss, parameters)
    theirs = trainer._compute_loss(model, their_inputs(batch, behaviour, reference))
    their_grads = torch.autograd.grad(theirs, parameters)
    scale = max(grad.abs().max().item() for grad in their_grads)
    worst = max(largest(a, b) for a, b in zip(our_grads, their_grads, strict=True))
    record(
        row(trainer, ours, "parameters"),
        seed,
        batch.token_ids.shape,
        largest(outputs.loss, theirs),
        worst,
    )
    torch.testing.assert_close(outputs.loss, theirs, rtol=1e-6, atol=1e-6)
    # Each parameter's gradient is a sum over all tokens in float32, in an order of its own.
    assert worst <= 1e-5 * scale
