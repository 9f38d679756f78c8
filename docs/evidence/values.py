"""Values that the ledger states: figures of recorded runs in one line of text."""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean, median

import numpy as np
from figures import (
    USUAL,
    benchmarked,
    change_over,
    compared,
    exact_fidelity,
    gain,
    in_points,
    number,
    of_rate,
    of_rule,
    over,
    over_seeds,
    part_over,
    percent,
    plain,
    points,
    share,
    signed,
)
from rows import HERE, Row, intervals, read, table

from laconic.extras.analysis.prediction import Played, Shape, predict

STAR = "env.topology=[{solver_0:[helper_0,helper_1,helper_2]}]"
"""Learned graph in which the solver hears all helpers, and no other agent hears any."""
GAP = {"mean": "gap", "low": "low", "high": "high"}
"""Part of an interval -> its column in the table of cross-play."""
LOSSES = {
    ("0", ""): "trained without loss",
    ("0.3", "false"): "trained at 0.3",
    ("0.3", "true"): "with marks",
}
"""Loss and mark of the channel of a training -> its name."""
ACCURACY = {"mean": "accuracy", "low": "accuracy_low", "high": "accuracy_high"}
"""Part of the interval of an accuracy -> its column in a table."""


def change(start: str, *runs: str) -> str:
    """Return the changes of accuracy and tokens, over tasks and seeds where outcomes were kept."""
    pairs = [(read(start)[-1], read(run)[-1]) for run in runs]
    more = signed(in_points(change_over(pairs, "accuracy")))
    return f"{more} points; {number(part_over(pairs, 'tokens_said'), 3)} of the tokens"


def beside_free(start: str, free: str, *runs: str) -> str:
    """Return the changes of `change`, and what one training without a price reached."""
    figures = intervals(free)
    text = f"{percent(figures['accuracy'])} in {number(figures['tokens_said'])} tokens"
    return f"{change(start, *runs)}; seed 1 at price 0: {text}"


def change_of_each(start: str, run: str, *numbers: int) -> str:
    """Return the changes of `change` where every seed has evaluated its start on its own tasks."""
    pairs = [(start.format(number), run.format(number)) for number in numbers]
    more = points([gain(*pair) for pair in pairs])
    tokens = number(over_seeds([share(*pair) for pair in pairs]), 3)
    return f"{more} points; {tokens} of the tokens"


def quick(start: str) -> str:
    """Return what training under the default price makes of a start, means over seeds."""
    rows = of_rule(start)
    first, after = rows[0]["before"], [row["evaluations"]["after"] for row in rows]
    figures = {name: over(after, name) for name in USUAL}
    accuracy = f"{plain(USUAL[0], first[USUAL[0]])} to {percent(figures[USUAL[0]])}"
    tokens = f"{plain(USUAL[1], first[USUAL[1]])} to {number(figures[USUAL[1]])} tokens"
    return f"{accuracy}; {tokens}; silent with nothing useful {percent(figures[USUAL[2]])}"


def short(*variants: str) -> str:
    """Return accuracy and tokens of short trainings from the weak start, means over seeds."""
    first = of_rate(variants[0])[0]["before"]
    texts = [
        f"start: {plain(USUAL[0], first[USUAL[0]])} in {plain(USUAL[1], first[USUAL[1]])} tokens"
    ]
    for name in variants:
        after = [row["evaluations"]["after"] for row in of_rate(name)]
        accuracy, tokens = (over(after, key) for key in USUAL[:2])
        texts.append(f"{name}: {percent(accuracy)} in {number(tokens)} tokens")
    return "; ".join(texts)


def entries(comparison: str, **labels: str) -> str:
    """Return accuracy and tokens of entries of a comparison."""
    rows = {row["entry"]: row for row in table(comparison)}
    return "; ".join(
        f"{label}: {percent(compared(rows[entry], 'accuracy'))} in "
        f"{number(compared(rows[entry], 'tokens_said'))} tokens"
        for entry, label in labels.items()
    )


def scores(start: str, *runs: str) -> str:
    """Return the change of the score, with a t-interval over seeds."""
    return f"{number(over_seeds([gain(start, run, 'score') for run in runs]), 2)} of score"


def programs(kind: str) -> str:
    """Return the change of the score of programs by two authors, greedy or sampled."""
    runs = [f"coop_humaneval/best_{seed}_{kind}_evaluation" for seed in (2, 3, 4)]
    return scores(f"coop_humaneval/best_start_{kind}_evaluation", *runs)


def commons() -> str:
    """Return the gain over seeds and the tokens of each seed after training at each price."""
    rows = table("commons/runs")
    first = rows[0]
    parts = [f"start: gain {float(first['gain']):.1f} in {float(first['tokens_said']):.0f} tokens"]
    for price in ("0", "0.5"):
        group = [row for row in rows if row["price"] == price]
        mean_gain = number(over_seeds([float(row["gain"]) for row in group]))
        words = ", ".join(f"{float(row['tokens_said']):.0f}" for row in group)
        parts.append(f"price {price}: gain {mean_gain} in {words} tokens")
    return "; ".join(parts)


