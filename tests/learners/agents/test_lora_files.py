"""The files of an adapter change nothing of the base, whatever their config takes."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen2Config, Qwen2ForCausalLM

from laconic.envs.errors import SettingError
from laconic.learners.agents.adapter_config import _TAKEN
from laconic.learners.agents.lora import saved_adapter

peft = pytest.importorskip("peft")


@pytest.fixture(scope="module")
def base():
    """Return a frozen model with biases."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    return Qwen2ForCausalLM(config).requires_grad_(False)


@pytest.fixture
def write(base, tmp_path):
    """Return a function that writes an adapter of some settings, with weights of 1."""

    def to_folder(**settings) -> str:
        wrapped = peft.get_peft_model(
            Qwen2ForCausalLM(base.config),
            peft.LoraConfig(
                task_type="CAUSAL_LM", **{"r": 2, "target_modules": ["q_proj"]} | settings
            ),
        )
        for parameter in wrapped.parameters():
            if parameter.requires_grad:
                torch.nn.init.ones_(parameter)
        wrapped.save_pretrained(tmp_path / "adapter", save_embedding_layers=False)
        return str(tmp_path / "adapter")

    return to_folder


SETTINGS = {
    "r": 4,
    "lora_alpha": 7,
    "target_modules": r".*\.(q_proj|v_proj)$",
    "exclude_modules": ["layers.0.self_attn.q_proj"],
    "target_parameters": ["mlp.up_proj.weight"],
    "modules_to_save": ["lm_head"],
    "lora_dropout": 0.5,
    "fan_in_fan_out": True,
    "bias": "none",
    "lora_bias": True,
    "use_rslora": True,
    "use_dora": True,
    "layers_to_transform": [1],
    "layers_pattern": "layers",
    "rank_pattern": {"q_proj": 4},
    "alpha_pattern": {"q_proj": 9},
    "init_lora_weights": "gaussian",
}


def test_each_key_that_is_taken_has_a_case():
    assert list(SETTINGS) == list(_TAKEN)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("key", SETTINGS)
def test_an_adapter_changes_the_model_and_no_weight_of_the_base(base, write, key):
    before = {name: weight.clone() for name, weight in base.named_parameters()}
    ids = torch.arange(6)[None]
    plain = base(ids).logits
    more = {"layers_to_transform": [1]} if key == "layers_pattern" else {}
    first, second = (saved_adapter(base, write(**{key: SETTINGS[key]}, **more)) for _ in range(2))
    for name, weight in base.named_parameters():
        assert torch.equal(weight, before[name]) and not weight.requires_grad
    first.model.eval()
    assert not torch.equal(first.model(ids).logits, plain)
    assert torch.equal(base(ids).logits, plain)
    # What one agent learns is no other's.
    trained = [
        {weight.data_ptr() for weight in adapter.model.parameters() if weight.requires_grad}
        for adapter in (first, second)
    ]
    assert trained[0] and not trained[0] & trained[1]


@pytest.mark.parametrize("bias", ["all", "lora_only"])
def test_an_adapter_with_biases_of_the_base_is_refused(base, write, bias):
    before = {name: weight.clone() for name, weight in base.named_parameters()}
    with pytest.raises(SettingError, match=f"bias='{bias}'"):
        saved_adapter(base, write(bias=bias))
    assert all(torch.equal(weight, before[name]) for name, weight in base.named_parameters())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda weight: weight * torch.nan, "NaN or infinite in .*lora_A"),
        (lambda weight: weight * torch.inf, "NaN or infinite in .*lora_A"),
        # Too large for the type that it is loaded in.
        (lambda weight: weight.double() * 1e300, "NaN or infinite in .*lora_A"),
        (lambda weight: weight.to(torch.int8), "lora_A.* of type I8; expected .*floating point"),
        (lambda weight: weight.bool(), "of type BOOL"),
    ],
)
def test_weights_that_are_no_finite_numbers_are_refused(base, write, change, words):
    folder = write()
    path = f"{folder}/adapter_model.safetensors"
    weights = load_file(path)
    first = next(iter(weights))
    save_file(weights | {first: change(weights[first])}, path)
    with pytest.raises(SettingError, match=words):
        saved_adapter(base, folder)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_other_floating_point_types_are_taken(base, write, kind):
    folder = write()
    path = f"{folder}/adapter_model.safetensors"
    save_file({name: weight.to(kind) for name, weight in load_file(path).items()}, path)
    weights = dict(saved_adapter(base, folder).model.named_parameters())
    weight = weights["model.layers.0.self_attn.q_proj.lora_A.default.weight"]
    assert torch.equal(weight.float(), torch.ones(2, 16))


def test_whole_modules_that_the_base_lacks_are_refused(base, write):
    folder = write()
    config = json.loads(open(f"{folder}/adapter_config.json").read())
    config["modules_to_save"] = ["score"]
    open(f"{folder}/adapter_config.json", "w").write(json.dumps(config))
    with pytest.raises(SettingError, match=r"modules_to_save=\['score'\]"):
        saved_adapter(base, folder)
