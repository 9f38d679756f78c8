"""Checkpoints that are whole or not there: written aside, verified when read, never read in part.

A checkpoint is a folder `step_00000010` with `state.pt` and a `manifest.json`, which has the
version that wrote it and the size and SHA-256 of every other file. It is written to a hidden folder
beside its place, brought to disk, and renamed, so that a kill or a power cut leaves either the new
one as a whole or none. One run at a time writes to a folder of checkpoints; any number read. Where
weights are sharded, each of its processes writes its own into `shards/`; none holds all of them.

What a state means is not known here: nested dicts, lists and tuples of tensors and plain values.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import torch

from laconic.envs.errors import SettingError
from laconic.learners.distributed import manifest
from laconic.learners.distributed.manifest import COMPLETE, find_damage, step_of
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.errors import CheckpointError

log = logging.getLogger(__name__)

_ASIDE = re.compile(r"\.step_\d{8,}\.(\d+)\.tmp")
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
    """Write one checkpoint, drop those that are no longer needed, and return its folder.

    Args:
        folder: holds all checkpoints of a run; created when missing.
        step: learner updates done so far. A checkpoint of the same step is replaced; those of later
            steps belong to a course the run has left and are removed.
        state: dicts (keys str or int), lists and tuples of tensors, numbers, str, bytes and None.
        keep: newest checkpoints that stay, this one included; at least 1.
        processes: those that write it together. All call this; all but shards is the main one's.

    Raises:
        CheckpointError: the disk is full or refuses; earlier checkpoints are as they were.
        SettingError: `keep` below 1, a value in `state` that could not be loaded again, or a link
            in place of `folder`.
    """
    if keep < 1:
        raise SettingError(f"keep must be at least 1, the checkpoint just written; got {keep!r}")
    needed = _count_bytes(state, "state")
    target = folder / f"step_{step:08d}"
    aside = folder / f".step_{step:08d}.{processes.first(os.getpid())}.tmp"
    try:
        processes.main(partial(_make_folders, folder, aside))
        state, files = _write_shards(aside, state) if processes.sharded else (state, [])
        processes.main(partial(_publish, aside, target, step, state, files))
    except OSError as error:
        raise CheckpointError(_refusal(folder, step, needed, error)) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    processes.main(partial(_remove_old, folder, step, keep))
    return target


def want_of_space(folder: Path, state: Mapping[str, Any], coming: int, keep: int = 2) -> str | None:
    """What to warn of where the disk has too little space for checkpoints to come, or None.

    Args:
        folder: would hold them; it need not exist.
        state: one as big as theirs.
        coming: checkpoints still to be written.
        keep: newest ones that stay; the next is written before the oldest goes.

    Raises:
        SettingError: a value in `state` that could not be loaded again.
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
    """The newest checkpoint that is whole, or None; damaged ones are passed over with a warning.

    Reads only, so it is safe beside a process that is writing.
    """
    for path in _newest_first(folder):
        damage = find_damage(path)
        if damage is None:
            return path
        log.warning("checkpoint %s is damaged and passed over: %s", path, damage)
    return None


def load(path: Path, processes: Processes = SINGLE_PROCESS) -> dict[str, Any]:
    """The state of a checkpoint folder, all tensors on the CPU, or shards if weights are sharded.

    All of the processes have to call it.

    Raises:
        CheckpointError: the checkpoint is damaged or missing, or holds anything else.
    """
    damage = processes.main(partial(find_damage, path))
    if damage is None:
        try:
            state = torch.load(path / "state.pt", map_location="cpu", weights_only=True)
        except Exception as error:  # Whatever torch makes of a file that it did not write.
            damage = f"state.pt is not a state ({type(error).__name__})"
        else:
            if type(state) in _MAPPINGS:
                return _with_shards(path, dict(state), processes)
            damage = f"state.pt holds {type(state).__name__}, expected dict"
    raise _unreadable(path, damage)


