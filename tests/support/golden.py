"""Records what five small trainings give, and compares a later tree with it, bit for bit.

    python tests/support/golden.py record <file> [run ...]
    python tests/support/golden.py compare <file> [run ...]

A change that is meant to be neutral leaves them equal: all rows but seconds and memory, and the
weights. The figures depend on the machine and its torch, so the file is recorded on the tree before
the change and is not part of the project.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runs import Processes, read

SMALL = [
    "seed=0",
    "threads=1",
    "report=false",
    "logger=none",
    "env.tasks=24",
    "train.steps=5",
    "train.tasks_per_step=2",
    "train.group_size=4",
    "train.checkpoint_every=2",
    "evaluation.tasks=4",
]
# Each in one process after the other; a list of several resumes what the first has left.
RUNS: dict[str, list[list[str]]] = {
    "quickstart": [[]],
    "magrpo": [["env=tldr", "learner=magrpo", "agent.sampling.max_reply_tokens=24"]],
    "mappo": [["env=signal", "learner=mappo"]],
    "lora": [["agent.sharing=lora", "agent.lora.rank=4"]],
    "resumed": [["train.steps=3"], ["train.steps=5", "resume=true"]],
}
COSTS = ("time/", "memory/")


def play(name: str, processes: Processes, folder: Path) -> dict[str, Any]:
    """Make one of the runs; return its rows and the digests of its other files."""
    for part in RUNS[name]:
        outcome = processes.run("train", *SMALL, *part, f"hydra.run.dir={folder}")
        if outcome.code != 0:
            raise SystemExit(f"{name}: the training failed\n{outcome.err}")
    rows = [
        {key: value for key, value in row.items() if not key.startswith(COSTS)}
        for row in read(folder / "metrics.jsonl")
    ]
    # A run without a gradient shows nothing of a loss.
    if not all(row["learner/grad_norm"] > 0 for row in rows[1:]):
        raise SystemExit(f"{name}: an update had no gradient; choose sizes that learn")
    return {"rows": rows, "files": dict(_digests(folder))}


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the digest of each file of weights, and of what was played in the evaluations."""
    logs = [folder / "evaluations.jsonl", folder / "transcripts.jsonl"]
    for path in [*logs, *sorted((folder / "policy").rglob("*.safetensors"))]:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        yield path.relative_to(folder).as_posix(), digest


def differences(name: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """Yield what differs between two makings of a run."""
    for old, new in zip(before["rows"], after["rows"], strict=True):
        for key in sorted(old.keys() | new.keys()):
            # As text, since NaN differs from itself.
            was, now = (json.dumps(row.get(key)) for row in (old, new))
            if was != now:
                yield f"{name}: step {old['step']}: {key} was {was}, is {now}"
    for file in sorted(before["files"].keys() | after["files"].keys()):
        if before["files"].get(file) != after["files"].get(file):
            yield f"{name}: {file} differs"


def main(action: str, file: str, *names: str) -> None:
    """Record the runs, or compare them with what a file has; all unless some are named."""
    recorded = json.loads(Path(file).read_text()) if Path(file).exists() else {}
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        processes = Processes(Path(temporary))
        for name in names or RUNS:
            after = play(name, processes, Path(temporary) / name)
            if action == "record":
                recorded[name] = after
            else:
                found += differences(name, recorded[name], after)
            print(f"{name}: {len(after['rows']) - 1} updates", flush=True)
        processes.close()
    if action == "record":
        Path(file).write_text(json.dumps(recorded, indent=1))
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("record", "compare"):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
