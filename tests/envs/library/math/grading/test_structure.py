"""Answers are taken apart by brackets and separators; inequalities are intervals."""

from __future__ import annotations

import pytest

from laconic.envs.library.math.grading.structure import split, structure_of


@pytest.mark.parametrize(
    ("text", "kind", "parts", "form"),
    [
        ("5", "single", ("5",), ""),
        ("(5)", "single", ("5",), ""),
        ("1, 2", "list", ("1", "2"), ""),
        (r"\{1, 2\}", "list", ("1", "2"), "set"),
        (r"3 \pm x", "list", ("3 + x", "3 - x"), ""),
        ("(1, 2)", "tuple", ("1", "2"), "()"),
        ("[1, 2)", "tuple", ("1", "2"), "[)"),
        (r"1 < x \le 2", "tuple", ("1", "2"), "(]"),
        (r"2 \ge x > 1", "tuple", ("1", "2"), "(]"),
        ("x > 3", "tuple", ("3", r"\infty"), "()"),
        ("3 < x", "tuple", ("3", r"\infty"), "()"),
        # Two letters bound nothing.
        ("x < y", "single", ("x < y",), ""),
        (r"(1,2) \cup (3,4)", "union", ("(1,2)", "(3,4)"), ""),
        (r"(1,2) \cup [2,3)", "tuple", ("1", "3"), "()"),
        (r"(4,5) \cup \{3\} \cup (1,3)", "union", ("(1,3]", "(4,5)"), ""),
        # Open ends leave a hole, and other ends than rational ones are not put in order.
        (r"(1,2) \cup (2,3)", "union", ("(1,2)", "(2,3)"), ""),
        (r"(1,\pi) \cup [\pi,4)", "union", ("(1,\\pi)", "[\\pi,4)"), ""),
        ("x < 2, x > 5", "union", ("x < 2", "x > 5"), ""),
        ("x = 5", "equation", ("x", "5"), ""),
        (r"\frac{1}{2}, f(1,2)", "list", (r"\frac{1}{2}", "f(1,2)"), ""),
        (r"x \ne 0", "union", (r"(-\infty,0)", r"(0,\infty)"), ""),
        (r"\mathbb{R} \setminus \{2,1\}", "union", (r"(-\infty,1)", "(1,2)", r"(2,\infty)"), ""),
        (r"[0,9] \setminus (1,2]", "union", ("[0,1]", "(2,9]"), ""),
        (r"[0,9] \setminus \{4\}", "union", ("[0,4)", "(4,9]"), ""),
        (r"x \ne \sqrt{2}, 1", "list", (r"x \ne \sqrt{2}", "1"), ""),
        (r"(1,2) - (3,4)", "single", ("(1,2) - (3,4)",), ""),
        (r"\{x \mid x > 3\}", "tuple", ("3", r"\infty"), "()"),
        (r"\langle 1, 2 \rangle", "tuple", ("1", "2"), "<>"),
        (r"\langle1,2\rangle", "tuple", ("1", "2"), "<>"),
        (r"\mathbb{R} - (1,2)", "single", (r"\mathbb{R} - (1,2)",), ""),
        (r"(1,2) - \{1\}", "single", (r"(1,2) - \{1\}",), ""),
        ("[[1,2],[3,4]]", "matrix", ("1", "2", "3", "4"), "2x2x2"),
        ("[[1,2],[3]]", "tuple", ("[1,2]", "[3]"), "[]"),
        # Rows need square brackets that enclose them, stand in square brackets, and are several.
        ("[(1,2),(3,4)]", "tuple", ("(1,2)", "(3,4)"), "[]"),
        ("([1,2],[3,4])", "tuple", ("[1,2]", "[3,4]"), "()"),
        ("[[1] + [2], [3] + [4]]", "tuple", ("[1] + [2]", "[3] + [4]"), "[]"),
        ("[[1,2]]", "tuple", ("[1,2]",), "[]"),
        ("[[1],[2]]", "matrix", ("1", "2"), "2x1x1"),
        # Two `\pm` are not two members, nor is one in a part of a union.
        (r"1 \pm 2 \pm 3", "single", (r"1 \pm 2 \pm 3",), ""),
        (r"(1,2) \cup 1 \pm x, 4", "list", (r"(1,2) \cup 1 \pm x", "4"), ""),
        ("(1,2), (3,4)^T", "list", ("(1,2)", "(3,4)^T"), ""),
        ("(1,2)^T", "matrix", ("1", "2"), "2x1x1"),
        (r"\begin{pmatrix}1 & 2\end{pmatrix}^T", "matrix", ("1", "2"), "2x1x1"),
        (
            r"\begin{pmatrix}1 & 2 \\ 3\end{pmatrix}^T",
            "single",
            (r"\begin{pmatrix}1 & 2 \\ 3\end{pmatrix}^T",),
            "",
        ),
        (r"\begin{vmatrix}1\end{vmatrix}^T", "single", (r"\begin{vmatrix}1\end{vmatrix}^T",), ""),
        (r"2, \pm 3", "list", ("2", "+ 3", "- 3"), ""),
        (r"\mathbb{R}", "tuple", (r"-\infty", r"\infty"), "()"),
        (r"\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix}", "matrix", ("1", "2", "3", "4"), "2x2x2"),
        (r"\begin{vmatrix}1\end{vmatrix}", "matrix", ("1",), "1x1|"),
        (r"{\begin{pmatrix}1/3 \\ 2\end{pmatrix}}", "matrix", ("1/3", "2"), "2x1x1"),
        (r"\begin{pmatrix}1\end{pmatrix}, 2", "list", (r"\begin{pmatrix}1\end{pmatrix}", "2"), ""),
    ],
)
def test_the_outermost_structure(text: str, kind: str, parts: tuple[str, ...], form: str) -> None:
    result = structure_of(text)
    assert (result.kind, result.parts, result.form) == (kind, parts, form)


def test_separators_within_brackets_and_relations_do_not_split() -> None:
    assert split("a,(b,c),d", (",",)) == ("a", "(b,c)", "d")
    assert split("a <= b", ("=",)) == ("a <= b",)
    assert split("", (",",)) == ("",)
