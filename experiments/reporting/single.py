"""The report of one run: what changed from before training to its last evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from laconic.experiments.command_line import programs
from laconic.experiments.reporting.curves import curves
from laconic.experiments.reporting.facts import facts, title
from laconic.experiments.reporting.look import Picture
from laconic.experiments.reporting.page import fill
from laconic.experiments.reporting.records import Run, Transcript, goal
from laconic.experiments.reporting.words import change, label, level, order, split_level

COLUMNS = ("metric", "before training", "after", "change")
_TILES = ("tokens_said", "tokens_spent", "silent_if_uninformed", "spoke_if_informed")
MARKS = ("solved", "unsolved", "changed", "silent")
"""What transcripts can be filtered by."""
_MAX_PAIRS = 12


@dataclass(frozen=True, slots=True)
class Section:
    """What a registered program adds to the page of a run (`Program.section`)."""

    title: str
    """Its heading."""
    picture: Picture
    """Its picture."""
    columns: Sequence[str]
    """Heads of its table."""
    rows: Sequence[Sequence[str]]
    """Cells of its table."""


def sections(folder: Path) -> tuple[list[Section], list[str]]:
    """Return what programs add to the page of a run, and why some cannot."""
    made: list[Section] = []
    problems: list[str] = []
    for name in programs.names():
        try:
            program = programs.find(name)
            if program and program.section and (one := resolve_name(program.section)(folder)):
                made.append(one)
        except (ImportError, AttributeError, OSError, ValueError) as error:
            problems.append(f"the section of laconic {name} is left out: {error}")
    return made, problems


def rows(run: Run) -> list[tuple[str, str, str, str]]:
    """The final table: each metric before and after training with 95 % intervals, its change."""
    before = run.before.intervals if run.before else {}
    after = run.after.intervals if run.after else {}
    return [
        (
            label(name),
            level(name, before.get(name)),
            level(name, after.get(name)),
            change(name, before.get(name), after.get(name)),
        )
        for name in order({*before, *after})
    ]


def missing(run: Run) -> list[str]:
    """Everything the report would show and the run does not have."""
    lacking = list(run.problems)
    if run.before is None:
        lacking.append("there is no evaluation before training to compare with")
    if run.after is None:
        lacking.append("there is no evaluation after training yet")
    return lacking


def pairs(run: Run) -> list[tuple[Transcript, Transcript | None]]:
    """The transcripts before training beside those of the same tasks at the last evaluation."""
    steps = [one.step for one in run.transcripts]
    if not steps:
        return []
    first, last = min(steps), max(steps)
    if first == last:
        return [(one, None) for one in run.transcripts]
    later = {one.task: one for one in run.transcripts if one.step == last}
    return [
        (one, later[one.task]) for one in run.transcripts if one.step == first and one.task in later
    ]


def marks_of(before: Transcript, after: Transcript | None) -> list[str]:
    """Which of `MARKS` a task has: at its latest episode, and against the one before training."""
    latest = after or before
    found = {
        "solved": latest.solved is True,
        "unsolved": latest.solved is False,
        "changed": after is not None and after.solved != before.solved,
        "silent": any(not said.text for said in latest.messages),
    }
    return [mark for mark in MARKS if found[mark]]


def document(run: Run) -> tuple[str, list[Picture]]:
    """The page of a run and the pictures in it."""
    drawn = curves(run)
    further, problems = sections(run.folder)
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
        drawn=drawn,
        sections=further,
        columns=COLUMNS,
        rows=rows(run),
        pairs=pairs(run),
        most_pairs=_MAX_PAIRS,
        marks=MARKS,
        marks_of=marks_of,
    )
    return page, [*drawn, *(one.picture for one in further)]


def _tiles(run: Run) -> list[tuple[str, str, str, str]]:
    """The few figures that say how it went: name, latest level, its interval, level before."""
    latest = run.after or run.before
    if latest is None:
        return []
    start = run.before.intervals if run.before and run.after else {}
    tiles = []
    for name in (goal([run]), *_TILES):
        if name in latest.intervals:
            value, bracket = split_level(name, latest.intervals[name])
            then = f"before training {split_level(name, start[name])[0]}" if name in start else ""
            tiles.append((label(name), value, bracket, then))
    return tiles
