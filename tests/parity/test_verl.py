"""Our loss and advantages against verl's, in value and gradient, for each config that verl has.

verl gives its losses as functions of log-probabilities (`verl.trainer.ppo.core_algos`) and its
advantages as functions of rewards per token. Conventions that need care: a sequence without
generated tokens is left out of the mean's divisor unless `global_batch_size` states it (we count it
unless `sequences` states otherwise, so both ways are compared); `vanilla` also bounds ratios at
`clip_ratio_c` where the advantage is negative, which is set out of reach here; log-ratios stop at
10 there and at 20 here, which nothing below reaches; a lone member of a group keeps its reward as
advantage in RLOO, where ours is 0.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from laconic.learners.advantages.credit import credit
from laconic.learners.advantages.gae import gae
from laconic.learners.advantages.group import Key
from laconic.learners.advantages.whitening import whitened
from laconic.learners.episode import Episode, Group
from laconic.learners.training.objective import LossInputs, Objective
from laconic.learners.training.sequences import Batch, collate, sequences_of

pytestmark = pytest.mark.parity
verl = pytest.importorskip("verl", reason="verl is installed for `make parity` only")
core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")
actor = pytest.importorskip("verl.workers.config.actor")
numpy = pytest.importorskip("numpy")

SEEDS = range(8)
LIBRARY = f"verl {verl.__version__}"
PAPER, WIDE = (3e-4, 4e-4), (0.2, 0.28)
AVERAGES = {"sequence": "seq-mean-token-mean", "token": "token-mean", "sum": "seq-mean-token-sum"}


def their_loss(ours: Objective, inputs: LossInputs, **batch_info: int) -> tuple[Tensor, str]:
    """verl's loss for what `ours` describes, and its name there."""
    kind = {"token": "vanilla", "none": "reinforce"}.get(ours.importance_sampling_level, "gspo")
    mode = AVERAGES[ours.average]
    if ours.normalizer != 1.0:
        mode += "-norm"
        batch_info["loss_scale_factor"] = int(ours.normalizer)
    config = actor.FSDPActorConfig(
        strategy="fsdp",
        rollout_n=4,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio_low=ours.epsilon,
        clip_ratio_high=ours.epsilon_high,
        clip_ratio_c=1e6,
        global_batch_info=batch_info,
    )
    shared = {
        "log_prob": inputs.current_logprobs,
        "advantages": inputs.advantages[:, None].expand_as(inputs.current_logprobs),
        "response_mask": inputs.generated_mask.float(),
        "loss_agg_mode": mode,
        "config": config,
    }
    if kind == "reinforce":
        loss, _ = core_algos.compute_policy_loss_reinforce(inputs.behavior_logprobs, **shared)
    else:
        loss, _ = core_algos.get_policy_loss_fn(kind)(inputs.behavior_logprobs, **shared)
    return loss, f"`{kind}`, `{mode}`"


def random_inputs(batch: Batch, seed: int, drift: float, sequences: int | None) -> LossInputs:
    """Return the inputs of a batch whose policy has changed a little."""
    draw = torch.Generator().manual_seed(seed)
    noise = torch.randn(batch.behavior_logprobs.shape, generator=draw)
    return LossInputs(
        current_logprobs=(batch.behavior_logprobs + drift * noise).requires_grad_(),
        behavior_logprobs=batch.behavior_logprobs,
        generated_mask=batch.generated_mask,
        advantages=batch.advantages,
        sequences=sequences,
    )


