"""Every choice of the package is composed and built, and says what the constructors say.

Choices are found by globbing, so a new yaml is tested without a change here. A yaml restates the
default of its constructor, so that the packages behave alike with and without Hydra. Where the
program is meant to differ from the bare class, `DELIBERATE` names the key and the reason.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.errors import MissingConfigException
from hydra.utils import instantiate
from omegaconf import OmegaConf
from pettingzoo import ParallelEnv
from places import configs

from laconic import envs
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.registry import find
from laconic.envs.worlds import WorldEnv
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.tracking.loggers import open_loggers
from laconic.learners.algorithms.base import Resumable
from laconic.learners.prices.schedule import Price

YAMLS = configs()
PROGRAMS = sorted(configs("*.yaml"))
NO_CHOICES = ("env/base/", "hook/", "warm_start/")
"""Groups that environments inherit, that extras add to a program of the same name, and that
`laconic warm-start` reads by the name of the environment."""
OPTIONS = sorted(name for name in YAMLS if "/" in name and not name.startswith(NO_CHOICES))
HYDRAS = "hydra/"
"""Groups of Hydra's own, which configure no object of ours."""
TRACKERS = ("logger/wandb", "logger/mlflow", "logger/trackio")
"""Loggers with a library of their own; `test_trackers.py` builds them where it is installed."""
NEEDS = {
    "agent/api": ["agent.model=a-model"],
    "agent/gated_hf": ["agent.model=a-model"],
    "agent/hf": ["agent.model=a-model"],
    "experiment/expert": ["env.expert.model=a-model"],
    "experiment/pretrained": ["agent.model=a-model"],
    "learner/swarm": ["learner.collect.folder=a-folder"],
    "learner/collect/own_best": ["learner=imitation"],
    "learner/collect/recorded": ["learner=imitation", "learner.collect.folder=a-folder"],
    "learner/collect/teacher": ["learner=imitation"],
}
"""Keys that an option leaves to the user, or a program to Hydra at run time."""
WHOLE = ("experiment/", "entry/", "hook/")
"""Experiments, entries and hooks change settings on purpose; they are built, not compared with
defaults."""

DELIBERATE = {
    "laconic.envs.make": {
        "instructions": "the shipped policy reads brief ones; a team sets what suits it",
    },
    "laconic.envs.Budget": {"message": "worlds give messages room for the shipped policy"},
    "torch.optim.Adafactor": {"lr": "suits the shipped policy; a team sets what suits it"},
    "torch.optim.AdamW": {
        "lr": "suits the shipped policy; a team sets what suits it",
        "betas": "a short memory for runs of tens of steps",
        "weight_decay": "a policy is not to be drawn to zero",
    },
    "laconic.learners.advantages.group.Advantages": {
        "scale": "learner=gspo leaves advantages in reward units; other methods keep the std",
    },
}


PACKAGES = ("optimizer/adamw8bit",)
"""Options that need a package or a device that the tests lack."""


@functools.cache
def groups_of(program: str) -> set[str]:
    """Return the groups of a program's choices."""
    listed = OmegaConf.to_container(OmegaConf.load(YAMLS[program])).get("defaults", [])
    names = [next(iter(entry)) for entry in listed if isinstance(entry, dict)]
    return {name.removeprefix("override ").removeprefix("optional ") for name in names}


def parameters_of(target: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a target, with those it passes to its bases or the environment."""
    result = resolve_name(target)
    makers = [result, *(result.__mro__[1:-1] if inspect.isclass(result) else ())]
    if target == "laconic.envs.make":
        # The settings of an environment, and those of worlds, which share no name with them.
        makers += [*map(find, envs.names("worlds")), WorldEnv, DialogueEnv]
    parameters: dict[str, inspect.Parameter] = {}
    for maker in reversed(makers):
        parameters |= inspect.signature(maker).parameters
    return parameters


def choice(option: str) -> list[str]:
    # An experiment may lie in a folder of its group.
    split = option.partition if option.startswith("experiment/") else option.rpartition
    group, _, name = split("/")
    return [f"{group}={name}", *NEEDS.get(option, [])]


TRAINING = ("experiment/warm_start", "experiment/rlccf", "experiment/recipes/")
"""Options that choose a learner, for programs that let one be chosen by a group."""
COMBINATIONS = [
    (program, option)
    for program in PROGRAMS
    for option in OPTIONS
    # A group may lie in another one (`learner/price`).
    if {option.rpartition("/")[0], option.partition("/")[0]} & groups_of(program)
    and (not option.startswith(TRAINING) or program == "train")
    # A hook is for one program.
    and (not option.startswith("hook/") or option == f"hook/{program}")
]


def covering() -> list[Any]:
    """Return all combinations; all are slow except one of each option.

    An option that works with one program mostly works with all.

    Programs take turns within a group, so that a large group is tried with each of them.
    """
    program_of: dict[str, str] = {}
    for option in OPTIONS:
        programs = [program for program, choice in COMBINATIONS if choice == option]
        group = option.rpartition("/")[0]
        earlier = [choice for choice in program_of if choice.rpartition("/")[0] == group]
        program_of[option] = programs[len(earlier) % len(programs)]
    return [
        pytest.param(*pair, marks=() if program_of[pair[1]] == pair[0] else pytest.mark.slow)
        for pair in COMBINATIONS
    ]


@pytest.fixture
def composed(composed_once):
    """Compose a program's configuration."""

    def call(program: str, *overrides: str) -> Any:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return compose(program, overrides=[*NEEDS.get(program, []), *overrides])

    return call


def build(cfg: Any, folder: Path) -> dict[str, Any]:
    """Build all parts of a configuration, as the programs do."""
    weights = [torch.zeros(1, requires_grad=True)]
    parameters: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "env": ((), {"split": "train", "tasks": 4}),
        "optimizer": ((weights,), {"_partial_": False}),
        "learner": (({}, torch.optim.SGD), {"_partial_": False}),
    }
    built = {}
    for key, node in cfg.items():
        if OmegaConf.is_dict(node) and "_target_" in node:
            arguments, settings = parameters.get(key, ((), {}))
            built[key] = instantiate(node, *arguments, _convert_="all", **settings)
    if "logger" in cfg:
        built["logger"] = open_loggers(cfg.logger, folder)
        built["logger"].close()
    return built


def nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every node that names a constructor."""
    if isinstance(value, Mapping):
        if "_target_" in value:
            yield value
        for inner in value.values():
            yield from nodes(inner)


def what_makes(option: str) -> dict[str, Any]:
    """Return the settings of an option that builds on others, and theirs; {} for any other.

    An option without a `_target_` of its own says only what makes it differ, on purpose; one with
    may say so of others that are parts of it (`/agent@members.solver: tiny`), or of the parts of an
    option that it builds on.
    """
    settings: dict[str, Any] = OmegaConf.to_container(OmegaConf.load(YAMLS[option]))
    defaults = settings.pop("defaults", [])
    listed = [entry for entry in defaults if isinstance(entry, str)]
    names = [entry.removesuffix("@_here_") for entry in listed if entry != "_self_"]
    group = option.rpartition("/")[0]
    # Options of its own group are named without it.
    parents = [what_makes(f"{group}/{name}") for name in names if "@" not in name]
    if "_target_" in settings:
        parts = [
            key.partition("@")[2] for entry in defaults if isinstance(entry, dict) for key in entry
        ]
        differs = OmegaConf.create()
        for part in filter(None, parts):
            own = OmegaConf.select(OmegaConf.create(settings), part)
            OmegaConf.update(differs, part, own or {})
        inner = {name: value for name, value in settings.items() if isinstance(value, Mapping)}
        return OmegaConf.to_container(OmegaConf.merge(differs, *parents, inner if parents else {}))
    return OmegaConf.to_container(OmegaConf.merge(*parents, settings))


def lies_in(option: str) -> str:
    """Return the part of a configuration that has an option's settings."""
    everywhere = "# @package _global_" in YAMLS[option].read_text()
    return "" if everywhere else option.rpartition("/")[0].replace("/", ".")


def leave_out(cfg: dict[str, Any], where: str, settings: Mapping[str, Any]) -> None:
    """Remove an option's settings from a part of the configuration."""
    for key in filter(None, where.split(".")):
        cfg = cfg[key]
    for name, value in settings.items():
        if isinstance(value, Mapping) and isinstance(cfg.get(name), Mapping):
            leave_out(cfg, name, value)
        else:
            cfg.pop(name, None)


def chosen_in(program: str, option: str) -> set[str]:
    """Return the options that a program composes if one of them is given."""
    listed = OmegaConf.to_container(OmegaConf.load(YAMLS[program])).get("defaults", [])
    entries = [entry for entry in listed if isinstance(entry, dict)]
    usual = {group: name for entry in entries for group, name in entry.items()}
    group, _, name = option.rpartition("/")
    # What an option needs may choose others.
    needed = dict(need.split("=") for need in NEEDS.get(option, []) if "." not in need)
    options = {f"{group}/{name}" for group, name in {**usual, **needed, group: name}.items()}
    return {name for name in options if name in YAMLS}


def plain(value: Any) -> Any:
    """Return a constructor's default as yaml writes it."""
    return list(value) if isinstance(value, tuple) else value


