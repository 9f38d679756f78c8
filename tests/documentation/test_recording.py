"""The recording of `laconic watch` shows each screen for its time, and is small."""

from __future__ import annotations

import importlib
import re
import sys
from xml.etree import ElementTree

import pytest
from places import ROOT

pytest.importorskip("textual", reason="needs the extra 'watch'")
sys.path.append(str(ROOT / "docs" / "evidence"))
RECORDING = importlib.import_module("recording")
SCREEN = (
    '<svg class="r" viewBox="0 0 9 5" xmlns="http://www.w3.org/2000/svg">\n'
    "<style>@font-face {{ src: url(http://fonts) }}\n.{0} {{ font-family: Fira Code, x; }}</style>"
    '<text class="{0}">{0}</text></svg>'
)


def test_each_screen_is_visible_for_its_share_of_the_time():
    movie = RECORDING.animate([SCREEN.format(name) for name in "abc"], [1, 2, 5])
    # 1, 2 and 5 of 8 seconds are 12.5, 25 and 62.5 %: the second ends at 37.5 %.
    shown = re.findall(r"@keyframes show-(\d) \{ (.*) \}\n", movie)
    assert dict(shown) == {
        "0": "0.000% { visibility: visible } 12.500% { visibility: hidden }",
        "1": "0% { visibility: hidden } 12.500% { visibility: visible } "
        "37.500% { visibility: hidden }",
        "2": "0% { visibility: hidden } 37.500% { visibility: visible }",
    }
    frames = ElementTree.fromstring(movie).findall("{*}g")
    assert [frame.findtext("{*}text") for frame in frames] == ["a", "b", "c"]
    assert "http://fonts" not in movie and "Fira" not in movie


def test_something_else_than_a_screen_is_refused():
    with pytest.raises(ValueError, match="expected an SVG with a viewBox; got '<html>'"):
        RECORDING.animate(["<html>"], [1])


def test_the_recording_needs_no_network_and_shows_one_task_before_and_after_training():
    path = ROOT / "docs" / "pictures" / "watch.svg"
    movie = path.read_text("utf-8")
    assert path.stat().st_size < 500_000
    assert "url(http" not in movie and "<image" not in movie
    frames = ElementTree.fromstring(movie).findall("{*}g")
    assert len(frames) == len(RECORDING.SCENES)
    first, last = ("".join(frame.itertext()).replace("\xa0", " ") for frame in frames[:3:2])
    assert "step 0, task evaluation-0/0" in first and "(silent)" not in first
    assert "step 60, task evaluation-0/0" in last and "(silent)" in last
