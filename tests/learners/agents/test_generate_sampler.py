"""Tokens come as often as their probabilities say, and are recorded with these."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import chisquare

from laconic.learners.agents import generate as module
from laconic.learners.agents.generate import RecordingSampler
from laconic.learners.errors import NumericalError

NOTHING = torch.zeros(0, 0, dtype=torch.long)


def draw(logits, temperature: float = 1.0, greedy: bool = False, seed: int = 0):
    """Return the tokens (rows,) that `generate` would take, and their log-probabilities (rows,)."""
    drawing = RecordingSampler(temperature, greedy)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        scores = drawing(NOTHING, torch.as_tensor(logits, dtype=torch.float32).clone())
    return scores.argmax(1), drawing.finish()[:, 0]


def test_log_probabilities_are_those_at_the_temperature():
    tokens, logprobs = draw([[0.0, 1.0], [2.0, 0.0]], temperature=0.5, greedy=True)
    assert tokens.tolist() == [1, 0]
    # softmax of (0, 2) and of (4, 0), the larger entries
    expected = -torch.log1p(torch.exp(torch.tensor([-2.0, -4.0])))
    torch.testing.assert_close(logprobs, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.6])
def test_tokens_come_as_often_as_they_are_likely(temperature):
    logits = torch.tensor([1.5, -0.5, 0.0, 2.0, -1.0, 0.7, -3.0])
    tokens, logprobs = draw(logits.expand(40_000, 7), temperature)
    expected = torch.softmax(logits.double() / temperature, 0)
    counts = torch.bincount(tokens, minlength=7)
    # Of one seed: it would fail for one in a thousand.
    assert chisquare(counts.numpy(), (40_000 * expected).numpy()).pvalue > 1e-3
    torch.testing.assert_close(logprobs, expected.log()[tokens].float(), rtol=1e-6, atol=1e-6)


def test_a_token_takes_up_its_share_of_the_numbers_that_may_come(monkeypatch):
    """Probabilities .1, .2, .3, .4 add up to .1, .3, .6, 1."""
    shares = torch.tensor(
        [0.0, 0.099, 0.101, 0.299, 0.301, 0.599, 0.601, 0.999], dtype=torch.float64
    )
    monkeypatch.setattr(torch, "rand_like", lambda total: shares[:, None])
    logits = torch.log(torch.tensor([0.1, 0.2, 0.3, 0.4])).expand(8, 4)
    assert draw(logits)[0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_what_is_impossible_is_never_drawn(monkeypatch):
    monkeypatch.setattr(torch, "rand_like", lambda total: torch.zeros_like(total))
    assert draw([[-math.inf, -math.inf, 0.0, 1.0]])[0].tolist() == [2]
    nearly = math.nextafter(1.0, 0.0)
    monkeypatch.setattr(torch, "rand_like", lambda total: torch.full_like(total, nearly))
    assert draw([[0.0, 1.0, -math.inf, -math.inf]])[0].tolist() == [1]


def test_what_is_very_unlikely_still_has_its_share(monkeypatch):
    """Behind a token of probability 1 - 2e-12 two of 1e-12, which float32 would not tell apart."""
    unlikely = math.log(1e-12)
    shares = torch.tensor([1 - 1.5e-12, 1 - 0.5e-12], dtype=torch.float64)
    monkeypatch.setattr(torch, "rand_like", lambda total: shares[:, None])
    tokens, logprobs = draw([[0.0, unlikely, unlikely]] * 2)
    assert tokens.tolist() == [1, 2]
    assert logprobs.tolist() == pytest.approx([unlikely, unlikely], rel=1e-6)


def test_the_likeliest_is_the_first_of_equals():
    assert draw([[0.0, 3.0, 3.0], [1.0, 1.0, 1.0]], greedy=True)[0].tolist() == [1, 0]


def test_rows_in_parts_are_rows_at_once(monkeypatch):
    logits = torch.randn(13, 50, generator=torch.Generator().manual_seed(0))
    whole = draw(logits)
    monkeypatch.setattr(module, "_CHUNK", 120)
    parts = draw(logits)
    assert parts[0].tolist() == whole[0].tolist()
    assert parts[1].tolist() == whole[1].tolist()


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
@pytest.mark.parametrize("greedy", [True, False])
def test_logits_that_are_no_numbers_are_told(wrong, greedy):
    with pytest.raises(NumericalError, match="not finite"):
        draw([[0.0, 1.0], [wrong, 0.0]], greedy=greedy)
