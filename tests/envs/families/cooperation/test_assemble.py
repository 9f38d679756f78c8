from __future__ import annotations

import ast
import time

import pytest

from laconic.envs.families.cooperation.assemble import assemble, find

AUX = "def aux(x):\n    return x"
MAIN = "def main(x):\n    return aux(x) + 1"


def test_a_program_is_what_was_given_then_the_auxiliary_then_main():
    work = assemble(AUX, MAIN, "main", "import math")
    assert [ast.unparse(node).split("\n")[0] for node in ast.parse(work.code).body] == [
        "import math",
        "def aux(x):",
        "def main(x):",
    ]
    assert work.is_python


def test_without_a_main_function_there_is_no_program():
    work = assemble(AUX, "words", "main", "import math")
    assert work.auxiliary is not None and work.main is None
    assert work.code == "" and not work.is_python


def test_without_an_auxiliary_main_stands_alone():
    work = assemble("", MAIN, "main")
    assert work.auxiliary is None and work.code == MAIN


def test_imports_from_the_future_stay_first():
    future = "from __future__ import annotations\n"
    for replies in ((future + AUX, MAIN), (AUX, future + MAIN), (future + AUX, future + MAIN)):
        code = assemble(*replies, "main", "import math").code
        assert code.startswith(future) and code.count("import math") == 1
        compile(code, "program", "exec")


def test_other_code_of_a_reply_comes_along():
    reply = f"```python\nimport re\nLIMIT = 3\ndef more(x):\n    return x\n{AUX}\n```"
    code = assemble(reply, MAIN, "main").code
    assert all(text in code for text in ("import re", "LIMIT = 3", "def more(x)"))


def test_the_last_function_of_a_name_counts():
    first, last = "def aux(x):\n    pass", "def aux(x):\n    return 2"
    assert find(f"{first}\n{last}", "aux").returns
    assert not find(f"{last}\n{first}", "aux").returns
    assert find("\n".join([first] * 9 + [last]), "aux").returns
    assert find(f"```\n{first}\n```\nBetter:\n```\n{last}\n```", "aux").returns


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "aux returns something",
        "class aux:\n    def aux(self):\n        return 1",
        "class Box:\n    def aux(self):\n        return 1",
        "def outer():\n    def aux(x):\n        return x\n    return aux",
        "async def aux(x):\n    return x",
        "aux = lambda x: x",
        "def auxiliary(x):\n    return x",
        "from helpers import aux",
    ],
)
def test_what_is_no_function_of_that_name_is_none(reply):
    assert find(reply, "aux") is None


@pytest.mark.parametrize("head", ["@cached\n", "@cached(1)\n@other\n"])
def test_a_decorated_function_is_one(head):
    assert find(head + AUX, "aux").returns


@pytest.mark.parametrize(
    ("reply", "gives"),
    [
        ("def aux(x:\n    return x", True),
        ("Look:\ndef aux(x):\n    return (\nThat is it.", True),
        ("def aux(x):\n\n\treturn x +", True),
        ("def aux(x): return (", True),
        ("def aux(x):\n    x = (", False),
        ("def aux(x):\n    x = 'return' (", False),
    ],
)
def test_a_function_that_is_no_python_has_its_lines_and_no_tree(reply, gives):
    result = find(reply, "aux")
    assert result.module is None and result.function is None and result.returns == gives
    assert result.code.startswith("def aux(x") and "That" not in result.code
    assert not assemble(reply, MAIN, "main").is_python


def test_a_function_in_too_long_a_text_is_found_by_its_lines():
    words = "It is a long story. " * 50_000
    result = find(f"{words}\n{AUX}\n{words}", "aux")
    assert result.function is not None and result.code == AUX


def test_a_function_that_is_too_long_is_none():
    assert find("def aux(x):\n" + "    x = 1\n" * 100_000 + "    return x", "aux") is None


HOSTILE = {
    "a million letters": "x" * 10**6,
    "a million lines": "def aux(x):\n" * 10**5,
    "a million fences": "```\n" * 10**5,
    "nul": "def aux(x):\n    return '\x00'",
    "surrogate": "def aux(x):\n    return '\ud800'",
    "brackets": f"def aux(x):\n    return {'(' * 9_000}",
    "minus signs": f"def aux(x):\n    return {'-' * 9_000}1",
    "deep blocks": "".join(f"{' ' * i}if x:\n" for i in range(150)),
    "long sum": f"def aux(x):\n    return {'+'.join(['x'] * 9_000)}",
    "strange line ends": "def aux(x):\r    return x\u2028\x0c\x0b",
}


@pytest.mark.parametrize("reply", HOSTILE.values(), ids=HOSTILE)
def test_hostile_replies_are_read_quickly_and_never_raise(reply):
    started = time.process_time()
    assemble(reply, reply, "aux", "import math")
    assert time.process_time() - started < 5
