"""Puts teams, topologies and trained policies beside each other on one environment.

    laconic compare env=gsm8k agent=tiny
    laconic compare 'compare.runs={mine: outputs/a}' 'entry=[team,self_consistency]'

Every entry plays the same tasks under the same budget of tokens said; docs/compare.md says what is
equal. The table is written anew after every entry, a failed entry is a row with its reason, and
each entry has a folder of its own, as an evaluation has. `resume=true` plays what is missing.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from laconic.envs.checks import choice
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.experiments.command_line.cli import program
from laconic.experiments.command_line.interrupt import Interrupt
from laconic.experiments.command_line.mistakes import describe
from laconic.experiments.command_line.say import say
from laconic.experiments.comparing import columns, table
from laconic.experiments.comparing.arrange import arrange, budget_of, thoughts_of
from laconic.experiments.comparing.entries import Entry, entries_of_runs, read_entries
from laconic.experiments.comparing.picture import picture
from laconic.experiments.comparing.playing import play_entry
from laconic.experiments.comparing.rows import Row, read_row
from laconic.experiments.run_folder.folder import RunFolder, main_process_folder, write_atomically
from laconic.experiments.session.checks import check_compare
from laconic.experiments.session.evaluation import AfterEvaluation, make_hooks
from laconic.experiments.session.setup import (
    make_environments,
    make_team,
    set_up_process,
    tell_conditions,
)
from laconic.experiments.session.team_layouts import PASS, Unfit
from laconic.learners.distributed.launched import launched
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes


@dataclass(slots=True)
class Comparison:
    """A comparison and how far it is."""

    cfg: DictConfig
    """Its configuration."""
    folder: RunFolder
    """Where it is written."""
    entries: list[Entry]
    """Its rows in their order."""
    counter: Any
    """Cuts text into the tokens of all entries."""
    rows: dict[str, Row]
    """What is there already, by entry."""
    columns: Sequence[AfterEvaluation]
    """What else is measured of every entry."""
    facts: Mapping[str, Any]
    """What these tell of the environment as configured."""
    processes: Processes = SINGLE_PROCESS
    """Those that play together: each its share of every entry."""

    @property
    def ordered(self) -> list[Row]:
        """The rows there are, in the order of the entries."""
        return [self.rows[one.name] for one in self.entries if one.name in self.rows]

    @property
    def environment(self) -> str:
        """Name of the environment, or what makes it."""
        return str(self.cfg.env.get("name", self.cfg.env.get("_target_")))

    @property
    def title(self) -> str:
        """One line of what was compared under which conditions."""
        budget = budget_of(self.cfg)
        said = f"at most {budget} tokens said" if budget else "budgets as configured"
        if thoughts := thoughts_of(self.cfg):
            said += f" and {thoughts} thought"
        episodes = max((row.episodes for row in self.rows.values()), default=0)
        return f"{self.environment}: {episodes} episodes an entry, {said}, 95 % intervals"


@program("compare", several=True)
def main(cfg: DictConfig) -> None:
    """Compare as the configuration says."""
    processes = launched()
    check_compare(cfg)
    set_up_process(cfg.threads)
    with main_process_folder(HydraConfig.get().runtime.output_dir, processes) as folder:
        compare(cfg, folder, processes)
    processes.close()


def compare(cfg: DictConfig, folder: RunFolder, processes: Processes) -> None:
    """Play all entries and show them beside each other.

    Raises:
        SettingError: the folder holds another comparison, or entries failed.
    """
    processes.main(partial(refuse_used, cfg, folder))
    entries = read_entries(cfg)
    entries += entries_of_runs(cfg, {one.name for one in entries})
    check_reference(cfg, entries)
    check_drafts(entries)
    hooks = make_hooks(cfg.compare.get("columns"))
    builder = make_team(cfg)
    tasks = {} if cfg.evaluation.tasks is None else {"tasks": cfg.evaluation.tasks}
    environment = make_environments(cfg, 1, cfg.evaluation.split, builder, **tasks)[0]
    tell_conditions(environment)
    write_atomically(folder.path / "config.yaml", OmegaConf.to_yaml(cfg))
    told = columns.begin(hooks, environment)
    comparison = Comparison(cfg, folder, entries, builder.tokenize, {}, hooks, told, processes)
    try:
        play_all(comparison)
    finally:
        if processes.is_main:
            finish(comparison)
    failed = [row.name for row in comparison.ordered if row.state == "failed"]
    if failed:
        raise SettingError(
            f"{len(failed)} of {len(entries)} entries failed: {', '.join(failed)}; their reasons"
            " are below the table, and resume=true with hydra.run.dir plays them again"
        )


def refuse_used(cfg: DictConfig, folder: RunFolder) -> None:
    """Stop before one comparison is mixed with another (`SettingError`)."""
    if (folder.path / f"{table.NAME}.json").exists() and not cfg.resume:
        raise SettingError(
            f"{str(folder.path)!r} holds another comparison; pass resume=true to continue it, or"
            " another folder with hydra.run.dir=<folder>"
        )


def check_reference(cfg: DictConfig, entries: list[Entry]) -> None:
    """Refuse a matched vote or cap without anything to match.

    Raises:
        UnknownNameError: the reference is no entry.
        SettingError: the reference is itself matched.
    """
    matched = [one.name for one in entries if one.matched]
    if matched and cfg.compare.reference not in {one.name for one in entries}:
        names = [one.name for one in entries if not one.matched]
        raise UnknownNameError(
            f"entry in compare.reference, which {matched[0]!r} needs,", cfg.compare.reference, names
        )
    if cfg.compare.reference in matched:
        raise SettingError(
            f"compare.reference={cfg.compare.reference} is matched to the reference itself; choose"
            " another entry"
        )


def check_drafts(entries: list[Entry]) -> None:
    """Refuse a second pass without a first one.

    Raises:
        UnknownNameError: the drafts are of no entry of shape `pass`.
    """
    first = [one.name for one in entries if one.shape == PASS]
    for one in entries:
        if one.draft is not None:
            choice(f"entry of shape {PASS} in entries.{one.name}.draft", one.draft, first)


def play_all(comparison: Comparison) -> None:
    """Play every entry, those that follow another one last, and write the table after each."""
    with Interrupt() as interrupt:
        for entry in sorted(comparison.entries, key=lambda one: (one.matched, bool(one.draft))):
            say(entry.name)
            row = play_one(comparison, entry, interrupt)
            comparison.rows[entry.name] = row
            write(comparison)
            if row.state != "finished":
                say(f"{row.state}: {row.notes[0]}")


def play_one(comparison: Comparison, entry: Entry, interrupt: Interrupt) -> Row:
    """The row of an entry, whatever becomes of it; only an interrupt goes through."""
    processes = comparison.processes
    # Where the main process fails at what it does for all, that is how the others hear of it.
    failures = Exception if processes.is_main else (Exception, SystemExit)
    try:
        cfg = arrange(comparison.cfg, entry)
        folder = RunFolder(comparison.folder.path / entry.name)
        if found := processes.main(partial(played, cfg, folder, comparison.cfg.resume)):
            return found
        folder.rewind(-1)
        folder.write_status("running", 0)
        with _told(folder):
            row = play_entry(
                cfg,
                entry,
                comparison.counter,
                dict(comparison.cfg.env.get("team") or {}),
                folder,
                interrupt,
                _reference(comparison, entry),
                processes,
                comparison.columns,
            )
        row.save(folder.path)
        folder.write_status("finished", 0)
    except Unfit as error:
        return Row(entry.name, "left out", (str(error),))
    except failures as error:
        _write_down(comparison, entry, error)
        return Row(entry.name, "failed", (describe(error) or repr(error),))
    return row


def played(cfg: DictConfig, folder: RunFolder, resume: bool) -> Row | None:
    """Begin an entry; its row, where it was played already."""
    return read_row(folder.path) if folder.start(cfg, resume) else None


@contextmanager
def _told(folder: RunFolder) -> Iterator[None]:
    """Have the folder of an entry say that it was interrupted, when it is."""
    try:
        yield
    except KeyboardInterrupt:
        folder.write_status("interrupted", 0)
        raise


def write(comparison: Comparison) -> None:
    """Write the table as far as it is."""
    facts = {
        "environment": comparison.environment,
        "split": comparison.cfg.evaluation.split,
        "equal": comparison.cfg.compare.equal,
        "budget": budget_of(comparison.cfg),
        "thoughts": thoughts_of(comparison.cfg),
        "reference": comparison.cfg.compare.reference,
        "seed": comparison.cfg.seed,
        **comparison.facts,
    }
    table.write(comparison.folder.path, comparison.title, facts, comparison.ordered)


def finish(comparison: Comparison) -> None:
    """Draw the picture and show the table of what is there."""
    rows = comparison.ordered
    if not rows:
        return
    names = [row.name for row in rows if row.state == "finished"]
    columns.finish(comparison.columns, comparison.folder.path, names)
    floors = comparison.facts.get("floors", {})
    drawn = picture(comparison.title, rows, budget_of(comparison.cfg), floors)
    drawn.save(comparison.folder.path)
    table.show(comparison.title, rows)
    say(f"written to {comparison.folder.path}")


def _reference(comparison: Comparison, entry: Entry) -> Row | None:
    if not entry.matched:
        return None
    found = comparison.rows[comparison.cfg.compare.reference]
    if found.state != "finished":
        raise SettingError(f"it takes the tokens of {found.name!r}, which was {found.state}")
    return found


def _write_down(comparison: Comparison, entry: Entry, error: BaseException) -> None:
    """Keep where an entry failed; the table has room for the reason only."""
    folder = comparison.folder.path / entry.name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "error.txt", "".join(traceback.format_exception(error)))


if __name__ == "__main__":
    main()
