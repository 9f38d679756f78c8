"""A loss of one's own: the example of the docs by hand, what trains, and what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random

import pytest
import torch
from updates import SGD, group_of, played, weights

from laconic.envs.errors import SettingError
from laconic.extras.methods.sdpo import HindsightLearner
from laconic.learners.algorithms.actor_critic import PPO, ActorCriticLearner
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.training.objective import LossInputs, LossOutputs, Objective
from laconic.learners.training.own_loss import OwnLoss, as_objective


def inputs_of(ratios, advantages, mask=None, **others) -> LossInputs:
    """Return one sequence with these ratios, in float64."""
    ratios = torch.tensor([ratios], dtype=torch.float64)
    behavior = torch.full_like(ratios, -2.0)
    return LossInputs(
        (behavior + ratios.log()).requires_grad_(),
        behavior,
        torch.ones_like(ratios, dtype=torch.bool) if mask is None else torch.tensor([mask]),
        torch.tensor([advantages], dtype=torch.float64),
        **others,
    )


# The example of docs/own_algorithm.md


def test_dual_clip_gives_the_losses_and_gradients_worked_out_by_hand(my_package):
    from my_package.dual_clip import DualClip

    # epsilon 0.2, cap 3. r = 5, A = -2: min(-10, -2.4) = -10, and max(-10, -6) = -6: capped.
    # r = 2, A = -2: min(-4, -2.4) = -4, above -6: kept. r = 0.5, A = -2: min(-1, -1.6) = -1.6.
    # r = 2, A = 1: min(2, 1.2) = 1.2. r = 0.5, A = 1: min(0.5, 0.8) = 0.5.
    inputs = inputs_of([5.0, 2.0, 0.5, 2.0, 0.5], [-2.0, -2.0, -2.0, 1.0, 1.0])
    outputs = DualClip()(inputs)
    # -(-6 - 4 - 1.6 + 1.2 + 0.5) / 5 = 9.9 / 5
    assert outputs.loss.item() == pytest.approx(1.98, rel=1e-12)
    assert outputs.rows["capped"].tolist() == [1.0]
    (gradient,) = torch.autograd.grad(outputs.loss, inputs.current_logprobs)
    # d r / d log p = r; only the second and the last token are clipped nowhere: 4 / 5, -0.5 / 5.
    assert gradient[0].tolist() == pytest.approx([0.0, 0.8, 0.0, 0.0, -0.1], abs=1e-12)


def dual_clip(ratio: float, advantage: float, epsilon: float, cap: float) -> float:
    """Compute the formula of the paper for one token, in plain Python."""
    clipped = min(max(ratio, 1 - epsilon), 1 + epsilon)
    gain = min(ratio * advantage, clipped * advantage)
    return max(gain, cap * advantage) if advantage < 0 else gain


def test_dual_clip_is_the_papers_formula_and_its_gradient_that_of_finite_differences(my_package):
    from my_package.dual_clip import DualClip

    draw, step = Random(0), 1e-6
    loss = DualClip(epsilon=0.3, cap=2.0)
    for _ in range(20):
        ratios = [math.exp(draw.gauss(0, 0.8)) for _ in range(6)]
        advantages = [draw.gauss(0, 1) for _ in range(6)]
        inputs = inputs_of(ratios, advantages)
        outputs = loss(inputs)
        pairs = list(zip(ratios, advantages, strict=True))
        expected = -sum(dual_clip(r, a, 0.3, 2.0) for r, a in pairs) / 6
        assert outputs.loss.item() == pytest.approx(expected, rel=1e-9)
        (gradient,) = torch.autograd.grad(outputs.loss, inputs.current_logprobs)
        slopes = [
            (dual_clip(r * math.exp(-step), a, 0.3, 2.0) - dual_clip(r * math.exp(step), a, 0.3, 2))
            / (2 * step * 6)
            for r, a in pairs
        ]
        assert gradient[0].tolist() == pytest.approx(slopes, abs=1e-6)


def test_without_a_cap_dual_clip_is_ppo(my_package):
    from my_package.dual_clip import DualClip

    inputs = inputs_of([5.0, 0.3, 1.1], [-2.0, 1.0, -1.0])
    assert DualClip(cap=1e9)(inputs).loss.item() == pytest.approx(PPO()(inputs).loss.item())


# Helpers of the inputs


def test_ratios_and_means_leave_out_what_was_not_generated_and_weigh_the_rest():
    nan = math.nan
    inputs = inputs_of([2.0, nan, 0.5], [1.0, nan, 1.0], [True, False, True])
    assert inputs.ratios[0].tolist() == pytest.approx([2.0, 1.0, 0.5])
    assert inputs.mean(inputs.ratios * inputs.advantages).item() == pytest.approx(1.25)
    weights = torch.tensor([[0.5, 9.0, 1.0]])
    part = replace(inputs, weights=weights, tokens=10)
    assert part.mean(inputs.ratios).item() == pytest.approx((2.0 * 0.5 + 0.5) / 10)
    # One value of a sequence stands for all of its tokens.
    assert part.mean(torch.tensor([[4.0]])).item() == pytest.approx(4 * (0.5 + 1.0) / 10)
    with pytest.raises(SettingError, match=r"\(1, 3\); got \(3,\)"):
        inputs.mean(torch.ones(3))


# Learners


def by_hand(inputs: LossInputs) -> LossOutputs:
    """Compute PPO's loss, written as a user would."""
    advantages, clipped = inputs.advantages, inputs.ratios.clamp(0.8, 1.2)
    gains = torch.minimum(inputs.ratios * advantages, clipped * advantages)
    return LossOutputs(-inputs.mean(gains), {"ratio": inputs.ratios.mean(1)})


