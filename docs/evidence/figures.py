"""Figures of recorded runs as cells of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import TypeAlias

from rows import intervals, read, table, updates
from scipy.stats import t

Cells: TypeAlias = list[str]
COLUMNS = {
    "accuracy": "accuracy",
    "score": "score",
    "tokens_said": "tokens said",
    "silent_if_uninformed": "silent with nothing useful",
    "spoke_if_informed": "spoke with something useful",
}
USUAL = ("accuracy", "tokens_said", "silent_if_uninformed", "spoke_if_informed")
PERCENT = ("accuracy", "silent_if_uninformed", "spoke_if_informed")


def percent(figure: Mapping[str, float]) -> str:
    """Return a share and its interval in percent, which ends at 0 and 100."""
    mean, low, high = (min(max(100 * figure[key], 0.0), 100.0) for key in ("mean", "low", "high"))
    return f"{mean:.1f} % [{low:.1f}, {high:.1f}]"


def number(figure: Mapping[str, float], digits: int = 1) -> str:
    """Return a mean and its interval."""
    mean, low, high = (round(figure[key], digits) + 0.0 for key in ("mean", "low", "high"))
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def points(changes: Sequence[float]) -> str:
    """Return the mean over seeds of a change in points, with its t-interval."""
    text = number(over_seeds(changes))
    return text if text.startswith("-") else f"+{text}"


def over_seeds(values: Sequence[float]) -> dict[str, float]:
    """Return the mean of seeds with its 95 % t-interval."""
    mean = fmean(values)
    half = float(t.ppf(0.975, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return {"mean": mean, "low": mean - half, "high": mean + half}


def cell(metric: str, figure: Mapping[str, float]) -> str:
    """Return a figure as its column writes it."""
    if metric in PERCENT:
        return percent(figure)
    return number(figure, 2 if metric == "score" else 1)


def italics(text: str, missed: bool) -> str:
    """Mark a figure that misses its bar."""
    return f"*{text}*" if missed else text


def gain(start: str, run: str, metric: str = "accuracy") -> float:
    """Return the difference of a mean after and before training, shares in points."""
    factor = 100 if metric in PERCENT else 1
    return factor * (intervals(run)[metric]["mean"] - intervals(start)[metric]["mean"])


def share(start: str, run: str) -> float:
    """Return the tokens said after training for each token said before."""
    return intervals(run)["tokens_said"]["mean"] / intervals(start)["tokens_said"]["mean"]


def trained(start: str, runs: Mapping[str, str], beside: Mapping[str, str]) -> list[Cells]:
    """Return a team before and after training, with means over seeds; missed bars in italics.

    Args:
        start: evaluation before training.
        runs: label -> evaluation after training, one per seed.
        beside: label -> evaluation after another training from this start, left out of the means.
    """
    head = ["", *(COLUMNS[name] for name in USUAL), "points more solved", "of the start's tokens"]
    figures = intervals(start)
    lines = [head, ["start", *(cell(name, figures[name]) for name in USUAL), "", ""]]
    after = [intervals(run) for run in runs.values()]
    means = [cell(name, over_seeds([row[name]["mean"] for row in after])) for name in USUAL]
    more_solved = points([gain(start, run) for run in runs.values()])
    tokens = over_seeds([share(start, run) for run in runs.values()])
    lines += [after_training(start, label, run) for label, run in runs.items()]
    lines.append(["mean over seeds", *means, more_solved, number(tokens, 3)])
    return lines + [after_training(start, label, run) for label, run in beside.items()]


def after_training(start: str, label: str, run: str) -> Cells:
    """Return one training beside its start; missed bars in italics."""
    figures, more, kept = intervals(run), gain(start, run), share(start, run)
    bars = {USUAL[2]: 0.8, USUAL[3]: 0.95}
    missed = {name: figures[name]["mean"] < bar for name, bar in bars.items()}
    said = [italics(cell(name, figures[name]), missed.get(name, False)) for name in USUAL]
    change = [italics(f"{more:+.1f}", more < -1.001), italics(f"{kept:.3f}", kept > 0.5)]
    return [label, *said, *change]


def each_from_its_start(runs: Mapping[str, tuple[str, str]]) -> list[Cells]:
    """Return teams before and after training, each on tasks of its own seed, and their means."""
    lines = [
        ["", *(COLUMNS[name] for name in USUAL), "points more solved", "of the start's tokens"]
    ]
    for label, (start, run) in runs.items():
        before, after = (
            [cell(name, intervals(each)[name]) for name in USUAL] for each in (start, run)
        )
        lines.append([f"{label}, start", *before, "", ""])
        lines.append(
            [f"{label}, trained", *after, f"{gain(start, run):+.1f}", f"{share(start, run):.3f}"]
        )
    more_solved = points([gain(*pair) for pair in runs.values()])
    tokens = number(over_seeds([share(*pair) for pair in runs.values()]), 3)
    return [*lines, ["mean over seeds", *[""] * len(USUAL), more_solved, tokens]]


def series(folder: str, name: str, *numbers: int, kind: str = "_evaluation") -> dict[str, str]:
    """Return label -> evaluation of the seeds of one series."""
    return {f"seed {seed}": f"{folder}/{name}_{seed}{kind}" for seed in numbers}


def controls(worlds: Mapping[str, tuple[str, str]], forms: Mapping[str, str]) -> list[Cells]:
    """Return accuracy and tokens of each form of team in each world; empty where it did not play.

    Args:
        worlds: label -> comparison, and its entry that is a trained team.
        forms: entry of the comparisons, or "trained" -> label.
    """
    played = {
        label: {row["entry"]: row for row in table(name)} for label, (name, _) in worlds.items()
    }
    for label, (_, entry) in worlds.items():
        played[label]["trained"] = played[label][entry]
    lines = [["", *worlds]]
    for form, text in forms.items():
        lines.append([text, *(compared_cell(rows.get(form)) for rows in played.values())])
    return lines


def compared_cell(row: Mapping[str, str] | None) -> str:
    """Return accuracy and tokens of one entry of a comparison, one below the other."""
    if row is None:
        return ""
    return f"{percent(compared(row, 'accuracy'))}<br>{number(compared(row, 'tokens_said'))}"


def compared(row: Mapping[str, str], metric: str) -> dict[str, float]:
    """Return a figure of a comparison."""
    return {key: float(row[f"{metric}_{key}"]) for key in ("mean", "low", "high")}


def extinct(runs: Sequence[Sequence[Mapping[str, float]]], metric: str, *span: int) -> str:
    """Return the mean over the updates of a span, one figure per seed."""
    means = [fmean(row[f"train/{metric}"] for row in run[slice(*span)]) for run in runs]
    if metric == "tokens_said":
        return " ".join(f"{mean:.0f}" for mean in means)
    return " ".join(f"{mean:.2f}".removeprefix("0") for mean in means)


def scored(start: str, runs: Mapping[str, str], columns: Sequence[str]) -> list[Cells]:
    """Return what the joint work of two authors scored before and after training."""
    lines = [["", *(COLUMNS[name] for name in columns), "more than the start"]]
    lines.append(["start", *(cell(name, intervals(start)[name]) for name in columns), ""])
    for label, run in runs.items():
        cells = [cell(name, intervals(run)[name]) for name in columns]
        lines.append([label, *cells, f"{gain(start, run, 'score'):+.2f}"])
    more = over_seeds([gain(start, run, "score") for run in runs.values()])
    return [*lines, ["mean over seeds", *[""] * len(columns), number(more, 2)]]


def quick(start: str, names: Sequence[str]) -> list[Cells]:
    """Return the quickstart's team before and after training, means over seeds."""
    head = ["", "seeds", *(COLUMNS[name] for name in USUAL)]
    rows = [r for r in read("price/runs") if (r["series"], r["start"]) == ("quickstart", start)]
    first = rows[0]["before"]
    lines = [head, [f"{start} start", "", *(plain(name, first[name]) for name in USUAL)]]
    for variant in names:
        group = [row["after"] for row in rows if row["name"] == variant]
        cells = [cell(name, over_seeds([row[name] for row in group])) for name in USUAL]
        lines.append([variant, str(len(group)), *cells])
    return lines


