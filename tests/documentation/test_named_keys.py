"""Every config key that an error, a warning or a page names exists."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from pkgutil import resolve_name

import pytest
from conf_keys import FILES, all_keys
from omegaconf import OmegaConf
from places import ROOT

from laconic.experiments.evaluate import MAY_DIFFER as EVALUATION_MAY_DIFFER
from laconic.experiments.run_folder.folder import MAY_DIFFER

ENDINGS = ("csv", "html", "json", "jsonl", "md", "png", "yaml")
"""A name that ends so is that of a file."""
OWN = {
    # Settings of classes that a page adds.
    *("env.base_url", "env.expert", "env.expert._target_", "env.expert.base_url", "env.price"),
    *("env.expert.model", "env.game", "env.players", "engine.top_k", "learner.margin"),
    *("learner.objective.cap", "callbacks.patience._target_", "callbacks.patience.evaluations"),
    *(f"env.topology.{name}" for name in ("kind", "similarity", "embed")),
    *(
        "evaluation.after.longest._target_",
        "logger.mine",
        "agent.sampling.extra_body.chat_template_kwargs.enable_thinking",
    ),
    # Attributes of objects in Python.
    *("run.error", "run.groups", "run.processes.is_main"),
    *("env.act_tokens", "env.layout.parts", "env.metadata", "env.outcome", "env.render_mode"),
    # Of a collector that no yaml names.
    "learner.collect.samples",
    # The former name of a key, on the page that says so.
    "evaluation.part",
    # A setting of earlier runs, which the message about them names.
    "learner.charge_power",
    # A part of a mapping of arguments.
    "agent.sampling.template.chat_template",
}
INNER = re.compile(r"agent\.members\.\w+(?=\.)|entries\.\w+\.(?=(agent|env)\.)")


def may_differ(key: str, patterns: Sequence[str]) -> bool:
    """Return whether a list of patterns has a key; a pattern covers all keys below it."""
    return any(fnmatchcase(key, each) or fnmatchcase(key, f"{each}.*") for each in patterns)


def _keys() -> set[str]:
    """Return all keys of `conf/`, those that lead to them, and further arguments of classes."""
    leaves = {re.sub(r"^entries\.\w+", "entries.any", key) for key in all_keys()}
    for path in FILES:
        for key, target in _targets(path):
            try:
                names = inspect.signature(resolve_name(target)).parameters
            except (ImportError, AttributeError, ValueError):
                continue  # of a package that is not installed here
            leaves |= {f"{key}.{name}" for name in names}
    leaves |= {f"entries.any.{name}" for name in ("agents", "layout", "env", "agent")}
    parts = [key.split(".") for key in leaves]
    return {".".join(words[:end]) for words in parts for end in range(1, len(words) + 1)}


def _targets(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the key of each node of a yaml that names a class, and the class."""
    from conf_keys import keys_of_file

    group = path.parent.name if path.parent.name != "base" else path.parent.parent.name
    for key in keys_of_file(path):
        if key.endswith("._target_"):
            inside = key if group == "conf" else key.partition(".")[2]
            target = OmegaConf.select(OmegaConf.load(path), inside)
            target = target or OmegaConf.select(OmegaConf.load(path), key.rpartition(".")[2])
            if isinstance(target, str):
                yield key.removesuffix("._target_"), target


def _plain(key: str) -> str:
    """Return the key that a nested agent or environment has by itself."""
    while match := INNER.match(key):
        rest = key[match.end() :]
        key = f"agent{rest}" if key.startswith("agent.") else rest
    return re.sub(r"^(env\.team|entries)\.\w+", r"\1.any", key)


def _messages(path: Path) -> str:
    """Return all texts of a module that are no docstrings."""
    nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
    documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = (node for node in nodes if isinstance(node, ast.Constant))
    return "\n".join(
        text.value for text in texts if isinstance(text.value, str) and id(text) not in documented
    )


def _unknown(text: str, keys: set[str]) -> set[str]:
    """Return the names in a text that look like keys of the configuration and are none."""
    groups = sorted({key.partition(".")[0] for key in keys} - {"hydra", "entries"})
    pattern = rf"(?<![\w./@-])({'|'.join(groups)}|entries)((?:\.[a-z_]\w*)+)(?![\w(/*<{{])"
    return {
        key
        for key in {match[0] for match in re.finditer(pattern, text)}
        if key.rpartition(".")[2] not in ENDINGS
        and key not in OWN
        and _plain(key) not in keys
        and not key.startswith("env.team.")
    }


@pytest.fixture(scope="module")
def keys() -> set[str]:
    return _keys()


SOURCES = [
    path
    for folder in ("envs", "learners", "experiments", "extras")
    for path in sorted((ROOT / folder).rglob("*.py"))
    # The former names of keys stand there.
    if path.name != "names.py"
]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "SECURITY.md"]


