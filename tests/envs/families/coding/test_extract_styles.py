"""A program scores the same in whatever style a model writes it down."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent

import pytest

from laconic import envs
from laconic.envs.families.coding.extract import program
from laconic.envs.task import Task

TICKS = "```"
RIGHT = (
    "def area(length, width):\n"
    "    total = 0\n"
    "    for _ in range(width):\n"
    "        total += length\n"
    "    return total"
)
WRONG = RIGHT.replace("total = 0", "total = 1")


def fence(code: str, language: str = "python") -> str:
    return f"{TICKS}{language}\n{code}\n{TICKS}"


def with_docstring(code: str, docstring: str) -> str:
    head, _, body = code.partition("\n")
    return f'{head}\n    """{docstring}\n    """\n{body}'


def quoted(code: str) -> str:
    return "\n".join(f"> {line}" for line in fence(code).split("\n"))


STYLES: dict[str, Callable[[str], str]] = {
    "stop word": lambda code: f"{code}\n\nTERMINATE",
    "end mark": lambda code: f"[BEGIN]\n{code}\n[DONE]",
    "end mark in a fence": lambda code: fence(f"{code}\n[DONE]"),
    "stop word behind an open fence": lambda code: f"{TICKS}python\n{code}\n\nTERMINATE",
    "note that is an annotation": lambda code: f"{code}\n\nExplanation: trivial",
    "words that are a comparison": lambda code: f"{code}\n\ncode is ready",
    "several closing words": lambda code: f"{code}\n\nDone, thanks\nEND\n[/ANSWER]",
    "tags of a language": lambda code: f"[PYTHON]\n{code}\n[/PYTHON]",
    "fence in the docstring": lambda code: fence(
        with_docstring(code, f"Multiply.\n\n    {TICKS}\n    area(2, 3)\n    {TICKS}")
    ),
    "Python fence in the docstring": lambda code: fence(
        with_docstring(
            code, f"Multiply.\n\n    {TICKS}python\n    >>> area(2, 3)\n    6\n    {TICKS}"
        )
    ),
    "two fences in the docstring": lambda code: fence(
        with_docstring(
            code, f"A.\n\n    {TICKS}\n    1\n    {TICKS}\n    B.\n    {TICKS}\n    2\n    {TICKS}"
        )
    ),
    "fence in the docstring, other fence behind": lambda code: (
        fence(with_docstring(code, f"A.\n    {TICKS}\n    1\n    {TICKS}"))
        + f"\nExample:\n{fence('area(2, 3)', '')}"
    ),
    "fence in a docstring of bare code": lambda code: with_docstring(
        code, f"A.\n    {TICKS}\n    area(2, 3)\n    {TICKS}"
    ),
    "byte order mark": lambda code: "\ufeff" + code,
    "byte order mark in a fence": lambda code: fence("\ufeff" + code),
    "zero-width space": lambda code: fence("\u200b" + code.replace("\n", "\n\u200b")),
    "word joiner in bare code": lambda code: f"Here:\n\u2060{code}",
    "no-break spaces": lambda code: fence(code.replace("    ", "\u00a0" * 4)),
    "no-break spaces without a fence": lambda code: code.replace("    ", "\u00a0" * 4),
    "ideographic spaces": lambda code: fence(code.replace("    ", "\u3000")),
    "quotation": lambda code: f"As I said:\n{quoted(code)}\nThat is it.",
    "list item": lambda code: "- Here it is:\n" + indent(fence(code), "  "),
    "heading": lambda code: f"### Solution\n{fence(code)}\n### Complexity\nO(n)",
    "collapsed details": lambda code: f"<details>\n\n{fence(code)}\n\n</details>",
    "answer tags": lambda code: f"<answer>\n{fence(code)}\n</answer>",
    "file name on the fence": lambda code: fence(code, "python title=area.py"),
    "file name in braces": lambda code: fence(code, "{.python .numberLines}"),
    "capital language": lambda code: fence(code, "Python"),
    "space before the language": lambda code: fence(code, " python"),
    "notebook language": lambda code: fence(code, "ipython3"),
    "spaces at line ends": lambda code: fence(code.replace("\n", "   \n")),
    "blank lines": lambda code: fence(f"\n\n{code}\n\n"),
    "form feed": lambda code: fence(f"\f{code}"),
    "no line break before the end": lambda code: f"{TICKS}python\n{code}{TICKS}",
    "comments": lambda code: fence(f"#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n{code}"),
    "output behind": lambda code: f"{fence(code)}\nOutput:\n{fence('6', 'text')}",
    "helper in another fence": lambda code: (
        fence("def one():\n    return 1")
        + "\nand\n"
        + fence(code.replace("range(width)", "range(width * one())"))
    ),
    "final answer in words": lambda code: f"The final answer is:\n\n{code}\n\nHope this helps!",
    "role before": lambda code: f"assistant: {fence(code)}",
}


@pytest.fixture(scope="module")
def task() -> Task:
    row = {
        "task_id": 1,
        "text": "Write a function to find the area of a rectangle.",
        "code": RIGHT,
        "test_list": ["assert area(2, 3) == 6", "assert area(5, 0) == 0"],
        "test_setup_code": "",
        "challenge_test_list": [],
    }
    return envs.benchmark("mbpp").read(row, "here", "own/1")


def test_the_plain_programs_are_right_and_wrong(task: Task) -> None:
    assert _solved(task, RIGHT) and not _solved(task, WRONG)


@pytest.mark.parametrize("style", STYLES)
def test_a_style_scores_like_the_plain_program(task: Task, style: str) -> None:
    assert _solved(task, STYLES[style](RIGHT))
    assert not _solved(task, STYLES[style](WRONG))


def test_there_are_styles_enough() -> None:
    assert len(STYLES) >= 20


@pytest.mark.parametrize(
    "ending",
    [
        "area = None",
        "del area",
        "raise SystemExit",
        "unknown()",
        "area(undefined)",
        "x = undefined",
    ],
)
def test_statements_at_the_end_are_no_words_and_stay(ending: str) -> None:
    result = program(f"{RIGHT}\n{ending}", "area")
    assert result is not None and result.rstrip().endswith(ending)


def test_a_program_that_is_read_as_it_is_keeps_its_characters() -> None:
    code = 'def area(length, width):\n    return "\u200b\u00a0"'
    assert program(fence(code), "area") == code + "\n"
    # A string is not closed by the first fence that would leave it open.
    drafts = f'{TICKS}python\ndef area(a, b):\n    """Open.\n{TICKS}\nBetter:\n{fence(RIGHT)}'
    assert program(drafts, "area") == RIGHT + "\n"


def _solved(task: Task, reply: str) -> bool:
    return envs.benchmark("mbpp").score(task, {"coder_0": reply}).solved
