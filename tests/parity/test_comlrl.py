"""MAGRPO from episodes to gradient against CoMLRL's trainer, its dropped last token accounted for.

CoMLRL 1.4.3 feeds a model the prompt and the completion without its last token and then leaves the
last logits out as well, so the last token of a completion (its end, or a whole silence of one
token) gets no gradient, and a completion of one token is not even counted. Here that token is
masked and such completions are left out of the divisor, and then the two agree; that ours differs
without this is tested too.

CoMLRL divides by the population standard deviation by default, which the paper does not; both are
compared, and its leave-one-out and plain variants (MARLOO, MAREINFORCE).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest
import torch
from torch import Tensor

from laconic.learners.advantages.credit import credit
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training.objective import LossInputs
from laconic.learners.training.sequences import Batch, TokenSequence, collate, sequences_of

pytestmark = pytest.mark.parity
pytest.importorskip("comlrl", reason="CoMLRL is installed for `make parity` only")
magrpo = pytest.importorskip("comlrl.trainers.reinforce.magrpo")

SEEDS = range(8)
LIBRARY = f"CoMLRL {version('comlrl')}"
AGENTS = ("helper_0", "helper_1", "solver_0")
VARIANTS = {
    # Ours -> settings of our estimator, and of theirs.
    "magrpo": ({}, {"advantage_normalization": False}),
    "magrpo, scale population_std": (
        {"scale": "population_std", "eps": 1e-12},
        {"advantage_normalization": True},
    ),
    "magrpo, center leave_one_out": (
        {"center": "leave_one_out"},
        {"advantage_normalization": False, "advantage_mode": "rloo"},
    ),
    "magrpo, center none": (
        {"center": "none"},
        {"advantage_normalization": False, "advantage_mode": "raw"},
    ),
}


@pytest.fixture(scope="module")
def make_trainer(
    make_model: Callable[..., Any], make_tokenizer: Callable[[], Any]
) -> Callable[..., Any]:
    """Makes a trainer of three agents with random weights of their own."""

    def make(**settings: Any) -> Any:
        return magrpo.MAGRPOTrainer(
            agents=[make_model(seed) for seed in range(len(AGENTS))],
            num_agents=len(AGENTS),
            tokenizer=make_tokenizer(),
            reward_func=lambda *_, **__: [0.0],
            formatters=[lambda item: "w1 w2"] * len(AGENTS),
            args=magrpo.MAGRPOConfig(num_turns=1, num_agents=len(AGENTS), **settings),
        )

    return make


def without_last_token(batch: Batch) -> Tensor:
    """Return the mask of generated tokens without the last one of each sequence."""
    mask = batch.generated_mask.clone()
    places = torch.arange(mask.shape[1]).expand_as(mask)
    last = torch.where(mask, places, -1).amax(1)
    mask[torch.arange(len(mask)), last] = False
    return mask


def one_turn(
    method: Any, episodes: tuple[Episode, ...], agent: str, number: int, settings: dict[str, Any]
) -> list[TokenSequence]:
    """Our sequences of one agent in one round."""
    sequences = sequences_of(
        Group("t", episodes),
        credit=credit(method.credit),
        advantages=replace(method.advantages, **settings),
        unit=method.unit,
        agents=[agent],
    )
    return [sequence for sequence in sequences if sequence.round == number]


def from_one_history(episodes: tuple[Episode, ...], number: int) -> tuple[Episode, ...]:
    """Return the episodes with the prompts of the first one, and its replies before a round.

    CoMLRL compares completions of one prompt, and in later turns of one history.
    """

    def moved(turn: Turn, first: Turn) -> Turn:
        return first if turn.round < number else replace(turn, prompt_ids=first.prompt_ids)

    first = episodes[0].turns
    return tuple(
        replace(episode, turns=tuple(map(moved, episode.turns, first))) for episode in episodes
    )


def their_returns(episodes: tuple[Episode, ...], number: int) -> list[float]:
    """Return joint returns from a round on, undiscounted; a joint reward is the sum over agents."""
    return [
        sum(sum(rewards[number:]) for rewards in episode.rewards.values()) for episode in episodes
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("variant", list(VARIANTS))
def test_the_loss_and_its_gradient_equal_comlrls_but_for_its_dropped_token(
    make_trainer: Callable[..., Any],
    method: Callable[..., Any],
    episodes: Callable[[int], tuple[Episode, ...]],
    logprobs_of: Callable[[Any, Batch], Tensor],
    record: Callable[..., None],
    variant: str,
    number: int,
    seed: int,
) -> None:
    settings, theirs = VARIANTS[variant]
    played = from_one_history(episodes(seed), number)
    ours = method("magrpo")
    trainer = make_trainer(**theirs)
    for place, agent in enumerate(AGENTS):
        model = trainer.agents[place]
        sequences = one_turn(ours, played, agent, number, settings)
        prompt = sequences[0].generated.index(True)
        parameters = list(model.parameters())
        their_loss = trainer._compute_loss_with_gradients(
            model,
            {
                "prompt_input_ids": torch.tensor([sequences[0].token_ids[:prompt]]),
                "completion_input_ids": [torch.tensor(s.token_ids[prompt:]) for s in sequences],
            },
            their_returns(played, number),
        )
        # Their stand-in for a loss that is not finite.
        assert their_loss.item() != pytest.approx(0.1, abs=1e-9)
        batch = collate(sequences, pad_id=0)
        mask = without_last_token(batch)
        counted = int((mask.sum(1) > 0).sum())

        def loss(mask: Tensor, sequences: int, batch: Batch = batch, model: Any = model) -> Tensor:
            current = logprobs_of(model, batch)
            behavior = batch.behavior_logprobs
            return ours.objective(
                LossInputs(current, behavior, mask, batch.advantages, sequences=sequences)
            ).loss

        if counted == 0:
            assert their_loss.item() == 0.0
            continue
        our_loss = loss(mask, counted)
        our_grad = flat(torch.autograd.grad(our_loss, parameters))
        their_grad = flat(torch.autograd.grad(their_loss, parameters))
        called = ", ".join(f"`{key}={value}`" for key, value in theirs.items())
        row = (LIBRARY, f"{variant} (last token masked)", called)
        record(*row, "loss", seed, our_loss.detach(), their_loss.detach())
        record(*row, "gradient in parameters", seed, our_grad, their_grad)
        torch.testing.assert_close(our_loss, their_loss, rtol=1e-5, atol=1e-5)
        scale = float(their_grad.abs().max())
        torch.testing.assert_close(our_grad, their_grad, rtol=0, atol=1e-5 * scale)
        whole = loss(batch.generated_mask, len(sequences))
        assert abs(float(whole.detach() - their_loss.detach())) > 1e-3


def flat(gradients: tuple[Tensor, ...]) -> Tensor:
    """Gradients of all parameters in one row."""
    return torch.cat([tensor.flatten() for tensor in gradients])


def test_a_reply_of_one_token_has_a_gradient_here_and_none_there(
    make_trainer: Callable[..., Any],
    logprobs_of: Callable[[Any, Batch], Tensor],
    method: Callable[..., Any],
) -> None:
    trainer = make_trainer(advantage_normalization=False)
    model = trainer.agents[0]
    theirs = trainer._compute_loss_with_gradients(
        model,
        {
            "prompt_input_ids": torch.tensor([[1, 2, 3]]),
            "completion_input_ids": [torch.tensor([4]), torch.tensor([5])],
        },
        [1.0, 0.0],
    )
    assert theirs.item() == 0.0
    sequences = [
        TokenSequence(
            "t", "a", 0, 0, (1, 2, 3, word), (False,) * 3 + (True,), (0.0,) * 4, 0.0, advantage=a
        )
        for word, a in ((4, 0.5), (5, -0.5))
    ]
    batch = collate(sequences, pad_id=0)
    current = logprobs_of(model, batch)
    inputs = LossInputs(current, batch.behavior_logprobs, batch.generated_mask, batch.advantages)
    ours = method("magrpo").objective(inputs).loss
    gradients = torch.autograd.grad(ours, [next(model.parameters())])
    assert ours.item() != 0.0 and gradients[0].abs().max() > 0
