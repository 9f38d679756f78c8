"""Decide which settings of a run folder are safe to use, and which the user has to type.

A run folder may come from a stranger. Safe settings name no code, no server and no file except
models, which are loaded as data. They are choices of this package, classes that these choices name,
and the settings in `TAKEN`. The user has to type all others. Together `TAKEN` and `TYPED` cover all
of `conf/`, as a test checks. A setting on neither list is refused.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from laconic.envs import names
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.programs import config_folders
from laconic.experiments.command_line.targets import names_taken

GROUPS = ("agent", "env")
"""Config groups whose classes a folder may name."""

TAKEN = (
    *("seed", "threads", "step", "resume", "sweep_metric", "report"),
    *("train.*", "demand.*", "measure.*"),
    *(f"evaluation.{name}" for name in ("tasks", "split", "batch", "greedy", "transcripts")),
    *(
        f"evaluation.{name}"
        for name in ("demand", "samples", "pass_at", "probe_silence", "tokens", "fidelity")
    ),
    *("optimizer.*", "agent.optimizer", "agent.optimizer.*"),
    # The environment, without the source of its tasks.
    *("env.budget.*", "env.channel.*", "env.fault.*", "env.reward.*", "env.generator.*"),
    *("env.team", "env.team.*", "env.topology.*"),
    *(f"env.{name}" for name in ("tasks", "split", "holdout", "holdout_seed")),
    *(f"env.{name}" for name in ("rounds", "max_rounds", "information", "topology", "schedule")),
    *(f"env.{name}" for name in ("answer", "agree_at", "tokens_left", "instructions")),
    *("env.feedback", "env.stop_at", "env.addressing"),
    *(f"env.{name}" for name in ("wording", "months", "talk", "talk_rounds", "language", "grant")),
    *("env.universalization", "env.newcomer"),
    *(f"env.{name}" for name in ("rows", "columns", "steps", "view", "planning", "discussion")),
    *(f"env.{name}" for name in ("order", "game", "length", "chat", "threshold", "growth")),
    *(f"env.{name}" for name in ("colors", "looks", "told", "paid")),
    # The team, without its servers. Code that comes with a model is never run.
    *("agent.model", "agent.revision", "agent.lora.base", "env.expert.model"),
    *(f"agent.{name}" for name in ("sharing", "frozen", "step", "script", "seed", "counted_by")),
    *(f"agent.{name}" for name in ("precision", "device", "quantization", "recompute_logprobs")),
    *(f"agent.{name}" for name in ("gradient_checkpointing", "silent_when_full")),
    *("agent.seat", "agent.pool", "agent.self_share", "agent.beta", "agent.delta"),
    *(f"agent.gate.{name}" for name in ("policy", "threshold", "speak_informed")),
    "agent.gate.speak_uninformed",
    *("agent.accuracy", "agent.shared", "agent.fidelity"),
    *("agent.teacher.*", "agent.limits.*", "agent.prices.*", "agent.model_config.*"),
    *(f"agent.lora.{name}" for name in ("rank", "alpha", "target_modules")),
    *(f"agent.sampling.{name}" for name in ("silence", "explain_silence", "max_reply_tokens")),
    *(f"agent.sampling.{name}" for name in ("thinking_tokens", "temperature", "top_p", "seeded")),
    *(f"agent.sampling.{name}" for name in ("generate_tokens", "limit_field")),
    *("agent.sampling.template.enable_thinking", "agent.sampling.template.today"),
    *(f"engine.{name}" for name in ("page_tokens", "batch_tokens", "concurrency")),
    *("engine.max_staleness", "engine.tolerance", "engine.*_seconds"),
    # The learner, without the folders that it reads.
    *("learner.advantages.*", "learner.objective.*", "learner.price.*", "learner.critic.*"),
    *("learner.collective.*", "learner.topology.*"),
    *(f"learner.{name}" for name in ("credit", "unit", "sharing", "whiten", "balance_silence")),
    *(f"learner.{name}" for name in ("warmup_updates", "decay", "decay_updates", "seed")),
    *(f"learner.{name}" for name in ("minibatches", "microbatch_tokens", "max_grad_norm")),
    *(f"learner.{name}" for name in ("mask_truncated", "gamma", "gae_lambda")),
    *("learner.follow_up", "learner.mix", "learner.center"),
    *("learner.correction", "learner.correction_low", "learner.correction_high"),
    "learner.collect.teacher.*",
    *(
        f"learner.collect.{name}"
        for name in ("continuations", "correct", "credit", "episodes", "extra", "foreign", "own")
    ),
    *(f"learner.collect.{name}" for name in ("microbatch_tokens", "name", "newest", "turns")),
    *(f"learner.collect.{name}" for name in ("others", "solved", "strange_tasks")),
    *(
        f"compare.{name}"
        for name in ("alone", "budget", "cross", "equal", "most_votes", "reference")
    ),
    "compare.second_pass",
    "entries",
    *(f"entries.*.{name}" for name in ("layout", "agents", "script", "say", "votes")),
    *(f"entries.*.{name}" for name in ("silenced", "greedy")),
)
"""Config keys whose values are taken from a run folder; `*` stands for any part of a key."""

TYPED = (
    # Classes and how they are called.
    "*._*",
    # Files and folders.
    *("run", "runs", "compare.runs", "compare.embed", "env.source", "evaluation.source"),
    *(
        "env.topology.embed*",
        "env.reader",
        "env.reader.*",
        "learner.collect.folder",
        "engine.folder",
    ),
    "agent.tokenize*",
    # An environment of an installed package; names of this package are in `PLAIN`.
    "env.name",
    # transformers loads code from the hub where it is the name of a repository.
    "agent.attn_implementation",
    # Servers, keys, and programs that are started.
    *("agent.base_url", "agent.api_key_env", "agent.sampling.extra_body", "env.expert.base_url"),
    *(f"engine.{name}" for name in ("url", "start", "program", "arguments", "environment")),
    "logger.*",
    # Further objects that a folder may name.
    *("trust", "compare.trust", "evaluation.after*", "compare.columns*"),
    # Settings of Hydra: see `resuming`.
    "hydra.*",
)
"""Config keys that have to be typed, whatever `TAKEN` says."""

PLAIN = {
    "env.name": (*names("benchmarks"), *names("worlds")),
    "env.source": ("generated",),
    "agent.attn_implementation": ("sdpa", "eager", "flash_attention_2"),
}
"""Key of `TYPED` -> values that are safe nevertheless, as are null, false and empty values."""

CALLING = {
    "agent": ("api",),
    "engine": ("vllm",),
    "logger": ("mlflow", "trackio", "wandb"),
}
"""Config group -> choices of this package that call a server and have to be typed."""

MAX_OVERRIDE = 10_000
"""Maximum number of characters of an accepted override; parsing a long one takes minutes."""

_CONF = Path(__file__).resolve().parents[2] / "conf"
_OWN = "laconic."
"""Beginning of the names of this project's packages."""
_INNER = re.compile(
    r"agent\.(?:members\.\w+|gate\.policy|speaker)(?=\.)|entries\.[\w+-]+\.(?=(?:agent|env)\.)"
)
"""Prefix of the settings of a nested agent or environment."""
_KEY = re.compile(r"[\w+-]+(\.[\w+-]+)*")
_MEMBER = re.compile(r"agent\.(members\.\w+|gate\.policy|speaker)")
_TARGET = re.compile(r"_target_:\s*(laconic\.\S+)")


