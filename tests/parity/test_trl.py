"""Our loss against TRL's GRPO trainer, in value and gradient, for each config it has a loss for.

TRL computes the loss inside its trainer (`GRPOTrainer._compute_loss`), so a trainer is built around
a Qwen2 of two layers with random weights and a word-level tokenizer, both made in memory. The same
conversations go through both losses: TRL sees the agent's first prompt as prompt, everything after
it as completion, and what other agents said inside it as tool output, which `tool_mask` leaves out.
Gradients are taken once in the log-probabilities and once in the model's parameters.

TRL 1.16 has no token form of GSPO; ours is compared with its sequence form, which it equals while a
sequence has one advantage. Our KL is TRL's with `use_bias_correction_kl=False`; its default in 1.16
multiplies the KL by the importance ratio.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from laconic.learners.training.objective import LossInputs, Objective
from laconic.learners.training.sequences import Batch

pytestmark = pytest.mark.parity
trl = pytest.importorskip("trl", reason="TRL is installed for `make parity` only")

PROMPT = 3
SEEDS = range(8)
LIBRARY = f"TRL {trl.__version__}"
PAPER, WIDE = (3e-4, 4e-4), (0.2, 0.28)
Case = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def trainer(
    tmp_path_factory: pytest.TempPathFactory,
    make_model: Callable[..., Any],
    make_tokenizer: Callable[[], Any],
) -> Any:
    """A trainer around a random model; each test sets the loss it wants on it."""
    return trl.GRPOTrainer(
        model=make_model(),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=_arguments(tmp_path_factory.mktemp("trl")),
        train_dataset=_dataset(),
        processing_class=make_tokenizer(),
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
    trainer.importance_sampling_level = (
        "token" if ours.importance_sampling_level == "token" else "sequence"
    )
    trainer.loss_type = {"sequence": "grpo", "token": "bnpo", "sum": "dr_grpo"}[ours.average]
    trainer.max_completion_length = int(ours.normalizer)
    trainer.epsilon_low, trainer.epsilon_high = ours.epsilon, ours.epsilon_high
    trainer.beta = ours.beta
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()


def their_inputs(batch: Batch, old: Tensor, reference: Tensor) -> dict[str, Tensor]:
    """Return the batch in TRL's form."""
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


def drifted(logprobs: Tensor, seed: int, size: float) -> Tensor:
    """Log-probabilities of a policy some way off."""
    draw = torch.Generator().manual_seed(seed)
    return logprobs.detach() + size * torch.randn(logprobs.shape, generator=draw)


def cases() -> list[Any]:
    """Return the configs TRL has a loss for, with each paper's clip, with and without a KL."""
    listed: list[Case] = []
    for low, high in (PAPER, WIDE):
        for kl in (0.0, 0.04):
            changed = {"epsilon": low, "epsilon_high": high, "beta": kl}
            listed += [(name, changed) for name in ("gspo", "gspo_token", "grpo", "dr_grpo")]
    listed.append(("grpo", {"average": "token"}))
    return [
        pytest.param(
            case, id=f"{case[0]}-{'-'.join(f'{key}={value}' for key, value in case[1].items())}"
        )
        for case in listed
    ]


def named(trainer: Any) -> str:
    """Return TRL's name of the loss that is set."""
    return f"`{trainer.importance_sampling_level}`, `{trainer.loss_type}`"


def shown(case: Case) -> str:
    """Return our name in the table."""
    return case[0] + (" by token" if "average" in case[1] else "")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", cases())
def test_the_loss_and_its_gradient_in_the_logprobs_equal_trls(
    trainer: Any,
    monkeypatch: pytest.MonkeyPatch,
    method: Callable[..., Any],
    conversations: Callable[[int], Batch],
    record: Callable[..., None],
    case: Case,
    seed: int,
) -> None:
    ours = replace(method(case[0]).objective, **case[1])
    batch = conversations(seed)
    behavior = batch.behavior_logprobs
    current = drifted(behavior, seed, 6 * ours.epsilon_high).requires_grad_()
    reference = drifted(behavior, seed + 100, 0.3)
    set_loss(trainer, ours)
    monkeypatch.setattr(
        trainer,
        "_get_per_token_logps_and_entropies",
        lambda *_, **__: (current[:, PROMPT:], torch.zeros_like(current[:, PROMPT:]), None),
    )
    theirs = trainer._compute_loss(trainer.model, their_inputs(batch, behavior, reference))
    outputs = ours(LossInputs(current, behavior, batch.generated_mask, batch.advantages, reference))
    (their_grad,) = torch.autograd.grad(theirs, current)
    (our_grad,) = torch.autograd.grad(outputs.loss, current)
    row = (LIBRARY, shown(case), named(trainer))
    record(*row, "loss", seed, outputs.loss, theirs)
    record(*row, "gradient in log-probabilities", seed, our_grad, their_grad)
    assert 0 < outputs.metrics["clip_fraction"] < 1
    torch.testing.assert_close(outputs.loss, theirs, rtol=1e-6, atol=2e-7)
    torch.testing.assert_close(our_grad, their_grad, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", cases())
def test_the_loss_and_its_gradient_in_the_parameters_equal_trls(
    trainer: Any,
    method: Callable[..., Any],
    conversations: Callable[[int], Batch],
    logprobs_of: Callable[[Any, Batch], Tensor],
    record: Callable[..., None],
    case: Case,
    seed: int,
) -> None:
    ours = replace(method(case[0]).objective, **case[1])
    batch = conversations(seed)
    set_loss(trainer, ours)
    model = trainer.model
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    current = logprobs_of(model, batch)
    behavior = drifted(current, seed, 6 * ours.epsilon_high)
    reference = drifted(current, seed + 100, 0.3)
    outputs = ours(LossInputs(current, behavior, batch.generated_mask, batch.advantages, reference))
    theirs = trainer._compute_loss(model, their_inputs(batch, behavior, reference))
    our_grad = flat(torch.autograd.grad(outputs.loss, parameters))
    their_grad = flat(torch.autograd.grad(theirs, parameters))
    row = (LIBRARY, shown(case), named(trainer))
    record(*row, "gradient in parameters", seed, our_grad, their_grad)
    torch.testing.assert_close(outputs.loss, theirs, rtol=1e-6, atol=1e-6)
    # Each parameter's gradient is a sum over all tokens in float32, in an order of its own.
    torch.testing.assert_close(
        our_grad, their_grad, rtol=0, atol=1e-5 * float(their_grad.abs().max())
    )


def flat(gradients: tuple[Tensor, ...]) -> Tensor:
    """Gradients of all parameters in one row."""
    return torch.cat([tensor.flatten() for tensor in gradients])
