"""Recorded log-probabilities equal those of a full forward pass over the same tokens."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import (
    GenerationConfig,
    Lfm2Config,
    MambaConfig,
    PreTrainedModel,
)
from transformers.models.auto import AutoModelForCausalLM

from laconic.learners.agents import generate as module
from laconic.learners.agents.generate import Sampling, generate, pad_left

END, PAD = 1, 0
SAMPLING = Sampling(max_new_tokens=12, temperature=1.0, greedy=False, end_ids=(END,), pad_id=PAD)
PROMPTS = ((5,), (5, 6, 7, 8, 9, 10, 11), (3, 4))
REPEATED = (*PROMPTS, PROMPTS[1], PROMPTS[2], PROMPTS[0], PROMPTS[1])

Replies = list[tuple[tuple[int, ...], tuple[float, ...]]]


def seeded(model, prompts, sampling: Sampling = SAMPLING, seed: int = 3) -> Replies:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return generate(model, prompts, sampling)


@torch.no_grad()
def recomputed(model: PreTrainedModel, prompt, reply, temperature: float = 1.0) -> torch.Tensor:
    """Log-probabilities of a reply by one plain forward pass, alone and without padding."""
    logits = model(input_ids=torch.tensor([[*prompt, *reply]])).logits[0].double() / temperature
    logprobs = torch.log_softmax(logits, dim=-1)[len(prompt) - 1 : -1]
    return logprobs.gather(-1, torch.tensor(reply)[:, None]).squeeze(-1)


def assert_recorded(model, prompts, replies: Replies, temperature: float = 1.0) -> None:
    assert len(replies) == len(prompts)
    for prompt, (ids, logprobs) in zip(prompts, replies, strict=True):
        expected = recomputed(model, prompt, ids, temperature)
        torch.testing.assert_close(
            torch.tensor(logprobs, dtype=torch.float64), expected, rtol=1e-5, atol=1e-5
        )


@pytest.fixture
def model(make_model) -> PreTrainedModel:
    return make_model(vocabulary=24)


@pytest.mark.parametrize(
    ("temperature", "greedy"),
    [
        (0.6, False),
        (1.0, True),
        pytest.param(1.0, False, marks=pytest.mark.slow),
        pytest.param(0.6, True, marks=pytest.mark.slow),
    ],
)
def test_recorded_logprobs_are_those_of_a_full_forward_pass(
    make_model, architecture, temperature, greedy
):
    model = make_model(architecture, 24)
    sampling = replace(SAMPLING, temperature=temperature, greedy=greedy)
    for prompts in (PROMPTS, REPEATED):
        assert_recorded(model, prompts, seeded(model, prompts, sampling), temperature)


def test_sharing_prompts_changes_neither_tokens_nor_logprobs(make_model, architecture, monkeypatch):
    model = make_model(architecture, 24)
    # Rows of one length go together where nothing is shared, so drawn tokens would differ.
    greedy = replace(SAMPLING, greedy=True)
    shared = seeded(model, REPEATED, greedy)
    monkeypatch.setattr(module, "selects_rows", lambda cache: False)
    alone = seeded(model, REPEATED, greedy)
    assert [ids for ids, _ in shared] == [ids for ids, _ in alone]
    for (_, value), (_, other) in zip(shared, alone, strict=True):
        assert value == pytest.approx(other, abs=1e-5)


def test_a_prompt_that_occurs_several_times_goes_through_the_model_once(model):
    rows = []
    model.base_model.register_forward_pre_hook(
        lambda _, arguments, keywords: rows.append(tuple(keywords["input_ids"].shape)),
        with_kwargs=True,
    )
    seeded(model, REPEATED, replace(SAMPLING, max_new_tokens=1))
    # all but the last token of two prompts (the third has no other), then the last of seven rows
    assert rows == [(2, 6), (7, 1)]


@pytest.mark.parametrize(
    "config",
    [
        MambaConfig(vocab_size=24, hidden_size=16, num_hidden_layers=2, state_size=4),
        Lfm2Config(
            vocab_size=24,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            layer_types=["conv", "full_attention"],
        ),
    ],
    ids=["mamba", "lfm2"],
)
def test_models_whose_cache_has_no_rows_to_pick_simply_share_nothing(config):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config).eval()
    model.generation_config = GenerationConfig()
    assert_recorded(model, REPEATED, seeded(model, REPEATED))


def test_equal_prompts_of_one_token_need_no_shared_beginning(model):
    replies = seeded(model, [(5,), (5,), (5,)])
    assert_recorded(model, [(5,), (5,), (5,)], replies)
    assert len({ids for ids, _ in replies}) == 3


def test_sharing_leaves_members_free_to_differ(model):
    replies = seeded(model, [PROMPTS[1]] * 8)
    assert len({ids for ids, _ in replies}) > 1


def test_end_tokens_are_kept_and_what_follows_is_dropped(model):
    replies = seeded(model, [PROMPTS[2]] * 64, replace(SAMPLING, end_ids=(END, 7)))
    lengths = {len(ids) for ids, _ in replies}
    assert len(lengths) > 3
    for ids, logprobs in replies:
        assert len(ids) == len(logprobs)
        assert not {END, 7} & set(ids[:-1])
        assert len(ids) == 12 or ids[-1] in (END, 7)
    assert {ids[-1] for ids, _ in replies} >= {END, 7}


def test_without_end_tokens_replies_go_on_to_their_limit(model):
    model.generation_config = GenerationConfig()
    replies = seeded(model, PROMPTS, replace(SAMPLING, end_ids=()))
    assert [len(ids) for ids, _ in replies] == [12, 12, 12]


def test_a_padding_token_that_was_sampled_is_a_token_like_any_other(model):
    replies = seeded(model, [PROMPTS[2]] * 64, replace(SAMPLING, end_ids=(END,), pad_id=5))
    inside = [(ids, logprobs) for ids, logprobs in replies if 5 in ids[:-1]]
    assert inside
    assert_recorded(model, [PROMPTS[2]] * len(inside), inside)


def test_one_new_token_is_enough(model):
    replies = seeded(model, REPEATED, replace(SAMPLING, max_new_tokens=1))
    assert_recorded(model, REPEATED, replies)
    assert {len(ids) for ids, _ in replies} == {1}


def test_greedy_replies_are_the_likeliest_tokens_whatever_the_seed(model):
    sampling = replace(SAMPLING, greedy=True)
    greedy = seeded(model, REPEATED, sampling, seed=1)
    assert greedy == seeded(model, REPEATED, sampling, seed=2)
    ids = [*PROMPTS[2]]
    for _ in range(3):
        ids.append(int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    assert greedy[2][0][:3] == tuple(ids[2:])


def test_equal_seeds_give_equal_replies_and_others_give_others(model):
    assert seeded(model, PROMPTS) == seeded(model, PROMPTS)
    assert seeded(model, PROMPTS) != seeded(model, PROMPTS, seed=4)


def test_tokens_are_drawn_as_often_as_their_recorded_probability_says(model):
    """2,000 draws of one token: each share is within 4 standard deviations of its probability."""
    sampling = replace(SAMPLING, max_new_tokens=1, temperature=1.7)
    replies = seeded(model, [PROMPTS[1]] * 2000, sampling)
    frequencies = torch.bincount(torch.tensor([ids[0] for ids, _ in replies]), minlength=24) / 2000
    logits = model(input_ids=torch.tensor([PROMPTS[1]])).logits[0, -1].detach() / 1.7
    expected = torch.softmax(logits, dim=-1)
    deviation = (expected * (1 - expected) / 2000).sqrt()
    assert ((frequencies - expected).abs() <= 4 * deviation).all()


def test_steps_that_generate_takes_back_leave_the_record_right(model, monkeypatch):
    """Some devices stop a step late and undo it; here two steps more are recorded than kept."""
    whole = type(model).generate
    expected = seeded(model, PROMPTS)

    def late(self, *, logits_processor, **arguments):
        sequences = whole(self, logits_processor=logits_processor, **arguments)
        for steps in range(2):
            longer = torch.nn.functional.pad(sequences, (0, steps), value=7)
            logits_processor(longer, torch.zeros(len(PROMPTS), 24))
        return sequences

    monkeypatch.setattr(type(model), "generate", late)
    assert seeded(model, PROMPTS) == expected


@pytest.mark.parametrize("temperature", [pytest.param(1.0, marks=pytest.mark.slow), 0.6])
def test_rows_that_go_on_after_others_have_left_are_recorded_right(
    make_model, architecture, temperature
):
    model = make_model(architecture, 24)
    sampling = replace(SAMPLING, temperature=temperature, end_ids=(END, 7, 9), max_new_tokens=20)
    prompts = REPEATED * 8
    replies = seeded(model, prompts, sampling)
    assert_recorded(model, prompts, replies, temperature)
    assert len({len(ids) for ids, _ in replies}) > 5


def test_rows_that_have_ended_leave_once_they_are_half_of_many(model):
    rows = []
    model.base_model.register_forward_pre_hook(
        lambda _, arguments, keywords: rows.append(len(keywords["input_ids"])), with_kwargs=True
    )
    replies = seeded(model, [PROMPTS[1]] * 64, replace(SAMPLING, end_ids=(END, 7, 9)))
    # the prompt once; then who is there when the n-th token is drawn
    assert rows[:2] == [1, 64]
    there = rows[1:]
    going = [sum(len(ids) > n for ids, _ in replies) for n in range(len(there))]
    assert all(now >= first for now, first in zip(there, going, strict=True))
    assert all(now < 2 * first or now <= 16 for now, first in zip(there, going, strict=True))


def test_greedy_replies_are_the_same_whether_ended_rows_leave_or_stay(
    make_model, architecture, monkeypatch
):
    model = make_model(architecture, 24)
    sampling = replace(SAMPLING, greedy=True, end_ids=tuple(range(10)))
    prompts = [(first, second) for first in range(8) for second in range(8)]
    leaving = seeded(model, prompts, sampling)
    monkeypatch.setattr(module, "_MIN_ROWS", len(prompts))
    stayed = seeded(model, prompts, sampling)
    assert [ids for ids, _ in leaving] == [ids for ids, _ in stayed]
    for (_, mine), (_, other) in zip(leaving, stayed, strict=True):
        assert mine == pytest.approx(other, abs=1e-5)


def test_processes_that_share_weights_write_at_their_own_pace(model, monkeypatch):
    """What FSDP does to a model makes `generate` wait for others at every token if it may."""
    expected = seeded(model, [PROMPTS[1]] * 32)

    def others(*_, **__):
        raise AssertionError("waited for another process")

    model._is_fsdp_managed_module = True
    monkeypatch.setattr(
        "transformers.generation.utils._get_torch_distributed_world_size", lambda: 2
    )
    monkeypatch.setattr(torch.distributed, "all_reduce", others)
    assert seeded(model, [PROMPTS[1]] * 32) == expected


def test_prompts_are_padded_on_the_left():
    ids, mask = pad_left([(1, 2, 3), (4,)], 9, torch.device("cpu"))
    assert ids.tolist() == [[1, 2, 3], [9, 9, 4]]
    assert mask.tolist() == [[1, 1, 1], [0, 0, 1]]
