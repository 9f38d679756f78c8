"""Templates escape their values and refuse missing ones."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from jinja2 import UndefinedError
from made_runs import Reader
from markupsafe import Markup

from laconic.extras.report import curves, look
from laconic.extras.report.look import Picture
from laconic.extras.report.page import fill, visible


def sweep(**values: object) -> str:
    empty = dict.fromkeys(("facts", "warned", "left_out", "drawn", "shared", "tables", "runs"), ())
    return fill("sweep.html", **{**empty, "kind": "k", "name": "n", "about": {}} | values)


def test_control_characters_are_shown_and_endless_texts_shortened() -> None:
    assert visible("a\x1b[31mb\x00\u202ec") == "a�[31mb��c"
    assert visible("x" * 12, longest=5) == "xxxxx … (7 more characters)"


def test_the_policy_admits_our_style_and_our_script_and_nothing_else() -> None:
    page = Reader(sweep())
    rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
    for kind, rule in (("style", "style-src"), ("script", "script-src")):
        digest = hashlib.sha256(page.inside[kind].encode()).digest()
        assert rules[rule] == f"'sha256-{base64.b64encode(digest).decode()}'"
        assert page.tags.count(kind) == 1
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"


def test_the_style_knows_dark_screens_and_hides_nothing_on_small_ones() -> None:
    page = sweep(tables=[("", ("a",), [("b",)], (), [])])
    style = Reader(page).inside["style"]
    light, dark = style.split("@media screen and (prefers-color-scheme: dark)")
    colors = set(re.findall(r"--\w+(?=: #)", light))
    assert colors and colors == set(re.findall(r"--\w+(?=: #)", dark.split("}")[0]))
    # Every other colour of the style is one of them, or that of paper in print.
    assert set(re.findall(r"#\w+", dark.split("} }", 1)[1])) == {"#fff"}
    small = style.split("@media (max-width: 760px)")[1].split("@media")[0]
    assert "none" not in small.replace("max-height: none", "") and "hidden" not in style.replace(
        "[hidden]", ""
    )
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in page
    assert page.count("<table") == page.count('<div class="scroll"><table') == 1


def test_words_in_pictures_can_be_read_on_a_phone() -> None:
    style = Reader(sweep()).inside["style"]
    small = style.split("@media (max-width: 760px)")[1].split("@media")[0]
    assert "figure { overflow-x: auto; }" in small
    narrow, wide = (float(width) for width in re.findall(r"\.plot { min-width: (\d+)px", small))
    # An inch of a picture is so many pixels on the screen; a point is 1/72 of it.
    for pixels, inches in ((narrow, curves._SIZE[0]), (wide, 12.4)):
        assert look._STYLE["legend.fontsize"] / 72 * pixels / inches >= 10


def test_markup_is_not_escaped_twice() -> None:
    assert visible(Markup("<b>\x00</b>")) == Markup("<b>\x00</b>")


def test_every_value_is_escaped_and_made_visible_wherever_it_stands() -> None:
    attack = "</title><script>x</script>\x1b\ud800"
    values = ("facts", "warned", "left_out", "shared")
    page = Reader(sweep(name=attack, about={attack: attack}, **{name: [attack] for name in values}))
    escaped = "</title><script>x</script>" + 2 * "\N{REPLACEMENT CHARACTER}"
    # Twice for the name, once for each other value; twice for the name of a fact and its text.
    assert page.text.count(escaped) == 4 + len(values)
    assert page.tags.count("script") == 1


def test_text_in_brackets_is_secondary_except_in_the_first_column() -> None:
    page = sweep(tables=[("", ("a", "b"), [("[a]", "1 [0, <2]")], (), [])])
    assert "<td>[a]</td>" in page
    assert '<td>1 <span class="aside">[0, &lt;2]</span></td>' in page


def test_a_picture_lies_inside_the_page_with_its_caption_to_be_read() -> None:
    page = Reader(sweep(drawn=[Picture("p", 'a "caption"', b"\x89PNG", wide=True)]))
    assert page.sources == ["data:image/png;base64,iVBORw=="]
    assert 'a "caption"' in page.text


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="kind"):
        fill("sweep.html", name="n")