@functools.cache
def known_targets() -> frozenset[str]:
    """Return the classes of this package that its own choices of `GROUPS` name."""
    files = (path for group in GROUPS for path in (_CONF / group).rglob("*.yaml"))
    return frozenset(name for path in files for name in _TARGET.findall(path.read_text("utf-8")))


def is_taken(key: str, value: Any) -> bool:
    """Return whether a setting may come from a run folder.

    Args:
        key: full dotted key (`env.reward.price`).
        value: a plain value; all values inside a mapping are checked.
    """
    return all(_is_leaf_taken(name, leaf) for name, leaf in _leaves(value, key))


def is_override_taken(text: str) -> bool:
    """Return whether a recorded override may be used again without being typed.

    It has to parse as an override, so flags are refused. A chosen option has to be one of this
    package, and every key that it sets has to be in `TAKEN`.
    """
    if len(text) > MAX_OVERRIDE or "${" in text:
        return False
    try:
        override = OverridesParser.create().parse_override(text)
        value = None if override.is_delete() else override.value()
    except (HydraException, ValueError, RecursionError):
        return False
    group = override.key_or_group
    is_name = re.fullmatch(r"\w+(/\w+)*", group)
    if is_name and any((folder / group).is_dir() for folder in _own_folders()):
        return _is_choice_taken(override, value)
    return override.package is None and is_taken(override.key_or_group, value)