def _with_shards(path: Path, state: dict[str, Any], processes: Processes) -> dict[str, Any]:
    if not (path / _SHARDS).is_dir():
        return state
    from laconic.learners.distributed import shards

    try:
        return dict(shards.read(path / _SHARDS, state, processes))
    except OSError as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: Path, damage: str) -> CheckpointError:
    return CheckpointError(
        f"checkpoint {str(path)!r} cannot be read: {damage}; take another one of"
        f" {str(path.parent)!r} or start the run anew"
    )


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """Use the state of the checkpoint at `path`, which may be that of another version.

    Raises:
        CheckpointError: the state has other keys, types or shapes than are asked of it; names the
            version that wrote it. A `SettingError` passes, which says by itself what is wrong.
    """
    try:
        yield
    except SettingError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        said = " ".join(str(error).split())[:200]
        wrote = manifest.read(path).get("version", "before 0.2")
        raise CheckpointError(
            f"checkpoint {str(path)!r} has another form than this run ({type(error).__name__}:"
            f" {said}); laconic {wrote} wrote it, this is {manifest.version()}: go on with"
            " the version and the settings that wrote it, or start a new run with"
            " hydra.run.dir=<folder>"
        ) from error


def apply_umask(folder: Path) -> None:
    """Give files the permissions of the folders they lie in.

    safetensors writes files that nobody but their owner may read, whatever the umask is.
    """
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(path.parent.stat().st_mode & 0o666)


def _make_folders(folder: Path, aside: Path) -> None:
    if folder.is_symlink():
        raise SettingError(f"checkpoints are not written through the link {str(folder)!r}")
    folder.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()


def _write_shards(aside: Path, state: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Write the shards that this process has; returns the rest of the state, and all files."""
    from laconic.learners.distributed import shards

    rest, own = shards.take_shards(state)
    names = shards.write(aside / _SHARDS, own) if own else []
    return rest, [f"{_SHARDS}/{name}" for name in names]


def _publish(
    aside: Path, target: Path, step: int, state: Mapping[str, Any], shards: Sequence[str]
) -> None:
    """Everything else of a checkpoint into the hidden folder, and all of it to disk and in place.

    A shard that others have written, and that cannot be seen from here, is an `OSError`.
    """
    with open(aside / "state.pt", "wb") as file:
        _save_state(state, file)
    manifest.write(aside, step, ("state.pt", *shards))
    for path in (*aside.iterdir(), aside):
        _sync(path)
    _put_in_place(aside, target)


def _save_state(state: Mapping[str, Any], file: BinaryIO) -> None:
    """`torch.save`, with the disk's own error where torch's writer would hide it."""
    refused: list[OSError] = []

    def write(data: Any) -> int:
        try:
            return file.write(data)
        except OSError as error:
            refused.append(error)
            raise

    try:
        torch.save(dict(state), SimpleNamespace(write=write, flush=file.flush))  # type: ignore[arg-type]
    finally:
        if refused:
            raise refused[0]


def _put_in_place(aside: Path, target: Path) -> None:
    """Rename; a checkpoint of the same step waits as `.old`, which `latest` reads as well."""
    old = target.with_name(target.name + ".old")
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.rename(target, old)
    os.rename(aside, target)
    _sync(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _remove_old(folder: Path, step: int, keep: int) -> None:
    others = [path for path in _newest_first(folder) if step_of(path) != step]
    earlier = [path for path in others if step_of(path) < step]
    for path in others:
        if path not in earlier[: keep - 1]:
            shutil.rmtree(path, ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    """Hidden folders of processes that ended while they were saving."""
    for path in folder.iterdir():
        match = _ASIDE.fullmatch(path.name)
        if match and (int(match[1]) == os.getpid() or not _alive(int(match[1]))):
            shutil.rmtree(path, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _newest_first(folder: Path) -> list[Path]:
    """Checkpoints by step; a replaced one comes after the one that replaced it."""
    found = [path for path in folder.glob("step_*") if COMPLETE.fullmatch(path.name)]
    return sorted(found, key=lambda path: (step_of(path), path.suffix != ".old"), reverse=True)


def _sync(path: Path) -> None:
    """Bring a file or the entries of a folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _count_bytes(value: Any, where: str) -> int:
    """Bytes of all tensors; refuses what `weights_only` loading would refuse later."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if type(value) in _MAPPINGS:
        return sum(_count_bytes(one, f"{where}[{key!r}]") for key, one in value.items())
    if type(value) in _SEQUENCES:
        return sum(_count_bytes(one, f"{where}[{place}]") for place, one in enumerate(value))
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
        " hydra.run.dir, then go on with resume=true"
    )


def _free_bytes(folder: Path) -> int:
    """Bytes that are free where the folder is, or would be."""
    nearest = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    return shutil.disk_usage(nearest).free
