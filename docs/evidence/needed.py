"""Train the worlds in which a team is needed, beside what is known of them: make evidence-needed.

    needed.py run outputs/needed [series ...]     train, resumable, two at a time
    needed.py collect outputs/needed              write needed.jsonl.gz beside this file
    needed.py tables                              print each run beside the best known team
    needed.py picture                             draw docs/pictures/needed_*.png

Evaluations of jury play every state once, by its probability, so their figures are exact.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from price import Run, call, finished, train

from laconic.envs.library.cups import theory as cups
from laconic.envs.library.hops import theory as hops
from laconic.envs.library.jury import theory
from laconic.envs.library.jury.scripts import SHYNESS
from laconic.envs.task import PRICE
from laconic.extras.report.look import GREY, PALETTE, draw, in_percent, marks
from laconic.learners.agents.recipes import shipped

ROWS = Path(__file__).parent / "needed.jsonl.gz"
PICTURES = Path(__file__).parents[1] / "pictures"
SEEDS = range(5)
PRICES = (0.6, 0.2, 0.08, 0.016)
"""Prices of two words, one between each two steps of the theory, and one above all."""
USUAL = "env=jury threads=1 report=false"
WHY = {
    "no balance": "learner.balance_silence=false",
    "expected": "env.paid=expected",
    "after price 0": "agent.model=<root>/free/jury/price_0/{seed} {sizes}",
}
"""Name of a change at the lowest price -> its overrides."""
ALONE = "env.team={solver:1} env.looks=3"
SIZES = "evaluation.tasks=null train.tasks_per_step=128 train.group_size=4 optimizer.lr=2e-4"
"""What the shipped start takes by itself."""
WORD = 0.06
"""Price of a word in hops and cups."""
ROUNDS = (0.5, 0.9, 1.1, 1.5, 2.0, 3.0)
"""Prices of a round, in prices of a word."""
MEMBERS, CUPS = 3, 3
NAMES, STEPS, HOLDERS = 12, 3, 4
OTHERS = {
    "cups": f"env=cups env.reward.price={WORD * 1.333}",
    "hops": f"env=hops env.reward.price={WORD * 2}",
    "cups_alone": f"env=cups env.team={{member:1}} env.pages={MEMBERS}"
    f" env.reward.price={WORD * 1.333}",
}
"""Start -> its environment."""
STARTS = {
    "alone": f"{USUAL} {ALONE} train.steps=100",
    # From new weights a single agent had learned nothing after 1,000 updates: it reads too little.
    "cups_alone": f"{OTHERS['cups_alone']} agent.model={shipped('cups')}"
    " train.steps=400 optimizer._target_=torch.optim.AdamW optimizer.lr=0.001"
    " threads=1 report=false",
}
"""Start -> arguments of its warm start."""
SMOL = (
    "agent=smollm2 env=jury env.instructions=brief env.budget.message=8"
    " agent.sampling.max_reply_tokens=8 env.paid=expected threads=1 evaluation.batch=64"
    " report=false"
)
"""SmolLM2, whose update of 64 episodes takes 15 seconds on a core with replies of one word."""
# The usual teacher of a pretrained policy already silences the dim. This one does so in half of
# their turns, so that the silence that pays is still to be learned.
STARTS["smollm2"] = (
    f"{SMOL} learner.collect.teacher.silent_uninformed=0.25 learner.collect.others=1"
    " optimizer.lr=5e-5 learner.decay_updates=null train.steps=40 train.tasks_per_step=32"
    " evaluation.tasks=64"
)
KEPT = (
    *("accuracy", "tokens_said", "reward", "distance_to_best", "rounds"),
    *("spoke_dim", "spoke_fair", "spoke_sharp"),
)
HELPERS = 3
PLAYED = ("agent", "env", "threads", "evaluation.batch")
"""Beginnings of the settings that an evaluation takes too."""
PRETRAINED = range(3)
"""Seeds of SmolLM2."""
SHORT = (
    "train.steps=60 train.tasks_per_step=16 train.group_size=4 learner.minibatches=1"
    " optimizer.lr=1e-5 evaluation.tasks=200"
)


def runs() -> Iterator[Run]:
    """Yield all trainings."""
    for seed in SEEDS:
        yield Run("free", "jury", "price 0", f"{USUAL} env.reward.price=0", seed)
        yield Run(
            "alone", "alone", "three looks", f"{USUAL} {ALONE} {SIZES} env.reward.price=0", seed
        )
        for price in PRICES:
            settings = f"{USUAL} env.reward.price={price} learner/price=fixed"
            yield Run("demand", "jury", f"price {price}", settings, seed)
            if price == min(PRICES):
                for name, change in WHY.items():
                    change = change.format(seed=seed, sizes=SIZES)
                    yield Run("why", "jury", f"price {price}, {name}", f"{settings} {change}", seed)
            if price == 0.08 and seed in PRETRAINED:
                typed = f"{SMOL} {SHORT} env.reward.price={price} learner/price=fixed"
                yield Run("pretrained", "smollm2", f"smollm2, price {price}", typed, seed)
        usual = "threads=1 report=false learner/price=fixed evaluation.tasks=1000"
        for start in ("hops", "cups_alone"):
            yield Run("others", start, "a word costs 0.06", f"{OTHERS[start]} {usual}", seed)
        for ratio in ROUNDS:
            time = f"env.reward.round_price={round(WORD * ratio, 4)}"
            yield Run("phases", "cups", f"{ratio} words", f"{OTHERS['cups']} {usual} {time}", seed)


def play_all_states(root: Path, chosen: Sequence[str]) -> None:
    """Evaluate SmolLM2 in every state before and after; that takes half as long as to train it."""
    for run in runs():
        if run.series == "pretrained" and (not chosen or run.series in chosen):
            kept = [word for word in run.overrides.split() if word.startswith(PLAYED)]
            typed = f"evaluate {' '.join(kept)} evaluation.tasks=null"
            for folder in (root / run.start, root / run.folder):
                if finished(folder):
                    call(f"{typed} agent.model={folder}/policy", folder / "exact")


def collect(root: Path) -> None:
    """Write one row per finished run.

    Existing rows of runs without a folder below `root` keep their figures; what is best is as known
    now.
    """
    rows = {(row["series"], row["name"], row["start"], row["seed"]): row for row in all_rows()}
    keys = [(run.series, run.name, run.start, run.seed) for run in runs()]
    for key, run in zip(keys, runs(), strict=True):
        folder = root / run.folder
        if not finished(folder):
            continue
        exact = run.series == "pretrained"
        places = [root / run.start / "exact", folder / "exact"] if exact else [folder]
        files = [place / "evaluations.jsonl" for place in places]
        ends = [json.loads(line) for file in files for line in file.open()]
        figures = [
            {
                name: round(row["intervals"][name]["mean"], 6)
                for name in KEPT
                if name in row["intervals"]
            }
            for row in (ends[0], ends[-1])
        ]
        price = word_price(run.overrides)
        rows[key] = {
            **{"series": run.series, "start": run.start, "name": run.name, "seed": run.seed},
            **{"overrides": run.overrides, "before": figures[0], "after": figures[1]},
            **({"ascent": climb(price)} if run.start == "jury" else {}),
            **({} if is_exact(run.start) else {"evaluation": shortened(ends[-1])}),
        }
    for key, run in zip(keys, runs(), strict=True):
        if key in rows:
            best = rows[key]["best"] = best_known(run)
            for figures in (rows[key]["before"], rows[key]["after"]) if "reward" in best else ():
                figures["distance_to_best"] = round(best["reward"] - figures["reward"], 6)
            if "reward" in best:
                rows[key]["evaluation"]["intervals"].pop("distance_to_best", None)
    lines = [json.dumps(rows[key]) + "\n" for key in keys if key in rows]
    ROWS.write_bytes(gzip.compress("".join(lines).encode("utf-8"), mtime=0))
    print(f"{len(lines)} of {len(keys)} runs")


def is_exact(start: str) -> bool:
    """Return whether evaluations from a start play every state, so that they have no error."""
    return start in ("jury", "alone", "smollm2")


def shortened(evaluation: dict[str, Any]) -> dict[str, Any]:
    """Return an evaluation with the figures and outcomes that tables need."""
    parts = {
        part: {name: evaluation[part][name] for name in KEPT if name in evaluation[part]}
        for part in ("intervals", "outcomes")
    }
    return {**evaluation, "floors": {}, **parts}


def best_known(run: Run) -> dict[str, float]:
    """Return accuracy and words of the best rule that is known for a run."""
    if run.start == "alone":
        return {"accuracy": theory.alone(3), "words": 0.0}
    if run.start == "hops":
        words, rounds = hops.coded(STEPS, NAMES, HOLDERS)
        _, reward = hops.best(STEPS, NAMES, HOLDERS, WORD, 0.0)
        return {"accuracy": 1.0, "words": words, "rounds": rounds, "reward": reward}
    if run.start in ("cups", "cups_alone"):
        alone = run.start == "cups_alone"
        best = cups.best(MEMBERS, WORD, WORD * ratio(run.name), CUPS, alone)
        return {"accuracy": 1.0, **best._asdict()}
    plan = theory.best(word_price(run.overrides), HELPERS)
    return {"accuracy": plan.accuracy, "words": plan.words}


def ratio(name: str) -> float:
    """Return the price of a round in prices of a word, by a run's name; 0 where it is none."""
    return float(name.split()[0]) if name.endswith(" words") else 0.0


