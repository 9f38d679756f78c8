from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from laconic.experiments.session.progress import Progress, duration, pace, shown


class Clock:
    """A clock that a test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make(clock):
    def progress(total, terminal=False, width=80, **settings):
        file = io.StringIO()
        console = Console(
            file=file, force_terminal=terminal, width=width, _environ={"TERM": "xterm"}
        )
        return Progress(total, "train", console=console, clock=clock, **settings), file

    return progress


def test_metrics_are_shown_in_fixed_order_without_their_group():
    metrics = {
        "learner/price": 0.5,
        "time/step": 1.0,
        "train/tokens_said": 40.24,
        "train/accuracy": 0.914,
        "eval/accuracy": 0.1,
    }
    assert shown(metrics) == {"accuracy": "91 %", "tokens": "40.2", "price": "0.5"}
    assert shown({}) == {}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0:00"), (0, "0:00"), (59.6, "1:00"), (125, "2:05"), (3725, "1:02:05")],
)
def test_durations_read_like_a_clock(seconds, text):
    assert duration(seconds) == text


def test_plain_lines_come_first_last_and_every_few_seconds(make, clock):
    progress, file = make(8, every_seconds=5.0)
    with progress:
        for step in range(1, 9):
            clock.now += 2.0
            progress.update(step, {"train/accuracy": step / 10})
    # Steps end at seconds 2, 4, ..., 16; lines at 2, then 5 or more later: 8, 14; and the last.
    assert file.getvalue().splitlines() == [
        "step 1/8  accuracy 10 %  2 s/step  left 0:14",
        "step 4/8  accuracy 40 %  2 s/step  left 0:08",
        "step 7/8  accuracy 70 %  2 s/step  left 0:02",
        "step 8/8  accuracy 80 %  2 s/step  left 0:00",
    ]


def test_time_before_the_first_step_and_of_earlier_parts_does_not_count(make, clock):
    progress, file = make(10, first_step=4, every_seconds=0.0)
    with progress:
        clock.now += 60.0
        progress.update(4, {"eval/accuracy": 0.5})
        clock.now += 3.0
        progress.update(5, {})
    assert file.getvalue().splitlines() == [
        "step 4/10  accuracy 50 %",
        "step 5/10  3 s/step  left 0:15",
    ]


def test_a_line_has_the_values_of_its_step_at_fixed_places(make, clock):
    progress, file = make(3, every_seconds=0.0)
    with progress:
        for spent in (73.5, 38.0, 40.0):
            clock.now += 1.0
            said = {"train/tokens_said": 38.0, "train/tokens_spent": spent}
            progress.update(progress.step + 1, {**said, "train/price": 0.5})
    # In the second step nobody thinks.
    assert file.getvalue().splitlines() == [
        "step 1/3  tokens 38.0  price 0.5  with thoughts 73.5  1 s/step  left 0:02",
        "step 2/3  tokens 38.0  price 0.5  1 s/step  left 0:01",
        "step 3/3  tokens 38.0  price 0.5  with thoughts 40.0  1 s/step  left 0:00",
    ]


def test_hidden_metrics_are_not_shown(make):
    metrics = {"tokens_said": 38.0, "tokens_spent": 73.5}
    assert shown(metrics, ("tokens_spent",)) == {"tokens": "38.0"}


def test_between_two_measurements_the_own_accuracy_stands_with_its_step(make):
    progress, _ = make(60)
    lines = []
    for step, own in ((24, {}), (25, {"train/own_accuracy": 0.5}), (26, {})):
        progress.update(step, {"learner/loss": 0.25, **own})
        lines.append(progress.line().split("  ")[1:-2])
    solves = "the policy itself solves 50 %"
    assert lines[0] == ["loss 0.25"]
    assert lines[1] == [solves, "loss 0.25"]
    assert lines[2] == [f"{solves} (step 25)", "loss 0.25"]


def test_a_note_is_one_unbroken_plain_line(make):
    progress, file = make(2, width=20)
    with progress:
        progress.note("[bold] the team is falling silent, and more words than fit")
    assert file.getvalue() == "[bold] the team is falling silent, and more words than fit\n"


def test_no_steps_at_all_is_no_error(make):
    for terminal in (False, True):
        progress, _ = make(0, terminal=terminal)
        with progress:
            progress.update(0, {"accuracy": 1.0})
        assert progress.line() == "step 0/0  accuracy 100 %"


@pytest.mark.parametrize("width", [120, 40, 8, 1])
def test_a_terminal_of_any_width_shows_bar_figures_and_note(make, clock, width):
    progress, file = make(4, terminal=True, width=width)
    with progress:
        clock.now += 1.0
        progress.update(1, {"accuracy": 0.5, "tokens_said": 12.0})
        progress.note("careful")
        clock.now += 1.0
        progress.update(2, {"accuracy": 0.6, "tokens_said": 11.0})
    text = file.getvalue()
    if width >= 40:
        assert "train" in text and "accuracy 60 %" in text and "left 0:02" in text
        # Once as a message that scrolls by, and under the figures.
        assert text.count("careful") >= 2
    assert "\x1b[?25h" in text  # the cursor is given back


def test_the_cursor_is_given_back_after_an_error(make):
    progress, file = make(4, terminal=True)
    with pytest.raises(KeyboardInterrupt), progress:
        raise KeyboardInterrupt
    assert file.getvalue().rstrip().endswith("\x1b[?25h")


def test_a_dumb_terminal_gets_plain_lines(clock):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, _environ={"TERM": "dumb"})
    with Progress(2, "train", console=console, clock=clock) as progress:
        progress.update(1, {})
    assert file.getvalue() == "step 1/2  0 s/step  left 0:00\n"


def test_a_part_of_a_step_says_how_long_it_takes_and_how_long_it_took_before(make, clock):
    phase = ["rollout", clock.now]
    progress, _ = make(4, phase=lambda: phase)
    clock.now += 40.0
    assert progress.life() == "rollout 0:40"
    phase[:] = "update", clock.now
    assert progress.life() == "update 0:00"
    progress.update(1, {"time/rollout": 40.0, "time/update": 0.5})
    clock.now += 3.0
    assert progress.life() == "update 0:03"
    phase[:] = "rollout", clock.now - 2.0
    assert progress.life() == "rollout 0:02 of about 0:40"
    assert progress.part() == ("rollout", 2.0, 40.0)
    assert make(4)[0].life() == ""


def test_a_long_step_shows_life_in_plain_lines_and_a_short_one_does_not(make, clock):
    for seconds, printed in ((0.01, True), (60.0, False)):
        progress, file = make(4, phase=lambda: ("rollout", 100.0), life_seconds=seconds)
        with progress:
            clock.now = 225.0
            until = time.monotonic() + 5.0
            while printed and not file.getvalue() and time.monotonic() < until:
                time.sleep(0.01)
        assert file.getvalue().startswith("step 1/4  rollout 2:05\n" if printed else "")
        assert bool(file.getvalue()) is printed


def test_a_program_may_name_its_parts_itself(make, clock):
    progress, _ = make(2)
    assert progress.life() == ""
    progress.begin("warm-up")
    clock.now += 5.0
    assert progress.life() == "warm-up 0:05"
    progress.begin("grading")
    clock.now += 61.0
    assert progress.life() == "grading 1:01"


def test_a_terminal_shows_the_part_of_a_step(make, clock):
    progress, file = make(4, terminal=True, phase=lambda: ("rollout", 100.0))
    with progress:
        clock.now += 8.0
        progress.update(1, {})
    assert "rollout 0:08" in file.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.517, "0.52 s"), (12.3, "12 s"), (99.4, "99 s"), (125.0, "2:05")]
)
def test_the_pace_of_a_step_is_never_written_with_an_exponent(seconds, text):
    assert pace(seconds) == text