def check_settings(
    settings: Any, group: str, folder: str, allowed: Sequence[str] = (), say: str = ""
) -> None:
    """Refuse unsafe settings of a run folder.

    Args:
        settings: node of the folder's configuration for `group`, without typed settings.
        group: `agent` or `env`.
        folder: name of the folder, for the message.
        allowed: beginnings of classes that the user trusts, with all their settings.
        say: advice on how to allow a class, with `{}` for its name.

    Raises:
        SettingError: a class is unknown, or does not take a setting; a setting is not in `TAKEN`;
            or a value contains a reference (`${...}`).
    """
    try:
        _check(settings, group, f"{folder}: ", allowed, say, None)
    except RecursionError as error:
        raise SettingError(f"{folder}: {group} is nested too deeply to be settings") from error


def _own_folders() -> tuple[Path, ...]:
    """Return the config folders of this project; options of other packages have to be typed."""
    return _CONF, *config_folders(_OWN)


def _check(
    node: Any, key: str, where: str, allowed: Sequence[str], say: str, target: str | None
) -> None:
    """Check a node and all nodes in it; `target` is the class that takes it as a setting."""
    if isinstance(node, str) and "${" in node:
        raise SettingError(
            f"{where}{key} holds the reference {node!r}; a run folder has values only"
        )
    if isinstance(node, dict):
        own_target = _checked_target(node, f"{where}{key}", allowed, say)
        for name, value in node.items():
            if str(name)[:1] != "_":
                _check(value, f"{key}.{name}", where, allowed, say, own_target or target)
        return
    for item in node if isinstance(node, list) else ():
        _check(item, key, where, allowed, say, target)
    # `startswith` of an empty tuple is False.
    trusted = target is not None and target.startswith(tuple(allowed))
    if not trusted and not isinstance(node, list | dict) and not is_taken(key, node):
        raise SettingError(
            f"{where}{key}={node!r} is not taken from a run folder, because it may name code, a"
            f" file or a server; {say.format(target)}"
        )


def _checked_target(
    node: dict[str, Any], where: str, allowed: Sequence[str], say: str
) -> str | None:
    """Return the class that a node names, or None; refuse an unknown class."""
    target = node.get("_target_")
    if isinstance(target, str) and target.startswith(tuple(allowed)):
        return target
    unknown = {str(name) for name in node if str(name)[:1] == "_"} - {"_target_"}
    if "_target_" not in node and not unknown:
        return None
    if not isinstance(target, str) or target not in known_targets():
        raise SettingError(
            f"{where} would build {target!r}, which may run any code: a run folder may only name"
            f" classes of this package; {say.format(target)}"
        )
    accepted = names_taken(target)
    unknown |= set() if accepted is None else set(node) - accepted - {"_target_"}
    if unknown:
        raise SettingError(f"{where}: {target} does not take {sorted(unknown)}")
    return target


def _is_choice_taken(override: Override, value: Any) -> bool:
    """Return whether all chosen options of a group are of this package and call no server."""
    group, package = override.key_or_group, override.package
    if package is not None and not (group == "agent" and _MEMBER.fullmatch(package)):
        return False
    files = (path for folder in _own_folders() for path in (folder / group).glob("*.yaml"))
    own = {path.stem for path in files} - {*CALLING.get(group, ())}
    options = value if isinstance(value, list) else [value]
    return all(name is None or (isinstance(name, str) and name in own) for name in options)


def _is_leaf_taken(key: str, value: Any) -> bool:
    plain = value is None or isinstance(value, bool | int | float | str | list | dict)
    if not plain or not _KEY.fullmatch(key) or (isinstance(value, str) and "${" in value):
        return False
    name = key
    while (inner := _INNER.match(name)) is not None:
        rest = name[inner.end() :]
        name = f"agent{rest}" if name.startswith("agent.") else rest
    if _matches(name, TYPED):
        class_key = any(part.startswith("_") for part in name.split("."))
        return not class_key and (not value or value in PLAIN.get(name, ()))
    return _matches(name, TAKEN)


def _matches(key: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def _leaves(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield the values in a setting with their dotted keys; items of a list have its key."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{name}")
        return
    yield key, value
    for item in value if isinstance(value, list) else ():
        yield from _leaves(item, key)
