"""Checkpoints that are complete or absent.

A checkpoint is a folder `step_00000010` with `state.pt` and `manifest.json`. The manifest has the
version that wrote it, the step, and the size and SHA-256 of every other file, so damage is found
before anything is loaded. A checkpoint is written to a hidden folder beside its place, flushed to
disk, and renamed: a kill or a power cut leaves all of it or nothing. One run at a time writes to a
folder of checkpoints; any number read. With sharded weights each process writes its own part into
`shards/` (`learners.distributed.sharding`); no process holds all of them.

A state is nested dicts, lists and tuples of tensors and plain values.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

import laconic
from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.errors import CheckpointError
from laconic.learners.untrusted_files import find_unsafe_path, is_running, read_json

log = logging.getLogger(__name__)

_COMPLETE = re.compile(r"step_(\d{8,})(\.old)?")
"""Names of checkpoints; one that is being replaced is `.old`."""
_ASIDE = re.compile(r"\.step_\d{8,}\.(\d+)\.tmp")
"""Names of hidden folders, with the process that writes them."""
_SHARDS = "shards"
_MAPPINGS = (dict, OrderedDict)
_SEQUENCES = (list, tuple)
_PLAIN = (bool, int, float, str, bytes, type(None))


def save(
    folder: Path,
    step: int,
    state: Mapping[str, Any],
    keep: int = 2,
    processes: Processes = SINGLE_PROCESS,
) -> Path:
    """Write one checkpoint, remove those that are no longer needed, and return its folder.

    Args:
        folder: folder of all checkpoints of a run; created when missing.
        step: learner updates done so far. A checkpoint of the same step is replaced. Those of later
            steps belong to a course that the run has left, and are removed.
        state: dicts (keys str or int), lists and tuples of tensors, numbers, str, bytes and None.
        keep: newest checkpoints that stay, this one included; at least 1.
        processes: processes that write it together. All must call this; the main one writes
            everything except shards.

    Raises:
        CheckpointError: the disk is full or refuses; earlier checkpoints are untouched.
        SettingError: `keep` is below 1, a value in `state` could not be loaded again, or `folder`
            is a link.
    """
    if keep < 1:
        raise SettingError(f"keep must be at least 1, the checkpoint just written; got {keep!r}")
    needed = _count_bytes(state, "state")
    target = folder / f"step_{step:08d}"
    aside = folder / f".step_{step:08d}.{processes.first(os.getpid())}.tmp"
    files = ["state.pt"]
    try:
        processes.main(partial(_make_folders, folder, aside))
        if processes.sharded:
            from laconic.learners.distributed import sharding

            state, shards = sharding.take_shards(state)
            names = sharding.write(aside / _SHARDS, shards) if shards else []
            files += [f"{_SHARDS}/{name}" for name in names]
        processes.main(partial(_publish, aside, target, step, state, files))
    except OSError as error:
        raise CheckpointError(_refusal(folder, step, needed, error)) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    processes.main(partial(_remove_old, folder, step, keep))
    return target


def want_of_space(folder: Path, state: Mapping[str, Any], coming: int, keep: int = 2) -> str | None:
    """Return a warning if the disk has too little space for the checkpoints to come, else None.

    Args:
        folder: folder of the checkpoints; it need not exist.
        state: a state as large as theirs.
        coming: checkpoints still to be written.
        keep: newest ones that stay; the next is written before the oldest is removed.

    Raises:
        SettingError: a value in `state` could not be loaded again.
    """
    at_once = min(coming, keep + 1)
    needed, free = at_once * _count_bytes(state, "state"), _free_bytes(folder)
    if needed <= free:
        return None
    return (
        f"checkpoints need {needed:,} bytes of disk space, {at_once} at a time, and {free:,} are"
        f" free at {str(folder)!r}. Free some space; the run ends at the first that does not fit"
    )


def latest(folder: Path) -> Path | None:
    """Return the newest complete checkpoint, or None; warn about damaged ones.

    Reads only, so it is safe beside a process that is writing.
    """
    for path in _newest_first(folder):
        damage = find_damage(path)
        if damage is None:
            return path
        log.warning("checkpoint %s is damaged and passed over: %s", path, damage)
    return None


def load(path: Path, processes: Processes = SINGLE_PROCESS) -> dict[str, Any]:
    """Return the state of a checkpoint folder, tensors on the CPU, or as shards if weights are.

    All processes must call it.

    Raises:
        CheckpointError: the checkpoint is damaged or missing, or has another form.
    """
    damage = processes.main(partial(find_damage, path))
    if damage is None:
        try:
            state = torch.load(path / "state.pt", map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises anything for a file that it did not write.
            damage = f"state.pt is not a state ({type(error).__name__})"
        else:
            if type(state) not in _MAPPINGS:
                damage = f"state.pt holds {type(state).__name__}, expected dict"
            elif not (path / _SHARDS).is_dir():
                return dict(state)
            else:
                from laconic.learners.distributed import sharding

                try:
                    return dict(sharding.read(path / _SHARDS, dict(state), processes))
                except OSError as error:
                    damage = str(error)
    raise CheckpointError(
        f"checkpoint {str(path)!r} cannot be read: {damage}; take another one of"
        f" {str(path.parent)!r} or start the run anew"
    )


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """Name the version that wrote a checkpoint if its state does not fit this run.

    Raises:
        CheckpointError: the state has other keys, types or shapes than are needed. A `SettingError`
            passes unchanged.
    """
    try:
        yield
    except SettingError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        wrote = dict(read_json(path / "manifest.json")).get("version", "before 0.2")
        raise CheckpointError(
            f"checkpoint {str(path)!r} has another form than this run ({type(error).__name__}:"
            f" {reason}); laconic {wrote} wrote it, this is {laconic.__version__}: continue with"
            " the version and the settings that wrote it, or start a new run with"
            " hydra.run.dir=<folder>"
        ) from error


def find_damage(path: Path) -> str | None:
    """Describe the damage of a checkpoint; None if every file is as its manifest says."""
    try:
        manifest = dict(read_json(path / "manifest.json"))
        step, files = int(manifest["step"]), dict(manifest["files"])
        if _step_of(path) != step:
            return f"the manifest is of step {step}"
        if problem := find_unsafe_path(path):
            return problem
        for name, expected in files.items():
            if Path(name).is_absolute() or ".." in Path(name).parts:
                return f"the manifest names {name!r}, which lies elsewhere"
            if (size := (path / name).stat().st_size) != expected["bytes"]:
                return f"{name} has {size} bytes, expected {expected['bytes']}"
            if _sha256(path / name) != expected["sha256"]:
                return f"the content of {name} has changed"
    except OSError as error:
        return f"{error.filename} cannot be read ({error.strerror})"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return f"manifest.json is not a manifest ({error!r})"
    return None if "state.pt" in files else "the manifest names no state.pt"


def _make_folders(folder: Path, aside: Path) -> None:
    """Make the hidden folder, and remove those of processes that ended while they were saving."""
    if folder.is_symlink():
        raise SettingError(f"checkpoints are not written through the link {str(folder)!r}")
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        match = _ASIDE.fullmatch(path.name)
        if match and (int(match[1]) == os.getpid() or not is_running(int(match[1]))):
            shutil.rmtree(path, ignore_errors=True)
    aside.mkdir()


def _publish(
    aside: Path, target: Path, step: int, state: Mapping[str, Any], files: Iterable[str]
) -> None:
    """Write state and manifest into the hidden folder, flush it to disk, and put it in its place.

    A shard of another process that this one cannot see is an `OSError`.
    """
    _save_state(state, aside / "state.pt")
    entries = {
        name: {"bytes": (aside / name).stat().st_size, "sha256": _sha256(aside / name)}
        for name in files
    }
    manifest = {"version": laconic.__version__, "step": step, "files": entries}
    (aside / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    for path in (*aside.iterdir(), aside):
        _flush(path)
    _put_in_place(aside, target)


def _put_in_place(aside: Path, target: Path) -> None:
    """Rename; a checkpoint of the same step is `.old` meanwhile, which `latest` reads too."""
    old = target.with_name(target.name + ".old")
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.rename(target, old)
    os.rename(aside, target)
    _flush(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _save_state(state: Mapping[str, Any], path: Path) -> None:
    """Call `torch.save`, but raise the disk's own error, which torch's writer would hide."""
    errors: list[OSError] = []
    with open(path, "wb") as file:

        def write(data: Any) -> int:
            try:
                return file.write(data)
            except OSError as error:
                errors.append(error)
                raise

        try:
            torch.save(dict(state), SimpleNamespace(write=write, flush=file.flush))  # type: ignore[arg-type]
        finally:
            if errors:
                raise errors[0]


def _remove_old(folder: Path, step: int, keep: int) -> None:
    others = [path for path in _newest_first(folder) if _step_of(path) != step]
    earlier = [path for path in others if _step_of(path) < step]
    for path in others:
        if path not in earlier[: keep - 1]:
            shutil.rmtree(path, ignore_errors=True)


def _newest_first(folder: Path) -> list[Path]:
    """Return checkpoints by step; one that is being replaced comes after its replacement."""
    paths = [path for path in folder.glob("step_*") if _COMPLETE.fullmatch(path.name)]
    return sorted(paths, key=lambda path: (_step_of(path), path.suffix != ".old"), reverse=True)


def _step_of(path: Path) -> int:
    """Return the step in the name of a checkpoint; -1 for any other name."""
    match = _COMPLETE.fullmatch(path.name)
    return int(match[1]) if match else -1


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _count_bytes(value: Any, where: str) -> int:
    """Count the bytes of all tensors; refuse values that `weights_only` loading would refuse."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if type(value) in _MAPPINGS:
        return sum(_count_bytes(each, f"{where}[{key!r}]") for key, each in value.items())
    if type(value) in _SEQUENCES:
        return sum(_count_bytes(each, f"{where}[{place}]") for place, each in enumerate(value))
    if type(value) in _PLAIN:
        return 0
    raise SettingError(
        f"{where}: a checkpoint holds tensors, dicts, lists, tuples, numbers, str, bytes and None;"
        f" got {type(value).__name__}; convert it (an array with torch.from_numpy, a number with"
        " .item())"
    )


def _refusal(folder: Path, step: int, needed: int, error: OSError) -> str:
    free = _free_bytes(folder)
    forbidden = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    return (
        f"checkpoint of step {step} not written to {str(folder)!r}: {error.strerror or error}. It"
        f" needs at least {needed:,} bytes, {free:,} are free. Earlier checkpoints are untouched."
        f" {'Make the folder writable' if forbidden else 'Free some space'} or pass another"
        " hydra.run.dir, then continue with resume=true"
    )


def _free_bytes(folder: Path) -> int:
    """Count the free bytes where the folder is, or would be."""
    nearest = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    return shutil.disk_usage(nearest).free
