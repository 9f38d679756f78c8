"""Teams on the hub: repositories that hold what a training left, one folder for each policy.

A repository that is itself one model is left to the loaders of `transformers`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from huggingface_hub import snapshot_download

ONE = ("config.json", "adapter_config.json")
"""A folder with one of these is one policy."""


@lru_cache(maxsize=32)
def fetched(name: str) -> str:
    """What to load policies from: a name as it is, or the folder of a team that was on the hub.

    Args:
        name: name on the hub, or path of a folder.

    Returns:
        The local copy of a repository that is no single model but an adapter or a team of
        policies; else `name`, also where the hub cannot be asked: whoever loads it will say why.
    """
    if Path(name).expanduser().exists() or name.startswith((".", "/", "~")):
        return name
    try:
        folder = Path(snapshot_download(name, allow_patterns=[*ONE, *(f"*/{one}" for one in ONE)]))
        if (folder / ONE[0]).is_file() or not any(_policies(folder)):
            return name
        wanted = [f"{one}/*" for one in _policies(folder)]
        return snapshot_download(name, allow_patterns=[*wanted, "*.json", "*.safetensors"])
    except Exception:  # No name of the hub, no such repository, no network: any error may come.
        return name


def _policies(folder: Path) -> set[str]:
    """Folders of policies, relative; `.` for a lone adapter."""
    return {
        path.parent.relative_to(folder).as_posix()
        for one in ONE
        for path in (*folder.glob(one), *folder.glob(f"*/{one}"))
    }
