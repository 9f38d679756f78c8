"""Config of a saved LoRA adapter, which a stranger may have written: read here, key by key.

`peft` would import a module that the file names, so it is not asked to read the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from laconic.envs.errors import SettingError
from laconic.learners.agents.adapter_patterns import is_plain, is_quick
from laconic.learners.untrusted_files import read_json

CONFIG = "adapter_config.json"
"""Name of the file that marks a folder as an adapter."""


def read_config(folder: str, peft: Any) -> tuple[Any, str | None]:
    """Return the config of a saved adapter, and the name of its base.

    `peft` would import a module that the file names, and it reads keys that change the base. So it
    gets the keys in `_TAKEN` alone. Another key may have the value that it has without the file.

    Raises:
        SettingError: the file is unreadable, of another kind, has a key that is not taken, or keys
            that exclude each other.
    """
    content = read_content(folder)
    _check_kind(folder, content)
    usual = vars(peft.LoraConfig(task_type="CAUSAL_LM"))
    taken = {}
    for key, value in content.items():
        # With `in`, 0 would be False, and a scale of 0 would become the usual one.
        empty = value is None or value is False or value in ("", [], {})
        if key in _IGNORED or (empty and not (key in _TAKEN and usual.get(key))):
            continue
        if key in _TAKEN:
            if not _TAKEN[key](value):
                raise SettingError(_refuse_key(folder, key, value))
            taken[key] = value
        elif key not in usual or value != usual[key]:
            raise SettingError(_refuse_key(folder, key, value))
    base = content.get("base_model_name_or_path")
    # How the matrices began is of no use once they are loaded.
    taken.pop("init_lora_weights", None)
    try:
        config = peft.LoraConfig(task_type="CAUSAL_LM", **taken)
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"the adapter in agent.model, {folder!r}, has keys in {CONFIG} that exclude each other:"
            f" {error} Save it as a plain LoRA adapter"
        ) from error
    return config, base if isinstance(base, str) else None


def _check_kind(folder: str, content: Mapping[str, Any]) -> None:
    """Refuse adapters that are not LoRA, or not of a causal language model."""
    for key, usual in (("peft_type", ("LORA",)), ("task_type", ("CAUSAL_LM", None))):
        value = content.get(key)
        if value not in usual:
            raise SettingError(
                f"the adapter in agent.model, {folder!r}, has {key}={str(value)[:80]!r} in"
                f" {CONFIG}; expected {usual[0]}; give a LoRA adapter of a causal language model"
            )


def _refuse_key(folder: str, key: str, value: object) -> str:
    return (
        f"the adapter in agent.model, {folder!r}, has {key[:80]}={str(value)[:80]!r} in {CONFIG},"
        " which is not taken from a file; save it as a plain LoRA adapter"
    )


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 65536


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9


def _is_scale(value: object) -> bool:
    """Return whether a value is a scale of new adapters too: one of 0 never learns."""
    return _is_number(value) and value != 0


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_name(value: object) -> bool:
    """Return whether a text is a plain name: `peft` reads some names as patterns."""
    return isinstance(value, str) and value != "" and is_plain(value)


def _are_listed(value: object) -> bool:
    """Return whether a value is a list of names: `peft` reads a text letter by letter."""
    return isinstance(value, list) and all(map(_is_name, value))


def _are_names(value: object) -> bool:
    return _is_name(value) or _are_listed(value)


def _is_target(value: object) -> bool:
    """Return whether a value is names, or a pattern that is matched in a short time."""
    return is_quick(value) if isinstance(value, str) else _are_listed(value)


def _are_indices(value: object) -> bool:
    layers = value if isinstance(value, list) else [value]
    return all(isinstance(layer, int) and not isinstance(layer, bool) for layer in layers)


def _is_pattern(of: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: (
        isinstance(value, dict) and all(map(_is_name, value)) and all(map(of, value.values()))
    )


_TAKEN: Mapping[str, Callable[[object], bool]] = {
    "r": _is_size,
    "lora_alpha": _is_scale,
    "target_modules": _is_target,
    "exclude_modules": _is_target,
    "target_parameters": _are_listed,
    "modules_to_save": _are_listed,
    "lora_dropout": lambda value: _is_number(value) and value < 1,  # type: ignore[operator]
    "fan_in_fan_out": _is_flag,
    # The biases of the base are one tensor for all agents, and `peft` would write into it.
    "bias": lambda value: value == "none",
    "lora_bias": _is_flag,
    "use_rslora": _is_flag,
    "use_dora": _is_flag,
    "layers_to_transform": _are_indices,
    "layers_pattern": _are_names,
    "rank_pattern": _is_pattern(_is_size),
    "alpha_pattern": _is_pattern(_is_scale),
    "init_lora_weights": lambda value: (
        value is None or isinstance(value, bool) or value in ("gaussian", "orthogonal")
    ),
}
"""Keys of an adapter's config that are taken, each with a check of its value."""
_IGNORED = {
    "auto_mapping", "base_model_name_or_path", "inference_mode", "peft_type", "peft_version",
    "revision", "task_type",
}  # fmt: skip
"""Keys that say where an adapter comes from. Nothing is loaded from them here."""


def read_content(folder: str) -> dict[str, Any]:
    """Return the content of an adapter's config, which `peft` is not asked to read.

    Raises:
        SettingError: it cannot be read, or is not a JSON object.
    """
    path = Path(folder).expanduser() / CONFIG
    try:
        # Files of the hub are links into its store.
        content = read_json(path.resolve())
    except (OSError, ValueError) as error:
        raise SettingError(
            f"{folder!r} holds no readable {CONFIG}: {error}; give a folder that peft wrote"
        ) from error
    if not isinstance(content, dict):
        raise SettingError(
            f"{folder!r} holds no readable {CONFIG}: it is not a JSON object; give a folder that"
            " peft wrote"
        )
    return content
