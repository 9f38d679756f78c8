"""The bare calls of a step get what the step got, and steps of another kind are refused."""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager

import pytest
import torch

from laconic.experiments.session.costs import peak_gigabytes
from laconic.extras.speed.bare_calls import TimedPolicy, forget_peak, prompts_by_round
from laconic.learners.episode import Episode, Turn


def test_the_bare_calls_get_the_prompts_of_each_round():
    turns = (
        Turn("a", 0, "x", (1, 2), (3,), (0.0,)),
        Turn("b", 0, "y", (4,), (5, 6), (0.0, 0.0)),
        Turn("a", 1, "z", (7,), (8,), (0.0,)),
    )
    episodes = [Episode("t", turns, {"a": (0.0, 0.0), "b": (0.0, 0.0)})]
    # The second prompt of `a` is all it read and said before.
    assert prompts_by_round(episodes) == [[[1, 2], [4]], [[1, 2, 3, 7]]]


def test_zero_rounds_have_no_messages():
    assert prompts_by_round([]) == []
    assert prompts_by_round([Episode("t", (), {})]) == []


def test_the_time_of_all_replies_is_added_up(monkeypatch):
    ticks = iter([0.0, 1.5, 10.0, 10.25])
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))

    class Echo:
        def reply(self, requests, *, seed, greedy):
            return [*requests, seed, greedy]

    timed = TimedPolicy(Echo())
    assert timed.reply(["a"], seed=3, greedy=True) == ["a", 3, True]
    assert timed.reply([], seed=4, greedy=False) == [4, False]
    # 1.5 - 0 and 10.25 - 10.
    assert timed.seconds == 1.75


def test_a_policy_that_is_timed_remembers_as_it_would():
    notes = []

    class Keeper:
        @contextmanager
        def remembering(self):
            notes.append("begin")
            yield
            notes.append("end")

    with TimedPolicy(Keeper()).remembering():
        assert notes == ["begin"]
    assert notes == ["begin", "end"]
    with TimedPolicy(object()).remembering():
        pass


@pytest.mark.skipif(
    sys.platform != "linux" or torch.cuda.is_available(), reason="only Linux forgets a peak"
)
def test_memory_is_that_of_what_comes_after_a_peak_is_forgotten():
    earlier = bytes(300_000_000).replace(b"\0", b"a")
    del earlier
    held = forget_peak()
    later = bytes(100_000_000).replace(b"\0", b"a")
    # Two copies at most, one of which is only promised until it is written.
    assert 0.09 < peak_gigabytes() - held < 0.25 and len(later) == 100_000_000


def test_memory_is_unknown_where_a_container_forbids_to_forget_a_peak(monkeypatch):
    def forbidden(path, text):
        raise PermissionError(path)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("pathlib.Path.write_text", forbidden)
    assert math.isnan(forget_peak())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "words"),
    [("ippo", "got ActorCriticLearner"), ("magrpo", "one policy for the whole team")],
)
def test_a_step_whose_bare_calls_are_unknown_is_refused(run, policy_folder, learner, words):
    outcome = run(
        "measure_speed", f"agent.model={policy_folder}", f"learner={learner}", "env.tasks=4"
    )
    assert outcome.code == 1
    assert words in outcome.err
