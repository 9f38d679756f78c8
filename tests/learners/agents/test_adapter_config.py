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