def schemes() -> str:
    """Return the tokens that scripted teams of boxnet say under each way of planning."""
    parts = []
    for size in ("2", "4"):
        rows = {row["entry"]: row for row in table(f"boxnet/oracle_{size}")}
        for entry, label in (("team", "told once"), ("cmas", "central")):
            tokens = number(compared(rows[entry], "tokens_said"))
            parts.append(f"{size} x {size}, {label}: {tokens} tokens")
        wordy = {row["entry"]: row for row in table(f"boxnet/verbose_{size}")}
        tokens = number(compared(wordy["team"], "tokens_said"))
        parts.append(f"{size} x {size}, told every step: {tokens} tokens")
    return "; ".join(parts)


def on_gpu() -> str:
    """Return what an update of the first recipe takes on a GPU: medians and ranges."""
    # The first update has no advantage, so it trains nothing.
    rows = table("gpu/recipe")[1:]
    parts = []
    for key, label in (
        ("sampling_seconds", "s of sampling"),
        ("training_seconds", "s of training"),
        ("trained_tokens_per_second", "trained tokens/s"),
        ("peak_gigabytes", "GB"),
    ):
        values = [float(row[key]) for row in rows]
        digits = 0 if max(values) > 100 else 1
        low, middle, high = (f"{v:,.{digits}f}" for v in (min(values), median(values), max(values)))
        parts.append(f"{middle} [{low}, {high}] {label}")
    return "; ".join(parts)


def linked() -> str:
    """Return what is left of a complete graph, and what a frozen team solves and reads with it."""
    rows = read("topology/runs")
    stars = sum(row["topology"] == STAR for row in rows)
    # The team is frozen and greedy, so seeds with one graph have one evaluation.
    before, after = rows[0]["before"], rows[0]["after"]
    spent = [row["edge_training_tokens"] for row in rows]
    saved = before["tokens_read"]["mean"] - after["tokens_read"]["mean"]
    took = number(over_seeds([tokens / 1e6 for tokens in spent]), 2)
    episodes = number(over_seeds([tokens / saved / 1e3 for tokens in spent]))
    return (
        f"star into the solver on {stars} of {len(rows)} seeds;"
        f" solved {percent(after['accuracy'])};"
        f" tokens read {number(before['tokens_read'])} to {number(after['tokens_read'])};"
        f" learning took {took} million tokens, which {episodes} thousand episodes save"
    )


def crossed() -> str:
    """Return the gaps of teams from two starts that play with teams of other seeds."""
    parts = []
    for start, label in (("strong", "quickstart"), ("weak", "from a weak start")):
        rows = {row["figure"]: row for row in table(f"crossplay/{start}")}
        gaps = {
            name: {key: float(rows[name][column]) for key, column in GAP.items()}
            for name in ("accuracy", "tokens_said")
        }
        accuracy = number({key: 100 * value for key, value in gaps["accuracy"].items()})
        parts.append(f"{label}: {accuracy} points, {number(gaps['tokens_said'])} tokens")
    return "; ".join(parts)


def hindsight(run: str) -> str:
    """Return the change of accuracy and tokens, and how near the replies come to brief ones."""
    rows = [row for row in read("hindsight/runs") if row["run"] == run]
    pairs = [
        (first, [row for row in rows if row["seed"] == first["seed"]][-1])
        for first in rows
        if not first["update"]
    ]
    more = points(
        [100 * (last["eval"]["accuracy"] - first["eval"]["accuracy"]) for first, last in pairs]
    )
    kept = [last["eval"]["tokens_said"] / first["eval"]["tokens_said"] for first, last in pairs]
    nats = over_seeds([last["divergence"] for _, last in pairs])
    return (
        f"{more} points; {number(over_seeds(kept), 3)} of the tokens; divergence from replies to "
        f"the request {pairs[0][0]['divergence']:.1f} to {number(nats, 2)} nats"
    )


def channel() -> str:
    """Return what teams solve at a loss of 0.3, by the channel that they were trained over."""
    parts = []
    for lose, mark in LOSSES:
        # A team that was trained without loss plays without marks.
        played_mark = mark or "false"
        group = [
            row
            for row in table("channel/runs")
            if (row["trained_lose"], row["trained_mark"]) == (lose, mark)
            and (row["played_lose"], row["played_mark"]) == ("0.3", played_mark)
        ]
        solved = over_seeds([float(row["accuracy"]) for row in group])
        words = over_seeds([float(row["tokens_said"]) for row in group])
        parts.append(f"{LOSSES[lose, mark]}: {percent(solved)} in {number(words)} tokens")
    return "; ".join(parts)


def exactly() -> str:
    """Return how many plays some credits need in jury; the page has all."""
    rows = [row for row in exact_fidelity() if row[0] in ("`own`", "`group_std`", "`c3`")]
    return "; ".join(f"{row[0]}: {row[1]} at price 0, {row[2]} at 0.06 a word" for row in rows)


