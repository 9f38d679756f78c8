"""Measure how the cost of an update grows with the work: make evidence-growth.

    growth.py run outputs/growth         measure, resumable, one process after the other
    growth.py collect outputs/growth     write growth.jsonl beside this file
    growth.py tables                     print every point, and the exponents
    growth.py picture                    draw docs/pictures/growth.png

Each series varies one number of a common middle. Replies go on to their limit. Each agent hears its
neighbors in a ring, because in a complete graph what is read grows with the square of agents.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from rows import HERE, Row, read

from laconic.extras.report.look import PALETTE, draw

PICTURE = HERE.parent / "pictures" / "growth.png"
USUAL = (
    "agent=new env=signal threads=1 ~env.team.helper env.answer=majority env.topology=ring"
    " env.schedule=all env.budget.episode=null agent.model_config.positions=4096"
    " train.tasks_per_step=1 measure.ignore_ends=true measure.repetitions=3 measure.episodes=20"
    " measure.answers=1"
)
TYPED = {
    "agents": "env.team.solver={0}",
    "rounds": "env.rounds={0}",
    "group": "train.group_size={0}",
    "message": "env.budget.message={0} agent.sampling.max_reply_tokens={0}",
    "model": (
        "agent.model_config.hidden={0[0]} agent.model_config.layers={0[1]}"
        " agent.model_config.heads={0[2]} agent.model_config.intermediate={0[3]}"
    ),
}
"""Number of a point -> its settings."""
MODELS = {
    width: (width, layers, width // 32, 2 * width)
    for width, layers in ((32, 2), (64, 2), (128, 4), (256, 4), (384, 6), (512, 8))
}
"""Width -> width, layers, heads and width of the feed-forward layers."""
SERIES: dict[str, Sequence[int]] = {
    "agents": (2, 4, 8, 16, 32, 64),
    "rounds": (1, 2, 4, 8, 16),
    "group": (2, 4, 8, 16, 32, 64),
    "message": (8, 16, 32, 64, 128),
    "model": tuple(MODELS),
}
"""Series -> its numbers."""
MIDDLE = {"agents": 4, "rounds": 2, "group": 8, "message": 16, "model": 128}
LABELS = {
    "agents": "agents",
    "rounds": "rounds",
    "group": "episodes of a group",
    "message": "tokens of a message",
    "model": "parameters",
}
COSTS = {
    "seconds": ("step_seconds", "bare_seconds"),
    "GB": ("gigabytes_beyond_model", "bare_gigabytes_beyond_model"),
}
"""Unit -> figure of `speed.json` of the step and of its bare calls."""
SHOWN = {"seconds": (0.07, 70), "GB": (0.007, 7)}
"""Unit -> ends of its axis, one for all series."""
YLABELS = {"seconds": "seconds of an update", "GB": "GB beyond the model's own"}
NAMES = ("step", "bare calls")
KEPT = ("parameters", *COSTS["seconds"], *COSTS["GB"], "environment_share", "repetitions")


def points() -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the series and the numbers of each point."""
    for series, values in SERIES.items():
        for value in values:
            yield series, {**MIDDLE, series: value}


def place(root: Path, point: dict[str, int]) -> Path:
    """Return the run folder of a point; series share the one of the middle."""
    return root / "-".join(f"{name}_{value}" for name, value in point.items())


def run(root: Path) -> None:
    """Measure all points that have no figures yet."""
    for _, point in points():
        folder = place(root, point)
        if (folder / "speed.json").exists():
            continue
        typed = {**point, "model": MODELS[point["model"]]}
        words = [*USUAL.split(), *(TYPED[name].format(typed[name]) for name in TYPED)]
        words = " ".join([*words, f"hydra.run.dir={folder}"]).split()
        print(folder.name, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "log.txt").open("w") as log:
            command = [sys.executable, "-m", "laconic", "measure-speed", *words]
            if subprocess.run(command, stdout=log, stderr=log, check=False).returncode:
                sys.exit(f"failed: {' '.join(command)}; see {folder / 'log.txt'}")


def collect(root: Path) -> None:
    """Write one row per point."""
    lines = []
    for series, point in points():
        figures = json.loads((place(root, point) / "speed.json").read_text("utf-8"))
        kept = {name: float(f"{figures[name]:.5g}") for name in KEPT}
        lines.append(json.dumps({"series": series, "value": point[series], **kept}) + "\n")
    (HERE / "growth.jsonl").write_text("".join(lines), "utf-8")


def of_series(series: str) -> tuple[list[float], list[Row]]:
    """Return the numbers that a series varies, and its rows."""
    rows = [row for row in read("growth") if row["series"] == series]
    return [row["parameters" if series == "model" else "value"] for row in rows], rows


def exponent(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the slope over the upper half, where what is spent once weighs little."""
    half = len(xs) // 2
    return float(np.polyfit(np.log(xs[half:]), np.log(np.maximum(ys[half:], 1e-6)), 1)[0])


def paint(*panels: Axes) -> None:
    """Draw seconds above and gigabytes below, one column per series."""
    for place, axes in enumerate(panels):
        unit = list(COSTS)[place // len(SERIES)]
        series = list(SERIES)[place % len(SERIES)]
        xs, rows = of_series(series)
        for name, key, color, shape in zip(NAMES, COSTS[unit], PALETTE, "os", strict=False):
            ys = [row[key] for row in rows]
            label = f"{name}, x^{exponent(xs, ys):.2f}"
            axes.plot(xs, ys, color=color, marker=shape, markersize=5, label=label)
        axes.set(xscale="log", yscale="log", ylabel=YLABELS[unit] if series == "agents" else "")
        axes.set_ylim(*SHOWN[unit])
        axes.legend(loc="upper left", borderaxespad=0.1)
        axes.grid(True, axis="both")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ticks = (1e5, 1e6, 1e7) if series == "model" else xs
        axes.set_xticks(ticks, [f"{x / 1e6:g} M" if x >= 1e5 else f"{x:g}" for x in ticks])
        axes.minorticks_off()
        if unit == "seconds":
            axes.set_title(LABELS[series])


def picture() -> None:
    """Draw all series."""
    PICTURE.write_bytes(draw(13, 5.2, len(SERIES) * len(COSTS), paint, rows=len(COSTS)))


def tables() -> None:
    """Print every point, then the exponents."""
    keys = [*COSTS["seconds"], *COSTS["GB"], "environment_share"]
    print(f"| series | number | {' | '.join(keys)} |\n|{'---|' * (len(keys) + 2)}")
    for series in SERIES:
        xs, rows = of_series(series)
        for x, row in zip(xs, rows, strict=True):
            print(f"| {series} | {x:g} | {' | '.join(f'{row[key]:.3g}' for key in keys)} |")
        slopes = (f"{exponent(xs, [row[key] for row in rows]):.2f}" for key in keys[:-1])
        print(f"| **{series}** | exponent | {' | '.join(slopes)} | |")


def main(action: str = "", *rest: str) -> None:
    """Run the action of the command line."""
    if action in ("run", "collect") and rest:
        {"run": run, "collect": collect}[action](Path(rest[0]).absolute())
    elif action in ("tables", "picture"):
        {"tables": tables, "picture": picture}[action]()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
