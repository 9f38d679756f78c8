"""Trains shipped policies for three minutes, three seeds: make evidence-three-minutes.

    three_minutes.py [environment ...]

One row per run goes to `starts/three_minutes.jsonl`; without a name, those of environments that
charge nothing. Runs that have a row are not repeated; a run
that was stopped starts again, because its time is what is measured.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from rows import HERE

from laconic.envs.registry import recipes
from laconic.experiments.run_folder import provenance
from laconic.experiments.run_folder.folder import read_rows

RECIPES = recipes()

FOLDER = Path("outputs/three_minutes")
SEEDS = (1, 2, 3)
FREE = ("arxiv", "coop_humaneval", "coop_mbpp", "tldr")
"""Environments that charge nothing; `price.py` has the others."""
SAMPLED_UPDATES = 5
"""Updates at either end of a training over which its episodes are averaged."""


def train(name: str, seed: int) -> dict[str, object]:
    """Train one policy for three minutes, and return its row."""
    folder = FOLDER / name / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    settings = [f"env={name}", "train.minutes=3", f"seed={seed}", f"hydra.run.dir={folder}"]
    subprocess.run([sys.executable, "-m", "laconic", "train", *settings], check=True)
    seconds = time.monotonic() - began
    before, *_, after = read_rows(folder / "evaluations.jsonl")
    entry = provenance.read(folder)[-1]
    first, last = sampled(folder, RECIPES[name].metric)
    return {
        "environment": name,
        "seed": seed,
        "updates": after["step"],
        "seconds": round(seconds, 1),
        "episodes": after["episodes"],
        "before": before["intervals"],
        "after": after["intervals"],
        "evaluations": {"before": before, "after": after},
        "sampled": {"first": first, "last": last},
        "commit": entry["commit"],
        "device": entry["device"],
    }


def sampled(folder: Path, metric: str) -> tuple[float, float]:
    """Return the means of a metric of training episodes over the first and the last updates."""
    rows = read_rows(folder / "metrics.jsonl")
    values = [row[f"train/{metric}"] for row in rows if f"train/{metric}" in row]
    count = min(SAMPLED_UPDATES, len(values) // 2)
    return fmean(values[:count]), fmean(values[-count:])


def main(names: Sequence[str]) -> None:
    """Run the seeds of some environments that have no row."""
    target = HERE / "starts" / "three_minutes.jsonl"
    target.parent.mkdir(exist_ok=True)
    lines = target.read_text("utf-8").splitlines() if target.exists() else []
    done = {(row["environment"], row["seed"]) for row in map(json.loads, lines)}
    chosen = names or FREE
    for seed in SEEDS:
        for name in chosen:
            if (name, seed) in done:
                continue
            row = train(name, seed)
            with target.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
