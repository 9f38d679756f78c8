"""Trains each shipped policy for three minutes, three seeds: make evidence-three-minutes.

    three_minutes.py [environment ...] [price=<price>]

One row per run goes to `starts/three_minutes.jsonl`, at another price than the default to
`starts/three_minutes_price_<price>.jsonl`. Runs that have a row are not repeated; a run
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

from laconic.experiments.run_folder import provenance
from laconic.experiments.run_folder.folder import read_rows
from laconic.learners.agents.recipes import RECIPES, shipped

FOLDER = Path("outputs/three_minutes")
SEEDS = (1, 2, 3)
SAMPLED_UPDATES = 5
"""Updates at either end of a training over which its episodes are averaged."""


def train(name: str, seed: int, price: str) -> dict[str, object]:
    """Train one policy for three minutes, at a price unless it is empty, and return its row."""
    folder = FOLDER / price / name / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    settings = [f"env={name}", "train.minutes=3", f"seed={seed}", f"hydra.run.dir={folder}"]
    settings += [f"env.reward.price={price}", "env.reward.normalizer=50"] if price else []
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


def main(words: Sequence[str]) -> None:
    """Run the seeds of some environments that have no row; all shipped ones if none is named."""
    price = next((word.partition("=")[2] for word in words if word.startswith("price=")), "")
    names = [word for word in words if "=" not in word]
    target = HERE / "starts" / f"three_minutes{price and f'_price_{price}'}.jsonl"
    target.parent.mkdir(exist_ok=True)
    lines = target.read_text("utf-8").splitlines() if target.exists() else []
    done = {(row["environment"], row["seed"]) for row in map(json.loads, lines)}
    chosen = names or [name for name in RECIPES if shipped(name)]
    for seed in SEEDS:
        for name in chosen:
            if (name, seed) in done:
                continue
            row = train(name, seed, price)
            with target.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
