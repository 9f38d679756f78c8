"""Conversion of models in GGUF files, the format of llama.cpp, to models of `transformers`.

`transformers` reads and dequantizes the weights with the package `gguf`. They are copied into a
fresh model of the same config, without traces of the file, which trains and is saved like any
other. This module is also a program that writes such a model to a folder:

    python -m laconic.learners.agents.gguf <file> <folder>
"""

from __future__ import annotations

import copy
import sys
from importlib.util import find_spec
from pathlib import Path

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from laconic.envs.errors import SettingError, install
from laconic.learners.agents.folders import GGUF, apply_umask

_OF_A_FILE = ("quantization_config", "_model_name_or_path")
"""Keys of a config that refer to the file it was read from."""


def split_name(name: str) -> tuple[str, dict[str, str]]:
    """Split the name of a model into the first argument of `from_pretrained` and its options.

    Args:
        name: name on the hub or path of a folder, or a GGUF file in either.

    Returns:
        Name or path, and `{"gguf_file": file}` for a GGUF file, else an empty dict.

    Raises:
        SettingError: it is a GGUF file, and the package `gguf` is not installed.
    """
    if not name.endswith(GGUF):
        return name, {}
    if find_spec("gguf") is None:
        raise SettingError(
            f"agent.model={name!r} is a GGUF file, which needs the package gguf: {install('gguf')}"
        )
    folder, _, file = name.rpartition("/")
    return folder or ".", {"gguf_file": file}


def fresh_copy(model: PreTrainedModel) -> PreTrainedModel:
    """Copy the weights of a model from a GGUF file into a fresh model of its class."""
    config = copy.deepcopy(model.config)
    for key in _OF_A_FILE:
        if hasattr(config, key):
            delattr(config, key)
    config.name_or_path = ""
    with torch.random.fork_rng(devices=[]):
        fresh: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=model.dtype)
    fresh.load_state_dict(model.state_dict())
    fresh.tie_weights()
    return fresh


def set_padding(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """Make the end token the padding token of a tokenizer that has none; return the tokenizer."""
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def convert(file: Path, folder: Path) -> None:
    """Write the model of a GGUF file, its tokenizer and chat template to a folder, in float32."""
    source, settings = split_name(str(file))
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, **settings)
    tokenizer = set_padding(AutoTokenizer.from_pretrained(source, **settings))
    fresh = fresh_copy(model)
    fresh.config.pad_token_id = fresh.generation_config.pad_token_id = tokenizer.pad_token_id
    fresh.config.eos_token_id = fresh.generation_config.eos_token_id = tokenizer.eos_token_id
    fresh.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    apply_umask(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
