"""Where things lie for tests: the repository, its choices, and the data that lies beside it."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The root of the repository."""
CONF = ROOT / "conf"
EXTRAS_CONF = ROOT / "extras" / "conf"


def configs(pattern: str = "**/*.yaml") -> dict[str, Path]:
    """Return the yamls of the package by their names (`train`, `learner/gspo`)."""
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for folder in (EXTRAS_CONF, CONF)
        for path in sorted(folder.glob(pattern))
    }


DATA = Path(os.environ.get("LACONIC_DATA", ROOT.parent / "shared" / "data"))
"""Real benchmark rows and recorded episodes; tests that read them skip where it is absent."""
