from __future__ import annotations

import pytest

from laconic.envs.families.cooperation.assemble import find
from laconic.envs.families.cooperation.calls import calls_auxiliary, ignored, is_thin


def main(*lines: str, head: str = "def main(x, y=0, *rest, **more):"):
    result = find("\n    ".join((head, *lines)), "main")
    assert result is not None and result.function is not None
    return result


@pytest.mark.parametrize(
    "line",
    [
        "return aux(x)",
        "return 1 + max(aux(x), 0)",
        "return (lambda z: aux(z))(x)",
        "return [aux(z) for z in x]",
        "return map(aux, x)",
        "return sorted(x, key=aux)",
        "if False: aux(x)",
    ],
)
def test_a_call_counts_wherever_it_stands(line):
    assert calls_auxiliary(main(line))


@pytest.mark.parametrize(
    "lines",
    [
        ["return x"],
        ["return aux"],
        ["return print(aux)"],
        ["return 'aux(x)'  # aux(x)"],
        ["return x.aux(x)"],
        ["return auxiliary(x)"],
        ["aux = len", "return aux(x)"],
        ["from os import path as aux", "return aux(x)"],
        ["def aux(z):", "    return z", "return aux(x)"],
    ],
)
def test_what_only_looks_like_a_call_does_not_count(lines):
    assert not calls_auxiliary(main(*lines))


def test_a_call_before_the_body_does_not_count():
    assert not calls_auxiliary(main("return x", head="def main(x=aux(1)):"))


@pytest.mark.parametrize(
    "lines",
    [
        ["return aux(x)"],
        ["'''What it does.'''", "pass", "return aux(x, y)"],
        ["return aux(y, *rest, x=x, **more)"],
        ["return aux(x, 2, -1, None)"],
        ["z = aux(x)", "return z"],
        ["z: int = aux(x)", "w = z", "return w"],
        ["z = x", "return aux(z)"],
        ["aux(x)"],
    ],
)
def test_a_body_that_only_passes_on_a_call_is_thin(lines):
    assert is_thin(main(*lines).function)


@pytest.mark.parametrize(
    "lines",
    [
        ["return aux(x) + 1"],
        ["return not aux(x)"],
        ["return aux(x + 1)"],
        ["return aux(sorted(x))"],
        ["return aux(other)"],
        ["return aux(aux(x))"],
        ["return (aux(x), 1)"],
        ["z = aux(x)", "z += 1", "return z"],
        ["z = aux(x)", "z = 1", "return z"],
        ["z = aux(x)", "return x"],
        ["x = x[1:]", "return aux(x)"],
        ["if x:", "    return aux(x)", "return y"],
        ["for z in x:", "    return aux(x)"],
        ["import math", "return aux(x)"],
        # A call of something else, and a result that is taken apart.
        ["print(x)", "return aux(x)"],
        ["a, b = aux(x)", "return aux(x)"],
    ],
)
def test_a_body_that_does_anything_else_is_not_thin(lines):
    assert not is_thin(main(*lines).function)


@pytest.mark.parametrize(
    "lines",
    [
        ["aux(x)", "return x"],
        ["if x:", "    aux(x)", "return aux(x)"],
        ["_ = aux(x)", "return x"],
        ["a, (b, *c) = aux(x)", "return x"],
        ["a = b = aux(x)", "return x"],
        ["a: int = aux(x)", "return x"],
        ["(a := aux(x))"],
        ["x += 1", "z = 0", "z += aux(x)", "return x"],
        ["list(x)", "map(aux, x)", "return x"],
    ],
)
def test_a_result_that_nobody_reads_is_ignored(lines):
    assert ignored(main(*lines).function)


@pytest.mark.parametrize(
    "lines",
    [
        ["return aux(x)"],
        ["a, b = aux(x)", "return b"],
        ["a = b = aux(x)", "return a"],
        ["x.y = aux(x)", "return x"],
        ["x[0] = aux(x)", "return x"],
        ["if aux(x):", "    return 1"],
        ["print(aux(x))", "return x"],
        ["for z in aux(x):", "    pass"],
        ["z = aux(x)", "def inner():", "    return z", "return inner()"],
        # The rule goes by names: what is overwritten counts as read.
        ["z = aux(x)", "z = 1", "return z"],
    ],
)
def test_a_result_that_is_used_is_not_ignored(lines):
    assert not ignored(main(*lines).function)
