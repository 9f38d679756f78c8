from __future__ import annotations

import time

import pytest

from laconic.envs.families.coding.extract import commitment, fenced, fences, program

PROMPT = 'import math\n\n\ndef half(x):\n    return x / 2\n\n\ndef f(x):\n    """Add."""\n'
PREAMBLE = "import math\n\n\ndef half(x):\n    return x / 2"
WHOLE = "def f(x):\n    return x + 1"


def find(reply: str) -> str | None:
    return program(reply, "f", prompt=PROMPT, preamble=PREAMBLE)


def result(reply: str) -> object:
    """Return the result of a reply's program for 3; only replies of this file are run."""
    code = find(reply)
    assert code is not None, reply
    names: dict = {}
    exec(code, names)
    return names["f"](3)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "no code here",
        "#### ?",
        "pass",
        "hello",
        "x",
        "def g(x):\n    return 1",
        "```python\ndef g(x):\n    return 1\n```",
        "```\n```",
        "```python\ndef f(x:\n```",
        "def f(x)",
        "I would return f",
        "class Solution:\n    def f(self, x):\n        return x + 1",
        "def f(x):\n    return 1\x00",
    ],
)
def test_a_reply_without_the_function_holds_no_program(reply):
    assert program(reply, "f") is None
    assert find(reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        WHOLE,
        f"```python\n{WHOLE}\n```",
        f"```\n{WHOLE}\n```",
        f"```py\n{WHOLE}",
        f"Sure! Here it is:\n\n```python\n{WHOLE}\n```\nIt adds one to x, doesn't it?",
        f"I have worked it out. ```python\n{WHOLE}\n```",
        f"```Python\n{WHOLE}```",
        f"  1. Like so:\n    ```python\n    {WHOLE.replace(chr(10), chr(10) + '    ')}\n    ```",
        f"Sure, here it is.\n{WHOLE}\n\nThis function doesn't fail.",
        f"```python\n{WHOLE}\n```".replace("\n", "\r\n"),
        WHOLE.replace("\n", "\r"),
        "def f(x):\n\tif x:\n\t\treturn x + 1\n\treturn 1",
        "f = lambda x: x + 1",
        "if True:\n    def f(x): return x + 1\n".join(["import os\n", ""]),
        "    return x + 1",
        "return x + 1",
        "\treturn x + 1",
        "\tif x:\n\t\treturn x + 1\n\treturn 1",
        "y = 1\n    return x + y",
        "y = 1\nif x: y = 1\nreturn x + y",
        "if x: return x + 1\nfor y in (): pass\nreturn 0",
        "```python\n    return x + 1\n```",
        "```\nreturn x + 1\n```",
        "    return x + 1\n\nI hope it's right.",
        PROMPT + "    return x + 1",
        "    return x + 1\n\nTERMINATE",
        "```python\n    return x + 1\n[DONE]\n```",
        "\ufeff    return x + 1",
        "\u200breturn x + 1",
        "\u00a0\u00a0\u00a0\u00a0return x + 1",
        f"from __future__ import annotations\n{WHOLE}",
    ],
)
def test_the_program_is_found_in_every_accepted_form(reply):
    assert result(reply) == 4


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("def f(x):\n    return half(x)", 1.5),
        ("def f(x):\n    return math.floor(half(x))", 1),
        ("from __future__ import annotations\ndef f(x: Any):\n    return half(x)", 1.5),
        ("    return half(x)", 1.5),
        ("def half(x):\n    return 7\n\ndef f(x):\n    return half(x)", 7),
    ],
)
def test_what_the_prompt_gives_is_there_unless_the_reply_has_its_own(reply, value):
    assert result(reply) == value


def test_a_program_that_needs_nothing_is_left_as_it_is():
    assert find(WHOLE) == WHOLE


def test_of_several_fences_the_last_with_the_function_counts():
    first, second = "def f(x):\n    return 1", "def f(x):\n    return 2"
    assert result(f"{fenced(first)}\nBetter:\n{fenced(second)}\n```\nf(3) == 2\n```") == 2
    assert result(f"{fenced(first)}\nOutput:\n```\n2 apples\n```") == 1


def test_other_fences_give_what_the_function_lacks_and_nothing_else():
    helper, main = "def g(x):\n    return x + 1", "def f(x):\n    return g(x)"
    assert result(f"{fenced(helper)}\n{fenced(main)}") == 4
    assert result(f"{fenced(main)}\n{fenced(helper)}") == 4
    assert "print" not in (find(f"{fenced(main)}\n{fenced(helper)}\n```\nprint(1)\n```") or "")


