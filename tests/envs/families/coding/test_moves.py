"""The table of moves: what each gave before it was a table, and that words tell them apart."""

from __future__ import annotations

from random import Random

import pytest

from laconic.envs.families.coding.function import Step, inputs, run
from laconic.envs.families.coding.moves import MOVES, NAMES, TYPES

VALUES = {"numbers": [3, -4, 7, 0, 3, 2], "number": -13, "text": "Ann eats a pear"}
KINDS = {"numbers": list, "number": int, "text": str}
# Words of a move, a parameter, and what the move makes of the value above.
NUMBERS = (
    ("keep only the even numbers", None, [-4, 0, 2]),
    ("keep only the odd numbers", None, [3, 7, 3]),
    ("keep only the numbers greater than $k", 2, [3, 7, 3]),
    ("keep only the numbers less than $k", 3, [-4, 0, 2]),
    ("keep only the multiples of $k", 4, [-4, 0]),
    ("add $k to every number", 5, [8, 1, 12, 5, 8, 7]),
    ("subtract $k from every number", 5, [-2, -9, 2, -5, -2, -3]),
    ("multiply every number by $k", 6, [18, -24, 42, 0, 18, 12]),
    ("square every number", None, [9, 16, 49, 0, 9, 4]),
    ("change the sign of every number", None, [-3, 4, -7, 0, -3, -2]),
    ("replace every number by its absolute value", None, [3, 4, 7, 0, 3, 2]),
    ("replace every number x by x % $k", 5, [3, 1, 2, 0, 3, 2]),
    ("replace every number less than $k by $k", 2, [3, 2, 7, 2, 3, 2]),
    ("replace every number greater than $k by $k", 4, [3, -4, 4, 0, 3, 2]),
    ("double the odd numbers and leave the even ones", None, [6, -4, 14, 0, 6, 2]),
    ("halve the even numbers and leave the odd ones", None, [3, -2, 7, 0, 3, 1]),
    ("sort the numbers from smallest to largest", None, [-4, 0, 2, 3, 3, 7]),
    ("sort the numbers from largest to smallest", None, [7, 3, 3, 2, 0, -4]),
    ("reverse the order of the numbers", None, [2, 3, 0, 7, -4, 3]),
    ("remove repeated numbers and keep the first of each", None, [3, -4, 7, 0, 2]),
    ("keep only the first $k numbers", 3, [3, -4, 7]),
    ("drop the first $k numbers", 3, [0, 3, 2]),
    ("keep every second number, beginning with the first", None, [3, 7, 3]),
    (
        "replace every number by the sum of all numbers up to and including it",
        None,
        [3, -1, 6, 6, 9, 11],
    ),
    ("if there are more than $k numbers, reverse their order", 4, [2, 3, 0, 7, -4, 3]),
    ("put the number $k at the end", 5, [3, -4, 7, 0, 3, 2, 5]),
    ("take the sum of the numbers", None, 11),
    ("take the largest number, or 0 if there is none", None, 7),
    ("take the smallest number, or 0 if there is none", None, -4),
    ("take the last number, or 0 if there is none", None, 2),
    ("count the numbers", None, 6),
    ("count the numbers greater than $k", 2, 3),
    ("take the difference of the largest and the smallest number, or 0 if there is none", None, 11),
)
NUMBER = (
    ("add $k", 5, -8),
    ("subtract $k", 5, -18),
    ("multiply by $k", 6, -78),
    ("square the number", None, 169),
    ("take the absolute value", None, 13),
    ("replace the number x by x % $k", 6, 5),
    ("if the number is even, halve it, and otherwise add $k", 5, -8),
    ("if the number is less than $k, take $k instead", 2, 2),
    ("if the number is greater than $k, take $k instead", 2, -13),
    ("list the digits of its absolute value from left to right", None, [1, 3]),
)
TEXT = (
    ("reverse the text", None, "raep a stae nnA"),
    ("turn all letters into capital letters", None, "ANN EATS A PEAR"),
    ("turn all letters into small letters", None, "ann eats a pear"),
    ("swap small and capital letters", None, "aNN EATS A PEAR"),
    ("remove all vowels (a, e, i, o, u, small or capital)", None, "nn ts  pr"),
    ("remove all spaces", None, "Anneatsapear"),
    ("write every character twice", None, "AAnnnn  eeaattss  aa  ppeeaarr"),
    ("keep only the first $k characters", 5, "Ann e"),
    ("drop the first $k characters", 3, " eats a pear"),
    ("keep every second character, beginning with the first", None, "Anet  er"),
    ("put the letter $k at the end", "p", "Ann eats a pearp"),
    ("put the letter $k at the beginning", "p", "pAnn eats a pear"),
    ("replace every small a by the letter $k", "p", "Ann epts p pepr"),
    ("if the text has more than $k characters, reverse it", 7, "raep a stae nnA"),
    ("put the words in reverse order, with one space between them", None, "pear a eats Ann"),
    ("count the characters", None, 15),
    ("count the words", None, 4),
    ("count the vowels (a, e, i, o, u, small or capital)", None, 6),
    ("count how often the small letter $k occurs", "o", 0),
    ("list the length of every word", None, [3, 4, 1, 4]),
)
ROWS = [("numbers", *row) for row in NUMBERS]
ROWS += [("number", *row) for row in NUMBER] + [("text", *row) for row in TEXT]


@pytest.mark.parametrize(("takes", "words", "choice", "expected"), ROWS)
def test_a_move_gives_what_its_words_say(takes, words, choice, expected):
    (move,) = [move for move in MOVES if (move.takes, move.words) == (takes, words)]
    value = VALUES[takes]
    assert move.run(value, choice) == expected
    assert choice in move.choices
    assert VALUES["numbers"] == [3, -4, 7, 0, 3, 2]


def test_every_move_is_worked_out_once_and_told_apart_by_its_words():
    pairs = [(takes, words) for takes, words, *_ in ROWS]
    assert pairs == [(move.takes, move.words) for move in MOVES]
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.words)
def test_the_written_code_of_a_move_does_what_the_move_does(move):
    values = inputs(move.takes, 40, Random(1))
    for choice in move.choices:
        step = Step(move, choice)
        assert "$" not in step.words + step.code("v")
        for value in values:
            copy = list(value) if isinstance(value, list) else value
            expected = run((step,), value)
            assert type(expected) is KINDS[move.gives]
            # The expressions are the grammar's own.
            assert eval(step.code("v"), {"v": copy}) == expected
            assert value == copy


def test_all_kinds_have_an_annotation_and_a_name():
    assert set(TYPES) == set(NAMES) == {move.takes for move in MOVES}
