"""Models that a padded batch would change: played without padding, or refused."""

from __future__ import annotations

import pytest
import torch
from transformers import (
    GenerationConfig,
    LlamaConfig,
    RecurrentGemmaConfig,
    RwkvConfig,
    XLNetConfig,
)
from transformers.models.auto import AutoModelForCausalLM

from laconic.envs.errors import SettingError
from laconic.learners.agents import load as module
from laconic.learners.agents.generate import Sampling, generate
from laconic.learners.agents.load import check_sampling

SAMPLING = Sampling(8, 1.0, greedy=False, end_ids=(1,), pad_id=0)
RECURRENT = RecurrentGemmaConfig(
    vocab_size=64,
    hidden_size=16,
    num_hidden_layers=3,
    num_attention_heads=2,
    num_key_value_heads=1,
    intermediate_size=32,
    lru_width=16,
    attention_window_size=64,
    # None of the ends that it has by default.
    bos_token_id=None,
    eos_token_id=None,
    pad_token_id=None,
)


def made(config):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config).eval()
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.data.mul_(8)
    model.generation_config = GenerationConfig()
    return model


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    monkeypatch.setattr(module, "_CHECKED", set())


def test_a_recurrent_model_reads_no_padding(monkeypatch):
    model = made(RECURRENT)
    masks = []
    whole = type(model).generate

    def watched(self, **arguments):
        masks.append(arguments["attention_mask"])
        return whole(self, **arguments)

    monkeypatch.setattr(type(model), "generate", watched)
    prompts = [tuple(range(5, 5 + size)) for size in (3, 40, 3, 17, 40)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        replies = generate(model, prompts, SAMPLING)
    assert [len(mask) for mask in masks] == [2, 2, 1]
    assert all(bool(mask.all()) for mask in masks)
    for prompt, (ids, logprobs) in zip(prompts, replies, strict=True):
        assert logprobs == pytest.approx(module._logprobs_alone(model, prompt, ids), abs=1e-5)
    check_sampling(model, "recurrent", exact=True)


@pytest.mark.parametrize(
    "config",
    [
        RwkvConfig(
            vocab_size=64,
            hidden_size=16,
            attention_hidden_size=16,
            num_hidden_layers=2,
            intermediate_size=32,
        ),
        XLNetConfig(vocab_size=64, d_model=16, n_layer=2, n_head=2, d_inner=32),
    ],
    ids=["rwkv", "xlnet"],
)
def test_a_model_whose_cache_has_another_form_is_refused_in_one_line(config):
    model = made(config)
    with pytest.raises(SettingError, match=type(model).__name__) as caught:
        check_sampling(model, "odd", exact=True)
    message = str(caught.value)
    assert message.startswith("agent.model='odd' is a ") and "\n" not in message


def test_a_model_that_ignores_its_attention_mask_is_refused(monkeypatch):
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    model = made(config)
    check_sampling(model, "heedful", exact=True)
    monkeypatch.setattr(module, "_CHECKED", set())
    model.base_model.register_forward_pre_hook(
        lambda _, arguments, keywords: (arguments, {**keywords, "attention_mask": None}),
        with_kwargs=True,
    )
    with pytest.raises(SettingError, match="nats per token from those of a single row"):
        check_sampling(model, "heedless", exact=True)
    # In bfloat16 rounding alone is far more; so much is not rounding.
    with pytest.raises(SettingError, match="nats per token from those of a single row"):
        check_sampling(model, "heedless", exact=False)


def test_each_class_of_models_is_checked_once(make_model, monkeypatch):
    model = make_model(vocabulary=64)
    passes = []
    model.base_model.register_forward_pre_hook(lambda *_: passes.append(1))
    check_sampling(model, "once", exact=True)
    count = len(passes)
    check_sampling(model, "once", exact=True)
    assert count > 0 and len(passes) == count
