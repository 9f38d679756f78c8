"""Checkpoints that are whole or not there: written aside, verified when read, never read in part.

A checkpoint is a folder `step_00000010` with `state.pt` and a `manifest.json`, which has the
version that wrote it and the size and SHA-256 of every other file. It is written to a hidden folder
beside its place, brought to disk, and renamed, so that a kill or a power cut leaves either the new
one as a whole or none. One process at a time writes to a folder of checkpoints; any number read.

What a state means is not known here: nested dicts, lists and tuples of tensors and plain values.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
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


def save(folder: Path, step: int, state: Mapping[str, Any], keep: int = 2) -> Path:
    """Write one checkpoint, drop those that are no longer needed, and return its folder.

    Args:
        folder: holds all checkpoints of a run; created when missing.
        step: learner updates done so far. A checkpoint of the same step is replaced; those of later
            steps belong to a course the run has left and are removed.
        state: dicts (keys str or int), lists and tuples of tensors, numbers, str, bytes and None.
        keep: newest checkpoints that stay, this one included; at least 1.

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
        _write(aside, step, state)
        _put_in_place(aside, target)
    except OSError as error:
        raise CheckpointError(_refusal(folder, step, needed, error)) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    _remove_old(folder, step, keep)
    return target


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


def load(path: Path) -> dict[str, Any]:
    """The state of a checkpoint folder, all tensors on the CPU.

    Raises:
        CheckpointError: the checkpoint is damaged or missing, or holds anything else.
    """
    damage = find_damage(path)
    if damage is None:
        try:
            state = torch.load(path / "state.pt", map_location="cpu", weights_only=True)
        except Exception as error:  # Whatever torch makes of a file that it did not write.
            damage = f"state.pt is not a state ({type(error).__name__})"
        else:
            if type(state) in _MAPPINGS:
                return dict(state)
            damage = f"state.pt holds {type(state).__name__}, expected dict"
    raise CheckpointError(
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
        raise CheckpointError(
            f"checkpoint {str(path)!r} has another form than this run ({type(error).__name__}:"
            f" {said}); laconic {_manifest(path).get('version', 'before 0.2')} wrote it, this is"
            f" {_version()}: go on with the version and the settings that wrote it, or start a new"
            " run with hydra.run.dir=<folder>"
        ) from error


def apply_umask(folder: Path) -> None:
    """Give files the permissions of the folders they lie in.

    safetensors writes files that nobody but their owner may read, whatever the umask is.
    """
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(path.parent.stat().st_mode & 0o666)


def find_damage(path: Path) -> str | None:
    """What is wrong with a checkpoint, in words; None when every file is as its manifest says."""
    try:
        manifest = _manifest(path)
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
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return f"manifest.json is not a manifest ({error!r})"
    return None if "state.pt" in files else "the manifest names no state.pt"


def _write(aside: Path, step: int, state: Mapping[str, Any]) -> None:
    """Everything of a checkpoint into the hidden folder, and all of it to disk."""
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    path = aside / "state.pt"
    with open(path, "wb") as file:
        _save_state(state, file)
    files = {path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)}}
    manifest = {"version": _version(), "step": step, "files": files}
    (aside / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    for path in (*aside.iterdir(), aside):
        _sync(path)


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
    others = [path for path in _newest_first(folder) if _step(path) != step]
    earlier = [path for path in others if _step(path) < step]
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


def _version() -> str:
    try:
        return version("laconic")
    except PackageNotFoundError:
        return "(not installed)"


def _manifest(path: Path) -> dict[str, Any]:
    return dict(json.loads((path / "manifest.json").read_text("utf-8")))


def _newest_first(folder: Path) -> list[Path]:
    """Checkpoints by step; a replaced one comes after the one that replaced it."""
    found = [path for path in folder.glob("step_*") if _COMPLETE.fullmatch(path.name)]
    return sorted(found, key=lambda path: (_step(path), path.suffix != ".old"), reverse=True)


def _step(path: Path) -> int:
    match = _COMPLETE.fullmatch(path.name)
    return int(match[1]) if match else -1


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


def _refusal(folder: Path, step: int, needed: int, error: OSError) -> str:
    nearest = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    free = shutil.disk_usage(nearest).free
    forbidden = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    return (
        f"checkpoint of step {step} not written to {str(folder)!r}: {error.strerror or error}. It"
        f" needs at least {needed:,} bytes, {free:,} are free. Earlier checkpoints are untouched."
        f" {'Make the folder writable' if forbidden else 'Free some space'} or pass another"
        " hydra.run.dir, then go on with resume=true"
    )
