r"""Finding the answer in a message: the last `\boxed{}` or `#### x`, or else its last expression.

Only a window at the end of a text is read, once from left to right, so no text is slow to read.
"""

from __future__ import annotations

import re

from laconic.envs.dialogue.characters import ascii_alike

WINDOW = 20_000
"""Characters at the end of a text that are read."""

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)(?![A-Za-z])\s{0,4}")
_BARE = re.compile(r"[^\s${}]{1,100}")
_HASHES = re.compile(r"####[ \t]{0,4}(?P<answer>[^\s#][^\n#]{0,1000})")
_SAID = re.compile(
    r"\banswer\s{0,3}(?:is|:|=)\s{0,3}:?\s{0,3}(?P<answer>[^\n]{1,300}?)"
    r"(?=[.!]?\s*$|[.!]\s|\n)",
    re.IGNORECASE | re.MULTILINE,
)
_MATHS = re.compile(r"(?<!\\)\$(?P<answer>[^$\n]{1,300})(?<!\\)\$")
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])[-\u2212]?\\?\$?[0-9](?:,?[0-9])*+(?:[./][0-9]++)?+%?")
_SOMETHING = re.compile(r"[^\W_]|[\u2205\u221e]|\\\{[\s\\,]*\\\}")


def commitment(text: str) -> tuple[str, str] | None:
    r"""Return the last marked answer of a message: the marker letter for letter, and its content.

    A marker is `\boxed{...}` (braces nest), `\boxed 5`, `\fbox{...}` or `#### x` to the end of its
    line. One without a letter, digit, infinity or empty set in it, and a box that is not closed,
    are none, so an earlier one counts.
    """
    start = max(0, len(text) - WINDOW)
    best: tuple[int, str, str] | None = None
    for match in _HASHES.finditer(text, start):
        answer = match["answer"].strip()
        if _SOMETHING.search(answer) and not _BOX.search(answer):
            best = (match.start(), match.group().rstrip(), answer)
    for begin, inside, end in reversed(_boxes(text, start)):
        content = text[inside:end].strip()
        if _SOMETHING.search(content) and (best is None or begin > best[0]):
            closed = end + 1 if text[inside - 1] == "{" else end
            return text[begin:closed], content
    return best[1:] if best else None


def answer_in(text: str) -> str | None:
    """Return the answer of a message: the marked one, else that after `answer is`, else the last.

    Without words that commit to an answer the last `$...$` or number counts.
    """
    mark = commitment(text)
    if mark is not None:
        return mark[1]
    tail = text[-WINDOW:]
    named_answers = [match["answer"] for match in _SAID.finditer(tail)]
    if named_answers and _SOMETHING.search(named_answers[-1]):
        return _within(named_answers[-1])
    return _last_expression(ascii_alike(tail))


def _boxes(text: str, start: int) -> list[tuple[int, int, int]]:
    """Return the places of each closed box: its begin, and begin and end of its content."""
    closing = _closing_braces(text, start)
    boxes = []
    for match in _BOX.finditer(text, start):
        inside = match.end()
        if inside < len(text) and text[inside] == "{":
            if inside in closing:
                boxes.append((match.start(), inside + 1, closing[inside]))
        elif (bare := _BARE.match(text, inside)) and match.group()[-1:].isspace():
            boxes.append((match.start(), inside, inside + len(bare.group().rstrip(".,;:!?*)"))))
    return boxes


def _closing_braces(text: str, start: int) -> dict[int, int]:
    r"""Map the place of each closed opening brace to that of its closing one; `\{` is no brace."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    place = start
    while place < len(text):
        letter = text[place]
        if letter == "\\":
            place += 1
        elif letter == "{":
            opened.append(place)
        elif letter == "}" and opened:
            closing[opened.pop()] = place
        place += 1
    return closing


def _within(words: str) -> str:
    """Return the expression in the words after `answer is`; all of them if there is none."""
    match = _MATHS.search(words)
    return match["answer"].strip() if match else words.strip().strip("*")


def _last_expression(text: str) -> str | None:
    ends = [(match.end(), match["answer"]) for match in _MATHS.finditer(text)][-1:]
    ends += [(match.end(), match.group()) for match in _NUMBER.finditer(text)][-1:]
    return max(ends)[1].strip() if ends else None
