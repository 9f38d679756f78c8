"""Patterns of layers in the config of an adapter, which a stranger may have written.

`peft` matches them with `re`, which nothing can stop: a pattern of twenty choices takes years. So
the ways in which a pattern can match a name are counted beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_LENGTH = 2048
"""Maximum characters of a pattern."""
MAX_WAYS = 200_000
"""Maximum ways to match a name, which take some milliseconds. `unsloth` writes the widest patterns
of the usual trainers, of 100,000 ways."""
_ANYWHERE, _BEFORE_NAME = 100, 10
"""Ways in which a repeated part can end: it may end at any character of a name; or, if two plain
characters follow, only where the name has these."""
_NAME = re.compile(r"[\w.^$\\-]*")
_TOKEN = re.compile(
    r"(?P<repeat>(?:[*+]|\{\d*,\d*\})[?+]?)|(?P<maybe>\?[?+]?)|(?P<times>\{\d+\}[?+]?)"
    r"|(?P<open>\((?:\?(?:[:!=]|<[!=]))?)|(?P<close>\))|(?P<or>\|)"
    r"|(?P<some>\\[dDwWsS]|\[\^?\]?(?:\\.|[^\]\\])*\]|\.)|(?P<edge>[\^$]|\\[bBAZ])"
    r"|(?P<plain>\\[^a-zA-Z0-9]|[^\\])",
    re.DOTALL,
)


@dataclass(slots=True)
class _Part:
    """What is known of a part of a pattern."""

    ways: float = 1.0
    """Ways to match it, without those in which its last repeated part ends."""
    waiting: bool = False
    """True after a repeated part whose followers are not known yet."""
    plain: int = 0
    """Number of plain characters since the last part that was something else."""
    text: str | None = ""
    """The text that it matches, if it is plain."""

    def settle(self) -> float:
        """Return the ways to match it, with those in which its last repeated part ends."""
        ends = _BEFORE_NAME if self.plain >= 2 else _ANYWHERE
        return self.ways * (ends if self.waiting else 1)


def is_plain(name: str) -> bool:
    """Return whether a name has no sign of a pattern that can match in several ways."""
    return len(name) < 512 and _NAME.fullmatch(name) is not None


def is_quick(pattern: str) -> bool:
    """Return whether a pattern is valid, and matches any name of a layer in a short time.

    No group may be repeated, and no group may be named or referred to.
    """
    if len(pattern) >= MAX_LENGTH:
        return False
    try:
        re.compile(pattern)
        tokens = _split(pattern)
        part, _ = _alternatives(tokens, 0, _Part())
    except (re.error, ValueError, OverflowError, RecursionError):
        return False
    return part.settle() <= MAX_WAYS


def _split(pattern: str) -> list[tuple[str, str]]:
    """Return the kind and text of each token (`ValueError` for a form that is not counted)."""
    tokens, place = [], 0
    while place < len(pattern):
        match = _TOKEN.match(pattern, place)
        if match is None or match.lastgroup is None:
            raise ValueError(pattern)
        tokens.append((match.lastgroup, match.group()))
        place = match.end()
    return tokens


def _alternatives(
    tokens: Sequence[tuple[str, str]], place: int, before: _Part
) -> tuple[_Part, int]:
    """Read alternatives up to the end of their group; return them, and the place of that end."""
    parts = []
    while True:
        part, place = _sequence(tokens, place, before)
        parts.append(part)
        if place == len(tokens) or tokens[place][0] == "close":
            break
        place += 1
    texts = [part.text for part in parts if part.text is not None]
    if len(texts) == len(parts) and all(part.ways == 1 for part in parts):
        # Of different names only those that begin alike match at one place.
        ways = float(max(sum(text.startswith(other) for other in texts) for text in texts))
    else:
        ways = sum(part.ways for part in parts)
    waiting = any(part.waiting for part in parts)
    plain = min(part.plain for part in parts)
    return _Part(ways, waiting, plain, texts[0] if len(texts) == len(parts) == 1 else None), place


def _sequence(tokens: Sequence[tuple[str, str]], place: int, before: _Part) -> tuple[_Part, int]:
    """Read one alternative; return it, and the place of the token that ends it."""
    part = _Part(waiting=before.waiting, plain=before.plain)
    last = ""
    while place < len(tokens) and tokens[place][0] not in ("or", "close"):
        kind, text = tokens[place]
        if not last and kind in ("repeat", "maybe", "times"):
            raise ValueError("a group of another kind, such as (?P<name>...)")
        if last == "plain" and kind in ("repeat", "maybe", "times"):
            # The character before may be missing.
            part.plain, part.text = part.plain - 1, None
        if kind == "open":
            place = _group(tokens, place, text, part)
        elif kind == "plain":
            part.plain += 1
            part.text = None if part.text is None else part.text + text.removeprefix("\\")
        elif kind != "edge":
            part.text = None
            if kind == "maybe":
                part.ways *= 2
            elif kind == "repeat" or part.plain >= 2:
                part.ways, part.waiting = part.settle(), kind == "repeat"
            part.plain = part.plain if kind == "maybe" else 0
        last = kind
        place += 1
    return part, place


def _group(tokens: Sequence[tuple[str, str]], place: int, opening: str, part: _Part) -> int:
    """Add a group to the part before it; return the place of the token that ends it."""
    taken = opening in ("(", "(?:")
    # What looks around takes no characters, so nothing follows from it for a repeated part before.
    begun = _Part(1, part.waiting, part.plain) if taken else _Part()
    inner, place = _alternatives(tokens, place + 1, begun)
    after = tokens[place + 1][0] if place + 1 < len(tokens) else ""
    if after in ("repeat", "times"):
        raise ValueError("a repeated group")
    optional = after == "maybe"
    part.ways *= (inner.ways if taken else inner.settle()) + optional
    plain = part.text is not None and inner.text is not None and taken and not optional
    part.text = f"{part.text}{inner.text}" if plain else None
    if taken:
        part.waiting = inner.waiting or (optional and part.waiting)
        part.plain = 0 if optional else inner.plain
    return place + optional