def short(variants: Mapping[str, tuple[str, str, str]]) -> list[Cells]:
    """Return short trainings from the weak start, means over seeds.

    Args:
        variants: label -> series, name of the variant, and scale of its advantages.
    """
    rows = [row for row in read("price/runs") if row["start"] == "weak"]
    # The quickstart's rows are of more tasks.
    first = next(row for row in rows if row["series"] == "prices")["before"]
    start = ["start", "", "", *(plain(name, first[name]) for name in USUAL)]
    lines = [["", "scale", "seeds", *(COLUMNS[name] for name in USUAL)], start]
    for label, (kind, variant, scale) in variants.items():
        group = [row["after"] for row in rows if (row["series"], row["name"]) == (kind, variant)]
        cells = [cell(name, over_seeds([row[name] for row in group])) for name in USUAL]
        lines.append([label, scale, str(len(group)), *cells])
    return lines


def plain(metric: str, mean: float) -> str:
    """Return a mean without an interval."""
    return f"{100 * mean:.1f} %" if metric in PERCENT else f"{mean:.1f}"


CREDITS = ("own", "team", "group", "silence", "shapley", "c3", "value")


def fidelity() -> list[Cells]:
    """Return the fidelity of each credit, in a team that samples and in one that is greedy."""
    sampled, greedy = (by_measure(f"fidelity/{team}") for team in ("sampled", "greedy"))
    lines = [["credit", "samples", "measurements", "variance of one", "greedy, exact"]]
    for credit in CREDITS:
        row, exact = sampled[f"fidelity/{credit}"], greedy.get(f"fidelity/{credit}")
        counts = (
            [f"{row['measurements']:.1f}", f"{row['variance']:.3f}"] if credit != "value" else []
        )
        cells = [number(row, 2), *(counts or ["", ""]), number(exact, 2) if exact else ""]
        lines.append([f"`{credit}`", *cells])
    return lines


