"""Entries of a comparison: how each row changes the team and its policies.

Environment, source and tasks are the same for all entries (`ASKED`). An entry of a trained run
brings its policies and the settings of its team (`TAKEN`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from omegaconf import DictConfig, OmegaConf

from laconic.envs.checks import Bound, Count, Word, check_fields, check_names, choice, whole
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.trust import check_settings
from laconic.experiments.run_folder.foreign import read_config
from laconic.experiments.session.settings import Played, Program
from laconic.experiments.session.team_layouts import LAYOUTS
from laconic.learners.agents.scripted import NAMES
from laconic.learners.untrusted_files import find_unsafe_path

MATCHED = "matched"
_OF_TASKS = ("source", "split", "holdout", "holdout_seed", "tasks", "reader", "generator")
ASKED = ("_target_", "name", *_OF_TASKS)
"""Settings of the environment that are the same for all entries."""
TAKEN = ("team", "rounds", "information", "topology", "schedule", "answer", "instructions")
"""Settings of the environment that an entry of a trained run brings."""
POLICY = "policy"
"""Folder of the policies in the folder of a finished run."""
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: a team, its policies and the layout of the environment."""

    name: str
    """Name of the row and of its folder."""
    layout: Word = "team"
    """Layout of the environment, one of `experiments.session.team_layouts.LAYOUTS`."""
    agents: Annotated[int, Bound(ge=2)] | None = None
    """Number of agents that debate or work. None: 3."""
    script: Word | None = None
    """Script of `agent=scripted` that replaces the comparison's agent; None for none."""
    say: Word | Sequence[Word] = ""
    """Words that every agent reads after its role, or a list with words for each agent."""
    votes: int | Word | None = None
    """Number of samples in a vote; `matched` spends as many tokens as the reference. None: no
    vote."""
    silenced: Sequence[Word] = ()
    """Agents that always say nothing."""
    greedy: bool | None = None
    """True for the likeliest reply. None: `evaluation.greedy`."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the environment, applied after the layout; `budget.episode: matched` is the mean
    number of tokens that the reference says."""
    agent: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the agent; with a `_target_` they replace the comparison's agent."""
    source: str = ""
    """Folder of the run that the row comes from, for its note; empty for none."""

    def __post_init__(self) -> None:
        """Check the settings that can be checked without the environment.

        Raises:
            SettingError: a setting is outside its range, or changes the tasks.
            UnknownNameError: the layout or the script is unknown.
        """
        where = f"entries.{self.name}"
        if not _NAME.fullmatch(self.name):
            raise SettingError(
                "the name of an entry must be letters, digits and any of '_.+-', because it names"
                f" a folder; got {self.name!r}"
            )
        choice(f"layout in {where}.layout", self.layout, LAYOUTS)
        if self.script is not None:
            choice(f"script in {where}.script", self.script, NAMES)
        check_fields(self, where)
        if self.votes != MATCHED:
            whole(f"{where}.votes, unless it is {MATCHED},", self.votes, 1, optional=True)
        listed = not isinstance(self.say, str) and isinstance(self.say, Sequence)
        if not all(isinstance(text, str) for text in (self.say if listed else [self.say])):
            raise SettingError(f"{where}.say must be text, or a list of texts; got {self.say!r}")
        agents = [] if isinstance(self.silenced, str) else self.silenced
        if isinstance(self.silenced, str) or not all(isinstance(agent, str) for agent in agents):
            raise SettingError(f"{where}.silenced must be a list of agents; got {self.silenced!r}")
        fixed = [name for name in ASKED if name in self.env]
        if fixed:
            raise SettingError(
                f"{where}.env cannot set {fixed[0]!r}, because all entries play the same tasks; set"
                f" env.{fixed[0]} for all of them"
            )

    @property
    def matched(self) -> bool:
        """True if the number of samples or the cap follows the reference."""
        return MATCHED in (self.votes, self.cap)

    @property
    def cap(self) -> Any:
        """Own cap on the tokens that its agents say in an episode; None without one."""
        budget = self.env.get("budget")
        return budget.get("episode") if isinstance(budget, Mapping) else None


