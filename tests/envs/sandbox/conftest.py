"""The levels of the sandbox, with and without a copy of the interpreter's files in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from laconic.envs import sandbox
from laconic.envs.sandbox import wardens
from laconic.envs.sandbox.wardens import WARDENS


@pytest.fixture(
    params=[
        # Between them each level and each place; `test_sandbox_attacks.py` has "process" as well.
        "bubblewrap",
        "process on disk",
        pytest.param("process", marks=pytest.mark.slow),
        pytest.param("bubblewrap on disk", marks=pytest.mark.slow),
    ]
)
def any_level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield a level; on disk it runs as on a machine where nothing can be mounted."""
    name, _, on_disk = request.param.partition(" ")
    if name == "bubblewrap" and sandbox.level() != "bubblewrap":
        pytest.skip("there is no bubblewrap here")
    if not on_disk and wardens.root() is None:
        pytest.skip("nothing can be mounted here")
    WARDENS.close()
    if on_disk:
        monkeypatch.setattr(wardens, "_ROOTS", [None])
    yield name
    WARDENS.close()
