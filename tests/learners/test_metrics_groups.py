"""Metrics of a step's groups, worked out by hand."""

from __future__ import annotations

import pytest

from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.metrics import describe_replies


def group(*pays: tuple[float, float], turns: tuple[Turn, ...] = ()) -> Group:
    return Group("t", tuple(Episode("t", turns, {"a": (0.0, x), "b": (y,)}) for x, y in pays))


def test_length_and_entropy_are_over_replies_with_tokens():
    turns = (
        Turn("a", 0, "hm", (1,), (2, 3, 4), (-1.0, -2.0, 0.0)),
        Turn("b", 0, "", (1,), (5,), (-3.0,)),
        Turn("b", 1, "said by a script"),
    )
    metrics = describe_replies([group((1.0, 0.0), (0.0, 0.0), turns=turns)])
    # Four tokens in two replies; -log p adds up to 6 over four tokens.
    assert (metrics["reply_tokens"], metrics["entropy"]) == (2.0, pytest.approx(6 / 4))


def test_no_groups_give_no_figures():
    assert describe_replies([]) == {}
