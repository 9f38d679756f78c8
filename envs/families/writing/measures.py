"""Measures of texts: lengths, vocabularies, their overlap, and connectives.

Words are runs of letters and digits of any script, in lower case, with apostrophes inside them.
Every measure is taken in one pass, so a text of a million characters takes a fraction of a second.
"""

from __future__ import annotations

import re
from collections import defaultdict

from laconic.envs.families.writing.words import CONNECTIVES, STOP_WORDS

_WORD = re.compile(r"\w+(?:'\w+)*")
_Phrase = tuple[str, ...]


def spaced_words(text: str) -> int:
    """Number of pieces between white space: the length that level 1 asks for."""
    return len(text.split())


def words(text: str) -> list[str]:
    """Return the words of a text in reading order, lower case and without punctuation."""
    return _WORD.findall(text.replace("’", "'").lower())


def vocabulary(text: str) -> frozenset[str]:
    """Return the different words of a text, without stop-words."""
    return frozenset(words(text)) - STOP_WORDS


def ratio(first: int, second: int) -> float | None:
    """Return the ratio of the second number to the first; None where the first is 0."""
    return second / first if first else None


def overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard overlap of two vocabularies, from 0 to 1; 0 where both are empty."""
    either = len(first | second)
    return len(first & second) / either if either else 0.0


def source_overlap(source: str, *texts: str) -> float:
    """Return the share of the texts' different words that stand in the source, from 0 to 1.

    Stop-words do not count; texts of stop-words have 0. It tells a summary from words that were
    written without reading.
    """
    written = vocabulary("\n".join(texts))
    return len(written & vocabulary(source)) / len(written) if written else 0.0


def connectives(*texts: str) -> tuple[str, ...]:
    """Return the categories of connectives that appear in the texts, in the order of the table.

    Where two connectives begin with the same word the longer one counts: `so that` is a purpose,
    and not a result as well.
    """
    used = {category for text in texts for category in _categories(words(text))}
    return tuple(category for category in CONNECTIVES if category in used)


def transition(categories: int) -> float:
    """Score of so many categories: 0.4 for the first, 0.05 for each further one, at most 1."""
    return min(1.0, 0.4 + 0.05 * (categories - 1)) if categories else 0.0


def _categories(text_words: list[str]) -> set[str]:
    categories, place = set(), 0
    while place < len(text_words):
        length = 1
        for phrase, category in _PHRASES.get(text_words[place], ()):
            if tuple(text_words[place : place + len(phrase)]) == phrase:
                categories.add(category)
                length = len(phrase)
                break
        place += length
    return categories


def _by_first_word() -> dict[str, list[tuple[_Phrase, str]]]:
    """Return the connectives that begin with each word, the longest first."""
    table: dict[str, list[tuple[_Phrase, str]]] = defaultdict(list)
    for category, texts in CONNECTIVES.items():
        for text in texts:
            phrase = tuple(text.split())
            table[phrase[0]].append((phrase, category))
    for phrases in table.values():
        phrases.sort(key=lambda pair: -len(pair[0]))
    return dict(table)


_PHRASES = _by_first_word()
