from __future__ import annotations

from laconic.envs.families.coding.syntax import (
    before,
    defined,
    function,
    missing,
    parse,
    parse_or_fault,
    under,
)


def names(code: str, read=defined) -> set[str]:
    module = parse(code)
    assert module is not None
    return read(module)


def test_text_that_is_no_python_has_no_tree():
    for text in ("def", "(", "\x00", "x = 'a", "a" * 20_001, "-" * 19_000 + "1"):
        assert parse(text) is None


def test_a_fault_is_named_by_its_line():
    assert parse_or_fault("x = 1\ny = 2\nIt is done.") == 3
    assert parse_or_fault("a" * 20_001) == 0


def test_a_module_defines_what_running_it_binds():
    assert names("") == set()
    code = (
        "import a.b, c as d\nfrom e import f\n@g\ndef h(i): j = 1\nclass K:\n    l = 1\n"
        "if m:\n    def n(): pass\no = p, (q := 1) = 1, 2\ntry:\n    r: int = 1\nexcept X as s: 0\n"
    )
    code = code.replace("o = p, (q := 1) = 1, 2", "o = p = (q := 1)")
    assert names(code) == {"a", "d", "f", "h", "K", "n", "o", "p", "q", "r", "s"}


def test_a_module_lacks_what_it_reads_and_binds_nowhere():
    assert names("def f(x: List[int]):\n    return g(x) + len(x) + y\ny = 1", missing) == {
        "List",
        "g",
    }


def test_the_last_function_of_a_name_counts():
    module = parse("def f(): return 1\ndef f(): return 2\nclass A:\n    def g(self): pass\n")
    result = function(module, "f")
    assert result is not None and result.lineno == 2
    assert function(module, "g") is None


def test_before_a_function_stand_imports_and_helpers():
    source = "import math\n\n\ndef g():\n    pass\n\n\n@g\ndef f():\n    pass\n"
    assert before(source, "f") == "import math\n\n\ndef g():\n    pass"
    assert before("def f(): pass", "f") == before("x = 1", "f") == before("(", "f") == ""


def test_a_preamble_goes_after_imports_from_the_future():
    assert under("x = 1", "y = 2") == "y = 2\nx = 1"
    future = "from __future__ import annotations"
    assert under(f"{future}\nx = 1", "y = 2") == f"{future}\ny = 2\nx = 1"