def check_defaults(composed: Any, program: str, option: str = "") -> None:
    """Check that a yaml restates the defaults of its constructors."""
    cfg = OmegaConf.to_container(composed)
    # What a program's own yaml says of a chosen option is meant to differ from that option.
    own = OmegaConf.to_container(OmegaConf.load(YAMLS[program]))
    for group in groups_of(program) & own.keys() & cfg.keys():
        for name in own[group]:
            del cfg[group][name]
    for chosen in chosen_in(program, option):
        leave_out(cfg, lies_in(chosen), what_makes(chosen))
    for node in nodes(cfg):
        target = node["_target_"]
        parameters = parameters_of(target)
        excused = {*DELIBERATE.get(target, {}), "_target_", "_partial_"}
        for name in node.keys() - excused:
            default = parameters[name].default
            follows = isinstance(node[name], str) and node[name].startswith("${")
            if default is inspect.Parameter.empty or isinstance(node[name], Mapping) or follows:
                # Required, or a record that is a node of its own, or said by another key.
                continue
            assert node[name] == plain(default), f"{option or program}: {target} {name}"


def test_the_glob_finds_the_programs_and_the_choices():
    assert {"train", "evaluate", "compare"} <= set(PROGRAMS)
    assert {"env/gsm8k", "agent/tiny", "agent/hf", "learner/gspo"} <= set(OPTIONS)
    assert all(groups_of(program) for program in PROGRAMS)


def test_every_option_belongs_to_a_program():
    offered = {option for _, option in COMBINATIONS}
    assert offered == set(OPTIONS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_is_composed_and_built(composed, tmp_path, program):
    cfg = composed(program)
    check_defaults(cfg, program)
    built = build(cfg, tmp_path)
    assert isinstance(built["env"], DialogueEnv)
    if "learner" in built:
        assert isinstance(built["learner"], Resumable) and callable(built["learner"].update)
        assert isinstance(built["learner"].price, Price)


@pytest.mark.parametrize(("program", "option"), covering())
def test_every_option_is_composed_and_built_with_every_program_that_has_it(
    composed, tmp_path, program, option
):
    cfg = composed(program, *choice(option))
    if not option.startswith((HYDRAS, *WHOLE)):
        check_defaults(cfg, program, option)
    if option.startswith((HYDRAS, *TRACKERS, *PACKAGES)):
        return
    built = build(cfg, tmp_path)
    assert isinstance(built["env"], ParallelEnv)
    if not option.startswith(WHOLE):
        assert option.partition("/")[0] in built


@pytest.mark.parametrize(
    ("choices", "balance"),
    [
        ([], True),
        (["learner=dr_mas"], True),
        (["experiment=pretrained", "agent.model=a-model"], True),
        # Demonstrations are imitated whatever they cost.
        (["experiment=warm_start"], False),
    ],
)
def test_silence_is_kept_on_balance_where_words_are_charged(composed, choices, balance):
    assert composed("train", *choices).learner.balance_silence is balance


def test_what_environments_inherit_is_not_offered_as_an_environment(composed):
    with pytest.raises(MissingConfigException) as raised:
        composed("train", "env=base")
    assert raised.value.options == list(envs.names())


def test_an_environment_of_a_users_own_may_inherit_too(composed, tmp_path):
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "mine.yaml").write_text(
        "defaults: [base/dialogue@_here_, _self_]\nname: gsm8k\nteam: {solver: 2}\nrounds: 3\n"
    )
    cfg = composed("train", f"hydra.searchpath=[{tmp_path}]", "env=mine", "env.budget.message=7")
    env = instantiate(cfg.env, tasks=2, _convert_="all")
    assert env.possible_agents == ["solver_0", "solver_1"]
    assert (env.rounds, env.budget.message, env.information) == (3, 7, "full")


def test_what_differs_on_purpose_still_exists():
    for target, keys in DELIBERATE.items():
        parameters = {*parameters_of(target)}
        takes_more = "settings" in parameters
        assert takes_more or set(keys) <= parameters, target


def test_every_yaml_begins_by_saying_what_it_is():
    for path in YAMLS.values():
        lines = path.read_text().splitlines()
        first = next(line for line in lines if not line.startswith("# @package"))
        assert first.startswith("# "), path


MOST_SETTINGS = 70


def settings(node: Any, prefix: str = "") -> Iterator[str]:
    """Dotted keys of the leaves of a configuration, without the classes that it names."""
    if not isinstance(node, Mapping):
        yield prefix
        return
    for name, value in node.items():
        if name not in ("_target_", "_partial_"):
            yield from settings(value, f"{prefix}.{name}" if prefix else name)


def test_the_default_run_shows_few_settings(composed):
    keys = list(settings(OmegaConf.to_container(composed("train"), resolve=True)))
    assert len(keys) <= MOST_SETTINGS, keys
    assert {"seed", "train.steps", "env.reward.price", "agent.sharing"} <= set(keys)


def test_no_group_refers_to_another_one():
    reference = re.compile(r"\$\{(?!now:|hydra\.|oc\.)([^}.]+)[.}]")
    wrong = {}
    for name, path in YAMLS.items():
        group = name.partition("/")[0]
        for first in reference.findall(path.read_text("utf-8")):
            # The top level of a program is no group.
            if first not in (group, "seed", "train", "evaluation", "compare"):
                wrong[name] = first
    assert wrong == {}