def read_entries(cfg: DictConfig) -> list[Entry]:
    """Read the entries of a configuration, in their order.

    Raises:
        SettingError: there is no entry, or a setting is outside its range.
        UnknownNameError: an entry has an unknown setting.
    """
    entries = [_read(str(name), node) for name, node in (cfg.get("entries") or {}).items()]
    if not entries and not cfg.compare.runs:
        raise SettingError("a comparison needs an entry; got entry=[] and compare.runs=null")
    return entries


def entries_of_runs(cfg: DictConfig, used_names: Collection[str]) -> list[Entry]:
    """Make one entry for each folder of `compare.runs`; other entries have the `used_names`.

    Raises:
        SettingError: a folder is no run of this environment, has no trained policy, has settings
            of another version, or names an object that `compare.trust` does not allow.
    """
    runs = cfg.compare.runs
    if runs is None:
        return []
    if OmegaConf.is_dict(runs):
        folders = {str(name): Path(str(folder)) for name, folder in runs.items()}
    elif OmegaConf.is_list(runs):
        folders = _names([Path(str(folder)) for folder in runs])
    else:
        raise SettingError(f"compare.runs must be a list of run folders; got {runs!r}")
    clash = [name for name in folders if name in used_names]
    if clash:
        raise SettingError(
            f"a run and an entry are both called {clash[0]!r}; name the run in compare.runs, as in"
            " {mine: <folder>}"
        )
    trusted = [str(target) for target in cfg.compare.get("trust") or ()]
    environment = str(cfg.env.get("name"))
    return [_of_run(name, folder, environment, trusted) for name, folder in folders.items()]


def _read(name: str, node: Any) -> Entry:
    if not OmegaConf.is_dict(node):
        raise SettingError(f"entries.{name} must be settings of an entry; got {node!r}")
    # Unresolved, because an entry may refer to settings of its own.
    settings: dict[str, Any] = OmegaConf.to_container(node, resolve=False)  # type: ignore[assignment]
    names = {setting.name for setting in fields(Entry)} - {"name", "source"}
    check_names(f"setting in entries.{name}", settings, names)
    return Entry(name, **settings)


def _of_run(name: str, folder: Path, environment: str, trusted: list[str]) -> Entry:
    saved = folder / "config.yaml"
    if not saved.is_file():
        raise SettingError(f"compare.runs: {str(folder)!r} is no run folder: it has no config.yaml")
    run = read_config(folder)
    env: Mapping[str, Any] = run.get("env") or {}
    if env.get("name") != environment:
        raise SettingError(
            f"compare.runs must name runs of env={environment}, the environment of this"
            f" comparison; the run in {str(folder)!r} is of env={env.get('name')}"
        )
    if not (folder / POLICY).is_dir():
        raise SettingError(
            f"compare.runs: {str(folder)!r} has no folder {POLICY!r}; a run saves its policies"
            " there when it finishes"
        )
    if strange := find_unsafe_path(folder / POLICY):
        raise SettingError(f"compare.runs: {str(folder / POLICY)!r} is not loaded: {strange}")
    agent = {**(run.get("agent") or {}), "model": str((folder / POLICY).resolve())}
    team = {key: env[key] for key in TAKEN if key in env}
    for part, settings in (("env", team), ("agent", agent)):
        advice = "pass compare.trust=[{}] to allow it"
        check_settings(settings, part, f"compare.runs: {folder}", trusted, advice)
    return Entry(name, env=team, agent=agent, source=str(folder))


def _names(folders: list[Path]) -> dict[str, Path]:
    """Name folders by their last part, and by more parts where two would have the same name."""
    names: dict[str, Path] = {}
    for folder in folders:
        parts = [re.sub(r"[^\w.+-]", "-", part) for part in folder.resolve().parts[1:]]
        length = 1
        while (name := "_".join(parts[-length:])) in names and length < len(parts):
            length += 1
        names[name] = folder
    return names


@dataclass(frozen=True)
class Compare:
    """Settings `compare`."""

    equal: bool
    budget: Count | None
    reference: Word
    columns: Mapping[str, Any]
    most_votes: Count
    runs: Sequence[str] | Mapping[str, str] | None
    cross: Word | None
    trust: Sequence[str]


@dataclass(frozen=True)
class CompareProgram(Program):
    """Settings of `laconic compare`."""

    compare: Compare
    entries: Mapping[str, Entry]
    evaluation: Played
