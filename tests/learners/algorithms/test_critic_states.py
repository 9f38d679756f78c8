"""Hidden states against a plain forward pass, and the texts of an agent up to a round."""

from __future__ import annotations

import pytest
import torch

from laconic.learners.algorithms.critic import read_states
from laconic.learners.episode import Episode, Turn


def turn(agent: str, number: int, prompt: int, reply: int, first: int = 10) -> Turn:
    """Tokens in rising order from `first` on."""
    ids = tuple(range(first, first + prompt + reply))
    return Turn(agent, number, "", ids[:prompt], ids[prompt:], (-1.0,) * reply)


def episode(*turns: Turn) -> Episode:
    return Episode("t", turns, {turn.agent: (0.0,) for turn in turns})


@torch.no_grad()
def plain(policy, ids: list[int]) -> torch.Tensor:
    """Return the last hidden states of a conversation, computed alone."""
    out = policy.model(input_ids=torch.tensor([ids]), output_hidden_states=True)
    return out.hidden_states[-1][0]


def test_nothing_is_read_of_nobody(make_policy):
    assert read_states([], {"a": make_policy()}, 100) == []
    assert read_states([episode()], {"a": make_policy()}, 100) == [{}]
    assert read_states([episode(turn("a", 0, 3, 2))], {}, 100) == [{}]


def test_the_state_is_that_before_the_reply(make_policy, architecture):
    policy = make_policy(architecture)
    (states,) = read_states(
        [episode(turn("a", 0, 3, 2), turn("a", 1, 2, 1, 20))], {"a": policy}, 99
    )
    conversation = [10, 11, 12, 13, 14, 20, 21, 22]
    expected = plain(policy, conversation)
    assert list(states) == [("a", 0), ("a", 1)]
    torch.testing.assert_close(states["a", 0], expected[2], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(states["a", 1], expected[6], rtol=1e-5, atol=1e-5)
    assert not states["a", 0].requires_grad


def test_an_agent_out_of_turn_is_where_its_last_reply_ended(make_policy):
    policy = make_policy()
    # `a` speaks in rounds 0 and 3, `b` in 1 alone.
    played = episode(turn("a", 0, 3, 2), turn("b", 1, 4, 1, 30), turn("a", 3, 1, 1, 20))
    (states,) = read_states([played], {"a": policy, "b": policy}, 99)
    of_a, of_b = plain(policy, [10, 11, 12, 13, 14, 20, 21]), plain(policy, [30, 31, 32, 33, 34])
    # Tokens read by round: of `a` 3, 5, 5 and 6, of `b` none, 4, 5 and 5.
    expected = {("a", 0): of_a[2], ("a", 1): of_a[4], ("a", 2): of_a[4], ("a", 3): of_a[5]}
    expected |= {("b", 1): of_b[3], ("b", 2): of_b[4], ("b", 3): of_b[4]}
    assert states.keys() == expected.keys()
    for key, state in expected.items():
        torch.testing.assert_close(states[key], state, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("max_tokens", [1, 12, 10_000])
def test_the_size_of_forward_passes_changes_nothing(make_policy, max_tokens):
    policy, other = make_policy(), make_policy(model={"seed": 1})
    played = [episode(turn("a", 0, n, 2), turn("b", 0, 9 - n, 1, 30)) for n in range(1, 8)]
    result = read_states(played, {"a": policy, "b": other}, max_tokens)
    for n, states in enumerate(result, start=1):
        expected = plain(policy, list(range(10, 12 + n)))[n - 1]
        torch.testing.assert_close(states["a", 0], expected, rtol=1e-5, atol=1e-5)
        expected = plain(other, list(range(30, 40 - n)))[8 - n]
        torch.testing.assert_close(states["b", 0], expected, rtol=1e-5, atol=1e-5)


def test_a_conversation_too_long_for_its_model_is_read_up_to_the_last_reply(make_policy):
    policy = make_policy("gpt2", model={})
    ids = tuple([11] * 600)
    played = episode(turn("a", 0, 3, 2), Turn("a", 1, "", ids), Turn("b", 0, "", ids))
    (states,) = read_states([played], {"a": policy, "b": policy}, 99)
    # Round 1: gpt2 has 512 positions, so nothing was said after the five tokens of round 0.
    assert list(states) == [("a", 0), ("a", 1)]
    torch.testing.assert_close(states["a", 1], plain(policy, [10, 11, 12, 13, 14])[4])
