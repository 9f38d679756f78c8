"""An update passes through few modules and functions, so that a reader can follow it."""

from __future__ import annotations

import sys
import threading

from places import ROOT

from laconic.experiments import train

MODULES, FUNCTIONS = 32, 210


def test_an_update_passes_few_modules_and_functions(run, rows, tmp_path, monkeypatch):
    root, update = str(ROOT), train.update
    called, before_last_step = set(), set()

    def watch(frame, event, argument):
        code = frame.f_code
        if event != "call":
            return
        if code.co_name == "step" and "/torch/optim/" in code.co_filename:
            before_last_step.update(called)
        path, name = code.co_filename.partition(root)[2], code.co_qualname
        # Comprehensions, lambdas and generator expressions belong to their functions.
        if path and "site-packages" not in path and not name.endswith(">"):
            called.add((path.removeprefix("/src/laconic"), name))

    def profiled(state, step):
        if step != 2:
            return update(state, step)
        threading.setprofile(watch)
        sys.setprofile(watch)
        try:
            return update(state, step)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    monkeypatch.setattr(train, "update", profiled)
    settings = ["seed=0", "threads=1", "train.steps=2", "train.tasks_per_step=2"]
    settings += ["train.group_size=4", "env.tasks=20", "evaluation.tasks=2", "report=false"]
    outcome = run("train", *settings, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    # Whole replies solve some tasks. Without a contrast there is no loss, and half of the way.
    assert rows(tmp_path / "run" / "metrics.jsonl")[2]["learner/grad_norm"] > 0
    modules = sorted({module for module, _ in before_last_step})
    # The first and the last part of the way are there.
    assert ("/experiments/train.py", "update") in before_last_step
    assert "/learners/training/trainer.py" in modules and "/envs/dialogue/team.py" in modules
    assert "/learners/training/logprobs.py" in modules
    assert len(modules) <= MODULES, modules
    assert len(before_last_step) <= FUNCTIONS, sorted(before_last_step)
