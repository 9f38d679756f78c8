from __future__ import annotations

import sys
from importlib import reload

import pytest

pytest.importorskip("chess", reason="needs the extra 'chess'")

from laconic.envs.families.chess import library  # noqa: E402


def test_without_the_library_it_is_said_where_it_comes_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = library.chess
    with monkeypatch.context() as missing:
        missing.setitem(sys.modules, "chess", None)
        with pytest.raises(ImportError, match=r"pip install 'laconic-marl\[chess\]'"):
            reload(library)
    assert reload(library).chess is module
