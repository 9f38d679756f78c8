"""The drawing of a training group: how many episodes stand beside each other, and its colors."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from laconic.extras.report.group_view import COLORINGS, LEGENDS, show
from laconic.extras.viewer.groups import LEAST_WIDTH, STYLES, draw

TURN = {"agent": "a_0", "texts": ["six"], "logprobs": [-2.0], "logprobs_after": [-1.0]}
ROW = {
    "step": 1,
    "task": "t",
    "episodes": [{"solved": True, "turns": [{**TURN, "learned": True}]} for _ in range(3)],
    "sequences": [{"agent": "a_0", "episode": 0, "task": 1.0, "round": 1, "advantage": 0.5}],
}


def lines(width: int, coloring: str = "logprob") -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system="truecolor")
    with console.capture() as capture:
        console.print(draw(show(ROW), coloring, width))
    return capture.get().splitlines()


@pytest.mark.parametrize(("width", "beside"), [(20, 1), (LEAST_WIDTH, 1), (2 * LEAST_WIDTH, 2)])
def test_as_many_episodes_stand_beside_each_other_as_fit(width, beside) -> None:
    heads = [line for line in lines(width) if "episode " in line]
    assert [line.count("solved") for line in heads] == [beside] * (3 // beside) + [1] * (3 % beside)


def test_every_color_of_a_legend_has_a_style() -> None:
    assert {color for colors in LEGENDS.values() for color, _ in colors} == set(STYLES)


def test_the_color_behind_a_token_is_that_of_its_figure() -> None:
    # -log p = 2 is l3, #8a3a00 = 138, 58, 0.
    (said,) = [line for line in lines(40) if "six" in line][:1]
    assert "48;2;138;58;0" in said
    # The log-ratio of 1 is r6, #0065a0 = 0, 101, 160.
    (said,) = [line for line in lines(40, "ratio") if "six" in line][:1]
    assert "48;2;0;101;160" in said
    assert len({*COLORINGS}) == 4
