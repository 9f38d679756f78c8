from __future__ import annotations

import sys
from importlib import reload

import pytest

pytest.importorskip("chess", reason="needs the extra 'chess'")

from laconic.envs.library.checkmate import python_chess  # noqa: E402


def test_without_the_library_it_is_said_where_it_comes_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = python_chess.chess
    with monkeypatch.context() as missing:
        missing.setitem(sys.modules, "chess", None)
        with pytest.raises(ImportError, match=r"pip install 'laconic-marl\[chess\]'"):
            reload(python_chess)
    assert reload(python_chess).chess is module
