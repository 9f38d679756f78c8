"""Read and write the folder of one run: its configuration, its rows of figures, its status.

    config.yaml         composed configuration, with resolved references
    metrics.jsonl       one flat object per step
    evaluations.jsonl   one flat object per evaluation
    transcripts.jsonl   one object per recorded transcript
    episodes.jsonl      one object per finished episode, written by `laconic evaluate`
    replies.jsonl       one object per reply of a model server, written by `laconic evaluate`
    <name>.jsonl        rows of a hook after an evaluation (`append_row`)
    status.json         state, step, processes and warnings, replaced as a whole
    provenance.json     processes that wrote the folder: see `experiments.run_folder.provenance`
    topology.txt        learned topology as an override (`learner/topology=edges`)
    checkpoints/        see `learners.checkpoint`
    policy/             trained weights, their model card, and the folder of each agent's policy

Every row carries its `step`, so that a resumed run can drop the rows after its checkpoint. Numbers
that are not finite are written as null, because strict JSON has no other way.
One process writes to a run folder (`experiments.command_line.lock`).
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from omegaconf import DictConfig, OmegaConf

import laconic
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.echo import echo
from laconic.experiments.command_line.gone import GONE
from laconic.experiments.run_folder import provenance
from laconic.experiments.run_folder.foreign import NAMES, read_config
from laconic.learners.distributed.processes import Processes
from laconic.learners.untrusted_files import (
    MAX_ROWS,
    aside_of,
    parse_json,
    read_text,
    sweep,
)

MAY_DIFFER = (
    "resume",
    "train.steps",
    "train.minutes",
    "learner.decay_updates",
    "learner.*guard",
    "logger",
    "callbacks",
    "sweep_metric",
    "report",
    "env.max_rounds",
    # They save memory or suit another machine; weights may differ in their last digits.
    "threads",
    "train.checkpoint_every",
    "learner.*microbatch_tokens",
    "agent.*generate_tokens",
    "agent.*gradient_checkpointing",
    # Settings of the server.
    *(f"engine.{name}" for name in ("url", "start", "start_seconds", "program", "arguments")),
    *(f"engine.{name}" for name in ("environment", "folder", "concurrency")),
    *(f"engine.{name}_seconds" for name in ("timeout", "patience")),
)
"""Config keys, with all below them, that a resumed run may change."""
NO_NAMES: Mapping[str, str] = MappingProxyType({})
TOPOLOGY = "topology.txt"
"""File with the override that sets a learned topology."""


class RunFolder:
    """Files of one run."""

    def __init__(self, path: str | Path) -> None:
        """Create the folder if it is missing.

        Raises:
            SettingError: the folder cannot be created or written to.
        """
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.metrics = self.path / "metrics.jsonl"
        self.evaluations = self.path / "evaluations.jsonl"
        self.transcripts = self.path / "transcripts.jsonl"
        self.groups = self.path / "groups.jsonl"
        self.episodes = self.path / "episodes.jsonl"
        self.replies = self.path / "replies.jsonl"
        self._began = time.monotonic()
        self._provenance: list[dict[str, Any]] = []
        probe = self.path / aside_of("probe")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise SettingError(
                f"run folder {str(self.path)!r} cannot be written to: {error.strerror};"
                " pass another folder with hydra.run.dir=<folder>"
            ) from error

    def start(
        self,
        cfg: DictConfig,
        resume: bool,
        may_differ: Sequence[str] = MAY_DIFFER,
        names: Mapping[str, str] = NO_NAMES,
    ) -> bool:
        """Begin or resume a run, and save its configuration.

        Args:
            cfg: configuration; for a resumed run, it is compared with the saved one.
            resume: True to continue the run in the folder.
            may_differ: config keys and groups that may have changed; `*` matches any part of a key.
            names: names of the parts, saved under `names` for tables of several runs.

        Returns:
            True if a run is resumed. `resume` in a folder without a run (one killed before it wrote
            a file) begins a new run and returns False.

        Raises:
            SettingError: the folder holds a run and `resume` is false, the settings differ, or
                the folder has another format.
        """
        resumed = resume and (self.path / "config.yaml").exists()
        if resumed:
            self.check_config(cfg, may_differ)
        elif self.metrics.exists() and not resume:
            raise SettingError(
                f"run folder {str(self.path)!r} already holds a run; pass resume=true to continue"
                " it, or another folder with hydra.run.dir=<folder>"
            )
        resolved = OmegaConf.to_container(cfg, resolve=True)
        if names and isinstance(resolved, dict):
            resolved[NAMES] = dict(names)
        write_atomically(self.path / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(resolved)))
        self._provenance = [*provenance.read(self.path), provenance.describe_process()]
        self._write_provenance()
        return resumed

    def check_config(self, cfg: DictConfig, may_differ: Sequence[str] = MAY_DIFFER) -> None:
        """Compare with the saved configuration, except for the keys of `may_differ`.

        Raises:
            SettingError: lists every key that differs with its old and new value.
        """
        old = flatten({key: value for key, value in read_config(self.path).items() if key != NAMES})
        new = flatten(OmegaConf.to_container(cfg, resolve=True))
        changed = {
            key: f"{key}: was {_shown(old, key)}, now {_shown(new, key)}"
            for key in sorted(old.keys() | new.keys())
            if key not in old or key not in new or old[key] != new[key]
        }
        lines = [f"  {line}" for key, line in changed.items() if not _is_free(key, may_differ)]
        if lines:
            lines += [f"  {advice}" for key, advice in GONE.items() if key in old]
            raise SettingError(
                f"the run in {str(self.path)!r}, written by {provenance.writer(self.path)}, has"
                " another configuration:\n"
                + "\n".join(lines)
                + "\nresume=true continues with the same settings (only "
                + ", ".join(may_differ)
                + " may change); restore these or start a new run with hydra.run.dir=<folder>"
            )
        if notes := [line for key, line in changed.items() if key != "resume"]:
            echo(f"continues with other settings: {'; '.join(notes)}")

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Add the figures of one step; `row` holds a `step`."""
        _append(self.metrics, (row,))

    def append_evaluation(self, row: Mapping[str, Any]) -> None:
        """Add the figures of one evaluation; `row` holds a `step`."""
        _append(self.evaluations, (row,))

    def append_transcripts(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add transcripts; each row holds a `step`."""
        _append(self.transcripts, rows)

    def append_row(self, name: str, row: Mapping[str, Any]) -> None:
        """Add a row to a file of this name, ending in `.jsonl`; `row` holds a `step`."""
        _append(self.path / name, (row,))

    def append_group(self, row: Mapping[str, Any]) -> None:
        """Add a training group with its advantages; `row` holds a `step`."""
        _append(self.groups, (row,))

    def append_episode(self, row: Mapping[str, Any]) -> None:
        """Add a finished episode; `row` holds a `step`."""
        _append(self.episodes, (row,))

    def append_reply(self, row: Mapping[str, Any]) -> None:
        """Add a reply of a model server; `row` holds a `step`."""
        _append(self.replies, (row,))

    @property
    def _rewound(self) -> tuple[Path, ...]:
        """Return the files whose rows a resumed run drops after its checkpoint."""
        own = (self.metrics, self.evaluations, self.transcripts, self.groups)
        others = {*self.path.glob("*.jsonl")} - {*own, self.episodes, self.replies}
        return *own, *(path for path in sorted(others) if next(_lines(path), None))

    def rewind(self, step: int) -> None:
        """Drop all rows after a step (-1: every row), and lines that a kill left incomplete."""
        for path in self._rewound:
            drop_rows(path, step)

    def sync(self) -> None:
        """Flush all rows to disk, because a checkpoint relies on them."""
        for path in self._rewound:
            if path.exists():
                with open(path, "rb") as file:
                    os.fsync(file.fileno())

    def write_status(
        self,
        state: str,
        step: int,
        warnings: Sequence[str] = (),
        processes: int = 1,
        ended_by: str = "",
    ) -> None:
        """Replace `status.json`.

        Args:
            state: "running", "finished", "interrupted" or "failed".
            step: number of updates done.
            warnings: warnings of the run.
            processes: number of processes that train together.
            ended_by: config key of the limit or guard that ended the run before its last step.
        """
        status = {
            "state": state,
            "step": step,
            "processes": processes,
            "warnings": list(warnings),
            **({"ended_by": ended_by} if ended_by else {}),
            "version": laconic.__version__,
        }
        write_atomically(self.path / "status.json", json.dumps(status, indent=2) + "\n")
        if self._provenance:
            self._write_provenance()

    def _write_provenance(self) -> None:
        self._provenance[-1]["seconds"] = round(time.monotonic() - self._began, 1)
        text = json.dumps(self._provenance, indent=2) + "\n"
        write_atomically(self.path / provenance.NAME, text)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON Lines file of a run, without lines that a kill left incomplete.

    A missing file has no rows.

    Raises:
        SettingError: the file is a link, not a regular file, or too large.
    """
    try:
        return [row for _, row in _lines(path)] if os.path.lexists(path) else []
    except OSError as error:
        raise SettingError(f"{str(path)!r} cannot be read: {error.strerror}") from error


def drop_rows(path: Path, step: float = math.inf) -> None:
    """Drop the rows of a JSON Lines file after a step, and lines that a kill left incomplete."""
    if path.exists():
        lines = (line for line, row in _lines(path) if row["step"] <= step)
        write_atomically(path, "".join(f"{line}\n" for line in lines))


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new, never a part."""
    aside = path.with_name(aside_of(path.name))
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sweep(folder)
    finally:
        os.close(folder)
    try:
        with open(aside, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return the leaves of a configuration by dotted key; lists and empty mappings are leaves."""
    if not isinstance(value, dict) or (prefix and not value):
        return {prefix: value}
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        flat |= flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    return flat


def _append(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    lines = []
    for row in rows:
        if not isinstance(row.get("step"), int):
            raise SettingError(f"a row of {path.name} needs its step as an int; got {row!r}")
        lines.append(json.dumps(strict(row), allow_nan=False) + "\n")
    with open(path, "a", encoding="utf-8") as file:
        file.write("".join(lines))


def strict(value: Any) -> Any:
    """Convert a value to JSON types; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {str(key): strict(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield complete lines with their rows, and skip lines without JSON or a line end."""
    for line in read_text(path, MAX_ROWS).split("\n")[:-1]:
        try:
            row = parse_json(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            yield line, row


def _is_free(key: str, may_differ: Sequence[str]) -> bool:
    """Return whether a resumed run may change a config key."""
    return any(fnmatch(key, free) or fnmatch(key, f"{free}.*") for free in may_differ)


def _shown(flat: Mapping[str, Any], key: str) -> str:
    return repr(flat[key]) if key in flat else "absent"


@contextmanager
def main_process_folder(path: str, processes: Processes) -> Iterator[RunFolder]:
    """Yield the run folder on the main process, and a temporary folder on every other process.

    All processes write the same files, and only those of the main process remain.
    """
    if processes.is_main:
        yield RunFolder(path)
        return
    with suppress(OSError):
        # The empty folder that Hydra made for this process; that of the main process is not empty.
        Path(path).rmdir()
    with TemporaryDirectory(prefix="laconic-") as scratch:
        yield RunFolder(scratch)
