"""Loads causal language models and tokenizers, and says what to do where that fails.

Knows how separate policies lie on disk: `<folder>/<agent>`, each as `save_pretrained` wrote it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from envs.errors import SettingError


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer of a model.

    Args:
        name: name on the hub, or path of a folder.

    Raises:
        SettingError: there is none, or it is not a fast one.
    """
    tokenizer: PreTrainedTokenizerBase = _load(AutoTokenizer.from_pretrained, name)
    if not tokenizer.is_fast:
        raise SettingError(
            f"agent.model={name!r} has a slow tokenizer, which cannot say where its tokens begin"
            " in a text; use a model with a fast one"
        )
    return tokenizer


def load_model(name: str, dtype: str, device: str) -> PreTrainedModel:
    """A causal language model on its device.

    Args:
        name: name on the hub, or path of a folder.
        dtype: type of the weights as torch names it, or `auto` for that of the files.
        device: as torch names it, or `auto` for a GPU where there is one.

    Raises:
        SettingError: there is no such model, type or device.
    """
    if dtype != "auto" and not isinstance(getattr(torch, dtype, None), torch.dtype):
        raise SettingError(
            f"agent.dtype must be auto or a type of torch (float32, bfloat16); got {dtype!r}"
        )
    automatic = "cuda" if torch.cuda.is_available() else "cpu"
    model: PreTrainedModel = _load(AutoModelForCausalLM.from_pretrained, name, dtype=dtype)
    try:
        model.to(automatic if device == "auto" else device)  # type: ignore[arg-type]
    except (RuntimeError, AssertionError) as error:
        raise SettingError(
            f"agent.device={device!r} cannot hold the model: {_first_line(error)} Choose auto, cpu,"
            " or a device that torch has here"
        ) from error
    return model


def agent_folders(name: str) -> dict[str, str]:
    """The folders of separately saved policies by agent; empty where `name` is a model itself."""
    folder = Path(name).expanduser()
    if not folder.is_dir() or (folder / "config.json").is_file():
        return {}
    return {path.parent.name: str(path.parent) for path in sorted(folder.glob("*/config.json"))}


def _load(loader: Callable[..., Any], name: str, **settings: Any) -> Any:
    path = Path(name).expanduser()
    looks_local = name.startswith((".", "/", "~")) or path.exists()
    if looks_local and not (path / "config.json").is_file():
        found = "does not exist" if not path.exists() else "holds no config.json"
        raise SettingError(
            f"agent.model must be the name of a causal language model or a folder written by"
            f" save_pretrained; {name!r} {found}"
        )
    try:
        return loader(str(path) if looks_local else name, **settings)
    except Exception as error:  # What is wrong with the files decides the type, and any may come.
        raise SettingError(
            f"agent.model={name!r} could not be loaded: {_first_line(error)} Give a folder written"
            " by save_pretrained, or the name of a model that can be downloaded from here"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