def climb(price: float) -> dict[str, float]:
    """Follow the exact slope of the reward from the speech of the start, with the best listener.

    Args:
        price: task reward that a word costs.

    Returns:
        Accuracy and words of the rule without chance that is nearest to the end.
    """
    generator = np.random.default_rng(0)
    begin = np.array([[1 - min(0.22 * shy, 1.0) for shy in SHYNESS]] * 2)
    # Colors that are exactly alike would stay so.
    logits = np.log(begin / (1 - begin)) + generator.normal(0, 0.1, begin.shape)
    for _ in range(400):
        speaks = 1 / (1 + np.exp(-logits))
        slope = np.zeros_like(speaks)
        for place in np.ndindex(*speaks.shape):
            ends = []
            for step in (1e-4, -1e-4):
                moved = speaks.copy()
                moved[place] = np.clip(moved[place] + step, 0, 1)
                plan = theory.plan(tuple(map(tuple, moved)), HELPERS)
                ends.append((plan.accuracy - price * plan.words, moved[place]))
            (high, above), (low, below) = ends
            slope[place] = (high - low) / (above - below)
        logits = np.clip(logits + 40 * slope * speaks * (1 - speaks), -6, 6)
    end = theory.plan(tuple(map(tuple, (speaks > 0.5).astype(float))), HELPERS)
    return {"accuracy": end.accuracy, "words": end.words}


