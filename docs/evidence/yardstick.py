"""Compares six teams in every environment: make evidence-yardstick.

One command per environment, `laconic compare`. One row per entry goes to `starts/yardstick.jsonl`;
environments with rows are not repeated.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rows import HERE
from starts import ENTRIES

from laconic.envs.registry import recipes
from laconic.experiments.run_folder.folder import read_rows
from laconic.learners.commands import command

RECIPES = recipes()

FOLDER, ROWS = Path("outputs/yardstick"), HERE / "starts" / "yardstick.jsonl"


def comparison(name: str) -> list[str]:
    """Return the arguments of the comparison of an environment."""
    tasks = min(RECIPES[name].final_tasks, 200)
    settings = [f"env={name}", f"entry=[{','.join(ENTRIES)}]", "compare.equal=false", "threads=1"]
    folder = [f"hydra.run.dir={FOLDER / name}", "resume=true"]
    return ["compare", *settings, f"evaluation.tasks={tasks}", *folder]


def main(names: Sequence[str]) -> None:
    """Compare in some environments that have no rows; in all if none is named."""
    ROWS.parent.mkdir(exist_ok=True)
    lines = ROWS.read_text("utf-8").splitlines() if ROWS.exists() else []
    done = {row["environment"] for row in map(json.loads, lines)}
    for name in names or RECIPES:
        if name in done:
            continue
        arguments = comparison(name)
        subprocess.run([sys.executable, "-m", "laconic", *arguments], check=True)
        rows = []
        for entry in ENTRIES:
            evaluations = read_rows(FOLDER / name / entry / "evaluations.jsonl")
            if evaluations:
                last = evaluations[-1]
                facts = {"environment": name, "entry": entry, "episodes": last["episodes"]}
                # Without the folder.
                typed = command(*arguments[:-2])
                rows.append({**facts, "command": typed, "figures": last["intervals"]})
        with ROWS.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main(sys.argv[1:])
