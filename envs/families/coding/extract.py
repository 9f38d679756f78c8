"""Extraction of the program from a reply: fenced, bare, or a body that completes a prompt.

The first of these that succeeds counts:

1. Fenced code. The last fence that defines the requested name counts. Other fences are put before
   it if they define a name that it lacks. If no fence defines the requested name, all fences are
   read as one program. An open fence ends with the reply. Back ticks within a string of several
   lines do not close a fence.
2. Code without a fence: from the first line that begins like code to the last line that still
   parses, so words around it do not matter.
3. With a prompt: a body that completes it, in a fence or bare, indented or not. A body must return
   or yield; otherwise any remark would count as one.

Undefined bare names at the end (`TERMINATE`, `[DONE]`) are dropped. All kinds of line ends are
accepted. If this finds no program, the reply is read again without invisible characters, with plain
spaces, and without quotation marks (`> `) before its lines. No text raises, and the time is
bounded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from textwrap import dedent, indent

from laconic.envs.dialogue.characters import INVISIBLE, SPACES
from laconic.envs.families.coding.syntax import (
    MAX_CODE,
    defined,
    defines_function,
    function,
    missing,
    parse,
    parse_or_fault,
    returns,
    strays,
    under,
    without_closing_names,
)

_FENCE = "```"
_OPENING = re.compile(r"`{3,}[ \t]*[\w+#.-]*")
_CODE_LINE = re.compile(
    r"[ \t]*(?:(?:async[ ]+)?def |class |import |from [\w.]+ import |@\w|[A-Za-z_]\w{0,60} *=[^=])"
)
_TAB = "    "
_MAX_FENCES = 32
"""Maximum number of fences of a reply to consider, from its end."""
_MAX_INNER = 8
"""Maximum number of lines of back ticks in a string."""
_SPACES = {
    **dict.fromkeys(map(ord, INVISIBLE)),
    **dict.fromkeys(map(ord, SPACES), " "),
}
_QUOTED = re.compile(r"^>[ ]?", re.MULTILINE)
_STARTS = 3
"""Maximum number of lines at which code without a fence may begin."""
_CUTS = 4
"""Attempts to shorten code without a fence until it parses."""
_LAMBDA = "lambda"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of code in a message."""

    code: str
    """The code, without fence."""
    start: int
    """Index of its first character in the message, fence included."""
    end: int
    """Index after its last character, fence included."""


def program(reply: str, name: str, *, prompt: str = "", preamble: str = "") -> str | None:
    """Return the program of a reply: a module that defines `name`.

    Args:
        reply: any text.
        name: function or class that the program must define.
        prompt: module that ends in the head of function `name`, which a bare body completes. Empty:
            a body alone is not a program.
        preamble: code to put before a program that uses a name of it which it does not define.

    Returns:
        Source of the module, or None if the reply has no such program.
    """
    text = _unified(reply)
    code = _program(text, name, prompt, preamble)
    if code is None and (plain := plainer(text)) != text:
        code = _program(plain, name, prompt, preamble)
    return code


def _program(text: str, name: str, prompt: str, preamble: str) -> str | None:
    blocks = [dedent(block.code) for block in fences(text)[-_MAX_FENCES:]]
    code = _from_fences(blocks, name) if blocks else None
    if code is None and name in text:
        code = _definition(text, name)
    if code is not None:
        return _supplied(without_closing_names(code), preamble)
    for body in [*reversed(blocks), text] if prompt else []:
        if completed := _completed(prompt, body, name):
            return completed
    return None


def fences(text: str) -> tuple[Block, ...]:
    """Return the fenced pieces of a message, in order; an open one ends with the message."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    blocks: list[Block] = []
    line = lookaheads = 0
    while line < len(lines):
        at = lines[line].find(_FENCE)
        if at < 0 or not _OPENING.fullmatch(lines[line].rstrip(), at):
            line += 1
            continue
        opened, body = starts[line] + at, line + 1
        line = _closing_line(lines, body)
        if lookaheads < _MAX_FENCES and _in_string("\n".join(lines[body:line])):
            lookaheads += 1
            line = _line_after_string(lines, body, line)
        if line == len(lines):
            blocks.append(Block(text[starts[body] :], opened, len(text)))
            break
        at = _closing(lines[line].rstrip())
        code = text[starts[body] : starts[line]] + lines[line][:at].rstrip("`")
        blocks.append(Block(code, opened, starts[line] + at + len(_FENCE)))
        line += 1
    return tuple(blocks)


def commitment(message: str) -> str | None:
    """Return the part of a message that commits to a program, letter for letter, or None.

    This is the last fence with a function or a body in it, or else the first code without a fence
    that defines a function.
    """
    for block in reversed(fences(message)[-_MAX_FENCES:]):
        if _is_program(_unified(block.code)):
            return message[block.start : block.end]
    for block in _bare(message):
        module = parse(_unified(block.code))
        if module and defines_function(module):
            return message[block.start : block.end]
    return None


def fenced(code: str) -> str:
    """Write a program in the form that agents are asked to use."""
    return f"{_FENCE}python\n{code.strip(chr(10))}\n{_FENCE}"


def _closing(line: str) -> int:
    """Return the place at which a line closes a fence, its beginning or its end; -1 for none."""
    if line.lstrip().startswith(_FENCE):
        return line.find(_FENCE)
    return len(line) - len(_FENCE) if line.endswith(_FENCE) else -1


def _closing_line(lines: Sequence[str], first: int) -> int:
    """Return the first line from `first` on that closes a fence; the line count for none."""
    later = range(first, len(lines))
    return next((line for line in later if _closing(lines[line].rstrip()) >= 0), len(lines))


def _in_string(code: str) -> bool:
    """Return whether code ends inside a string of several lines, by its quotation marks."""
    return any(code.count(quotes) % 2 for quotes in ('"""', "'''"))


