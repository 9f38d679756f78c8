from __future__ import annotations

from laconic.extras.analysis import demand_pages as demand
from laconic.extras.analysis.demand_statistics import GLOSSARY, TrainedRun


def estimate(mean: float, high: float | None = None) -> dict:
    return {"mean": mean, "low": mean, "high": high, "count": 2}


def line(step: int, **figures: float) -> dict:
    """Make a line of `demand.jsonl` with a curve of two prices."""
    curve = {"price": [0.0, 5.0], "reached": [0.0, 1.0]}
    curve |= {name: [estimate(9.0, 9.5), estimate(1.0, 2.0)] for name in ("bought", "bought_cut")}
    measured = {name: estimate(value) for name, value in figures.items()}
    return {"step": step, "episodes": 2, "price": 0.5, "figures": measured, "curve": curve}


def test_every_figure_has_a_label_and_a_row():
    rows = demand.rows([line(0, worth=1.0, pays=0.5)])
    assert list(demand.LABELS) == list(GLOSSARY)
    assert [row[0] for row in rows] == list(demand.LABELS.values())
    labels = dict(rows)
    # An end that is not known leaves the bracket away.
    assert (labels["worth of a message"], labels["useful messages that pay"]) == ("1.00", "50.0 %")
    assert labels["surplus"] == "–"


def test_the_first_and_the_last_step_stand_beside_each_other():
    rows = demand.rows([line(0, worth=1.0), line(5, worth=0.7), line(9, worth=0.5)])
    assert rows[0] == ("worth of a message", "1.00", "0.50")


def test_a_picture_is_drawn_of_one_step_of_several_and_with_runs():
    run = TrainedRun("a", "0", 3.0, 8.0, 1.0, 1.0, 9.0, 9.0, False, True, True)
    silent = TrainedRun("b", "1", 6.0, 0.0, 0.0, 0.0, 1.0, 1.0, True, False, False)
    lines = [line(0, choke_price=2.0), line(9)]
    pictures = [
        demand.picture(lines[:1]),
        demand.picture(lines),
        demand.picture(lines, [run, silent]),
    ]
    assert {picture.name for picture in pictures} == {"demand"}
    assert len({picture.png for picture in pictures}) == 3
    assert demand.run_rows([run])[0] == ("seed 0", "3", "8.0", "9.0", "9.0", "yes", "no")


def test_a_team_whose_words_are_worth_nothing_has_a_picture_too():
    empty = line(0)
    empty["curve"]["reached"] = []
    assert demand.picture([empty]).png.startswith(b"\x89PNG")
