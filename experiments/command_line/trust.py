"""What is taken from a run folder without being typed, and what is not.

A run folder may come from a stranger. What is taken from it names no code, no server and no file
but models, which are loaded as data: choices of this package, classes that these choices name, and
the settings in `TAKEN`. Everything else has to be typed by whoever uses the folder. Both lists are
complete: a test goes through all of `conf/`. A setting on neither list is not taken.
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
    *(f"evaluation.{name}" for name in ("demand", "samples", "pass_at", "probe_silence")),
    *("optimizer.*", "agent.optimizer", "agent.optimizer.*"),
    # The environment, without where its tasks come from.
    *("env.budget.*", "env.channel.*", "env.reward.*", "env.generator.*", "env.team", "env.team.*"),
    *(f"env.{name}" for name in ("tasks", "split", "holdout", "holdout_seed")),
    *(f"env.{name}" for name in ("rounds", "max_rounds", "information", "topology", "schedule")),
    *(f"env.{name}" for name in ("answer", "agree_at", "tokens_left", "instructions")),
    *("env.feedback", "env.stop_at"),
    *(f"env.{name}" for name in ("wording", "months", "talk", "talk_rounds", "language", "grant")),
    *("env.universalization", "env.newcomer"),
    # The team, without the servers it asks. Of a model that it begins with no code is run.
    *("agent.model", "agent.revision", "agent.lora.base", "env.expert.model"),
    *(f"agent.{name}" for name in ("sharing", "frozen", "step", "script", "seed", "counted_by")),
    *(f"agent.{name}" for name in ("precision", "device", "quantization", "recompute_logprobs")),
    *(f"agent.{name}" for name in ("gradient_checkpointing", "silent_when_full")),
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
    *(f"learner.{name}" for name in ("credit", "unit", "sharing", "whiten", "balance_silence")),
    *(f"learner.{name}" for name in ("warmup_updates", "decay", "decay_updates", "seed")),
    *(f"learner.{name}" for name in ("minibatches", "microbatch_tokens", "max_grad_norm")),
    *(
        f"learner.{name}"
        for name in ("charge_power", "charge_when", "mask_truncated", "gamma", "gae_lambda")
    ),
    *("learner.correction", "learner.correction_low", "learner.correction_high"),
    "learner.collect.teacher.*",
    *(f"learner.collect.{name}" for name in ("correct", "credit", "episodes", "foreign", "own")),
    *(f"learner.collect.{name}" for name in ("microbatch_tokens", "name", "newest")),
    *(f"learner.collect.{name}" for name in ("charge_power", "others", "solved", "strange_tasks")),
    *(f"compare.{name}" for name in ("alone", "budget", "equal", "most_votes", "reference")),
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
    *("env.reader", "env.reader.*", "learner.collect.folder", "engine.folder"),
    "agent.tokenize*",
    # An environment of an installed package; names of this package are in `PLAIN`.
    "env.name",
    # transformers loads code from the hub where it is the name of a repository.
    "agent.attn_implementation",
    # Servers, keys, and programs that are started.
    *("agent.base_url", "agent.api_key_env", "agent.sampling.extra_body", "env.expert.base_url"),
    *(f"engine.{name}" for name in ("url", "start", "program", "arguments", "environment")),
    "logger.*",
    # What else a folder may build.
    *("trust", "compare.trust", "evaluation.after*", "compare.columns*"),
    # How it is run: see `resuming`.
    "hydra.*",
)
"""Config keys that have to be typed, whatever `TAKEN` says."""

PLAIN = {
    "env.name": (*names("benchmarks"), *names("worlds")),
    "env.source": ("generated",),
    "agent.attn_implementation": ("sdpa", "eager", "flash_attention_2"),
}
"""Values of keys of `TYPED` that are taken all the same, besides null, false and what is empty."""

CALLING = {
    "agent": ("api",),
    "engine": ("vllm",),
    "logger": ("mlflow", "trackio", "wandb"),
}
"""Config group -> choices of this package that call a server, and so have to be typed."""

MAX_OVERRIDE = 10_000
"""Most characters of an override that is taken; parsing a long one takes minutes."""

_CONF = Path(__file__).resolve().parents[2] / "conf"
_OWN = "laconic."
"""How names of packages of this project begin."""
_INNER = re.compile(r"agent\.members\.\w+(?=\.)|entries\.[\w+-]+\.(?=(?:agent|env)\.)")
"""What stands before settings of an agent or an environment inside another."""
_KEY = re.compile(r"[\w+-]+(\.[\w+-]+)*")
_MEMBER = re.compile(r"agent\.members\.\w+")
_TARGET = re.compile(r"_target_:\s*(laconic\.\S+)")


@functools.cache
def known_targets() -> frozenset[str]:
    """Return the classes of this package that its own choices of `GROUPS` name."""
    files = (path for group in GROUPS for path in (_CONF / group).rglob("*.yaml"))
    return frozenset(name for path in files for name in _TARGET.findall(path.read_text("utf-8")))


def is_taken(key: str, value: Any) -> bool:
    """Say whether a setting may come from a run folder.

    Args:
        key: dotted, in full (`env.reward.price`).
        value: a plain value; a mapping is judged by all that is in it.
    """
    return all(_is_leaf_taken(name, one) for name, one in _leaves(value, key))


def is_override_taken(text: str) -> bool:
    """Say whether a recorded override may be used again without being typed.

    It has to parse as an override, so flags are not taken. What it chooses of a group has to be a
    choice of this package, and every key that it sets has to be on the list.
    """
    if len(text) > MAX_OVERRIDE or "${" in text:
        return False
    try:
        override = OverridesParser.create().parse_override(text)
        value = None if override.is_delete() else override.value()
    except (HydraException, ValueError, RecursionError):
        return False
    group = override.key_or_group
    named = re.fullmatch(r"\w+(/\w+)*", group)
    if named and any((folder / group).is_dir() for folder in _own_folders()):
        return _is_choice_taken(override, value)
    return override.package is None and is_taken(override.key_or_group, value)


def check_settings(
    settings: Any, group: str, folder: str, allowed: Sequence[str] = (), say: str = ""
) -> None:
    """Refuse settings of a run folder that are not taken from one.

    Args:
        settings: the node of its configuration for `group`, without what the user typed.
        group: `agent` or `env`.
        folder: which folder, for the message.
        allowed: beginnings of classes that the user trusts, with all their settings.
        say: how to allow a class, with `{}` for its name.

    Raises:
        SettingError: a class is not known, or is given settings that it does not take; a setting is
            not on the list; or there is a reference (`${...}`).
    """
    try:
        _check(settings, group, f"{folder}: ", allowed, say, None)
    except RecursionError as error:
        raise SettingError(f"{folder}: {group} is nested too deeply to be settings") from error


def _own_folders() -> tuple[Path, ...]:
    """Return the folders of this project's choices; those of other packages have to be typed."""
    return _CONF, *config_folders(_OWN)


