"""Checkpoints that are whole or not there: written aside, verified when read, never half picked up.

A checkpoint is a folder `step_00000010` with `state.pt`, whatever else the caller adds, and a
`manifest.json` that lists the size and SHA-256 of every file. It is written to a hidden folder
beside its place, brought to disk, and renamed, so that a kill or a power cut leaves either the new
one as a whole or none. One process at a time writes to a folder of checkpoints; any number read.

It knows nothing of what a state means: nested dicts, lists and tuples of tensors and plain values.
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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch

from laconic.envs.errors import SettingError
from laconic.learners.errors import CheckpointError

log = logging.getLogger(__name__)

_COMPLETE = re.compile(r"step_(\d{8,})(\.old)?")
_ASIDE = re.compile(r"\.step_\d{8,}\.(\d+)\.tmp")
_MAPPINGS = (dict, OrderedDict)
_SEQUENCES = (list, tuple)
_PLAIN = (bool, int, float, str, bytes, type(None))


def save(
    folder: Path,
    step: int,
    state: Mapping[str, Any],
    keep: int = 2,
    extra: Callable[[Path], None] | None = None,
) -> Path:
    """Write one checkpoint, then drop those that are no longer needed.

    Args:
        folder: holds all checkpoints of a run; created when missing.
        step: learner updates done so far. A checkpoint of the same step is replaced; those of later
            steps belong to a course the run has left and are removed.
        state: dicts (keys str or int), lists and tuples of tensors, numbers, str, bytes and None.
        keep: newest checkpoints that stay, this one included; at least 1.
        extra: writes further files into the folder it is given; the manifest covers them.

    Returns:
        The folder of the new checkpoint.

    Raises:
        CheckpointError: the disk is full or refuses; earlier checkpoints are as they were.
        SettingError: `keep` below 1, or a value in `state` that could not be loaded again.
    """
    if keep < 1:
        raise SettingError(f"keep must be at least 1, the checkpoint just written; got {keep!r}")
    needed = _count_bytes(state, "state")
    target = folder / f"step_{step:08d}"
    aside = folder / f".step_{step:08d}.{os.getpid()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        _write(aside, step, state, extra)
        _put_in_place(aside, target)
    except Exception as error:
        if not _refused_by_disk(error):
            raise
        raise CheckpointError(_refusal(folder, step, needed, error)) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    _remove_old(folder, step, keep)
    return target


def latest(folder: Path) -> Path | None:
    """The newest checkpoint that is whole; damaged ones are passed over with a warning.

    Reads only, so it is safe beside a process that is writing. None without any whole checkpoint,
    also when the folder does not exist.
    """
    for path in sorted(_complete(folder), key=_age, reverse=True):
        damage = find_damage(path)
        if damage is None:
            return path
        log.warning("checkpoint %s is damaged and passed over: %s", path, damage)
    return None


def load(path: Path) -> dict[str, Any]:
    """The state of a checkpoint, all tensors on the CPU.

    Args:
        path: a folder that `save` or `latest` returned.

    Raises:
        CheckpointError: the checkpoint is damaged or missing.
    """
    damage = find_damage(path)
    if damage is not None:
        raise CheckpointError(
            f"checkpoint {str(path)!r} cannot be read: {damage}; take another one of"
            f" {str(path.parent)!r} or start the run anew"
        )
    state: dict[str, Any] = torch.load(path / "state.pt", map_location="cpu", weights_only=True)
    return state


def find_damage(path: Path) -> str | None:
    """What is wrong with a checkpoint, in words; None when every file is as its manifest says."""
    try:
        manifest = json.loads((path / "manifest.json").read_text("utf-8"))
        step, files = int(manifest["step"]), dict(manifest["files"])
        if _step(path) != step:
            return f"the manifest is of step {step}"
        for name, expected in files.items():
            if (size := (path / name).stat().st_size) != expected["bytes"]:
                return f"{name} has {size} bytes, expected {expected['bytes']}"
            if _sha256(path / name) != expected["sha256"]:
                return f"the content of {name} has changed"
    except OSError as error:
        return f"{error.filename} cannot be read ({error.strerror})"
    except (ValueError, KeyError, TypeError) as error:
        return f"manifest.json is not a manifest ({error!r})"
    return None if "state.pt" in files else "the manifest names no state.pt"


def _write(
    aside: Path, step: int, state: Mapping[str, Any], extra: Callable[[Path], None] | None
) -> None:
    """Everything of a checkpoint into the hidden folder, and all of it to disk."""
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    with open(aside / "state.pt", "wb") as file:
        _save_state(state, file)
    if extra is not None:
        extra(aside)
    paths = sorted(path for path in aside.rglob("*") if path.is_file())
    files = {
        path.relative_to(aside).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": _sha256(path),
        }
        for path in paths
    }
    manifest = json.dumps({"step": step, "files": files}, indent=2) + "\n"
    (aside / "manifest.json").write_text(manifest, "utf-8")
    for path in (*aside.rglob("*"), aside):
        _sync(path)


def _save_state(state: Mapping[str, Any], file: BinaryIO) -> None:
    """`torch.save`, with the disk's own error where torch's writer would hide it."""
    kept = _Keeper(file)
    try:
        torch.save(dict(state), kept)  # type: ignore[arg-type]
    except Exception as error:
        if kept.error is not None and error is not kept.error:
            raise kept.error from error
        raise
    if kept.error is not None:
        raise kept.error


class _Keeper:
    """A file that remembers why a write failed."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return self.file.write(data)
        except OSError as error:
            self.error = self.error or error
            raise

    def flush(self) -> None:
        self.file.flush()


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
    others = sorted((p for p in _complete(folder) if _step(p) != step), key=_age, reverse=True)
    later = [path for path in others if _step(path) > step]
    earlier = [path for path in others if _step(path) < step]
    for path in (*later, *earlier[keep - 1 :]):
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
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _complete(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in folder.iterdir() if _COMPLETE.fullmatch(path.name))


def _step(path: Path) -> int:
    match = _COMPLETE.fullmatch(path.name)
    return int(match[1]) if match else -1


def _age(path: Path) -> tuple[int, bool]:
    """Sorts by step, and a replaced checkpoint before the one that replaced it."""
    return _step(path), not path.name.endswith(".old")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def _refused_by_disk(error: BaseException) -> bool:
    """True for the system's errors, also those that reach us as text (safetensors)."""
    return isinstance(error, OSError) or "(os error " in str(error)


def _refusal(folder: Path, step: int, needed: int, error: Exception) -> str:
    nearest = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    free = shutil.disk_usage(nearest).free
    reason = (isinstance(error, OSError) and error.strerror) or str(error)
    message = f"checkpoint of step {step} not written to {str(folder)!r}: {reason}."
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        advice = "Make the folder writable or pass another hydra.run.dir"
    else:
        advice = "Free some space or pass another hydra.run.dir"
    return (
        f"{message} It needs at least {needed:,} bytes, {free:,} are free. Earlier checkpoints are"
        f" untouched. {advice}, then go on with resume=true"
    )
