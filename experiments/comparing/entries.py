"""Entries of a comparison: what each row changes of the environment and of who speaks.

An entry never changes what is asked: environment, source and tasks are the comparison's own. From
the folder of a trained run come its policies and what its team is like (`TAKEN`); tasks, budgets
and reward are the comparison's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from laconic.envs.checks import check_names, choice, flag, whole
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.trust import check_settings
from laconic.experiments.run_folder.foreign import read_config
from laconic.experiments.session.team_layouts import REVISE, SHAPES
from laconic.learners.agents.scripted import NAMES
from laconic.learners.untrusted_files import find_strange

MATCHED = "matched"
_OF_TASKS = ("source", "split", "holdout", "holdout_seed", "tasks", "reader", "generator")
ASKED = ("_target_", "name", *_OF_TASKS)
"""Settings of the environment that are the same for all entries."""
TAKEN = ("team", "rounds", "information", "topology", "schedule", "answer", "instructions")
"""Settings of the environment that a run brings along."""
POLICY = "policy"
"""Folder in which a finished run leaves its policies."""
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: who speaks, in which shape of the environment."""

    name: str
    """The row's name, also that of its folder."""
    shape: str = "team"
    """How the environment is rearranged, one of `experiments.session.team_layouts.SHAPES`."""
    agents: int | None = None
    """How many agents debate or work. None: 3."""
    script: str | None = None
    """A script of `agent=scripted` that speaks instead of the comparison's agent; None for none."""
    say: str | Sequence[str] = ""
    """Words that every agent is told after its role; or a list with words for each agent alone."""
    votes: int | str | None = None
    """Samples that are put to a vote; `matched` takes as many as say what the reference says. None:
    no vote."""
    draft: str | None = None
    """The entry of shape `pass` whose answers are read as drafts in shape `revise`."""
    blank: bool = False
    """Whether these drafts are emptied of all content (`Benchmark.null_draft`)."""
    silenced: Sequence[str] = ()
    """Agents that say nothing, whatever their policies would."""
    greedy: bool | None = None
    """Whether the likeliest reply is taken. None: as the evaluation is set."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the environment, after the shape's; a `budget.episode` of `matched` is as many
    tokens as the reference says."""
    agent: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the agent; with a `_target_` they replace the comparison's agent altogether."""
    source: str = ""
    """Where the row comes from, for its note: the folder of a run; empty for none."""

    def __post_init__(self) -> None:
        """Check what can be checked without the environment.

        Raises:
            SettingError: a setting is outside its range, or changes what is asked.
            UnknownNameError: there is no such shape or script.
        """
        where = f"entries.{self.name}"
        if not _NAME.fullmatch(self.name):
            raise SettingError(
                "the name of an entry must be letters, digits and any of '_.+-', because it names"
                f" a folder; got {self.name!r}"
            )
        choice(f"shape in {where}.shape", self.shape, SHAPES)
        if self.script is not None:
            choice(f"script in {where}.script", self.script, NAMES)
        whole(f"{where}.agents", self.agents, 2, optional=True)
        if self.votes != MATCHED:
            whole(f"{where}.votes, unless it is {MATCHED},", self.votes, 1, optional=True)
        if self.greedy not in (None, True, False):
            raise SettingError(f"{where}.greedy must be null, true or false; got {self.greedy!r}")
        listed = not isinstance(self.say, str) and isinstance(self.say, Sequence)
        if not all(isinstance(one, str) for one in (self.say if listed else [self.say])):
            raise SettingError(f"{where}.say must be text, or a list of texts; got {self.say!r}")
        if isinstance(self.silenced, str) or not all(isinstance(one, str) for one in self.silenced):
            raise SettingError(f"{where}.silenced must be a list of agents; got {self.silenced!r}")
        flag(f"{where}.blank", self.blank)
        if (self.shape == REVISE) != (self.draft is not None):
            raise SettingError(
                f"{where}.draft must name an entry in shape {REVISE}, and in no other;"
                f" got shape={self.shape} draft={self.draft}"
            )
        asked = [name for name in ASKED if name in self.env]
        if asked:
            raise SettingError(
                f"{where}.env cannot set {asked[0]!r}, because all entries are asked the same; set"
                f" env.{asked[0]} for all of them"
            )

    @property
    def matched(self) -> bool:
        """Whether its number of samples, or its cap, follows the reference."""
        return MATCHED in (self.votes, self.cap)

    @property
    def cap(self) -> Any:
        """Most tokens its agents may say in an episode, where it says so itself."""
        budget = self.env.get("budget")
        return budget.get("episode") if isinstance(budget, Mapping) else None


