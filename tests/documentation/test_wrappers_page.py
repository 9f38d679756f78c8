"""docs/wrappers.md says what its code does; that it runs is tested with all pages."""

from __future__ import annotations

from typing import Any

from places import ROOT

from laconic.envs.wrappers import __all__ as exported

PAGE = ROOT / "docs" / "wrappers.md"


def test_the_page_shows_what_its_code_prints(run_page: Any, capsys: Any) -> None:
    names = run_page(PAGE)
    menu, heard = capsys.readouterr().out.splitlines()
    assert menu.startswith("('', 'The ") and menu.endswith("'I do not know.')")
    assert heard.startswith("helper_") and ": The " in heard
    assert names["same_shapes"].menu.answers == tuple(
        f"#### {colour}" for colour in ("blue", "green", "red", "white")
    )


def test_everything_there_is_to_import_is_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    assert [name for name in exported if name not in text] == []