def voted() -> str:
    """Return what votes of several solvers were predicted to reach and reached, by cap."""
    evaluations = [played(row) for row in read("votes")]
    teams, parts = predict(evaluations), []
    for team in teams:
        predicted, measured = percent(asdict(team.predicted)), percent(asdict(team.measured))
        parts.append(f"cap {team.cap}, {team.fan_in} votes: {predicted}, measured {measured}")
    beta = next(team.beta for team in teams if team.beta is not None)
    steepest = max(team.exponent for team in teams)
    return "; ".join([*parts, f"β = {number(asdict(beta), 2)}, s at most {steepest:.2f}"])


def played(row: Row) -> Played:
    """Return an evaluation of solvers that hear three helpers, from its solved plays by task."""
    solved = np.array([float(digit) for digit in row["solved"]])
    votes = row["solvers"]
    return Played(
        HERE / row["run"],
        {"env.information": "split", "env.budget.message": row["cap"]},
        "solver",
        (("helper", 3),),
        3 + votes,
        Shape(votes, 1, passed=False) if votes > 1 else None,
        solved,
        np.full_like(solved, row["plays"]),
        row["tokens_said"],
        row["tokens_read"],
    )


def gates() -> str:
    """Return what the shipped team solves behind each gate, and how often its policy is called."""
    parts = []
    rows = table("gate/runs")
    for name in ("none", "informed", "noise", "learned"):
        group = [row for row in rows if (row["gate"], row["trained"]) == (name, row["last"])]
        means = {key: [float(row[key]) for row in group] for key in ("accuracy", "gated_calls")}
        if len(group) == 1:
            accuracy = percent({key: float(group[0][at]) for key, at in ACCURACY.items()})
            calls = f"{means['gated_calls'][0]:.2f}"
        else:
            accuracy = percent(over_seeds(means["accuracy"]))
            calls = number(over_seeds(means["gated_calls"]), 2)
        label = "rates 0.9, 0.1" if name == "noise" else name
        parts.append(f"{label}: {accuracy} in {calls} calls")
    return "; ".join(parts)


def addressed() -> str:
    """Return what teams that pay for each listener reach, means over seeds of the last start."""
    rows = [row for row in table("addressing/runs") if row["steps"] == "600"]
    parts = []
    for suffix, label in (("_before", "start"), ("", "trained")):
        solved, tokens, listeners = (
            over_seeds([float(row[name + suffix]) for row in rows])
            for name in (*USUAL[:2], "listeners")
        )
        figures = f"{percent(solved)} in {number(tokens)} tokens"
        parts.append(f"{label}: {figures}, {number(listeners, 2)} listeners")
    return "; ".join(parts)


def elected(start: str) -> str:
    """Return what policies that learn from their vote solve alone, and when the guard stops."""
    runs = [row for row in read("rlccf") if row["start"] == start]
    alone, vote = (
        points([100 * (after - before) / tasks for before, after, tasks in figures])
        for figures in (
            [(fmean(row["before"]), fmean(row["after"]), row["tasks"]) for row in runs],
            [(row["vote_before"], row["vote_after"], row["tasks"]) for row in runs],
        )
    )
    # Single updates vary: means of the first and the last five.
    ends = slice(5), slice(-5, None)
    first, last = (fmean(fmean(row["agreement"][end]) for row in runs) for end in ends)
    stops = ", ".join(str(row["stopped"] or "none") for row in runs)
    return (
        f"{start}: {alone} points alone, {vote} by vote, agreement {first:.2f} to {last:.2f},"
        f" stop after update {stops}"
    )


def in_others() -> str:
    """Return words and rounds of teams in cups, beside the best that is known."""
    rows, parts = [row for row in read("needed") if "evaluation" in row], []
    for name in ("0.5 words", "1.1 words", "3.0 words"):
        own = [row for row in rows if (row["start"], row["name"]) == ("cups", name)]
        words, rounds = (
            fmean(row["after"][key] for row in own) for key in ("tokens_said", "rounds")
        )
        best = own[0]["best"]
        parts.append(
            f"a round at {name}: {words:.2f} words, {rounds:.2f} rounds"
            f" ({best['words']:.2f}, {best['rounds']:.2f})"
        )
    return "; ".join(parts)


def needed() -> str:
    """Return what teams of jury reach without a price, beside all speaking and one agent."""
    rows = [row for row in read("needed") if row["series"] == "free"]
    accuracy = number(over_seeds([100 * row["after"]["accuracy"] for row in rows]), 2)
    words = fmean(row["after"]["tokens_said"] for row in rows)
    first, best = rows[0]["before"], rows[0]["best"]
    return (
        f"trained: {accuracy} % in {words:.2f} words; all speak: {100 * first['accuracy']:.2f} % in"
        f" {first['tokens_said']:.2f}; best: {100 * best['accuracy']:.2f} % in"
        f" {best['words']:.2f}; one agent, one look: 71.67 %"
    )


def normalized() -> str:
    """Return the interquartile means of the methods of the set `core`."""
    return "; ".join(f"{row[0]}: {row[1]}" for row in benchmarked()[1:-2])
