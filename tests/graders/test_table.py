"""Every family of re-forms, on rows of our own; `make graders` takes the real ones."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import number_forms
import pytest
from expressions import expression
from places import DATA

from laconic.envs.task import Task

ROWS = [
    ("How many coins are there?", "1280"),
    ("Find $x$.", r"\frac{7}{4}"),
    ("Find the area.", r"45^\circ"),
    ("Find the share.", r"25\%"),
    ("Find the price.", r"\$12"),
    ("Find the way.", r"12\text{ cm}"),
    ("Which points?", r"\left(-3,\frac{1}{2}\right)"),
    ("Where is it defined?", r"[2,7)"),
    ("Which roots?", "-2,1,5"),
    ("Simplify $\\sqrt{98}$.", r"7\sqrt{2}"),
    ("Factor $x^2-5x+6$.", "(x-2)(x-3)"),
    ("Expand it.", "x^2-3x-10"),
    ("Which day?", r"\text{Monday}"),
    ("Solve for $y$.", "y = 4"),
    ("Which product?", r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"),
    ("Which union?", r"(-\infty,1)\cup(2,3)"),
    ("Which vector?", r"\begin{pmatrix} 4 \\ -9 \end{pmatrix}"),
    ("Which point in space?", "(1,-2,3)"),
    ("Which members?", "1,4,9"),
    ("Which power?", "1+\\log_5 2"),
    ("Which set?", r"\emptyset"),
    ("Where is it defined?", r"(-\infty,-1)\cup(-1,2)\cup(2,\infty)"),
    ("How far?", "-1500"),
    ("How much?", r"-\frac{3}{2}"),
    ("Which area?", r"12\pi"),
]


@pytest.fixture(scope="module")
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "graders_table", Path(__file__).with_name("table.py")
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def messages(table: ModuleType) -> list:
    """Return every form of every row."""
    tasks = [Task(f"own/{place}", text, (), gold) for place, (text, gold) in enumerate(ROWS)]
    cases = [case for task in tasks for case in table.of_math(task, every=True)]
    for value in (18, -4, 95200):
        cases += table.of_gsm8k(Task(f"sum/{value}", "How many?", (), str(value)), every=True)
    return cases


def test_every_family_has_members_here(messages: list, table: ModuleType) -> None:
    kinds = [
        ("math", True, table.MATH_EQUAL),
        ("math", False, table.MATH_WRONG),
        ("gsm8k", True, number_forms.EQUAL),
        ("gsm8k", False, number_forms.WRONG),
    ]
    for benchmark, right, families in kinds:
        cases = [case for case in messages if (case.benchmark, case.right) == (benchmark, right)]
        assert {case.family for case in cases} == set(families)
        assert len(families) == (16 if benchmark == "math" else 12)


@pytest.mark.parametrize("benchmark", ["math", "gsm8k"])
def test_equal_forms_are_taken_and_wrong_ones_refused(
    messages: list, table: ModuleType, benchmark: str
) -> None:
    chosen = [case for case in messages if case.benchmark == benchmark]
    assert [case for case in chosen if table.ours(case) != case.right] == []


def test_the_page_counts_what_each_grader_misjudges(table: ModuleType) -> None:
    cases = [table.Case("math", "layout", right, "1", "?", "1") for right in (True, True, False)]
    page = table.page(cases, {"ours": [True, False, False], "other": [False, None, True]})
    # One of two is refused; of one message the other grader was not asked.
    assert "| `math` | 2 | 50.00% | 100.00% |" in page
    assert "| `math` | 1 | 0.00% | 100.00% |" in page
    assert "| **all** | 1 | 0.00% | 100.00% |" in page
    assert "layout" not in page
    lines = table.table(cases, {"ours": [True, False, False], "other": [None, None, None]})
    assert lines.splitlines() == [
        "kind,benchmark,family,messages,ours,other",
        "equal,all,,2,50.00%,-",
        "equal,math,all,2,50.00%,-",
        "equal,math,layout,2,50.00%,-",
        "wrong,all,,1,0.00%,-",
        "wrong,math,all,1,0.00%,-",
        "wrong,math,layout,1,0.00%,-",
    ]


def test_each_benchmark_has_its_own_bar(table: ModuleType) -> None:
    # Two of 400 are 0.5 %; three of 400 are more, whatever the other benchmark has.
    def case(benchmark: str, right: bool) -> object:
        return table.Case(benchmark, "layout", right, "1", "?", "1")

    messages = [case("math", True)] * 400 + [case("gsm8k", True)] * 4000
    assert table.within_bars(messages, [case("math", True)] * 2)
    assert not table.within_bars(messages, [case("math", True)] * 3)
    assert table.within_bars(messages, [])


@pytest.mark.parametrize(
    ("latex", "other"),
    [
        (r"\frac{1}{2}x + 3", r"\frac{x+6}{2}"),
        (r"2\sqrt{3}", r"\sqrt{12}"),
        (r"\left(x-1\right)^2", "x^2-2x+1"),
        (r"\frac12", "1/2"),
        ("3i^2", "-3"),
    ],
)
def test_simple_latex_is_read_without_a_grader(latex: str, other: str) -> None:
    first, second = expression(latex), expression(other)
    assert first is not None and second is not None and (first - second).expand() == 0


@pytest.mark.parametrize("latex", ["", r"\sin x", "x = 5", "1,2", r"\text{a}", "(1", "1/0", "+"])
def test_what_is_not_simple_is_not_read(latex: str) -> None:
    assert expression(latex) is None


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "math").is_dir(), reason=f"no MATH files in {DATA}")
def test_on_some_real_rows_the_bars_are_met(table: ModuleType) -> None:
    cases = list(table.cases(DATA, step=25))
    wrong = [case for case in cases if table.ours(case) != case.right]
    assert len(cases) > 1000 and table.within_bars(cases, wrong), wrong
