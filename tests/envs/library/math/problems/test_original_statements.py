from __future__ import annotations

import pytest

from laconic.envs.library.math.problems.original import cut


@pytest.mark.parametrize(
    ("problem", "statements", "question"),
    [
        ("", (), ""),
        ("What is $1.5 + 2$?", (), "What is $1.5 + 2$?"),
        (
            "Let $x = 3.$ Let $y = 2$. Find $x. Y$.",
            ("Let $x = 3.$", "Let $y = 2$."),
            "Find $x. Y$.",
        ),
        # A price is no formula.
        (r"It costs \$2.50. How much are 3?", (r"It costs \$2.50.",), "How much are 3?"),
        # Nothing inside a figure ends a sentence.
        (
            "A circle is drawn.\n[asy]\ndraw(A. B); // Find. It?\n[/asy]\nThe radius is $2$."
            " Find it.",
            ("A circle is drawn.", "[asy]\ndraw(A. B); // Find. It?\n[/asy]\nThe radius is $2$."),
            "Find it.",
        ),
        # What follows the question belongs to it.
        (
            "Here is a fact. What is $x$? Express it as a fraction. It is small.",
            ("Here is a fact.",),
            "What is $x$? Express it as a fraction. It is small.",
        ),
        (
            "Let\n\\[x = 1. Y = 2.\\]Then more. Compute $x$.",
            ("Let\n\\[x = 1. Y = 2.\\]Then more.",),
            "Compute $x$.",
        ),
        # Without anything that asks, the last sentence is the question.
        ("One is one. The sum is", ("One is one.",), "The sum is"),
    ],
)
def test_a_problem_is_cut_between_sentences_only(
    problem: str, statements: tuple[str, ...], question: str
) -> None:
    assert cut(problem) == (statements, question)


@pytest.mark.parametrize(
    "problem",
    [
        "It costs $2. Tom has $5. He pays $1. What is left?",
        "Let $x = 2. Find it.",
        r"Let \[x = 2. Find it.",
        "See [asy] draw. Find it.",
        "A \ue000 is strange. Find it.",
    ],
)
def test_where_formulas_do_not_pair_up_the_problem_stays_whole(problem: str) -> None:
    assert cut(problem) == ((), problem)
