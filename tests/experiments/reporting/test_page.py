"""Templates: what they escape, and what they refuse."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError
from made_runs import Reader
from markupsafe import Markup

from laconic.experiments.reporting.look import Picture
from laconic.experiments.reporting.page import fill, visible


def sweep(**values: object) -> str:
    empty = dict.fromkeys(("facts", "warned", "left_out", "drawn", "shared", "rows", "runs"), ())
    return fill("sweep.html", **{**empty, "kind": "k", "name": "n", "columns": ("a", "b")} | values)


def test_control_characters_are_shown_and_endless_texts_shortened() -> None:
    assert visible("a\x1b[31mb\x00\u202ec") == "a�[31mb��c"
    assert visible("x" * 12, longest=5) == "xxxxx … (7 more characters)"


def test_markup_is_not_escaped_twice() -> None:
    assert visible(Markup("<b>\x00</b>")) == Markup("<b>\x00</b>")


def test_every_value_is_escaped_and_made_visible_wherever_it_stands() -> None:
    attack = "</title><script>x</script>\x1b\ud800"
    values = ("facts", "warned", "left_out", "shared")
    page = Reader(sweep(name=attack, **{name: [attack] for name in values}, columns=[attack]))
    shown = "</title><script>x</script>" + 2 * "\N{REPLACEMENT CHARACTER}"
    # Twice for the name, once for each other value; a table without rows is not there.
    assert page.text.count(shown) == 2 + len(values)
    assert "script" not in page.tags


def test_what_stands_in_brackets_steps_back_but_in_the_first_column() -> None:
    page = sweep(rows=[("[a]", "1 [0, <2]")])
    assert "<td>[a]</td>" in page
    assert '<td>1 <span class="aside">[0, &lt;2]</span></td>' in page


def test_a_picture_lies_inside_the_page_with_its_caption_to_be_read() -> None:
    page = Reader(sweep(drawn=[Picture("p", 'a "caption"', b"\x89PNG", wide=True)]))
    assert page.sources == ["data:image/png;base64,iVBORw=="]
    assert 'a "caption"' in page.text


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="kind"):
        fill("sweep.html", name="n")