def cases() -> list[Any]:
    """Return the configs verl has a loss for, with the clip of each paper where there is one."""
    clipped = ("gspo", "gspo_token", "grpo", "dr_grpo", "reinforce_plus_plus")
    listed: list[tuple[str, dict[str, Any]]] = [
        (name, {"epsilon": low, "epsilon_high": high})
        for name in clipped
        for low, high in (PAPER, WIDE)
    ]
    listed += [(name, {}) for name in ("reinforce", "rloo", "rae")]
    return [
        pytest.param(*case, id=f"{case[0]}-{'-'.join(map(str, case[1].values()))}")
        for case in listed
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("empty_rows", ["counted", "left out"])
@pytest.mark.parametrize(("name", "changed"), cases())
def test_the_loss_and_its_gradient_equal_verls(
    method: Callable[..., Any],
    conversations: Callable[[int], Batch],
    record: Callable[..., None],
    name: str,
    changed: dict[str, Any],
    empty_rows: str,
    seed: int,
) -> None:
    ours = replace(method(name).objective, **changed)
    batch = conversations(seed)
    sequences = len(batch.advantages)
    stated = {"global_batch_size": sequences} if empty_rows == "counted" else {}
    left_out = ours.average != "token" and empty_rows == "left out"
    inputs = random_inputs(
        batch, seed, 6 * ours.epsilon_high, sequences=sequences - 1 if left_out else None
    )
    theirs, called = their_loss(ours, inputs, **stated)
    outputs = ours(inputs)
    (their_grad,) = torch.autograd.grad(theirs, inputs.current_logprobs)
    (our_grad,) = torch.autograd.grad(outputs.loss, inputs.current_logprobs)
    record(LIBRARY, name, called, "loss", seed, outputs.loss, theirs)
    record(LIBRARY, name, called, "gradient in log-probabilities", seed, our_grad, their_grad)
    assert ours.importance_sampling_level == "none" or 0 < outputs.metrics["clip_fraction"] < 1
    # A sum over tokens is some 30 times a mean, and so is what rounding leaves of it.
    torch.testing.assert_close(
        outputs.loss,
        theirs,
        rtol=1e-6,
        atol=2e-6 if ours.importance_sampling_level == "none" else 2e-7,
    )
    torch.testing.assert_close(our_grad, their_grad, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_kl_estimate_equals_verls(
    conversations: Callable[[int], Batch], record: Callable[..., None], seed: int
) -> None:
    batch = conversations(seed)
    inputs = random_inputs(batch, seed, 0.3, None)
    reference = batch.behavior_logprobs
    theirs = core_algos.kl_penalty_forward(inputs.current_logprobs, reference, "low_var_kl")
    theirs = core_algos.agg_loss(
        theirs,
        batch.generated_mask.float(),
        "seq-mean-token-mean",
        global_batch_size=len(batch.advantages),
    )
    ours = Objective(beta=1.0)(
        LossInputs(
            inputs.current_logprobs,
            inputs.behavior_logprobs,
            inputs.generated_mask,
            torch.zeros_like(inputs.advantages),
            reference,
        )
    ).loss
    (their_grad,) = torch.autograd.grad(theirs, inputs.current_logprobs)
    (our_grad,) = torch.autograd.grad(ours, inputs.current_logprobs)
    row = (LIBRARY, "learner.objective.beta", "`low_var_kl`")
    record(*row, "loss", seed, ours, theirs)
    record(*row, "gradient in log-probabilities", seed, our_grad, their_grad)
    # verl forms exp(d) - d - 1, which loses digits near d = 0.
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(our_grad, their_grad, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "estimator", "settings"),
    [
        ("gspo", "grpo", {}),
        ("grpo", "grpo", {}),
        ("dr_mas", "grpo", {}),
        ("dr_grpo", "grpo", {"norm_adv_by_std_in_grpo": False}),
        ("magrpo", "grpo", {"norm_adv_by_std_in_grpo": False}),
        ("rloo", "rloo", {}),
    ],
)
def test_advantages_equal_verls(
    method: Callable[..., Any],
    record: Callable[..., None],
    name: str,
    estimator: str,
    settings: dict[str, Any],
    seed: int,
) -> None:
    # Their default eps, and their scale where our default is reward units.
    overrides = ["learner/advantages=group"] if name == "gspo" else []
    ours = replace(method(name, *overrides).advantages, eps=1e-6)
    draw = random.Random(seed)
    # Groups of 2 to 9; the last one has equal returns.
    keys = [Key(f"t{group}", "a", 0) for group in range(8) for _ in range(group + 2)]
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
    called = f"`{estimator}`" + (" without std" if settings else "")
    record(LIBRARY, name, called, "advantages", seed, got, theirs[:, 0])
    torch.testing.assert_close(got, theirs[:, 0], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_returns_whitened_over_an_update_equal_verls(
    method: Callable[..., Any],
    episodes: Callable[[int], tuple[Episode, ...]],
    record: Callable[..., None],
    seed: int,
) -> None:
    ours = method("reinforce_plus_plus")
    assert ours.whiten
    sequences = sequences_of(
        Group("t", episodes(seed)),
        credit=credit(ours.credit),
        advantages=ours.advantages,
        unit=ours.unit,
    )
    batch = collate(sequences, pad_id=0)
    mask = batch.generated_mask.float()
    # The reward arrives on the last generated token; without discount it reaches all before it.
    places = [max(i for i, flag in enumerate(s.generated) if flag) for s in sequences]
    last = torch.tensor(places)
    rewards = torch.zeros(mask.shape)
    returns = [sequence.return_to_go for sequence in sequences]
    rewards[torch.arange(len(sequences)), last] = torch.tensor(returns)
    config = pytest.importorskip("verl.trainer.config").AlgoConfig(gamma=1.0)
    theirs, _ = core_algos.ADV_ESTIMATOR_REGISTRY["reinforce_plus_plus"](
        token_level_rewards=rewards, response_mask=mask, config=config
    )
    lengths = [sum(sequence.generated) for sequence in sequences]
    advantages = whitened([sequence.advantage for sequence in sequences], lengths)
    got = torch.tensor(advantages)[:, None] * mask
    called = "`reinforce_plus_plus`, gamma 1"
    record(LIBRARY, "reinforce_plus_plus", called, "advantages", seed, got, theirs)
    torch.testing.assert_close(got, theirs, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("gamma", "gae_lambda"), [(1.0, 0.95), (0.9, 0.5), (1.0, 1.0), (0.9, 0.0)])
def test_generalised_advantages_equal_verls(
    record: Callable[..., None], gamma: float, gae_lambda: float, seed: int
) -> None:
    """verl's decisions are tokens and ours are replies; the arithmetic is one.

    verl returns its advantages whitened, and what they were before as returns less values.
    """
    draw = torch.Generator().manual_seed(seed)
    rewards, values = torch.randn(2, 12, 9, generator=draw)
    mask = torch.rand(12, 9, generator=draw) < 0.7
    whitened_theirs, returns = core_algos.ADV_ESTIMATOR_REGISTRY["gae"](
        token_level_rewards=rewards,
        values=values,
        response_mask=mask.float(),
        gamma=gamma,
        lam=gae_lambda,
    )
    got = gae(rewards, values, mask, gamma, gae_lambda)
    theirs = (returns - values) * mask
    called = f"`gae`, gamma {gamma}, lambda {gae_lambda}"
    record(LIBRARY, "ippo", called, "advantages", seed, got, theirs)
    torch.testing.assert_close(got, theirs, rtol=1e-6, atol=1e-6)
    assert (got[~mask] == 0).all()
    ours = torch.tensor(whitened(got[mask].tolist(), [1] * int(mask.sum())))
    theirs = whitened_theirs[mask]
    record(LIBRARY, "ippo", called, "advantages, whitened", seed, ours, theirs)
    torch.testing.assert_close(ours, theirs, rtol=2e-6, atol=1e-6)
