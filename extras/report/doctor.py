"""Say in plain sentences what is wrong with a run, finished or running.

    laconic doctor outputs/mine

Reads the folder and changes nothing in it. Every sentence has its figure and the setting to change.
The rules are those of the warnings during a run; doctor also judges the evaluations and the state.

    wrong    still so at the last recorded step
    earlier  was so, and passed
    note     no fault of the run, but it limits what the run can show
    looked at  the figures behind the verdict, of the last updates

`laconic explain` shows how the advantages of one group came about, and `laconic report` shows what
a run reached. Exit codes: 0 nothing is wrong, 1 something is, 2 there is no run to read.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.echo import echo
from laconic.experiments.command_line.resuming import command
from laconic.experiments.run_folder.folder import flatten, read_rows
from laconic.experiments.run_folder.records import Run, goal
from laconic.experiments.run_folder.runs import is_run, read_run
from laconic.experiments.session.rules import FLAT, NO_CONTRAST, Rules, context_of
from laconic.experiments.session.stakes import charging_of, number_of, price_sentence, setting
from laconic.experiments.statistics.losses import compared, losses
from laconic.experiments.statistics.words import label, level
from laconic.extras.report.facts import facts, title
from laconic.learners.prices.schedule import START_RATE

LEAST_TOLD = 0.05
"""Change of a share that an evaluation should be able to tell."""
_GROUPS = 5
"""Number of logged groups that are searched for equal episodes."""
_KEY = re.compile(r"(?<![\w./=])[a-z]\w*(?:\.\w+)+(?![\w/])")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings on a run, in sentences."""

    wrong: tuple[str, ...]
    """Sentences on what is wrong at the last recorded step."""
    earlier: tuple[str, ...]
    """Sentences on what was wrong earlier, and passed."""
    notes: tuple[str, ...]
    """Sentences on what limits the conclusions from the run."""
    figures: tuple[str, ...]
    """Figures that were looked at."""


def diagnose(run: Run) -> Diagnosis:
    """Judge the records of a run."""
    rules = Rules(context_of(run.settings))
    warnings: dict[str, str] = {}
    recorded: set[str] = set()
    for step, row in run.metrics.items():
        judged = rules.judge(step, row)
        warnings |= judged
        recorded |= {*judged.values()}
    holding = rules.holding()
    wrong = [warnings[name] for name in warnings if name in holding]
    shares = [row.get(FLAT) for step, row in run.metrics.items() if step > 0]
    flat = bool(shares) and {*shares} == {1.0}
    if flat and "no_contrast" not in holding:
        # The rule waits for more updates than a short run has.
        wrong.append(NO_CONTRAST.format(step=max(run.metrics), rows=len(shares)))
    if (flat or "no_contrast" in holding) and (alike := equal_episodes(run.folder)):
        wrong.append(alike)
    settings = flatten(dict(run.settings))
    lost = losses(run, run.after).values()
    repeated = {" ".join(warning.split()) for warning in (*recorded, *lost)}
    missing = (f"missing: {problem}" for problem in run.problems)
    # Warnings of other parts than the rules, such as loggers.
    others = [f"the run warned: {x}" for x in run.warnings if " ".join(x.split()) not in repeated]
    return Diagnosis(
        tuple(
            _with_values(each, settings)
            for each in [*_state(run), *_not_finite(run), *lost, *wrong]
        ),
        tuple(warnings[name] for name in warnings if name not in holding),
        tuple(_with_values(each, settings) for each in [*_too_small(run), *others, *missing]),
        (*rules.figures(), *_price(run)),
    )


def equal_episodes(folder: Path) -> str:
    """Describe how many episodes of the last logged groups are alike; empty if none are."""
    shares = []
    for row in _groups(folder)[-_GROUPS:]:
        episodes = row.get("episodes")
        if not isinstance(episodes, list) or len(episodes) < 2:
            continue
        texts = [_words(episode) for episode in episodes]
        shares.append(1 - (len({*texts}) - 1) / (len(texts) - 1))
    if not shares or not fmean(shares) > 0:
        return ""
    return (
        f"in the last {len(shares)} groups of groups.jsonl {fmean(shares):.0%} of the episodes"
        " after the first repeat another one word for word: raise agent.sampling.temperature"
    )


def _groups(folder: Path) -> list[dict[str, Any]]:
    try:
        return read_rows(folder / "groups.jsonl")
    except ValueError:
        return []