def test_fences_that_are_one_program_together_are_joined():
    assert result("```python\ndef f(x):\n```\nand\n```python\n    return x + 1\n```") == 4


def test_without_a_prompt_a_body_alone_is_no_program():
    assert program("    return x + 1", "f") is None


def test_a_body_that_yields_is_a_program():
    code = find("    yield x + 1")
    assert code is not None and code.startswith(PROMPT)


def test_back_ticks_in_a_line_open_no_fence():
    assert fences("Use ```f``` here,\nand f alone.") == ()


def test_fences_are_cut_out_letter_for_letter():
    text = "a\n```python\nx = 1\n```\nb ```\ny```\n```\nz"
    assert [block.code for block in fences(text)] == ["x = 1\n", "y", "z"]
    assert [text[block.start : block.end] for block in fences(text)] == [
        "```python\nx = 1\n```",
        "```\ny```",
        "```\nz",
    ]


@pytest.mark.parametrize(
    ("message", "committed"),
    [
        ("nothing", None),
        ("#### 12", None),
        ("```\nhello\n```", None),
        ("```\nassert f(1) == 2\n```", None),
        ("    return x", None),
        (f"Well: {fenced(WHOLE)} Done.", fenced(WHOLE)),
        (f"{fenced('def f(x): return 0')}\nno:\n{fenced(WHOLE)}\nbye", fenced(WHOLE)),
        ("```\nreturn x + 1\n```", "```\nreturn x + 1\n```"),
        (f"Well,\n{WHOLE}\nThat is all.", WHOLE),
        ("x = 3\nno way\ndef f(x): return 1", "def f(x): return 1"),
        ("```python\r\ndef f(x): return 1\r\n```\r\n", "```python\r\ndef f(x): return 1\r\n```"),
        ("```\n\ufeffdef f(x): return 1\n```", "```\n\ufeffdef f(x): return 1\n```"),
        (
            'So:\n```\ndef f(x):\n    """A.\n    ```\n    1\n    ```\n    """\n```\nDone.',
            '```\ndef f(x):\n    """A.\n    ```\n    1\n    ```\n    """\n```',
        ),
    ],
)
def test_a_commitment_is_code_with_a_function(message, committed):
    assert commitment(message) == committed


HOSTILE = {
    "strings and fences": "```\n'''\"\"\"\n```\n" * 30_000,
    "fences in a string": '```\n"""\n' + "```\n" * 30_000,
    "a million letters": "x" * 10**6,
    "a million backticks": "`" * 10**6,
    "fences without end": "```\n" * 50_000,
    "many functions": "def f(x):\n" * 100_000,
    "ten functions of one name": "def f(x): return 1\n" * 10,
    "null characters": "def f(x):\n    return 1\x00" * 500,
    "open parentheses": "def f(x): return " + "(" * 19_000,
    "minus signs": "def f(x): return " + "-" * 19_000 + "1",
    "attributes": "def f(x): return x" + ".x" * 9_000,
    "nested blocks": "def f(x):\n" + "".join(" " * i + "if x:\n" for i in range(1, 190)),
    "lambdas": "f = " + "lambda: " * 2_400 + "1",
    "f-strings": "def f(x): return " + 'f"{' * 100,
    "returns": "return " * 2_800,
    "surrogates": "def f(x): return '\ud800'",
    "bad lines": "x = (\n" * 3_000,
    "a stray backslash": "def f(x): return '\\d'",
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_never_raises_and_takes_no_time(name):
    started = time.process_time()
    for text in (HOSTILE[name], f"```python\n{HOSTILE[name]}\n```", f"Well\n{HOSTILE[name]}\nwell"):
        find(text)
        commitment(text)
    assert time.process_time() - started < 5.0


def test_a_text_of_great_length_is_no_program():
    assert find(f"def f(x):\n    return {'1' * 10**6}") is None
    assert find(fenced(f"def f(x):\n    return '{'a' * 10**6}'")) is None


def test_code_without_a_fence_begins_at_one_of_three_lines() -> None:
    code = "def f(n):\n    return n"
    words = "import goods now\n"
    assert program(2 * words + code, "f") == code
    assert program(3 * words + code, "f") is None


def test_a_fence_in_a_string_is_looked_past_in_32_blocks() -> None:
    code = 's = """\n```\n"""\n'
    codes = [block.code for block in fences(33 * f"```python\n{code}```\n")]
    assert codes[:33] == [code] * 32 + ['s = """\n']
