"""Values that equal others in Python are told apart in the config of a saved adapter."""

from __future__ import annotations

import json

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.agents.adapter_config import CONFIG, read_config

peft = pytest.importorskip("peft")


def read(folder, **changes):
    usual = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]}
    (folder / CONFIG).write_text(json.dumps(usual | changes))
    return read_config(str(folder), peft)[0]


@pytest.mark.parametrize("layers", [0, [0]])
def test_the_first_layer_is_a_layer(tmp_path, layers):
    """0 equals False, which stands for all layers."""
    assert read(tmp_path, layers_to_transform=layers).layers_to_transform == layers


@pytest.mark.parametrize("scale", [0, 0.0, False, True, None, ""])
def test_a_scale_is_never_replaced_by_that_of_peft(tmp_path, scale):
    assert read(tmp_path, lora_alpha=0.5).lora_alpha == 0.5
    with pytest.raises(SettingError, match="lora_alpha="):
        read(tmp_path, lora_alpha=scale)


def test_what_peft_and_others_write_for_nothing_is_nothing(tmp_path):
    nothing = dict.fromkeys(("layers_to_transform", "layers_pattern", "modules_to_save"))
    config = read(tmp_path, **nothing, rank_pattern={}, use_dora=False, init_lora_weights=False)
    assert config.layers_to_transform is None and config.rank_pattern == {}


SLOW = "(.|..)" * 20 + "[#!]"


@pytest.mark.parametrize(
    "changes",
    [
        {"target_modules": SLOW},
        {"target_modules": [SLOW]},
        {"target_modules": [""]},
        {"exclude_modules": SLOW},
        {"rank_pattern": {SLOW: 2}},
        {"alpha_pattern": {SLOW: 2}},
        {"layers_pattern": SLOW, "layers_to_transform": [0]},
        {"modules_to_save": [SLOW]},
        # peft reads the letters of a text as names.
        {"modules_to_save": "lm_head"},
        {"target_parameters": "mlp.weight"},
        {"bias": "all"},
        {"bias": "lora_only"},
    ],
)
def test_no_key_holds_a_slow_pattern_or_writes_into_the_base(tmp_path, changes):
    with pytest.raises(SettingError, match=f"{next(iter(changes))}=.*adapter_config.json"):
        read(tmp_path, **changes)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"layers_pattern": "layers"}, "layers_to_transform"),
        ({"target_modules": "q_proj", "layers_to_transform": [0]}, "layers_to_transform"),
        ({"lora_bias": True, "use_dora": True}, "lora_bias"),
    ],
)
def test_keys_that_exclude_each_other_are_a_setting_error(tmp_path, changes, word):
    with pytest.raises(SettingError, match=f"exclude each other: .*{word}"):
        read(tmp_path, **changes)
