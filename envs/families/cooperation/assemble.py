"""One program from two replies: the prompt's code, then the auxiliary's, then main's.

The code of a reply is found as in `envs.families.coding.extract`: fenced or bare, the last function
of a name counts, and the code around it (imports, other functions) is included. If that finds no
Python, the last line that begins with `def <name>(` is taken with the indented lines under it. So
an invalid function still counts as present, and fails at the syntax. A method, a nested or async
function, a class and a lambda do not count as functions here.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from laconic.envs.families.coding import extract
from laconic.envs.families.coding.syntax import MAX_CODE, function, parse, returns, under

AUXILIARY = "aux"
"""Name of the auxiliary function."""
_RETURN = re.compile(r"(?m)(?:^[ \t]+|:[ \t]*)(?:return|yield)\b")


@dataclass(frozen=True, slots=True)
class Found:
    """Function from a reply."""

    code: str
    """Function with the code around it."""
    module: ast.Module | None
    """Syntax tree of the code; None if it is not Python."""
    function: ast.FunctionDef | None
    """Function in that tree; None if there is no tree."""
    returns: bool
    """True if the function has a `return` or `yield` of its own."""


@dataclass(frozen=True, slots=True)
class Work:
    """Work of both agents."""

    auxiliary: Found | None
    """Function `aux` of the auxiliary's reply; None without one."""
    main: Found | None
    """Requested function of the main agent's reply; None without one."""
    code: str
    """The program; empty without a main function."""

    @property
    def is_python(self) -> bool:
        """Return whether the program has a syntax tree."""
        return bool(self.code) and parse(self.code) is not None


def assemble(auxiliary: str, main: str, name: str, preamble: str = "") -> Work:
    """Put two replies, any texts, together into the function `name`.

    `preamble` is the code of the prompt before that function: imports, and functions to use.
    """
    helper, requested = find(auxiliary, AUXILIARY), find(main, name)
    if requested is None:
        return Work(helper, None, "")
    code = requested.code
    for before in (helper.code if helper else "", preamble):
        # Imports from __future__ have to stay first.
        code = under(code, before.strip("\n") + "\n\n") if before else code
    return Work(helper, requested, code)


def find(reply: str, name: str) -> Found | None:
    """Return the function of that name in a reply; None without one. Never raises."""
    code = extract.program(reply, name)
    if code is None:
        code = _lines(reply, name)
    if code is None:
        return None
    module = parse(code)
    if module is None:
        return Found(code, None, None, bool(_RETURN.search(code)))
    definition = function(module, name)
    if not isinstance(definition, ast.FunctionDef):
        return None
    return Found(code, module, definition, returns(definition))


def _lines(reply: str, name: str) -> str | None:
    """Return the lines of a function whose text is not Python."""
    lines = reply.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    head = re.compile(rf"def[ \t]+{re.escape(name)}[ \t]*\(")
    start = max((index for index, line in enumerate(lines) if head.match(line)), default=None)
    if start is None:
        return None
    end = start + 1
    while end < len(lines) and (lines[end][:1] in (" ", "\t") or not lines[end].strip()):
        end += 1
    code = "\n".join(lines[start:end]).rstrip()
    return code if len(code) <= MAX_CODE else None
