"""Figures of recorded runs as cells of tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean, stdev
from typing import TypeAlias

from rows import Row, benchmark, intervals, read, table
from scipy.stats import t

from laconic.experiments.run_folder.runs import read_evaluation
from laconic.experiments.statistics.intervals import over_tasks_and_seeds
from laconic.experiments.statistics.pooled import changed, pooled
from laconic.extras.benchmark.report import finished, tables
from laconic.learners.metrics import Interval, Outcomes

Cells: TypeAlias = list[str]
COLUMNS = {
    "accuracy": "accuracy",
    "score": "score",
    "tokens_said": "tokens said",
    "silent_if_uninformed": "silent with nothing useful",
    "spoke_if_informed": "spoke with something useful",
    "reward": "task reward less bills",
}
USUAL = ("accuracy", "tokens_said", "silent_if_uninformed", "spoke_if_informed")
_INTERVAL = re.compile(r" \[.*?\]")
PERCENT = ("accuracy", "silent_if_uninformed", "spoke_if_informed")


def percent(figure: Mapping[str, float]) -> str:
    """Return a share and its interval in percent, which ends at 0 and 100."""
    mean, low, high = (min(max(100 * figure[key], 0.0), 100.0) for key in ("mean", "low", "high"))
    return f"{mean:.1f} % [{low:.1f}, {high:.1f}]"


def number(figure: Mapping[str, float], digits: int = 1) -> str:
    """Return a mean and its interval; the mean alone where nothing shows a spread."""
    mean, low, high = (round(figure[key], digits) + 0.0 for key in ("mean", "low", "high"))
    if low != low:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def points(changes: Sequence[float]) -> str:
    """Return the mean over seeds of a change in points, with its t-interval."""
    return signed(number(over_seeds(changes)))


def in_points(change: Mapping[str, float]) -> str:
    """Return a change of a share in points."""
    return number({key: 100 * value for key, value in change.items()})


def signed(text: str) -> str:
    """Put a plus before a change that has no minus."""
    return text if text.startswith("-") else f"+{text}"


def over_seeds(values: Sequence[float]) -> dict[str, float]:
    """Return the mean of seeds with its 95 % t-interval."""
    mean = fmean(values)
    half = float(t.ppf(0.975, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return {"mean": mean, "low": mean - half, "high": mean + half}


def kept(rows: Sequence[Row]) -> bool:
    """Return whether all evaluations kept the outcomes of their tasks."""
    return all(row.get("outcomes") for row in rows)


def seeds_of(rows: Sequence[Row]) -> str:
    """Return what the intervals of a mean are over."""
    return "tasks and seeds" if kept(rows) else "seeds, same tasks"


def over(rows: Sequence[Row], metric: str) -> dict[str, float]:
    """Return the mean of one evaluation per seed, over tasks too where outcomes were kept."""
    if not kept(rows):
        return over_seeds([row["intervals"][metric]["mean"] for row in rows])
    return _ends(pooled([read_evaluation(row) for row in rows], metric))


def change_over(pairs: Sequence[tuple[Row, Row]], metric: str) -> dict[str, float]:
    """Return the mean change of a metric from the first evaluation of each pair to the second."""
    if kept([row for pair in pairs for row in pair]):
        read = [(read_evaluation(first), read_evaluation(last)) for first, last in pairs]
        return _ends(changed([(one, two) for one, two in read if one and two], metric))
    before, after = (
        [row["intervals"][metric]["mean"] for row in side] for side in zip(*pairs, strict=True)
    )
    return over_seeds([last - first for first, last in zip(before, after, strict=True)])


def part_over(pairs: Sequence[tuple[Row, Row]], metric: str) -> dict[str, float]:
    """Return the mean of a metric after training as a part of the mean before."""
    if kept([row for pair in pairs for row in pair]):
        before, after = (
            [Outcomes(**row["outcomes"][metric]) for row in side]
            for side in zip(*pairs, strict=True)
        )
        return _ends(over_tasks_and_seeds(after, before, relative=True))
    return over_seeds(
        [
            last["intervals"][metric]["mean"] / first["intervals"][metric]["mean"]
            for first, last in pairs
        ]
    )


def _ends(interval: Interval | None) -> dict[str, float]:
    assert interval is not None, "a metric of the table is missing in a row"
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}


def cell(metric: str, figure: Mapping[str, float]) -> str:
    """Return a figure as its column writes it."""
    if metric in PERCENT:
        return percent(figure)
    return number(figure, 2 if metric in ("score", "reward") else 1)


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
    after, pairs = (
        [read(run)[-1] for run in runs.values()],
        [(read(start)[-1], read(run)[-1]) for run in runs.values()],
    )
    means = [cell(name, over(after, name)) for name in USUAL]
    more_solved = signed(in_points(change_over(pairs, "accuracy")))
    tokens = part_over(pairs, "tokens_said")
    lines += [after_training(start, label, run) for label, run in runs.items()]
    lines.append([f"mean over {seeds_of(after)}", *means, more_solved, number(tokens, 3)])
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
    return [*lines, ["mean over seeds, own tasks", *[""] * len(USUAL), more_solved, tokens]]


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


def scored(start: str, runs: Mapping[str, str], columns: Sequence[str]) -> list[Cells]:
    """Return what the joint work of two authors scored before and after training."""
    lines = [["", *(COLUMNS[name] for name in columns), "more than the start"]]
    lines.append(["start", *(cell(name, intervals(start)[name]) for name in columns), ""])
    for label, run in runs.items():
        cells = [cell(name, intervals(run)[name]) for name in columns]
        lines.append([label, *cells, f"{gain(start, run, 'score'):+.2f}"])
    pairs = [(read(start)[-1], read(run)[-1]) for run in runs.values()]
    label = f"mean over {seeds_of([row for pair in pairs for row in pair])}"
    return [*lines, [label, *[""] * len(columns), number(change_over(pairs, "score"), 2)]]


def ruled(*starts: str, rule: str = "pass_rate") -> list[Cells]:
    """Return teams before and after training under a price rule, means over seeds."""
    names = (*USUAL, "reward")
    head = ["", "seeds", "points more solved", *(COLUMNS[name] for name in names), "lowest"]
    lines = [head]
    for start in starts:
        rows = of_rule(start, rule)
        first, after = rows[0]["before"], [row["evaluations"]["after"] for row in rows]
        pairs = [(row["evaluations"]["before"], row["evaluations"]["after"]) for row in rows]
        cells = [f"{plain(name, first[name])} to {cell(name, over(after, name))}" for name in names]
        more = signed(in_points(change_over(pairs, "accuracy")))
        dips = ", ".join(f"{dip(row['sampled']['accuracy']):+.0f}" for row in rows)
        lines.append([STARTS[start], str(len(rows)), more, *cells, dips])
    return lines


def needed() -> list[Cells]:
    """Return teams in jury before and after training, beside the best rule at their price."""
    head = [
        "",
        "seeds",
        "accuracy",
        "best",
        "words",
        "best",
        "exact slope",
        "dim, fair, sharp speak",
    ]
    lines, rows = [head], [row for row in read("needed") if "evaluation" not in row]
    first = next(row["before"] for row in rows if row["start"] == "jury")
    eyes = ("spoke_dim", "spoke_fair", "spoke_sharp")

    def speech(figures: Sequence[Mapping[str, float]]) -> str:
        known = [[each[name] for each in figures] for name in eyes if name in figures[0]]
        return ", ".join(f"{100 * fmean(values):.0f} %" for values in known)

    lines.append(
        ["start", "", f"{100 * first['accuracy']:.2f} %", "", "3.00", *["", ""], speech([first])]
    )
    for name in sorted(dict.fromkeys(row["name"] for row in rows), key=["three looks"].count):
        own = [row for row in rows if row["name"] == name]
        after = [row["after"] for row in own]
        accuracy = alike([100 * each["accuracy"] for each in after], " %")
        words = alike([each["tokens_said"] for each in after])
        known, ascent = own[0]["best"], own[0].get("ascent", {})
        climbed = f"{ascent['words']:.2f}" if ascent else ""
        lines.append(
            [
                *(LABELS.get(name, name), str(len(own)), accuracy),
                *(f"{100 * known['accuracy']:.2f} %", words, f"{known['words']:.2f}"),
                *(climbed, speech(after)),
            ]
        )
    return lines


BETWEEN = {"0.9 words", "2.0 words"}
"""Prices of a round that only the picture has."""


def needed_others() -> list[Cells]:
    """Return teams and single agents in hops and cups after training, beside what is known."""
    head = [
        "",
        "seeds",
        "accuracy",
        "words",
        "best known",
        "rounds",
        "best known",
        "reward",
        "best",
    ]
    lines, rows = [head], [row for row in read("needed") if "evaluation" in row]
    for start, label in {"hops": "hops", "cups": "cups", "cups_alone": "cups, one agent"}.items():
        own = [row for row in rows if row["start"] == start]
        first = own[0]["before"]
        begun = (f"{100 * first['accuracy']:.1f} %", f"{first['tokens_said']:.2f}")
        lines.append([f"{label}: start", "", *begun, "", f"{first['rounds']:.2f}", *[""] * 3])
        for name in sorted({row["name"] for row in own} - BETWEEN):
            same = [row for row in own if row["name"] == name]
            after, best = [row["evaluation"] for row in same], same[0]["best"]
            priced = f", a round at {name}" if start == "cups" else ", trained"
            lines.append(
                [
                    *(
                        f"{label}{priced}",
                        str(len(same)),
                        cell("accuracy", over(after, "accuracy")),
                    ),
                    *(number(over(after, "tokens_said"), 2), f"{best['words']:.2f}"),
                    *(alike([row["after"]["rounds"] for row in same]), f"{best['rounds']:.2f}"),
                    f"{fmean(row['after']['reward'] for row in same):.3f}",
                    f"{best['reward']:.3f}",
                ]
            )
    return lines


LABELS = {
    "three looks": "single agent, three looks, price 0",
    **{f"price {price}": f"a word costs {price / 2:g}" for price in (0.6, 0.2, 0.08, 0.016)},
    "smollm2, price 0.08": "the same, SmolLM2",
    "price 0.016, no balance": "the same, silence is not balanced",
    "price 0.016, expected": "the same, paid by the answer's probability",
    "price 0.016, after price 0": "the same, from the teams of price 0",
}
"""Name of a run -> its label."""


def alike(values: Sequence[float], unit: str = "") -> str:
    """Return the mean of seeds with its t-interval, what all agree on, or both of two."""
    if max(values) - min(values) < 0.005:
        return f"{fmean(values):.2f}{unit}"
    if len(values) < 3:
        return ", ".join(f"{value:.2f}" for value in values) + unit
    return number(over_seeds(values), 2).replace(" [", f"{unit} [")


STARTS = {
    "strong": "`gsm8k`",
    "weak": "`gsm8k`, weak",
    **{name: f"`{name}`" for name in ("signal", "math", "humaneval", "mbpp")},
}
"""Start of a training -> its label."""


def of_rule(start: str, rule: str = "pass_rate") -> list[Row]:
    """Return the trainings from a start under a price rule, one per seed."""
    wanted = ("rule", start, rule)
    rows = read("price/rows")
    return [row for row in rows if (row["series"], row["start"], row["name"]) == wanted]


def dip(sampled: Sequence[float], width: int = 5) -> float:
    """Return the lowest mean of `width` updates less that of the first two, in points."""
    means = [fmean(sampled[at : at + width]) for at in range(len(sampled) - width + 1)]
    return 100 * (min(means) - fmean(sampled[:2]))


def at_one_rate(scales: Mapping[str, str]) -> list[Cells]:
    """Return short trainings from the weak start, means over seeds.

    Args:
        scales: name of the variant, the default first -> scale of its advantages.
    """
    names = (*USUAL, "reward")
    first = of_rate("gspo")[0]["before"]
    beside = ["points beside the default", "reward beside it"]
    head = ["", "scale", "seeds", *(COLUMNS[name] for name in names), *beside]
    lines = [head, ["start", "", "", *(plain(name, first[name]) for name in names), "", ""]]
    default = {row["seed"]: row["evaluations"]["after"] for row in of_rate("gspo")}
    for variant, scale in scales.items():
        after = {row["seed"]: row["evaluations"]["after"] for row in of_rate(variant)}
        cells = [cell(name, over([*after.values()], name)) for name in names]
        pairs = [(default[seed], after[seed]) for seed in after]
        more = [signed(in_points(change_over(pairs, "accuracy")))]
        more.append(signed(number(change_over(pairs, "reward"), 2)))
        if variant == "gspo":
            more = ["", ""]
        if variant == "price 0":
            # It is evaluated at its own price.
            cells[-1] = more[-1] = ""
        lines.append([RATES.get(variant, f"`{variant}`"), scale, str(len(after)), *cells, *more])
    return lines


RATES = {"gspo": "`gspo`, credit `own` (default)", "price 0": "default, price 0"}
"""Variant at one rate -> its label, if that is not its name."""


def of_rate(variant: str) -> list[Row]:
    """Return the short trainings of a variant from the weak start, one per seed."""
    return [row for row in read("price/rows") if (row["series"], row["name"]) == ("rate", variant)]


def plain(metric: str, mean: float) -> str:
    """Return a mean without an interval."""
    if metric in PERCENT:
        return f"{100 * mean:.1f} %"
    return f"{mean:.{2 if metric == 'reward' else 1}f}"


def exact_fidelity() -> list[Cells]:
    """Return how many plays each credit needs to rank the messages of jury rightly."""
    rows = table("exact_fidelity")
    lines = [["credit", *(f"{head} {price} a word" for head in HEADS for price in ("0", "0.06"))]]
    for credit in dict.fromkeys(row["credit"] for row in rows):
        cells = []
        for head in HEADS:
            for price in ("0.0", "0.06"):
                own = [r for r in rows if (r["credit"], r["price of a word"]) == (credit, price)]
                at = {int(row["plays"]): float(row["mean"]) for row in own}
                enough = min((plays for plays, mean in at.items() if mean >= 0.95), default=None)
                first = f"{enough:,}" if enough else f"never ({at[max(at)]:.2f})"
                cells.append(first if head == HEADS[0] else f"{at[256]:.2f}")
        lines.append([f"`{credit}`", *cells])
    return lines


HEADS = ("plays to 0.95,", "after 256,")


@cache
def benchmarked() -> list[Cells]:
    """Return scores of the set `core`, with accuracy and tokens: methods, start, known team."""
    results = benchmark("core")
    scores, figures = tables(results, finished(results))
    lines = [["", *scores.heads[2:]]]
    for score, figure in zip(scores.rows, figures.rows, strict=True):
        if score[0] in ("(silent)", "(random)", "(telegraph)", "(single)"):
            continue
        cells = (
            f"{_INTERVAL.sub('', value)}<br>{_INTERVAL.sub('', beside).replace(' in ', ', ')}"
            for value, beside in zip(score[3:], figure[1:], strict=True)
        )
        lines.append([score[0].strip("()"), score[2], *cells])
    return lines
