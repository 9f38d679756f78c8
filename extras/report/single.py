"""Report of one run: the change from before training to the last evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from laconic.experiments.command_line import programs
from laconic.experiments.run_folder.records import Run, Transcript, goal, thinking
from laconic.experiments.statistics.pooled import changed
from laconic.experiments.statistics.words import change, label, level, order, split_level
from laconic.extras.report.curves import curves
from laconic.extras.report.facts import facts, title
from laconic.extras.report.group_view import COLORINGS, LEGENDS, group_of
from laconic.extras.report.look import Picture
from laconic.extras.report.page import fill

COLUMNS = ("metric", "before training", "after", "change")
_TILES = ("spoke_if_informed", "tokens_said", "tokens_spent", "silent_if_uninformed")
MARKS = ("solved", "unsolved", "changed", "silent")
"""Filters of the transcripts."""
_MAX_PAIRS = 12


@dataclass(frozen=True, slots=True)
class Section:
    """Section that a registered program adds to the page of a run (`Program.section`)."""

    title: str
    """Heading of the section."""
    picture: Picture
    """Picture of the section."""
    columns: Sequence[str]
    """Heads of the table."""
    rows: Sequence[Sequence[str]]
    """Cells of the table."""


def make_sections(folder: Path) -> tuple[list[Section], list[str]]:
    """Return the sections that programs add to the page of a run, and the errors of others."""
    sections: list[Section] = []
    problems: list[str] = []
    for name in programs.names():
        try:
            program = programs.find(name)
            if program and program.section and (section := resolve_name(program.section)(folder)):
                sections.append(section)
        except (ImportError, AttributeError, OSError, ValueError) as error:
            problems.append(f"the section of laconic {name} is left out: {error}")
    return sections, problems


def rows(run: Run) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table: metric, level before training, level after, change."""
    pairs = [(run.before, run.after)] if run.before and run.after else []
    measured = [entry for entry in (run.before, run.after) if entry]
    names = {name for entry in measured for name in entry.intervals}
    if not thinking(entry.intervals for entry in measured):
        # They would repeat the tokens said.
        names.discard("tokens_spent")
    # An evaluation of an earlier version without thoughts has no tokens spent of its own.
    figures = [
        (
            name,
            run.before.figure(name) if run.before else None,
            run.after.figure(name) if run.after else None,
        )
        for name in order(names)
    ]
    return [
        (
            label(name),
            level(name, before),
            level(name, after),
            change(name, before, after, changed(pairs, name)),
        )
        for name, before, after in figures
    ]


def missing(run: Run) -> list[str]:
    """List the parts of the report that the run does not have."""
    problems = list(run.problems)
    if run.before is None:
        problems.append("there is no evaluation before training to compare with")
    if run.after is None:
        problems.append("there is no evaluation after training yet")
    return problems


def pairs(run: Run) -> list[tuple[Transcript, Transcript | None]]:
    """Pair the transcripts before training with those of the same tasks after the last step."""
    steps = [transcript.step for transcript in run.transcripts]
    if not steps:
        return []
    first, last = min(steps), max(steps)
    if first == last:
        return [(transcript, None) for transcript in run.transcripts]
    later = {entry.task: entry for entry in run.transcripts if entry.step == last}
    return [
        (transcript, later[transcript.task])
        for transcript in run.transcripts
        if transcript.step == first and transcript.task in later
    ]


def marks_of(before: Transcript, after: Transcript | None) -> list[str]:
    """Return the `MARKS` of a task, from its last episode and the one before training."""
    latest = after or before
    holds = {
        "solved": latest.solved is True,
        "unsolved": latest.solved is False,
        "changed": after is not None and after.solved != before.solved,
        "silent": any(not turn.text for turn in latest.messages),
    }
    return [mark for mark in MARKS if holds[mark]]


def document(run: Run) -> tuple[str, list[Picture]]:
    """Make the page of a run and its pictures."""
    pictures = curves(run)
    sections, problems = make_sections(run.folder)
    about = facts(run)
    last = f"step {run.after.step}" if run.after else "no evaluation after training"
    episodes = run.after.episodes if run.after else 0
    page = fill(
        "run.html",
        kind="run",
        name=title(about, run.folder.name),
        facts=[
            run.folder.name,
            run.state,
            last,
            *([f"{episodes} evaluation episodes"] if episodes else []),
        ],
        about=about,
        run=run,
        missing=[*missing(run), *problems],
        tiles=_tiles(run),
        drawn=pictures,
        sections=sections,
        group=group_of(run.folder),
        colorings=COLORINGS,
        legends=LEGENDS,
        columns=COLUMNS,
        rows=rows(run),
        pairs=pairs(run),
        most_pairs=_MAX_PAIRS,
        marks=MARKS,
        marks_of=marks_of,
    )
    return page, [*pictures, *(section.picture for section in sections)]


def _tiles(run: Run) -> list[tuple[str, str, str, str]]:
    """Return the main figures: name, latest level, its interval, level before training."""
    latest = run.after or run.before
    if latest is None:
        return []
    start = run.before.intervals if run.before and run.after else {}
    thinks = thinking(entry.intervals for entry in (run.before, run.after) if entry)
    tiles = []
    for name in (goal([run]), *_TILES):
        if name in latest.intervals and (name != "tokens_spent" or thinks):
            value, bracket = split_level(name, latest.intervals[name])
            earlier = split_level(name, start[name])[0] if name in start else ""
            note = f"before training {earlier}" if earlier else ""
            tiles.append((label(name), value, bracket, note))
    return tiles
