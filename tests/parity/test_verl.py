"""Our loss and advantages against verl's, in value and gradient.

verl gives its losses as functions of log-probabilities (`verl.trainer.ppo.core_algos`), found by
name: `gspo` and `vanilla` (PPO's token ratio). Two of its conventions need care. A sequence without
generated tokens is left out of the mean's divisor unless `global_batch_size` states it; we count it
unless `divisor` states otherwise, so both ways are compared. And `vanilla` also bounds ratios at
`clip_ratio_c` where the advantage is negative, which is set out of reach here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from learners.advantages import Advantages, Key
from learners.objective import LossInputs, Objective
from learners.sequences import Batch

pytestmark = pytest.mark.parity
verl = pytest.importorskip("verl", reason="verl is installed for `make parity` only")
core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")
actor = pytest.importorskip("verl.workers.config.actor")
numpy = pytest.importorskip("numpy")

SEEDS = range(8)
LIBRARY = f"verl {verl.__version__}"
PAPER, WIDE = (3e-4, 4e-4), (0.2, 0.28)


def their_loss(ours: Objective, given: LossInputs, **batch_info: int) -> tuple[Tensor, str]:
    """verl's loss for what `ours` describes, and its name there."""
    kind = "vanilla" if ours.ratio == "token" else "gspo"
    mode = "seq-mean-token-mean" if ours.average == "sequence" else "token-mean"
    config = actor.FSDPActorConfig(
        strategy="fsdp",
        rollout_n=4,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio_low=ours.clip_low,
        clip_ratio_high=ours.clip_high,
        clip_ratio_c=1e6,
        global_batch_info=batch_info,
    )
    loss, _ = core_algos.get_policy_loss_fn(kind)(
        old_log_prob=given.behaviour_logprobs,
        log_prob=given.current_logprobs,
        advantages=given.advantages[:, None].expand_as(given.current_logprobs),
        response_mask=given.generated_mask.float(),
        loss_agg_mode=mode,
        config=config,
    )
    return loss, f"{kind}, {mode}"


def random_inputs(batch: Batch, seed: int, drift: float, divisor: float | None) -> LossInputs:
    """A batch whose policy has moved on a little."""
    draw = torch.Generator().manual_seed(seed)
    noise = torch.randn(batch.behaviour_logprobs.shape, generator=draw)
    return LossInputs(
        current_logprobs=(batch.behaviour_logprobs + drift * noise).requires_grad_(),
        behaviour_logprobs=batch.behaviour_logprobs,
        generated_mask=batch.generated_mask,
        advantages=batch.advantages,
        divisor=divisor,
    )


def cases() -> list[Any]:
    """Every loss both libraries have, with the clip of each paper."""
    return [
        pytest.param(one, id=name(one))
        for one in (
            Objective(ratio=ratio, clip_low=low, clip_high=high, average=average)
            for ratio in ("sequence", "sequence_token", "token")
            for average in ("sequence", "token")
            for low, high in (PAPER, WIDE)
        )
    ]


def name(ours: Objective) -> str:
    """Our settings in a few words."""
    clip = f"clip {ours.clip_low:g}/{ours.clip_high:g}"
    return f"ratio {ours.ratio}, {clip}, by {ours.average}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("empty_rows", ["counted", "left out"])
@pytest.mark.parametrize("ours", cases())
def test_the_loss_and_its_gradient_equal_verls(
    conversations: Callable[[int], Batch],
    record: Callable[..., None],
    ours: Objective,
    empty_rows: str,
    seed: int,
) -> None:
    batch = conversations(seed)
    sequences = len(batch.advantages)
    stated = {"global_batch_size": sequences} if empty_rows == "counted" else {}
    left_out = ours.average == "sequence" and empty_rows == "left out"
    given = random_inputs(
        batch, seed, 6 * ours.clip_high, divisor=sequences - 1 if left_out else None
    )
    theirs, loss_name = their_loss(ours, given, **stated)
    outputs = ours(given)
    (their_grad,) = torch.autograd.grad(theirs, given.current_logprobs)
    (our_grad,) = torch.autograd.grad(outputs.loss, given.current_logprobs)
    record(
        (LIBRARY, loss_name, f"ratio {ours.ratio}, by {ours.average}"),
        seed,
        batch.token_ids.shape,
        (outputs.loss - theirs).abs().item(),
        (our_grad - their_grad).abs().max().item(),
    )
    assert 0 < outputs.metrics["clip_fraction"] < 1
    torch.testing.assert_close(outputs.loss, theirs, rtol=1e-6, atol=2e-7)
    torch.testing.assert_close(our_grad, their_grad, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_kl_estimate_equals_verls(
    conversations: Callable[[int], Batch], record: Callable[..., None], seed: int
) -> None:
    batch = conversations(seed)
    given = random_inputs(batch, seed, 0.3, None)
    reference = batch.behaviour_logprobs
    theirs = core_algos.kl_penalty_forward(given.current_logprobs, reference, "low_var_kl")
    theirs = core_algos.agg_loss(
        theirs,
        batch.generated_mask.float(),
        "seq-mean-token-mean",
        global_batch_size=len(batch.advantages),
    )
    ours = Objective(kl=1.0)(
        LossInputs(
            given.current_logprobs,
            given.behaviour_logprobs,
            given.generated_mask,
            torch.zeros_like(given.advantages),
            reference,
        )
    ).loss
    (their_grad,) = torch.autograd.grad(theirs, given.current_logprobs)
    (our_grad,) = torch.autograd.grad(ours, given.current_logprobs)
    record(
        (LIBRARY, "kl_penalty_forward low_var_kl", "kl 1 alone"),
        seed,
        batch.token_ids.shape,
        (ours - theirs).abs().item(),
        (our_grad - their_grad).abs().max().item(),
    )
    # verl forms exp(d) - d - 1, which loses digits near d = 0.
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(our_grad, their_grad, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("estimator", "settings", "ours"),
    [
        ("grpo", {}, Advantages()),
        ("grpo", {"norm_adv_by_std_in_grpo": False}, Advantages(scale="none")),
        ("rloo", {}, Advantages(centre="leave_one_out", scale="none")),
    ],
)
def test_advantages_equal_verls(
    record: Callable[..., None],
    estimator: str,
    settings: dict[str, Any],
    ours: Advantages,
    seed: int,
) -> None:
    draw = random.Random(seed)
    # Groups of 2 to 9; the last one has equal returns.
    keys = [Key(f"t{group}", "a") for group in range(8) for _ in range(group + 2)]
    returns = [0.5 if key.task == "t7" else draw.choice((0.0, 1.0, draw.random())) for key in keys]
    # verl adds rewards up over tokens; they arrive on the last of four.
    rewards = torch.zeros(len(keys), 4)
    rewards[:, -1] = torch.tensor(returns)
    theirs, _ = core_algos.ADV_ESTIMATOR_REGISTRY[estimator](
        token_level_rewards=rewards,
        response_mask=torch.ones(len(keys), 4),
        index=numpy.array([key.task for key in keys]),
        **settings,
    )
    got = torch.tensor(ours(returns, keys))
    record(
        (
            LIBRARY,
            f"advantages {estimator}" + (" without std" if settings else ""),
            f"centre {ours.centre}, scale {ours.scale}",
        ),
        seed,
        (len(keys),),
        (got - theirs[:, 0]).abs().max().item(),
    )
    torch.testing.assert_close(got, theirs[:, 0], rtol=2e-6, atol=1e-6)
