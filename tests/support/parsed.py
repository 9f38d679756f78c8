"""Yaml that is read hundreds of times is parsed once in a process; parsing is a tenth of a run."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader


def remembering() -> Callable[..., Any]:
    """A `yaml.load` that knows the texts it has parsed for OmegaConf; others it leaves alone."""
    load, own, known = yaml.load, get_yaml_loader().__name__, dict[str, Any]()

    def read(stream: Any, Loader: Any) -> Any:
        if Loader.__name__ != own:
            return load(stream, Loader)
        text = stream if isinstance(stream, str) else stream.read()
        if text not in known:
            if stream is not text:
                # An error names the file.
                stream.seek(0)
            known[text] = load(stream, Loader)
        return copy.deepcopy(known[text])

    return read


def remember(*folders: Path) -> None:
    """Parse every yaml of some folders now, for this process and those that it forks."""
    yaml.load = remembering()
    for path in (one for folder in folders for one in folder.rglob("*.yaml")):
        OmegaConf.load(path)
