"""Runs whose episodes differ in what the viewer filters by."""

from __future__ import annotations

import json

import pytest
from made_runs import build_run, write_rows  # noqa: F401

CONFIG = "env:\n  reward:\n    price: 0.5\n    normalizer: 50\n    charge: own\n"


def episode(step, task, solved, texts, informed=(True, False)):
    """Make a row of two helpers and a solver, who say the texts."""
    helpers = zip(("helper_0", "helper_1"), texts, informed, strict=False)
    facts = [
        {"agent": a, "round": 0, "text": t, "tokens": len(t.split()), "informed": i, "read": "Sum?"}
        for a, t, i in helpers
    ]
    read = "\n".join(f"{fact['agent']}: {fact['text']}" for fact in facts if fact["text"])
    last = {"agent": "solver_0", "round": 1, "text": texts[2], "tokens": len(texts[2].split())}
    row = {"step": step, "task": task, "question": "Sum?", "statements": ["3 [b]and[/b] 4."]}
    messages = [*facts, {**last, "read": read}]
    tokens = sum(message["tokens"] for message in messages)
    graded = {"solved": solved, "score": float(solved), "answer": "7", "reference": "7"}
    return {**row, **graded, "messages": messages, "tokens_said": tokens}


ROWS = [
    episode(0, "a", True, ["I have 3 and 4", "Nothing here", "#### 7"]),
    episode(0, "b", False, ["", "", "#### 1"]),
    episode(4, "a", True, ["3 4", "", "#### 7"]),
    episode(4, "b", False, ["3 \x1b[31m4", "", "#### 1"]),
]


@pytest.fixture
def folder(tmp_path, write_rows):  # noqa: F811
    """Write two evaluations of two tasks: solved loudly, collapsed, solved, failed though told."""
    run = tmp_path / "mine"
    run.mkdir()
    (run / "config.yaml").write_text(CONFIG)
    (run / "status.json").write_text(json.dumps({"state": "running", "step": 4}))
    write_rows(run / "metrics.jsonl", [{"step": 1, "train/price": 0.1}, {"step": 4}])
    write_rows(run / "transcripts.jsonl", ROWS)
    return run