def _check(
    node: Any, key: str, where: str, allowed: Sequence[str], say: str, target: str | None
) -> None:
    """Check a node, and all nodes in it; `target` is the class it is a setting of."""
    if isinstance(node, str) and "${" in node:
        raise SettingError(
            f"{where}{key} holds the reference {node!r}; a run folder has values only"
        )
    if isinstance(node, dict):
        named = _checked_target(node, f"{where}{key}", allowed, say)
        for name, one in node.items():
            if str(name)[:1] != "_":
                _check(one, f"{key}.{name}", where, allowed, say, named or target)
        return
    for one in node if isinstance(node, list) else ():
        _check(one, key, where, allowed, say, target)
    # An empty tuple is the beginning of nothing.
    trusted = target is not None and target.startswith(tuple(allowed))
    if not trusted and not isinstance(node, list | dict) and not is_taken(key, node):
        raise SettingError(
            f"{where}{key}={node!r} is not taken from a run folder, because it may name code, a"
            f" file or a server; {say.format(target)}"
        )


def _checked_target(
    node: dict[str, Any], where: str, allowed: Sequence[str], say: str
) -> str | None:
    """Return the class that a node names, or None; refuse one that is not known."""
    target = node.get("_target_")
    if isinstance(target, str) and target.startswith(tuple(allowed)):
        return target
    unknown = {str(name) for name in node if str(name)[:1] == "_"} - {"_target_"}
    if "_target_" not in node and not unknown:
        return None
    if not isinstance(target, str) or target not in known_targets():
        raise SettingError(
            f"{where} would build {target!r}, which may run any code: settings of a run folder are"
            f" taken for classes of this package alone; {say.format(target)}"
        )
    accepted = names_taken(target)
    unknown |= set() if accepted is None else set(node) - accepted - {"_target_"}
    if unknown:
        raise SettingError(f"{where} gives {target} what it does not take: {sorted(unknown)}")
    return target


def _is_choice_taken(override: Override, value: Any) -> bool:
    """Say whether all that is chosen of a group is of this package and calls no server."""
    group, package = override.key_or_group, override.package
    if package is not None and not (group == "agent" and _MEMBER.fullmatch(package)):
        return False
    files = (path for folder in _own_folders() for path in (folder / group).glob("*.yaml"))
    own = {path.stem for path in files} - {*CALLING.get(group, ())}
    chosen = value if isinstance(value, list) else [value]
    return all(one is None or (isinstance(one, str) and one in own) for one in chosen)


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
    return any(fnmatchcase(key, one) for one in patterns)


def _leaves(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield the values in a setting with their dotted keys; a list's values have its key."""
    if isinstance(value, dict) and value:
        for name, one in value.items():
            yield from _leaves(one, f"{key}.{name}")
        return
    yield key, value
    for one in value if isinstance(value, list) else ():
        yield from _leaves(one, key)