def all_rows() -> list[dict[str, Any]]:
    """Return the rows of all runs."""
    lines = gzip.decompress(ROWS.read_bytes()).decode("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def word_price(overrides: str) -> float:
    """Return what a word costs in a run; half of the price, which is that of two words."""
    typed = [part for part in overrides.split() if part.startswith("env.reward.price=")]
    return float(typed[0].partition("=")[2]) / 2 if typed else PRICE / 2


def reached(words_panel: Axes) -> None:
    """Draw accuracy by words in jury beside the frontier."""
    rows = all_rows()
    frontier = theory.frontier(HELPERS)
    words_panel.plot(
        [plan.words for plan in frontier],
        [plan.accuracy for plan in frontier],
        color=GREY,
        linewidth=1,
        label="best rule",
    )
    for looks in (1, 3, 5):
        words_panel.axhline(theory.alone(looks), color=GREY, linewidth=0.6, linestyle=":")
        looked = f"one agent, {looks} look{'s' if looks > 1 else ''}"
        words_panel.text(3.55, theory.alone(looks), looked, fontsize=7, va="bottom", ha="right")
    shown = {"free": "price 0", "demand": "at a price", "alone": "single agent, 3 looks"}
    shown["pretrained"] = "SmolLM2, a word costs 0.04"
    for (series, label), color, (_, mark) in zip(
        shown.items(), PALETTE, marks(len(shown)), strict=False
    ):
        own = [row for row in rows if row["series"] == series]
        said, right = ([row["after"][name] for row in own] for name in ("tokens_said", "accuracy"))
        words_panel.scatter(said, right, color=color, marker=mark, s=22, label=label, zorder=3)
    start = next(row["before"] for row in rows if row["series"] == "free")
    words_panel.scatter(
        start["tokens_said"], start["accuracy"], color="black", marker="x", s=28, label="start"
    )
    words_panel.set(xlabel="words of an episode", ylabel="accuracy", xlim=(-0.1, 3.6))
    in_percent(words_panel.yaxis)
    words_panel.legend(loc="center", bbox_to_anchor=(0.6, 0.36), fontsize=7)


def demand(demand_panel: Axes) -> None:
    """Draw words by price in jury beside the theory."""
    rows = all_rows()
    steps = theory.steps(HELPERS)
    edges = [0.5, *(price for price, _ in steps[1:]), 0.0005]
    for (_, plan), high, low in zip(steps, edges, edges[1:], strict=False):
        demand_panel.plot([low, high], [plan.words, plan.words], color=GREY, linewidth=2)
    demand_panel.plot([], [], color=GREY, linewidth=2, label="best rule")
    own = [row for row in rows if row["series"] == "demand"]
    prices = [word_price(row["overrides"]) for row in own]
    for end, place, size in (("exact slope", "ascent", 60), ("trained", "after", 18)):
        name = "words" if place == "ascent" else "tokens_said"
        words = [row[place][name] for row in own]
        color = "none" if place == "ascent" else PALETTE[0]
        demand_panel.scatter(
            prices, words, s=size, facecolors=color, edgecolors=PALETTE[0], zorder=3, label=end
        )
    demand_panel.legend(loc="upper right", fontsize=7)
    demand_panel.set(xscale="log", xlabel="price of a word", ylabel="words of an episode")
    places = (0.001, 0.01, 0.1)
    demand_panel.set(xticks=places, xticklabels=[f"{place:g}" for place in places])
    demand_panel.minorticks_off()


def chains(axes: Axes) -> None:
    """Draw accuracy by words of teams in hops."""
    best = float(hops.alone(STEPS, NAMES, STEPS * NAMES // HOLDERS) or 1.0)
    axes.axhline(best, color=GREY, linewidth=0.6, linestyle=":")
    axes.text(2.2, best, "best guess of one agent", fontsize=7, va="bottom", ha="right")
    for label, words, mark in (
        ("best known", hops.coded(STEPS, NAMES, HOLDERS)[0], "o"),
        ("chain", hops.words(STEPS, NAMES, HOLDERS), "s"),
    ):
        axes.scatter(words, 1, s=80, marker=mark, facecolors="none", edgecolors=GREY, label=label)
    own = [row for row in all_rows() if row["start"] == "hops"]
    for when, face in (("before", "none"), ("after", PALETTE[0])):
        said, right = ([row[when][name] for row in own] for name in ("tokens_said", "accuracy"))
        name = f"{when} training"
        axes.scatter(said, right, s=26, facecolors=face, edgecolors=PALETTE[0], label=name)
    axes.set(xlabel="words of an episode", ylabel="accuracy", title="hops", ylim=(0, 1.05))
    axes.set(xlim=(0, 2.3))
    in_percent(axes.yaxis)
    axes.legend(loc="lower right", fontsize=7)


def phases(rounds_panel: Axes, reward_panel: Axes) -> None:
    """Draw rounds, and reward beside the single agent, by the price of a round in cups."""
    own = [row for row in all_rows() if row["series"] == "phases"]
    ratios = [ratio(row["name"]) for row in own]
    places = np.linspace(0.3, 3.2, 581)
    known = [cups.best(MEMBERS, WORD, WORD * x, CUPS) for x in places]
    rounds_panel.plot(places, [best.rounds for best in known], color=GREY, label="best known")
    plain = [min(map(plainly, ("relay", "broadcast"), [x] * 2)) for x in places]
    rounds_panel.plot(
        *(places, [last for _, last in plain]),
        color=GREY,
        linestyle=":",
        label="relay or broadcast",
    )
    rounds = [row["after"]["rounds"] for row in own]
    rounds_panel.scatter(ratios, rounds, color=PALETTE[0], s=22, zorder=3)
    rounds_panel.set(ylabel="rounds of an episode", title="cups: relay or broadcast")
    rounds_panel.legend(loc="upper right", fontsize=7)
    for label, style, costs in (
        ("best known", "-", [(1 - best.reward) / WORD for best in known]),
        ("relay or broadcast", ":", [cost for cost, _ in plain]),
    ):
        gains = [WORD * (MEMBERS * x - cost) for x, cost in zip(places, costs, strict=True)]
        reward_panel.plot(places, gains, color=GREY, linestyle=style, label=label)
    single = [row["after"] for row in all_rows() if row["start"] == "cups_alone"]
    reader = {"accuracy": 1.0, "tokens_said": 0.0, "rounds": MEMBERS}
    for label, alone, face in (
        ("trained, beside the best agent", [reader], PALETTE[0]),
        ("trained, beside the trained agent", single, "none"),
    ):
        beside = [
            earned(row["after"], WORD * x) - np.mean([earned(each, WORD * x) for each in alone])
            for row, x in zip(own, ratios, strict=True)
        ]
        looks: dict[str, Any] = {"facecolors": face, "edgecolors": PALETTE[0], "label": label}
        reward_panel.scatter(ratios, beside, s=22, zorder=3, **looks)
    reward_panel.axhline(0, color=GREY, linewidth=0.6, linestyle=":")
    reward_panel.set(ylabel="more reward than one agent", title="cups: team or one agent")
    reward_panel.legend(loc="upper left", fontsize=7)
    for axes in (rounds_panel, reward_panel):
        axes.set(xlabel="price of a round, in words", xlim=(0.3, 3.2))


def plainly(protocol: str, ratio: float) -> tuple[float, int]:
    """Return what a protocol of cups costs, in words, and its rounds."""
    words, rounds = cups.plain(protocol, MEMBERS, CUPS)
    return words + ratio * rounds, rounds


def earned(figures: Mapping[str, float], round_price: float) -> float:
    """Return accuracy less the prices of words and rounds."""
    paid = WORD * figures["tokens_said"] + round_price * figures["rounds"]
    return figures["accuracy"] - paid


def both(*panels: Axes) -> None:
    """Draw jury."""
    reached(panels[0])
    demand(panels[1])


def others(*panels: Axes) -> None:
    """Draw hops and cups."""
    chains(panels[0])
    phases(*panels[1:])


def picture() -> None:
    """Draw what trained teams reach beside what is known."""
    (PICTURES / "needed_jury.png").write_bytes(draw(10, 3.8, 2, both))
    (PICTURES / "needed_others.png").write_bytes(draw(12, 3.8, 3, others))


def tables() -> None:
    """Print every run beside the best known team."""
    for row in sorted(all_rows(), key=lambda row: (row["series"], row["name"], row["seed"])):
        figures = " | ".join(f"{row['after'].get(name, float('nan')):.4f}" for name in KEPT)
        print(f"| {row['name']} | {row['seed']} | {figures} |")


def main(action: str = "", *rest: str) -> None:
    """Run the action of the command line."""
    if action == "run" and rest:
        root = Path(rest[0]).absolute()
        train(root, rest[1:], 2, list(runs()), STARTS)
        play_all_states(root, rest[1:])
    elif action == "collect" and rest:
        collect(Path(rest[0]).absolute())
    elif action == "tables":
        tables()
    elif action == "picture":
        picture()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
