"""Trains each shipped policy for three minutes, three seeds: make evidence-three-minutes.

One row per run goes to `starts/three_minutes.jsonl`. Runs that have a row are not repeated; a run
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

from rows import HERE

from laconic.experiments.run_folder import provenance
from laconic.experiments.run_folder.folder import read_rows
from laconic.learners.agents.recipes import RECIPES, shipped

FOLDER, ROWS = Path("outputs/three_minutes"), HERE / "starts" / "three_minutes.jsonl"
SEEDS = (1, 2, 3)


def train(name: str, seed: int) -> dict[str, object]:
    """Train one policy for three minutes and return its row."""
    folder = FOLDER / name / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    settings = [f"env={name}", "train.minutes=3", f"seed={seed}", f"hydra.run.dir={folder}"]
    subprocess.run([sys.executable, "-m", "laconic", "train", *settings], check=True)
    seconds = time.monotonic() - began
    before, *_, after = read_rows(folder / "evaluations.jsonl")
    entry = provenance.read(folder)[-1]
    return {
        "environment": name,
        "seed": seed,
        "updates": after["step"],
        "seconds": round(seconds, 1),
        "episodes": after["episodes"],
        "before": before["intervals"],
        "after": after["intervals"],
        "commit": entry["commit"],
        "device": entry["device"],
    }


def main(names: Sequence[str]) -> None:
    """Run the seeds of some environments that have no row; all shipped ones if none is named."""
    ROWS.parent.mkdir(exist_ok=True)
    lines = ROWS.read_text("utf-8").splitlines() if ROWS.exists() else []
    done = {(row["environment"], row["seed"]) for row in map(json.loads, lines)}
    chosen = names or [name for name in RECIPES if shipped(name)]
    for seed in SEEDS:
        for name in chosen:
            if (name, seed) in done:
                continue
            row = train(name, seed)
            with ROWS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
