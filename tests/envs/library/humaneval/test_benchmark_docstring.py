from __future__ import annotations

from laconic.envs.library.humaneval.benchmark import conditions


def test_a_docstring_without_words_has_no_conditions():
    assert conditions("", "f") == conditions("\n \n", "f") == ()


def test_sentences_are_cut_across_lines():
    text = "Give back the sum of\nall numbers. An empty list\nhas the sum 0."
    assert conditions(text, "f") == (
        "Give back the sum of all numbers.",
        "An empty list has the sum 0.",
    )


def test_examples_become_one_line_each():
    text = (
        "Add.\n>>> f([1,\n... 2])\n3\n>>> f('')\n\nExamples:\nf(1) == 2\nfor example:\n* f(3) => 4"
    )
    assert conditions(text, "f") == (
        "Add.",
        "`f([1, 2])` gives `3`",
        "`f('')`",
        "f(1) == 2",
        "* f(3) => 4",
    )


def test_results_of_several_lines_are_joined():
    assert conditions(">>> f(1)\n[1,\n 2]", "f") == ("`f(1)` gives `[1, 2]`",)


def test_items_of_a_list_stand_alone():
    text = "The idea is simple:\n- find the longest one\nof all\n- turn it around\n\nThat is all."
    assert conditions(text, "f") == (
        "The idea is simple:",
        "- find the longest one of all",
        "- turn it around",
        "That is all.",
    )
