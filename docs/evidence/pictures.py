"""Draws the trainings of docs/evidence.md from the rows beside this file: make evidence-pictures.

A broken line is a run that is no part of a claim.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from laconic.experiments.reporting.look import draw, in_percent, marks

HERE = Path(__file__).parent
PICTURES = HERE.parent / "pictures"
METRICS = {
    "accuracy": "solved",
    "tokens_said": "tokens said",
    "silent_if_uninformed": "silent with nothing useful",
    "spoke_if_informed": "spoke with something useful",
}
TEAMS = {
    "pretrained": ("gsm8k_level1", ("seed_0", "seed_1", "seed_2", "seed_3", "without_balance")),
    "sports_pretrained": ("sports", ("seed_1", "seed_2", "seed_3")),
    "math_pretrained": ("math", ("seed_1", "seed_2", "seed_3")),
    "methods_pretrained": ("math", ("seed_1", "agent_gspo_1", "dr_mas_1")),
}
"""Picture -> folder and the runs in it, of teams that share what they know."""
AUTHORS = {
    "coop_humaneval": ("generated programs", 4.0, ("seed_1", "seed_2", "seed_3")),
    "tldr": ("real posts", 2.98, ("seed_2", "seed_3", "seed_4", "seed_1")),
}
"""Folder -> what is written, the most it can score, and the runs."""
TRIALS = {
    ("gsm8k_level1", "without_balance"): "seed 0 without silence on balance",
    ("tldr", "seed_1"): "seed 1, half the rate",
}
"""Runs that are no part of a claim, and their names."""
METHODS = {"agent_gspo_1": "Agent-GSPO, seed 1", "dr_mas_1": "Dr. MAS, seed 1"}
"""Runs by other methods than the rest of their folder, and their names."""
WINDOW = 5
"""Updates of a mean, as many before as after."""


def series(folder: str, run: str, metric: str) -> list[float]:
    """A metric of the rollouts of each update of a run, from the first one on."""
    lines = (HERE / folder / f"{run}.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["step"] > 0]
    return [row[f"train/{metric}"] for row in rows if f"train/{metric}" in row]


def smooth(values: Sequence[float]) -> list[float]:
    """Means over windows of updates, which are shorter at both ends."""
    half = WINDOW // 2
    return [float(np.mean(values[max(i - half, 0) : i + half + 1])) for i in range(len(values))]


def lines(axes: Axes, folder: str, runs: Sequence[str], metric: str, *, mean: bool) -> None:
    """One line for each run."""
    for run, (colour, shape) in zip(runs, marks(len(runs)), strict=True):
        values = series(folder, run, metric)
        axes.plot(
            range(1, len(values) + 1),
            smooth(values) if mean else values,
            color=colour,
            marker=None if mean else shape,
            markersize=4,
            linestyle="--" if (folder, run) in TRIALS else "-",
            label=TRIALS.get((folder, run)) or METHODS.get(run, run.replace("_", " ")),
        )
    axes.set(xlabel="update", xlim=(0, None))


def team(folder: str, runs: Sequence[str], *panels: Axes) -> None:
    """What a team solved and said, and when it kept silent."""
    for axes, (metric, title) in zip(panels, METRICS.items(), strict=True):
        lines(axes, folder, runs, metric, mean=True)
        axes.set_title(title)
        if metric == "tokens_said":
            axes.set_ylim(0, None)
            axes.legend(loc="best")
        else:
            axes.set_ylim(0, 1.02)
            in_percent(axes)


def authors(*panels: Axes) -> None:
    """What the joint work of authors scored."""
    for axes, (folder, (title, most, runs)) in zip(panels, AUTHORS.items(), strict=True):
        lines(axes, folder, runs, "score", mean=False)
        axes.set(title=f"{folder}: {title}", ylim=(0, 2.5), ylabel=f"score, at most {most:g}")
        axes.legend(loc="lower right")


def main() -> None:
    """Draw every picture."""
    for name, (folder, runs) in TEAMS.items():
        picture = draw(13, 3.2, len(METRICS), partial(team, folder, runs))
        (PICTURES / f"{name}.png").write_bytes(picture)
    picture = draw(10, 3.6, len(AUTHORS), authors)
    (PICTURES / "coop_pretrained.png").write_bytes(picture)


if __name__ == "__main__":
    main()