def _line_after_string(lines: Sequence[str], body: int, closing: int) -> int:
    """Return the line that closes a fence if `closing` stands in a string; otherwise `closing`.

    The lines before it must be Python.
    """
    later = closing
    for _ in range(_MAX_INNER):
        if later == len(lines):
            break
        later = _closing_line(lines, later + 1)
        code = "\n".join(lines[body:later])
        if len(code) > MAX_CODE:
            break
        if not _in_string(code) and parse(dedent(code)):
            return later
    return closing


def _unified(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def plainer(text: str) -> str:
    """Return a text without invisible characters and marks of a quotation, with plain spaces."""
    return _QUOTED.sub("", text.translate(_SPACES))


def _is_program(code: str) -> bool:
    if len(code) > MAX_CODE:
        return False
    module = parse(dedent(code)) or parse(dedent(plainer(code)))
    return module is not None and (defines_function(module) or strays(module))


def _from_fences(blocks: Sequence[str], name: str) -> str | None:
    modules = [parse(block) for block in blocks]
    for index in range(len(blocks) - 1, -1, -1):
        module = modules[index]
        if module and name in defined(module):
            pieces = list(zip(blocks, modules, strict=True))
            return _joined(blocks[index], module, pieces[:index] + pieces[index + 1 :])
    return _if_defines("\n".join(blocks), name) if len(blocks) > 1 else None


def _joined(code: str, module: ast.Module, others: Sequence[tuple[str, ast.Module | None]]) -> str:
    """Return code with the other pieces before it that define names it lacks."""
    lacking = missing(module)
    for block, other in reversed(others):
        if other and lacking & defined(other):
            code = under(code, block)
            lacking = (lacking - defined(other)) | missing(other)
    return code


def _if_defines(code: str, name: str) -> str | None:
    module = parse(code)
    return code if module and name in defined(module) else None


def _supplied(code: str, preamble: str) -> str:
    """Return code, with the preamble before it if the code lacks a name of the preamble."""
    module, preamble_module = parse(code), parse(preamble)
    if module and preamble_module and missing(module) & defined(preamble_module):
        return under(code, preamble)
    return code


def _definition(text: str, name: str) -> str | None:
    for block in _bare(text):
        if code := _if_defines(block.code, name):
            return code
    return None


def _bare(text: str) -> Iterator[Block]:
    """Yield pieces of code without a fence; each starts at a line that begins like code."""
    if len(text) > MAX_CODE or ("def" not in text and _LAMBDA not in text and "=" not in text):
        return
    lines = text.split("\n")
    line = tries = 0
    while line < len(lines) and tries < _STARTS:
        if not _CODE_LINE.match(lines[line]):
            line += 1
            continue
        tries += 1
        count = _parsing(lines[line:])
        if count:
            start = sum(len(before) + 1 for before in lines[:line])
            letters = "\n".join(lines[line : line + count]).rstrip()
            yield Block(dedent(letters), start, start + len(letters))
        line += max(count, 1)


def _parsing(lines: Sequence[str], prefix: str = "") -> int:
    """Return the number of lines at the beginning that together are Python."""
    count, head = len(lines), prefix.count("\n")
    for _ in range(_CUTS):
        code = "\n".join(lines[:count])
        fault = parse_or_fault(prefix + code if prefix else dedent(code))
        if not isinstance(fault, int):
            return count
        count = min(fault - 1 - head, count - 1)
        if count < 1:
            break
    return 0


def _completed(prompt: str, body: str, name: str) -> str | None:
    """Put a body under the prompt; the body ends at the last line that still parses."""
    if len(body) > MAX_CODE or ("return" not in body and "yield" not in body):
        return None
    head = prompt if prompt.endswith("\n") else prompt + "\n"
    for lines in _layouts(body):
        count = _parsing(lines, head)
        code = head + "\n".join(lines[:count]) + "\n"
        module = parse(code) if count else None
        definition = function(module, name) if module else None
        if module and definition and returns(definition) and not strays(module):
            return without_closing_names(code)
    return None


def _layouts(body: str) -> Iterator[list[str]]:
    """Yield a body unchanged, with only its first line indented, and indented as a whole."""
    body = "\n".join(_spaced(line) for line in body.strip("\n").split("\n"))
    yield body.split("\n")
    if not body.startswith(" "):
        yield (_TAB + body).split("\n")
    yield indent(dedent(body), _TAB).split("\n")


def _spaced(line: str) -> str:
    """Indent a line by spaces, to match the prompt."""
    bare = line.lstrip(" \t")
    return line[: len(line) - len(bare)].expandtabs(len(_TAB)) + bare
