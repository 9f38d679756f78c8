from __future__ import annotations

from random import Random

import pytest

from laconic.envs.errors import SettingError
from laconic.envs.families.coding import generate
from laconic.envs.families.coding.function import neighbors, run, shortened
from laconic.envs.families.coding.generate import NAMES, behavior, items


@pytest.fixture(scope="module")
def puzzles():
    """Three hundred functions of all levels."""
    return items(0, 300, "train")


def test_no_functions_may_be_asked_for():
    assert items(0, 0, "train") == ()


def test_fewer_are_the_first_of_more(puzzles):
    assert items(0, 20, "train") == puzzles[:20]
    assert items(1, 20, "train") != puzzles[:20]


def test_training_and_evaluation_share_no_function():
    names = {behavior(item.puzzle.chain) for s in (0, 1) for item in items(s, 300, "train", (1, 2))}
    for seed in (0, 1, 2):
        results = {behavior(item.puzzle.chain) for item in items(seed, 200, "evaluation", (1, 2))}
        assert results.isdisjoint(names)


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_a_level_is_a_number_of_steps(level):
    for item in items(0, 30, "train", level, 2):
        assert len(item.puzzle.chain) == level == sum(item.relevant)
        assert len(item.statements) == level + 2


def test_what_matters_is_the_steps_in_their_order_and_nothing_else(puzzles):
    for item in puzzles:
        own = [s for s, flag in zip(item.statements, item.relevant, strict=True) if flag]
        assert own == [
            f"Step {index} of {item.puzzle.name}: {step.words}."
            for index, step in enumerate(item.puzzle.chain, start=1)
        ]
        others = set(item.statements) - set(own)
        assert all(f" of {item.puzzle.name}:" not in statement for statement in others)


def test_results_are_those_of_the_function_and_examples_are_no_tests(puzzles):
    for item in puzzles:
        pairs = (*item.puzzle.examples, *item.puzzle.tests)
        assert len(item.puzzle.examples) == 2 and len(item.puzzle.tests) >= 6
        assert len({repr(value) for value, _ in pairs}) == len(pairs)
        assert all(run(item.puzzle.chain, value) == result for value, result in pairs)


def test_leaving_a_step_out_fails_a_test(puzzles):
    for item in puzzles:
        for rest in shortened(item.puzzle.chain):
            assert any(run(rest, value) != result for value, result in item.puzzle.tests)


def test_near_neighbours_fail_a_test(puzzles):
    random = Random(5)
    near = caught = 0
    for item in puzzles:
        for other in neighbors(item.puzzle.chain, random):
            if behavior(other) != behavior(item.puzzle.chain):
                near += 1
                caught += any(run(other, value) != result for value, result in item.puzzle.tests)
    # Neighbours that differ on rare inputs only may get through.
    assert near > 2000 and caught > 0.97 * near


def test_the_quickstarts_count_of_the_first_level_is_there():
    assert len(items(0, 4096, "train", 1, 1)) == 4096


def test_too_many_functions_are_refused_with_the_number_found(monkeypatch):
    monkeypatch.setattr(generate, "NAMES", NAMES[:9])
    with pytest.raises(SettingError, match="ran out. Ask for fewer"):
        items(0, 10**6, "evaluation", 1, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 5}, "generator.level must be a whole number from 1 to 4"),
        ({"level": (2, 1)}, "generator.level"),
        ({"distractors": -1}, "generator.distractors must be a whole number from 0 to 8"),
        ({"seed": 0.5}, "generator.seed must be a whole number"),
        ({"count": -1}, "count must be a whole number of at least 0"),
        ({"split": "test"}, "split"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        items(**{"seed": 0, "count": 1, "split": "train", **settings})


def test_names_say_nothing_and_are_no_words_of_python():
    assert len(set(NAMES)) == len(NAMES) == 84
    namespace: dict = {}
    for name in NAMES:
        exec(f"def {name}(): pass", namespace)
