"""Makes the shipped policies again: make policies ENVIRONMENTS="signal strategyqa".

For each environment, in turn:

1. A warm start runs 100 updates at a time, until an evaluation (every 50 updates) reaches the
   target of the recipe, or the updates of the recipe are done.
2. The first checkpoint that reached it is evaluated in single and in half precision. If none did,
   the last one is, and nothing is shipped: a row in `starts/unshipped.jsonl` has what it reaches.
3. Half precision is shipped if the figure changes by at most one point in a hundred.
4. The weights and their card are copied to `envs/library/<environment>/policy`.

It continues where it was stopped. Processor time is that of the programs that it starts.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cards import composed, recipe_command, write_card
from rows import HERE

from laconic import envs
from laconic.envs.registry import recipes
from laconic.experiments.run_folder.folder import read_rows
from laconic.learners.agents.recipes import SHIPPED
from laconic.learners.agents.tiny import TinyTeam

RECIPES = recipes()

FOLDER, UNSHIPPED = Path("outputs/policies"), HERE / "starts" / "unshipped.jsonl"
PORTION, EVERY = 100, 50
"""Updates of one start of the program, and between two evaluations."""
MOST = {"tldr": 0.03, "arxiv": 0.03, "coop_humaneval": 0.04, "coop_mbpp": 0.04}
"""Environment -> largest change of the figure by half precision, where its maximum is not 1."""
KEPT = ("accuracy", "score", "survived", "tokens_said", "silent_if_uninformed", "spoke_if_informed")
"""Figures of a card."""


def run(*arguments: str) -> float:
    """Run a program of Laconic; return its processor time in minutes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "laconic", *arguments], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 60


def first_good_step(name: str, folder: Path) -> int | None:
    """Return the first step with a checkpoint whose figure reaches the target; None without one."""
    recipe = RECIPES[name]
    for row in read_rows(folder / "evaluations.jsonl"):
        figure = row["intervals"].get(recipe.metric) or {"mean": 0.0}
        kept = (folder / "checkpoints" / f"step_{row['step']:08d}").is_dir()
        late = row["step"] and row["step"] >= recipe.first
        if late and kept and figure["mean"] >= recipe.target:
            return int(row["step"])
    return None


def warm_start(name: str) -> tuple[Path, int | None, int, float]:
    """Teach until the target is reached.

    Returns:
        The run folder, the step that reached it (None: no step did), the updates done, and the
        minutes of processor time.
    """
    recipe, folder = RECIPES[name], FOLDER / name / "start"
    steps = composed(name).train.steps
    spent = FOLDER / name / "minutes.json"
    minutes = json.loads(spent.read_text()) if spent.exists() else 0.0
    done = max((row["step"] for row in read_rows(folder / "metrics.jsonl")), default=0)
    while first_good_step(name, folder) is None and done < steps:
        done = min(done + PORTION, steps)
        minutes += run(
            "warm-start",
            *(f"env={name}", "threads=1", f"seed={recipe.seed}", f"train.steps={done}"),
            *(f"learner.decay_updates={steps}", f"train.evaluate_every={EVERY}"),
            *(f"train.checkpoint_every={EVERY}", f"evaluation.tasks={recipe.tasks}"),
            *("report=false", "resume=true", f"hydra.run.dir={folder}"),
        )
        spent.write_text(json.dumps(minutes))
    return folder, first_good_step(name, folder), done, minutes


def save(name: str, start: Path, step: int) -> Mapping[str, Path]:
    """Write the weights of a checkpoint in both precisions; return their folders."""
    environment = envs.make(name, tasks=1)
    policies = TinyTeam(str(start), step=step).policies(environment)
    policy = next(iter(policies.values()))
    folders = {kind: FOLDER / name / kind for kind in ("float32", "float16")}
    policy.save(folders["float32"])
    policy.model.half()
    policy.save(folders["float16"])
    return folders


def evaluate(name: str, weights: Path) -> Mapping[str, Mapping[str, float]]:
    """Return the intervals of the figures of some weights."""
    recipe, folder = RECIPES[name], weights.with_name(f"{weights.name}_evaluation")
    room = composed(name).agent.sampling.max_reply_tokens
    if not read_rows(folder / "evaluations.jsonl"):
        shutil.rmtree(folder, ignore_errors=True)
        run(
            *("evaluate", f"env={name}", f"agent.model={weights}", "threads=1"),
            *(f"agent.sampling.max_reply_tokens={room}", f"hydra.run.dir={folder}"),
            f"evaluation.tasks={recipe.final_tasks}",
        )
    figures: Mapping[str, Mapping[str, float]] = read_rows(folder / "evaluations.jsonl")[-1][
        "intervals"
    ]
    return figures


def ship(name: str) -> None:
    """Make the policy of an environment and copy it into the package."""
    recipe = RECIPES[name]
    start, good, done, minutes = warm_start(name)
    step = good or done
    folders = save(name, start, step)
    figures = {kind: evaluate(name, folder) for kind, folder in folders.items()}
    if good is None:
        reached = figures["float32"][recipe.metric]
        row = {"environment": name, "step": step, "minutes": round(minutes, 1), **reached}
        UNSHIPPED.parent.mkdir(exist_ok=True)
        with UNSHIPPED.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{name}: {recipe.metric} {reached['mean']:.3f} after {step} updates; none shipped")
        return
    values = [figures[kind][recipe.metric]["mean"] for kind in ("float32", "float16")]
    same = abs(values[0] - values[1]) <= MOST.get(name, 0.01)
    kind = "float16" if same else "float32"
    target = recipe.folder
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folders[kind], target)
    steps = composed(name).train.steps
    options = {"train.steps": step, "learner.decay_updates": steps}
    facts: dict[str, Any] = {
        "command": recipe_command(name, **options),
        "seed": recipe.seed,
        "minutes": round(minutes, 1),
        "step": step,
        "parameters": parameters_of(target),
        "precision": kind,
        "tasks": recipe.final_tasks,
        "figures": {
            key: round(figures[kind][key]["mean"], 4) for key in KEPT if key in figures[kind]
        },
    }
    write_card(target, name, facts)
    size = sum(path.stat().st_size for path in target.iterdir()) / 1e6
    print(f"{name}: step {step}, {recipe.metric} {values[0]:.3f} and {values[1]:.3f} in half"
          f" precision, {size:.1f} MB, {minutes:.0f} minutes")  # fmt: skip


def parameters_of(folder: Path) -> int:
    """Return the number of parameters of saved weights."""
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "pt") as weights:
        return sum(weights.get_tensor(key).numel() for key in weights.keys())  # noqa: SIM118


def main(names: Sequence[str]) -> None:
    """Make the policies of some environments; those of all but the first if none is named."""
    for name in names or [name for name, each in RECIPES.items() if each.folder != SHIPPED]:
        ship(name)


if __name__ == "__main__":
    main(sys.argv[1:])