@dataclass(frozen=True)
class Halved(Objective):
    """A subclass with the fields of ours: half of the loss of tokens, and a KL."""

    importance_sampling_level: str = "token"
    beta: float = 0.1

    def __call__(self, inputs: LossInputs) -> LossOutputs:
        assert inputs.reference_logprobs is not None
        outputs = Objective("token", 0.2, 0.2, self.beta, "token")(inputs)
        return LossOutputs(outputs.loss / 2)


@pytest.mark.parametrize("microbatch_tokens", [60, 10_000])
@pytest.mark.parametrize("kind", [GroupLearner, ActorCriticLearner, HindsightLearner])
def test_the_same_loss_written_by_hand_trains_like_ours(
    make_policy, make_env, kind, microbatch_tokens
):
    results = []
    for objective in (PPO(), by_hand):
        policy = make_policy(max_reply_tokens=6)
        policies = dict.fromkeys(make_env().possible_agents, policy)
        settings = {"minibatches": 2, "microbatch_tokens": microbatch_tokens}
        # Ours leaves out sequences without advantage, which would change the mean of the ratios.
        group = played(policies, make_env, (1.0, 0.0, 0.3))
        metrics = kind(policies, SGD, objective=objective, **settings).update([group])
        results.append((metrics, weights(policy)))
    (ours, expected), (own, received) = results
    assert ours["grad_norm"] > 0 and ours["steps"] == own["steps"] == 2.0
    for name in ("loss", "grad_norm", "ratio_mean", "ratio_max", "approx_kl", "sequences"):
        # Without clips the loss of PPO may be 0 by whitening; its gradient is not.
        assert own[name] == pytest.approx(ours[name], rel=1e-4, abs=1e-6), name
    assert own["loss/ratio"] == pytest.approx(1.0, abs=0.1)
    assert not {"clip_fraction", "moved_fraction"} & set(own)
    for name, tensor in expected.items():
        torch.testing.assert_close(received[name], tensor, rtol=1e-4, atol=1e-6)


def test_a_kl_of_ones_own_has_a_reference(make_policy):
    norms = []
    for objective in (Objective("token", 0.2, 0.2, 0.1, "token"), Halved()):
        policy = make_policy()
        speakers = {"solver_0": policy}
        group = group_of(speakers, [[1.0], [0.0]])
        learner = GroupLearner(speakers, SGD, minibatches=1, objective=objective)
        metrics = learner.update([group])
        assert metrics["reference_kl"] >= 0
        norms.append(metrics["grad_norm"])
    assert norms[1] == pytest.approx(norms[0] / 2, rel=1e-5)


def test_ours_are_returned_as_they_are_and_attributes_have_defaults():
    for ours in (Objective(), PPO(epsilon=0.1)):
        assert as_objective(ours) is ours
    own = as_objective(by_hand)
    assert isinstance(own, OwnLoss) and as_objective(own) is own
    assert (own.importance_sampling_level, own.beta, own.rows) == ("token", 0.0, ("ratio",))
    # A sequence without advantage may have a gradient in it.
    assert own.has_gradient(0.0)
    assert as_objective(Halved(beta=0.2)).beta == 0.2