def _words(episode: Any) -> tuple[str, ...]:
    turns = episode.get("turns") if isinstance(episode, dict) else None
    return tuple(
        f"{turn.get('agent')} {turn.get('round')} {turn.get('message')}"
        for turn in (turns if isinstance(turns, list) else [])
        if isinstance(turn, dict)
    )


def _state(run: Run) -> Iterator[str]:
    if run.error:
        yield f"the run failed: {run.error}"
    elif run.state.startswith("killed"):
        yield (
            f"the run was {run.state}: its process is gone, and status.json still says running."
            f" {command('train', run.folder)} continues it"
        )
    if not any(step > 0 for step in run.metrics):
        yield "metrics.jsonl has no update yet, so there is nothing to judge"


def _not_finite(run: Run) -> Iterator[str]:
    """Yield a sentence on the figures that were not finite, which rows hold as null."""
    try:
        rows = read_rows(run.folder / "metrics.jsonl")
    except ValueError:
        return
    names: dict[str, list[int]] = {}
    for row in rows:
        for name, value in row.items():
            if value is None or (isinstance(value, float) and not math.isfinite(value)):
                names.setdefault(str(name), []).append(row["step"])
    for name, steps in names.items():
        yield (
            f"{name} was not finite in {len(steps)} of {len(rows)} rows, first at step {steps[0]}."
            " Try a lower optimizer.lr, or for agent=hf agent.precision=float32"
        )


def _too_small(run: Run) -> Iterator[str]:
    """Yield a sentence if the evaluations cannot tell a change of the main metric."""
    name = goal([run])
    ends, change = compared(run, name, run.after)
    if ends is None or change is None:
        yield "there is no evaluation both before and after training, so no change can be told"
        return
    half = (change.high - change.low) / 2
    if change.low < 0 < change.high and half > LEAST_TOLD:
        episodes = math.ceil(min(each.count for each in ends) * (half / LEAST_TOLD) ** 2)
        yield (
            f"{label(name)} went from {level(name, ends[0])} to {level(name, ends[1])}: the"
            f" evaluation is too small to tell a change of less than {half:.1%}. About"
            f" {episodes:,} episodes would tell {LEAST_TOLD:.0%}: raise evaluation.tasks, or take"
            " several seeds"
        )


def _price(run: Run) -> Iterator[str]:
    """Yield the sentence on what the last recorded evaluation cost and earned."""
    rows = [row for row in run.metrics.values() if "eval/agent_charge" in row]
    # Only the row before training says what silence earns.
    figures = (
        {name: value for row in (rows[0], rows[-1]) for name, value in row.items()} if rows else {}
    )
    means = {name.removeprefix("eval/"): value for name, value in figures.items()}
    charging, full = charging_of(run.settings), number_of(setting(run.settings, "env.reward.price"))
    # Evaluations have the full price. Before the first update, the part that is charged is known.
    start = full * START_RATE**charging.power
    share = figures.get("train/price", start) / full if full > 0 else 1.0
    yield from filter(None, [price_sentence(means, charging, share)])


def _with_values(sentence: str, settings: Mapping[str, Any]) -> str:
    """Add the present values of the settings that a sentence names."""
    keys = [key for key in dict.fromkeys(_KEY.findall(sentence)) if key in settings]
    now = ", ".join(f"{key}={settings[key]}" for key in keys)
    return f"{sentence.rstrip('.')}. Now {now}." if now else sentence


def lines(run: Run, diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the lines that the program prints."""
    updates = sum(step > 0 for step in run.metrics)
    yield f"{title(facts(run), run.folder.name)}: {run.state}, {updates} updates recorded"
    if not diagnosis.wrong:
        yield "nothing is wrong, as far as the figures below tell"
    parts = {"wrong": diagnosis.wrong, "earlier": diagnosis.earlier, "note": diagnosis.notes}
    for kind, sentences in parts.items():
        for sentence in sentences:
            yield f"\n{kind}: {sentence}"
    if diagnosis.figures:
        yield "\nlooked at (means of the last updates):"
        yield from (f"  {figure}" for figure in diagnosis.figures)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge the run that the command line names."""
    run_folder = Argument("a run folder", Path, placed=True, needed=True)
    folder: Path = read_arguments("doctor", __doc__, arguments, {"run": run_folder}).run
    if not is_run(folder):
        refuse(
            f"expected a run folder (with metrics.jsonl); {str(folder)!r} is none."
            " Name the folder that laconic train printed"
        )
    run = read_run(folder)
    diagnosis = diagnose(run)
    echo("\n".join(lines(run, diagnosis)))
    if diagnosis.wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