def by_measure(name: str) -> dict[str, dict[str, float]]:
    """Return the rows of a table of fidelities by their measure, without empty cells."""
    return {
        row["measure"]: {key: float(row[key]) for key in list(row)[1:] if row[key]}
        for row in table(name)
    }


SHORT_TRAININGS = {
    "own": "`gspo`",
    "team": "`gspo`, `learner.credit=team`",
    "c3": "`c3`",
    "c3_cheap": "`c3`, `env.reward.price=1`",
}
"""Short trainings of the fidelity page -> how the page names them."""
SHORT_SEEDS = (0, 1, 2)


def short_trainings() -> list[Cells]:
    """Return what short trainings solve under two credits and prices, means over seeds."""
    names = ("accuracy", "tokens_said")
    lines = [
        ["", "team's bills before", "solved in the worst update", *(COLUMNS[n] for n in names)]
    ]
    for run, label in SHORT_TRAININGS.items():
        rows = [read(f"fidelity/{run}_{seed}") for seed in SHORT_SEEDS]
        sampled = [updates(f"fidelity/{run}_{seed}") for seed in SHORT_SEEDS]
        worst = over_seeds([min(row["train/accuracy"] for row in each) for each in sampled])
        after = [over_seeds([each[-1][f"eval/{name}"] for each in rows]) for name in names]
        cells = [cell(name, figure) for name, figure in zip(names, after, strict=True)]
        lines.append([label, f"{rows[0][0]['eval/billed']:.1f}", percent(worst), *cells])
    return lines
