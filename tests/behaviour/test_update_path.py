"""An update passes through few modules and functions, so that a reader can follow it."""

from __future__ import annotations

import json
import subprocess
import sys

from places import ROOT

MODULES, FUNCTIONS = 32, 210

PROGRAM = """
import json, sys, threading
import laconic.experiments.train as train

root, update = sys.argv.pop(), train.update


def profiled(run, step):
    if step != 2:
        return update(run, step)
    called, before_last_step = set(), set()

    def watch(frame, event, argument):
        code = frame.f_code
        if event != "call":
            return
        if code.co_name == "step" and "/torch/optim/" in code.co_filename:
            before_last_step.update(called)
        path, _, name = code.co_filename.partition(root)[2], "", code.co_qualname
        # Comprehensions, lambdas and generator expressions belong to their functions.
        if path and "site-packages" not in path and not name.endswith(">"):
            called.add((path.removeprefix("/src/laconic"), name))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        return update(run, step)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        print("PATH", json.dumps(sorted(before_last_step)))


train.update = profiled
train.main()
"""


def test_an_update_passes_few_modules_and_functions(tmp_path):
    settings = ["seed=0", "threads=1", "train.steps=2", "train.tasks_per_step=2"]
    settings += ["evaluation.tasks=2", "report=false", f"hydra.run.dir={tmp_path}/run"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *settings, str(ROOT)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("PATH ")]
    functions = [tuple(pair) for pair in json.loads(line.removeprefix("PATH "))]
    modules = sorted({module for module, _ in functions})
    # The first and the last part of the way are there.
    assert ("/experiments/train.py", "update") in functions
    assert "/learners/training/trainer.py" in modules and "/envs/dialogue/team.py" in modules
    assert len(modules) <= MODULES, modules
    assert len(functions) <= FUNCTIONS, functions
