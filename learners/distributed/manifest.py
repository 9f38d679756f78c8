"""What a checkpoint says of itself: `manifest.json`, by which one that is not whole is known.

It has the version that wrote it, its step, and the size and SHA-256 of every other file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from laconic.learners.rollout.strange_files import find_strange, read_json

COMPLETE = re.compile(r"step_(\d{8,})(\.old)?")
"""Names of checkpoints; a replaced one waits as `.old`."""


def write(folder: Path, step: int, names: Iterable[str]) -> None:
    """Say of a folder which files it has, so that a change of any is found.

    Raises:
        OSError: one of them is not there.
    """
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": _sha256(folder / name)}
        for name in names
    }
    manifest = {"version": version(), "step": step, "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


def read(path: Path) -> dict[str, Any]:
    """The manifest of a checkpoint."""
    return dict(read_json(path / "manifest.json"))


def find_damage(path: Path) -> str | None:
    """What is wrong with a checkpoint, in words; None when every file is as its manifest says."""
    try:
        manifest = read(path)
        step, files = int(manifest["step"]), dict(manifest["files"])
        if step_of(path) != step:
            return f"the manifest is of step {step}"
        if strange := find_strange(path):
            return strange
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


def step_of(path: Path) -> int:
    """The step that the name of a checkpoint says; -1 for any other name."""
    match = COMPLETE.fullmatch(path.name)
    return int(match[1]) if match else -1


def version() -> str:
    """Of this package."""
    try:
        return metadata.version("laconic")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
