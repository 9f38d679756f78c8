"""An update passes through few modules and functions, so that a reader can follow it."""

from __future__ import annotations

from update_path import SETTINGS, recorded

MODULES, FUNCTIONS = 32, 210


def test_an_update_passes_few_modules_and_functions(run, rows, tmp_path):
    with recorded() as passed:
        outcome = run("train", *SETTINGS, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    assert rows(tmp_path / "run" / "metrics.jsonl")[2]["learner/grad_norm"] > 0
    modules = sorted({module for module, _ in passed})
    # The first and the last part of the way are there.
    assert ("/experiments/train.py", "update") in passed
    assert "/learners/training/trainer.py" in modules and "/envs/dialogue/team.py" in modules
    assert "/learners/training/logprobs.py" in modules
    assert len(modules) <= MODULES, modules
    assert len(passed) <= FUNCTIONS, sorted(passed)
