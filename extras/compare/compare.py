"""Compare teams, topologies and trained policies on one environment.

    laconic compare env=gsm8k agent=tiny
    laconic compare 'compare.runs={mine: outputs/a}' 'entry=[team,self_consistency]'

Every entry plays the same tasks under the same budget of tokens said; docs/compare.md lists what
entries share. The table is rewritten after every entry. A failed entry is a row with its reason.
Each entry has its own folder, like an evaluation. `resume=true` plays the missing entries.
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

from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.experiments.command_line.cli import program
from laconic.experiments.command_line.echo import echo
from laconic.experiments.command_line.interrupt import Interrupt
from laconic.experiments.command_line.mistakes import describe
from laconic.experiments.run_folder.folder import RunFolder, main_process_folder, write_atomically
from laconic.experiments.session.evaluation import AfterEvaluation, make_hooks
from laconic.experiments.session.setup import (
    make_environments,
    make_team,
    print_conditions,
    set_up_process,
)
from laconic.experiments.session.team_layouts import REVISE, LayoutError
from laconic.extras.compare import columns, table
from laconic.extras.compare.arrange import arrange, budget_of, thoughts_of
from laconic.extras.compare.cross import cross, gaps_of, write_gaps
from laconic.extras.compare.entries import Entry, entries_of_runs, read_entries
from laconic.extras.compare.picture import picture
from laconic.extras.compare.playing import play_entry
from laconic.extras.compare.rows import Row, compared, read_row
from laconic.learners.distributed.launched import launched
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes


@dataclass(slots=True)
class Comparison:
    """A comparison and its progress."""

    cfg: DictConfig
    """Configuration of the comparison."""
    folder: RunFolder
    """Folder of the comparison."""
    entries: list[Entry]
    """Entries in the order of the table."""
    counter: Any
    """Tokenizer that counts the tokens of all entries."""
    rows: dict[str, Row]
    """Finished rows, by the name of their entry."""
    columns: Sequence[AfterEvaluation]
    """Further measurements of every entry (`compare.columns`)."""
    facts: Mapping[str, Any]
    """Facts that the columns report about the environment as configured."""
    processes: Processes = SINGLE_PROCESS
    """Process group; each process plays its share of every entry."""
    crossed: Sequence[str] = ()
    """Names of the runs that play with each other (`compare.cross`)."""

    @property
    def ordered(self) -> list[Row]:
        """Finished rows in the order of the entries, compared with that of the reference."""
        rows = [self.rows[entry.name] for entry in self.entries if entry.name in self.rows]
        return compared(rows, str(self.cfg.compare.reference), self.folder.path)

    @property
    def environment(self) -> str:
        """Name of the environment, or its `_target_`."""
        return str(self.cfg.env.get("name", self.cfg.env.get("_target_")))

    @property
    def title(self) -> str:
        """Title of the table: environment, episodes and budgets, in one line."""
        budget = budget_of(self.cfg)
        limits = f"at most {budget} tokens said" if budget else "budgets as configured"
        if thoughts := thoughts_of(self.cfg):
            limits += f" and {thoughts} thought"
        episodes = max((row.episodes for row in self.rows.values()), default=0)
        title = f"{self.environment}: {episodes} episodes per entry, {limits}, 95 % intervals"
        if any(row.changes for row in self.ordered):
            title += f"; changes are from {self.cfg.compare.reference}, by task"
        return title


@program("compare", several=True)
def main(cfg: DictConfig) -> None:
    """Run the comparison of a configuration."""
    processes = launched()
    set_up_process(cfg.threads)
    with main_process_folder(HydraConfig.get().runtime.output_dir, processes) as folder:
        compare(cfg, folder, processes)
    processes.close()


def compare(cfg: DictConfig, folder: RunFolder, processes: Processes) -> None:
    """Play all entries and show them in one table.

    Raises:
        SettingError: the folder holds another comparison, or entries failed.
    """
    processes.main(partial(refuse_used, cfg, folder))
    entries = read_entries(cfg)
    runs = entries_of_runs(cfg, {entry.name for entry in entries})
    check_reference(cfg, [*entries, *runs])
    hooks = make_hooks(cfg.compare.get("columns"))
    builder = make_team(cfg)
    tasks = {} if cfg.evaluation.tasks is None else {"tasks": cfg.evaluation.tasks}
    environment = make_environments(cfg, 1, cfg.evaluation.split, builder, **tasks)[0]
    print_conditions(environment)
    crossed = {run.name: run for run in runs} if cfg.compare.get("cross") else {}
    if cfg.compare.get("cross"):
        runs = cross(crossed, cfg.compare.cross, map(role_of, environment.possible_agents))
    entries += runs
    write_atomically(folder.path / "config.yaml", OmegaConf.to_yaml(cfg))
    facts = columns.begin(hooks, environment)
    comparison = Comparison(
        cfg, folder, entries, builder.tokenize, {}, hooks, facts, processes, tuple(crossed)
    )
    try:
        play_all(comparison)
    finally:
        if processes.is_main:
            finish(comparison)
    failed = [row.name for row in comparison.ordered if row.state == "failed"]
    if failed:
        raise SettingError(
            f"{len(failed)} of {len(entries)} entries failed: {', '.join(failed)}; the reasons"
            " are below the table. To play them again, pass resume=true and hydra.run.dir"
        )


def refuse_used(cfg: DictConfig, folder: RunFolder) -> None:
    """Refuse a folder that holds another comparison, unless `resume` is set (`SettingError`)."""
    if (folder.path / f"{table.NAME}.json").exists() and not cfg.resume:
        raise SettingError(
            f"{str(folder.path)!r} holds another comparison; pass resume=true to continue it, or"
            " another folder with hydra.run.dir=<folder>"
        )


def check_reference(cfg: DictConfig, entries: list[Entry]) -> None:
    """Refuse a matched vote or cap without a reference to match.

    Raises:
        UnknownNameError: the reference is no entry.
        SettingError: the reference is itself matched.
    """
    matched = [entry.name for entry in entries if entry.matched]
    if matched and cfg.compare.reference not in {entry.name for entry in entries}:
        names = [entry.name for entry in entries if not entry.matched]
        raise UnknownNameError(
            f"entry in compare.reference, which {matched[0]!r} needs,", cfg.compare.reference, names
        )
    if cfg.compare.reference in matched:
        raise SettingError(
            f"compare.reference must be an entry that is not matched itself; got"
            f" {cfg.compare.reference}, so choose another entry"
        )


def play_all(comparison: Comparison) -> None:
    """Play every entry and write the table after each; entries that depend on others come last."""
    with Interrupt() as interrupt:
        order = sorted(
            comparison.entries, key=lambda entry: (entry.matched, entry.layout == REVISE)
        )
        for entry in order:
            echo(entry.name)
            row = play_row(comparison, entry, interrupt)
            comparison.rows[entry.name] = row
            write(comparison)
            if row.state != "finished":
                echo(f"{row.state}: {row.notes[0]}")


def play_row(comparison: Comparison, entry: Entry, interrupt: Interrupt) -> Row:
    """Play an entry and return its row, also where it failed; only an interrupt is raised."""
    processes = comparison.processes
    # A failure of work that the main process does for all reaches the others as SystemExit.
    failures = Exception if processes.is_main else (Exception, SystemExit)
    try:
        cfg = arrange(comparison.cfg, entry)
        folder = RunFolder(comparison.folder.path / entry.name)
        if earlier := processes.main(partial(begin_entry, cfg, folder, comparison.cfg.resume)):
            return earlier
        folder.rewind(-1)
        folder.write_status("running", 0)
        with _interrupt_recorded(folder):
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
    except LayoutError as error:
        return Row(entry.name, "left out", (str(error),))
    except failures as error:
        _write_traceback(comparison, entry, error)
        return Row(entry.name, "failed", (describe(error) or repr(error),))
    return row


def begin_entry(cfg: DictConfig, folder: RunFolder, resume: bool) -> Row | None:
    """Begin the folder of an entry; return its row if it was played already."""
    return read_row(folder.path) if folder.start(cfg, resume) else None


@contextmanager
def _interrupt_recorded(folder: RunFolder) -> Iterator[None]:
    """Record an interrupt in the folder of an entry."""
    try:
        yield
    except KeyboardInterrupt:
        folder.write_status("interrupted", 0)
        raise


def write(comparison: Comparison) -> None:
    """Write the table of the rows so far."""
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
    """Draw the picture and print the table of the rows so far."""
    rows = comparison.ordered
    if not rows:
        return
    names = [row.name for row in rows if row.state == "finished"]
    columns.finish(comparison.columns, comparison.folder.path, names)
    floors = comparison.facts.get("floors", {})
    picture(comparison.title, rows, budget_of(comparison.cfg), floors).save(comparison.folder.path)
    table.show(comparison.title, rows)
    if gaps := gaps_of(comparison.rows, comparison.crossed) if comparison.crossed else {}:
        write_gaps(gaps, comparison.folder)
        echo(f"cross-play: {', '.join(f'{name} {gap}' for name, gap in gaps.items())}")
    echo(f"written to {comparison.folder.path}")


def _reference(comparison: Comparison, entry: Entry) -> Row | None:
    if not entry.matched:
        return None
    reference = comparison.rows[comparison.cfg.compare.reference]
    if reference.state != "finished":
        raise SettingError(
            f"it matches the tokens of {reference.name!r}, which must be finished; got"
            f" {reference.state!r}"
        )
    return reference


def _write_traceback(comparison: Comparison, entry: Entry, error: BaseException) -> None:
    """Write the traceback of a failed entry; the table only has room for the reason."""
    folder = comparison.folder.path / entry.name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "error.txt", "".join(traceback.format_exception(error)))


if __name__ == "__main__":
    main()