def read_entries(cfg: DictConfig) -> list[Entry]:
    """The entries of a configuration in their order.

    Raises:
        SettingError: there is none, or a setting is outside its range.
        UnknownNameError: an entry has a setting that entries do not have.
    """
    found = [_read(str(name), node) for name, node in (cfg.get("entries") or {}).items()]
    if not found and not cfg.compare.runs:
        raise SettingError("a comparison needs an entry; got entry=[] and compare.runs=null")
    return found


def entries_of_runs(cfg: DictConfig, taken: Collection[str]) -> list[Entry]:
    """One entry for each folder of `compare.runs`; `taken` are the names of other entries.

    Raises:
        SettingError: a folder is no run of this environment, has no trained policy, was written by
            a version with other names, or would build what `compare.trust` does not allow.
    """
    runs = cfg.compare.runs
    if runs is None:
        return []
    if OmegaConf.is_dict(runs):
        named = {str(name): Path(str(folder)) for name, folder in runs.items()}
    elif OmegaConf.is_list(runs):
        named = _names([Path(str(folder)) for folder in runs])
    else:
        raise SettingError(f"compare.runs must be a list of run folders; got {runs!r}")
    clash = [name for name in named if name in taken]
    if clash:
        raise SettingError(
            f"a run and an entry are both called {clash[0]!r}; name the run in compare.runs, as in"
            " {mine: <folder>}"
        )
    trusted = [str(one) for one in cfg.compare.get("trust") or ()]
    return [_of_run(one, named[one], str(cfg.env.get("name")), trusted) for one in named]


def _read(name: str, node: Any) -> Entry:
    if not OmegaConf.is_dict(node):
        raise SettingError(f"entries.{name} must be settings of an entry; got {node!r}")
    # Unresolved, because an entry may refer to settings of its own.
    settings: dict[str, Any] = OmegaConf.to_container(node, resolve=False)  # type: ignore[assignment]
    known = {one.name for one in fields(Entry)} - {"name", "source"}
    check_names(f"setting in entries.{name}", settings, known)
    return Entry(name, **settings)


def _of_run(name: str, folder: Path, environment: str, trusted: list[str]) -> Entry:
    saved = folder / "config.yaml"
    if not saved.is_file():
        raise SettingError(f"compare.runs: {str(folder)!r} is no run folder: it has no config.yaml")
    found = read_config(folder)
    env: Mapping[str, Any] = found.get("env") or {}
    if env.get("name") != environment:
        raise SettingError(
            f"compare.runs: the run in {str(folder)!r} is of env={env.get('name')}, and this"
            f" comparison is of env={environment}"
        )
    if not (folder / POLICY).is_dir():
        raise SettingError(
            f"compare.runs: {str(folder)!r} has no folder {POLICY!r}; a run leaves its policies"
            " there when it has finished"
        )
    if strange := find_strange(folder / POLICY):
        raise SettingError(f"compare.runs: {str(folder / POLICY)!r} is not loaded: {strange}")
    agent = {**(found.get("agent") or {}), "model": str((folder / POLICY).resolve())}
    taken = {key: env[key] for key in TAKEN if key in env}
    for part, settings in (("env", taken), ("agent", agent)):
        say = "pass compare.trust=[{}] to allow it"
        check_settings(settings, part, f"compare.runs: {folder}", trusted, say)
    return Entry(name, env=taken, agent=agent, source=str(folder))


def _names(folders: list[Path]) -> dict[str, Path]:
    """Folders by their last part, with the part before it where two have the same."""
    made: dict[str, Path] = {}
    for folder in folders:
        parts = [re.sub(r"[^\w.+-]", "-", part) for part in folder.resolve().parts[1:]]
        length = 1
        while (name := "_".join(parts[-length:])) in made and length < len(parts):
            length += 1
        made[name] = folder
    return made