def test_a_key_that_does_not_exist_is_noticed(keys):
    assert _unknown("lower agent.sampling.generate_batch or env.rounds", keys) == {
        "agent.sampling.generate_batch"
    }


def test_every_key_that_an_error_or_a_warning_names_exists(keys):
    assert len(SOURCES) > 200
    wrong = {path.name: _unknown(_messages(path), keys) for path in SOURCES}
    assert {name: unknown for name, unknown in wrong.items() if unknown} == {}


def test_every_key_that_a_page_names_exists(keys):
    assert len(PAGES) > 20
    wrong = {}
    for path in PAGES:
        text = re.sub(r"```python.*?```", "", path.read_text("utf-8"), flags=re.S)
        if unknown := _unknown(text, keys):
            wrong[path.name] = unknown
    assert wrong == {}


def test_every_key_that_a_resumed_run_may_change_exists(keys):
    # A row of a comparison records its agent and its environment below `entry`.
    all_of_them = {*keys, *(f"entry.{key}" for key in keys)}
    all_of_them |= {key.replace("agent.", "agent.members.any.", 1) for key in all_of_them}
    for patterns in (MAY_DIFFER, EVALUATION_MAY_DIFFER):
        idle = [each for each in patterns if not any(may_differ(k, [each]) for k in all_of_them)]
        assert idle == []


@pytest.mark.parametrize(
    "key",
    [
        *("agent.sampling.generate_tokens", "agent.members.helper.sampling.generate_tokens"),
        *("learner.microbatch_tokens", "learner.collect.microbatch_tokens", "threads"),
        *("agent.gradient_checkpointing", "train.steps", "engine.url"),
    ],
)
def test_what_cures_short_memory_or_suits_another_machine_may_change(key):
    assert may_differ(key, MAY_DIFFER)


@pytest.mark.parametrize("key", ["seed", "env.rounds", "train.group_size", "optimizer.lr"])
def test_what_changes_the_course_of_a_run_may_not(key):
    assert not may_differ(key, MAY_DIFFER)


ARGUMENTS = {
    # Arguments in Python and names in messages, which no configuration sets.
    *("kind of environment", "environment", "benchmark", "rounds of the world", "world"),
    *("answers", "padding"),
    *("max_cycles", "observation_tokens", "action_tokens", "agent", "mask", "part of a mixture"),
    *("count", "agent's name", "task", "number of a task"),
    *("metadata['max_reward'] of the environment", "setting of an environment"),
    "metadata['chance'] of the environment",
    "metric in sweep_metric",
    # Trees of votes (`extras.analysis.synergy`, `voter.tree`), and an option of `laconic predict`.
    *(
        "fan_in",
        "depth",
        "fidelity",
        "votes",
        "message",
        "window",
        "shared",
        "smallest",
    ),
}
"""First arguments of checks that name no key."""
TOP_LEVEL = {
    *("agent", "engine", "env", "experiment", "learner", "logger", "optimizer", "resume", "run"),
    *("seed", "step", "threads"),
}
"""Keys that stand in no group, and groups."""
CHECKS = ("choice", "flag", "number", "whole", "check_names", "UnknownNameError")
OF_GROUPS = ("check_fields", "checked")
"""Checks of all settings of a group, which they name last."""
IN_A_GROUP = re.compile(
    r"(\w[\w ]* (in|of) )?(env|agent|learner|train|evaluation|engine|demand|compare|measure)\."
)


def _checked(path: Path) -> Iterator[str]:
    """Yield the names that a module passes to checks of values."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            name = node.args[0]
            if node.func.id in CHECKS and isinstance(name, ast.Constant):
                yield str(name.value)
            if node.func.id in OF_GROUPS and isinstance(node.args[-1], ast.Constant):
                yield f"{node.args[-1].value}."


def test_every_checked_value_is_called_by_its_key_with_its_group():
    names = [name for path in SOURCES for name in _checked(path)]
    assert len(names) > 100
    wrong = {name for name in names if name not in ARGUMENTS and not IN_A_GROUP.match(name)}
    assert wrong == set()


def test_a_message_names_settings_with_their_group():
    """The group of a key stands before its last part where `=` or `must be` follows."""
    words = {key.rpartition(".")[2] for key in all_keys() if "." in key}
    assert {"center", "frozen", "mark", "compare_by"} <= words
    pattern = re.compile(r"(?<![\w.{}<>/'])([a-z]\w+)(?:=[a-z0-9]| must be )")
    wrong = {
        (path.name, word)
        for path in SOURCES
        for message in _raised(path)
        for word in pattern.findall(message)
        if word in words - TOP_LEVEL
    }
    assert wrong == set()


def _raised(path: Path) -> Iterator[str]:
    """Yield the texts of the errors for settings that a module raises."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "SettingError":
            for text in node.args:
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "{}"
                    for part in (text.values if isinstance(text, ast.JoinedStr) else [text])
                )
