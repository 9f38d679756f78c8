from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from laconic.envs.benchmarks import generation
from laconic.envs.benchmarks.generation import (
    Candidate,
    Problem,
    draw_different,
    leveled,
    mix,
    span,
    split_of,
)
from laconic.envs.errors import SettingError, UnknownNameError

# The digests by `b2sum -l 32`, and their last byte modulo 4; 0 is evaluation:
# a ca234c55: 0x55 = 85, 1. c a5047ec9: 0xc9 = 201, 1. g 160dcb9a: 0x9a = 154, 2.
# i 8fb76dd0: 0xd0 = 208, 0.
SPLITS = {"a": "train", "c": "train", "g": "train", "i": "evaluation"}


def dealt(*contents: str) -> Callable[[Random, str], Candidate[tuple[str, str]]]:
    """Return a maker that repeats these contents in turn, and returns key and content."""
    calls = iter(range(10**6))

    def make(random: Random, key: str) -> Candidate[tuple[str, str]]:
        content = contents[next(calls) % len(contents)]
        return Candidate(content, lambda: (key, content))

    return make


def test_the_digest_of_a_content_tells_its_split() -> None:
    assert {content: split_of(content) for content in SPLITS} == SPLITS


def test_duplicates_and_the_other_split_are_passed_over() -> None:
    # a is taken, the second a is a duplicate, i is of the other split, c is taken.
    assert draw_different(dealt("a", "a", "i", "c"), 7, 2, "train", "letters") == (
        ("train-7/0", "a"),
        ("train-7/1", "c"),
    )
    assert draw_different(dealt("a", "a", "i", "c"), 7, 1, "evaluation", "letters") == (
        ("evaluation-7/0", "i"),
    )
    assert draw_different(dealt("a"), 7, 0, "train", "letters") == ()


def test_they_run_out_when_nothing_new_comes_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "_PATIENCE", 3)
    message = (
        "count must be at most the number of different train letters; got 3, and found 2 before"
        " they ran out. Ask for fewer (env.tasks), or for more levels or kinds (env.generator)"
    )
    with pytest.raises(SettingError) as caught:
        draw_different(dealt("a", "c"), 0, 3, "train", "letters")
    assert str(caught.value) == message
    # Two misses in a row, and no more: a, [a, i], c, [a, a], g.
    draws = draw_different(dealt("a", "a", "i", "c", "a", "a", "g"), 0, 3, "train", "letters")
    assert [content for _, content in draws] == ["a", "c", "g"]
    with pytest.raises(SettingError, match="different evaluation letters; got 1, and found 0"):
        draw_different(dealt("a"), 0, 1, "evaluation", "letters")


def test_a_refused_item_may_be_drawn_again_and_counts_as_a_miss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries = Counter[str]()

    def make(random: Random, key: str) -> Candidate[str]:
        tries[key] += 1
        return Candidate("a", lambda: "good" if tries[key] == 3 else None)

    assert draw_different(make, 0, 1, "train", "letters") == ("good",)
    assert tries == {"train-0/0": 3}
    monkeypatch.setattr(generation, "_PATIENCE", 2)
    tries.clear()
    with pytest.raises(SettingError, match="found 0 before they ran out"):
        draw_different(make, 0, 1, "train", "letters")


def test_another_text_than_the_content_can_tell_the_split() -> None:
    def make(random: Random, key: str) -> Candidate[str]:
        return Candidate("a", lambda: "taken", split_by="i")

    assert draw_different(make, 0, 1, "evaluation", "letters") == ("taken",)


def test_a_seed_gives_the_same_draws_and_fewer_are_the_first() -> None:
    def make(random: Random, key: str) -> Candidate[int]:
        number = random.randrange(10**6)
        return Candidate(str(number), lambda: number)

    draws = draw_different(make, 5, 40, "train", "numbers")
    assert draw_different(make, 5, 10, "train", "numbers") == draws[:10]
    assert len(set(draws)) == 40
    others = draw_different(make, 5, 40, "evaluation", "numbers")
    assert not set(draws) & set(others)
    assert {split_of(str(number)) for number in others} == {"evaluation"}


def test_the_content_of_a_problem_is_the_same_in_any_order_of_its_facts() -> None:
    first, second = (Problem(facts, "C?", "D", "") for facts in (("B.", "A."), ("A.", "B.")))
    assert first.content == second.content == "A.\nB.\nC?"


def test_facts_are_told_in_any_order_unless_they_have_one() -> None:
    facts = tuple("ABCDEFGH")
    order = Problem(facts, "?", "", "").ordered_facts(Random(0))
    assert sorted(order) == list(facts) != order
    assert Problem(facts, "?", "", "", ordered=True).ordered_facts(Random(0)) == list(facts)


def test_a_level_and_distractors_are_numbers_or_pairs_within_their_limits() -> None:
    def makes(levels: Any, extras: Any) -> Callable[[Random, str], Candidate[Any]]:
        return lambda random, key: Candidate(key, lambda: (key, levels, extras), split_by="a")

    generate = leveled(makes, "letters", (1, 3), 4)
    assert generate(7, 1, "train") == (("train-7/0", (1, 3), (1, 2)),)
    assert generate(7, 1, "train", 2, (0, 4)) == (("train-7/0", (2, 2), (0, 4)),)
    for settings in ({"level": 4}, {"distractors": 5}, {"count": -1}):
        with pytest.raises(SettingError):
            generate(**{"seed": 0, "count": 1, "split": "train", **settings})


def test_distractors_are_flagged_wherever_they_go() -> None:
    assert mix(Random(0), ["A."], []) == (("A.",), (True,))
    for seed in range(20):
        statements, relevant = mix(Random(seed), ["A.", "B."], iter(["x", "y"]))
        assert sorted(statements) == ["A.", "B.", "x", "y"]
        flagged = zip(statements, relevant, strict=True)
        assert [text for text, fact in flagged if fact] == ["A.", "B."]


def test_two_distractors_are_never_about_the_same() -> None:
    draws = iter([("ann", "1"), ("ann", "2"), ("bob", "3"), ("cy", "4")])
    problem = Problem((), "?", "", "", decoy=lambda random: next(draws))
    assert problem.decoys(Random(0), 2) == ["1", "3"]
    assert problem.decoys(Random(0), 0) == []


@pytest.mark.parametrize(
    ("seed", "count", "message"),
    [
        (0.5, 1, "env.generator.seed must be a whole number; got 0.5"),
        (True, 1, "env.generator.seed must be a whole number; got True"),
        (0, "3", "count must be a whole number of at least 0; got '3'"),
        (0, -1, "count must be a whole number of at least 0; got -1"),
    ],
)
def test_a_bad_request_is_refused(seed: Any, count: Any, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        draw_different(dealt("a"), seed, count, "train", "letters")
    assert str(caught.value) == message


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="'test'"):
        draw_different(dealt("a"), 0, 1, "test", "letters")  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "pair"), [(2, (2, 2)), ((1, 3), (1, 3)), ([1, 1], (1, 1))])
def test_a_number_or_a_pair_becomes_a_pair(value: Any, pair: tuple[int, int]) -> None:
    assert span("level", value, (1, 3)) == pair


@pytest.mark.parametrize("value", [0, 4, (3, 1), (1, 4), (1,), (1, 2, 3), 1.0, True, "1", None])
def test_anything_else_is_no_span(value: Any) -> None:
    with pytest.raises(
        SettingError, match="env.generator.level must be a whole number from 1 to 3"
    ):
        span("level", value, (1, 3))
