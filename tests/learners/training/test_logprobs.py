"""Log-probabilities from few positions equal those of all logits, in value and gradient."""

from __future__ import annotations

from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn

from laconic.learners.training.logprobs import current_logprobs
from laconic.learners.training.sequences import Batch, TokenSequence, collate

PAD = 0


def sequence(token_ids: tuple[int, ...], generated: tuple[int, ...]) -> TokenSequence:
    length = len(token_ids)
    return TokenSequence(
        task="t",
        agent="a_0",
        episode=0,
        round=None,
        token_ids=token_ids,
        generated=tuple(place in generated for place in range(length)),
        behavior_logprobs=(0.0,) * length,
        return_to_go=0.0,
    )


SEQUENCES = (
    sequence((5, 6, 7, 8, 9, 10, 11, 12, 3), (2, 3, 6, 7, 8)),
    sequence((3, 4, 0, 1), (1, 2)),
    sequence((7, 8), (1,)),
    sequence((7, 8, 9), ()),
)


@pytest.fixture
def batch() -> Batch:
    """Return sequences of two turns, of one turn, of a last token only, and without replies."""
    return collate(SEQUENCES, PAD)


def naive(model: nn.Module, batch: Batch, temperature: float = 1.0) -> Tensor:
    """Return log-probabilities of each sequence alone, without padding, from all logits."""
    result = torch.zeros(batch.token_ids.shape)
    for row in range(len(batch.token_ids)):
        ids = batch.token_ids[row][batch.attention_mask[row]]
        logits = model(input_ids=ids[None]).logits[0] / temperature
        for place in range(1, len(ids)):
            if batch.generated_mask[row, place]:
                logprobs = torch.log_softmax(logits[place - 1].float(), dim=-1)
                result[row, place] = logprobs[ids[place]]
    return result


def gradients(model: nn.Module, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad(set_to_none=True)
    loss.backward()
    return {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_value_and_gradient_are_those_of_all_logits(make_model, architecture, batch, temperature):
    model = make_model(architecture, 24)
    weights = torch.linspace(-1.0, 2.0, batch.token_ids.numel()).reshape(batch.token_ids.shape)
    ours = current_logprobs(model, batch, temperature)
    expected = naive(model, batch, temperature)
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)
    mine = gradients(model, (ours * weights).sum())
    its = gradients(model, (expected * weights).sum())
    assert mine.keys() == its.keys() and mine
    for name in mine:
        torch.testing.assert_close(mine[name], its[name], rtol=1e-4, atol=1e-4)


def test_equal_sequences_go_through_the_model_once_and_count_each(make_model, architecture):
    model, rows_read = make_model(architecture, 24), []
    first, second, *_ = SEQUENCES
    # the same tokens, of which others were generated, and one more that is also the padding
    unlike = [sequence(first.token_ids, (2, 3)), sequence((*second.token_ids, PAD), (1, 2))]
    repeated = collate([second, first, second, *unlike, first, second], PAD)
    weights = torch.arange(1.0, 8.0)[:, None]
    expected = naive(model, repeated)
    target = gradients(model, (weights * expected).sum())
    model.register_forward_pre_hook(
        lambda _, arguments, keywords: rows_read.append(len(keywords["input_ids"])),
        with_kwargs=True,
    )
    logprobs = current_logprobs(model, repeated)
    assert rows_read == [2]
    torch.testing.assert_close(logprobs, expected, rtol=1e-5, atol=1e-5)
    for name, gradient in gradients(model, (weights * logprobs).sum()).items():
        torch.testing.assert_close(gradient, target[name], rtol=1e-4, atol=1e-4)


def test_a_cap_on_the_logits_holds_for_small_ones_too(make_model, batch):
    """Fresh weights give logits so small that a cap hardly shows; grown ones must not evade it."""
    model = make_model("gemma2", 24, scale=1.0, final_logit_softcapping=30.0)
    current_logprobs(model, batch)
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(5000.0)
    torch.testing.assert_close(
        current_logprobs(model, batch), naive(model, batch), rtol=1e-5, atol=1e-5
    )


def test_tokens_that_were_not_generated_are_exactly_zero_without_gradient(make_model, batch):
    model = make_model(vocabulary=24)
    logprobs = current_logprobs(model, batch)
    assert logprobs.dtype == torch.float32
    assert (logprobs[~batch.generated_mask] == 0).all()
    assert (logprobs[batch.generated_mask] < 0).all()
    result = gradients(model, logprobs[~batch.generated_mask].sum())
    assert all((gradient == 0).all() for gradient in result.values())


def test_a_batch_in_which_nobody_spoke_is_all_zeros_and_has_a_gradient_of_zero(make_model):
    model = make_model(vocabulary=24)
    logprobs = current_logprobs(model, collate([sequence((7, 8, 9), ())], PAD))
    assert logprobs.tolist() == [[0.0, 0.0, 0.0]]
    assert all((logprob == 0).all() for logprob in gradients(model, logprobs.sum()).values())


def test_padding_changes_nothing(make_model, architecture, batch):
    model = make_model(architecture, 24)
    with torch.no_grad():
        together = current_logprobs(model, batch)
        alone = current_logprobs(model, collate([sequence((3, 4, 0, 1), (1, 2))], PAD))
    torch.testing.assert_close(together[1:2, :4], alone, rtol=1e-5, atol=1e-5)


def test_the_head_sees_only_the_positions_that_predict_generated_tokens(make_model, batch):
    model, shapes = make_model(vocabulary=24), []
    model.lm_head.register_forward_hook(lambda head, inputs, out: shapes.append(tuple(out.shape)))
    current_logprobs(model, batch)
    assert shapes == [(1, 8, 24)]  # 5 + 2 + 1 generated tokens


def test_the_model_is_left_as_it_was(make_model, batch):
    model = make_model(vocabulary=24)
    before = model(input_ids=batch.token_ids).logits
    current_logprobs(model, batch)
    assert not model.lm_head._forward_pre_hooks
    assert torch.equal(model(input_ids=batch.token_ids).logits, before)
    with patch.object(model.model, "forward", side_effect=RuntimeError("out of memory")):
        with pytest.raises(RuntimeError, match="out of memory"):
            current_logprobs(model, batch)
    assert not model.lm_head._forward_pre_hooks


def test_a_model_that_does_not_call_its_head_as_a_module_gives_all_logits(make_model, batch):
    model = make_model(vocabulary=24)
    expected = current_logprobs(model, batch)
    for head in (None, nn.Linear(1, 1)):
        with patch.object(type(model), "get_output_embeddings", lambda self, head=head: head):
            assert torch.allclose(current_logprobs(model, batch), expected, atol=1e-6)


def test_half_precision_models_give_float32_logprobs_of_their_own_logits(make_model, batch):
    model = make_model(vocabulary=24, scale=2.0).to(torch.bfloat16)
    logprobs = current_logprobs(model, batch)
    assert logprobs.dtype == torch.float32
    # bfloat16 has 8 bits of mantissa, and padded and lone rows round differently.
    torch.testing.assert_close(logprobs, naive(model, batch), rtol=0.05, atol=0.05)
    result = gradients(model, logprobs.sum())
    assert all(gradient.isfinite().all() for gradient in result.values())