# What is refused


def per_token(inputs: LossInputs) -> torch.Tensor:
    return -inputs.ratios * inputs.advantages


class Remembers:
    """A loss with a state."""

    calls = 0

    def __call__(self, inputs):
        self.calls += 1
        return LossOutputs(inputs.mean(per_token(inputs)) * self.calls)


class Kl:
    beta = -1.0

    def __call__(self, inputs):
        return LossOutputs(inputs.mean(per_token(inputs)))


WRONG = {
    "no callable": (3, "callable from LossInputs to LossOutputs; got 3"),
    "a class": (Remembers, "got the class Remembers.*pass an instance"),
    "an object without __call__": (object(), "callable from LossInputs"),
    "no outputs": (lambda i: i.mean(per_token(i)), "LossOutputs.*object of Tensor"),
    "a loss per token": (lambda i: LossOutputs(per_token(i)), r"shape \(\).*\(4, 5\)"),
    "a number": (lambda i: LossOutputs(1.5), r"shape \(\).*1.5"),
    "half precision": (lambda i: LossOutputs(i.mean(per_token(i)).half()), "float16"),
    "a detached loss": (lambda i: LossOutputs(i.mean(per_token(i)).detach()), "with a gradient"),
    "no gradient": (lambda i: LossOutputs(i.mean(per_token(i) * 0)), "0 for every token"),
    "not finite": (lambda i: LossOutputs(i.mean(per_token(i) / 0)), "finite"),
    "a mean over padding": (lambda i: LossOutputs(per_token(i).mean()), "generated tokens alone"),
    "a mean of a part": (
        lambda i: LossOutputs((per_token(i) * i.generated_mask).sum() / i.generated_mask.sum()),
        "two parts",
    ),
    "a state": (Remembers(), "same loss for the same inputs"),
    "chance": (lambda i: LossOutputs(i.mean(per_token(i)) * torch.rand(())), "same inputs"),
    "rows of tokens": (
        lambda i: LossOutputs(i.mean(per_token(i)), {"x": i.ratios}),
        r"rows\['x'\] of shape \(4,\).*\(4, 5\)",
    ),
    "a dimension too many": (
        lambda i: LossOutputs(i.mean(-i.ratios * i.advantages[:, None])),
        r"\(4, 5\); got \(4, 4, 5\)",
    ),
    "a mistake": (lambda i: LossOutputs(i.mean(i.advantage)), "AttributeError.*'advantage'"),
    "a KL below 0": (Kl(), "learner.objective.beta must be"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_loss_is_refused_before_anything_is_played(make_policy, case):
    loss, words = WRONG[case]
    random = torch.random.get_rng_state()
    with pytest.raises(SettingError, match=words):
        GroupLearner({"solver_0": make_policy()}, SGD, objective=loss)
    changed = not torch.equal(random, torch.random.get_rng_state())
    assert changed == (case == "chance")


def test_a_start_draws_no_numbers():
    random = torch.random.get_rng_state()
    as_objective(by_hand)
    assert torch.equal(random, torch.random.get_rng_state())


def test_a_correction_that_a_loss_ignores_is_refused_when_there_is_one():
    own = as_objective(lambda i: LossOutputs((per_token(i) * i.generated_mask).sum() / i.tokens))
    inputs = inputs_of([1.1, 0.9], [1.0, -1.0])
    expected = own(inputs).loss.item()
    assert own(replace(inputs, weights=torch.ones(1, 2))).loss.item() == expected
    with pytest.raises(SettingError, match="learner.correction=none"):
        own(replace(inputs, weights=torch.tensor([[1.0, 0.5]])))
    # One that weighs gets them.
    weighs = as_objective(by_hand)
    halved = replace(inputs, weights=torch.full((1, 2), 0.5))
    assert weighs(halved).loss.item() == pytest.approx(weighs(inputs).loss.item() / 2)


def test_other_rows_in_a_later_call_are_refused():
    def moody(inputs):
        rows = {"high": inputs.ratios.amax(1)} if inputs.ratios.amax() > 1.5 else {}
        return LossOutputs(inputs.mean(per_token(inputs)), rows)

    own = as_objective(moody)
    assert own(inputs_of([1.2], [1.0])).metrics["loss"] == pytest.approx(-1.2)
    with pytest.raises(SettingError, match=r"rows \[\] in every call; got \['high'\]"):
        own(inputs_of([2.0], [1.0]))
