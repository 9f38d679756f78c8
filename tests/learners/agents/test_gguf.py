"""A GGUF file becomes a plain model: the same weights, and nothing that knows of the file."""

from __future__ import annotations

import json
import struct
from importlib.util import find_spec

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from laconic.envs.errors import SettingError
from laconic.learners.agents.gguf import convert, set_padding, split_name
from laconic.learners.agents.load import load_model, load_tokenizer

needs_gguf = pytest.mark.skipif(find_spec("gguf") is None, reason="needs the package gguf")
WIDTH, INNER, HEADS = 64, 96, 2


def write_gguf(path, model, tokenizer) -> None:
    """Write a Llama model and its byte-level tokenizer as llama.cpp does."""
    import gguf

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("Tiny Of A File")
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(model.config.rms_norm_eps)
    writer.add_vocab_size(len(tokenizer))
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    special = set(tokenizer.all_special_ids)
    writer.add_token_types([3 if place in special else 1 for place in range(len(words))])
    texts = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    writer.add_token_merges(texts)
    writer.add_bos_token_id(tokenizer.eos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_chat_template(tokenizer.chat_template)
    names = {
        "model.embed_tokens": "token_embd",
        "model.norm": "output_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "model.layers.": "blk.",
    }
    for name, weights in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            # llama.cpp turns pairs of places where transformers turns halves.
            halves = weights.reshape(HEADS, 2, WIDTH // HEADS // 2, WIDTH)
            weights = halves.transpose(1, 2).reshape(weights.shape)
        for ours, theirs in names.items():
            name = name.replace(ours, theirs)
        writer.add_tensor(name, weights.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def packed(tmp_path):
    """Return a GGUF file, the model it was written from, and its tokenizer."""
    from laconic.learners.agents.tiny.new import ModelConfig, build_model, build_tokenizer

    tokenizer = build_tokenizer(["Anna has 12 apples. Ben has 7 pears."], 320)
    shape = ModelConfig(hidden=WIDTH, layers=1, heads=HEADS, intermediate=INNER)
    model = build_model(tokenizer, shape, seed=3)
    path = tmp_path / "tiny.F32.gguf"
    write_gguf(path, model, tokenizer)
    return path, model, tokenizer


@needs_gguf
def test_a_file_is_read_as_a_plain_model_with_the_weights_that_were_written(packed):
    path, written, tokenizer = packed
    read = load_model(str(path), "float32", "cpu")
    ids = torch.tensor([[5, 9, 30, 31]])
    with torch.no_grad():
        # The file holds the weights as they are; only rounding of the rotations may differ.
        torch.testing.assert_close(read(ids).logits, written(ids).logits, rtol=0, atol=1e-5)
    config = read.config.to_dict()
    assert "quantization_config" not in config and not config.get("_name_or_path")
    assert not getattr(read, "is_quantized", False)
    result = load_tokenizer(str(path))
    assert result.encode("Anna has 12") == tokenizer.encode("Anna has 12")
    assert result.pad_token == result.eos_token == tokenizer.eos_token


@needs_gguf
def test_what_is_converted_needs_the_file_no_more(packed, tmp_path):
    path, written, tokenizer = packed
    folder = tmp_path / "folder"
    convert(path, folder)
    path.unlink()
    model = AutoModelForCausalLM.from_pretrained(folder)
    again = AutoTokenizer.from_pretrained(folder)
    assert model.dtype == torch.float32
    assert model.config.pad_token_id == model.config.eos_token_id == again.eos_token_id
    for key in ("quantization_config", "_name_or_path", "_model_name_or_path"):
        assert key not in json.loads((folder / "config.json").read_text())
    ids = torch.tensor([tokenizer.encode("Ben has 7 pears.")])
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, written(ids).logits, rtol=0, atol=1e-5)
    assert again.apply_chat_template([{"role": "user", "content": "hm"}], tokenize=False)


@needs_gguf
def test_a_file_that_is_not_there_is_a_setting_error(tmp_path):
    with pytest.raises(SettingError, match=r"agent.model.*does not exist"):
        load_model(str(tmp_path / "nothing.gguf"), "float32", "cpu")


@needs_gguf
def test_a_file_on_the_hub_is_named_by_repository_and_file():
    assert split_name("owner/repo/q4.gguf") == ("owner/repo", {"gguf_file": "q4.gguf"})
    assert split_name("q4.gguf") == (".", {"gguf_file": "q4.gguf"})
    assert split_name("owner/repo") == ("owner/repo", {})


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setattr("laconic.learners.agents.gguf.find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"laconic-marl\[gguf\]"):
        split_name("a/model.gguf")


def test_a_tokenizer_that_names_a_padding_token_keeps_it(packed_free_tokenizer):
    before = packed_free_tokenizer.pad_token
    assert before and set_padding(packed_free_tokenizer).pad_token == before


@pytest.fixture
def packed_free_tokenizer():
    """Return a tokenizer with its own padding token."""
    from laconic.learners.agents.tiny.new import build_tokenizer

    return build_tokenizer(["a b c"], 300)


@pytest.mark.parametrize(("tensors", "entries"), [(2**60, 0), (0, 2**60), (3, 1)])
def test_counts_that_a_file_does_not_hold_are_refused(tmp_path, tensors, entries):
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, tensors, entries) + bytes(64))
    with pytest.raises(SettingError, match=r"bad\.gguf"):
        load_model(str(path), "float32", "cpu")
