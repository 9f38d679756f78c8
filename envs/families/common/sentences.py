"""Cutting a paragraph into sentences, and a word problem into its facts and its question.

Nothing is added or dropped: the sentences joined by spaces are the paragraph again, up to white
space.
"""

from __future__ import annotations

import re

_END = re.compile(r"[.?!][\"'”’)\]]*\s+(?=[\"'“‘(\[$]*[A-Z0-9])")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Mt|No|vs|etc|e\.g|i\.e|[A-Z])\.$")
_CLOCK = re.compile(r"\b[ap]\.m\.$", re.IGNORECASE)
_NOT_A_START = re.compile(r"[\"'“‘(\[]*[0-9$]")


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a paragraph, in order and stripped.

    A sentence ends in `.`, `?` or `!` before white space and a capital letter or a digit. A full
    stop inside a number, and one that belongs to a title, an initial or `a.m.`, does not end it.
    Text without letters gives no sentence.
    """
    sentences, start = [], 0
    for found in _END.finditer(text):
        if _ends(text[start : found.end()].rstrip(), text[found.end() : found.end() + 4]):
            sentences.append(text[start : found.end()])
            start = found.end()
    return tuple(filter(None, (part.strip() for part in (*sentences, text[start:]))))


def split_question(text: str) -> tuple[tuple[str, ...], str]:
    """The facts of a word problem and the question at its end.

    The question begins with the last sentence that holds a question mark, together with question
    sentences right before it, and runs to the end. Without a question mark it is the last sentence.
    """
    sentences = split_sentences(text)
    asking = [index for index, sentence in enumerate(sentences) if "?" in sentence]
    start = asking[-1] if asking else len(sentences) - 1
    while start > 0 and "?" in sentences[start - 1]:
        start -= 1
    return sentences[: max(start, 0)], " ".join(sentences[max(start, 0) :])


def _ends(sentence: str, following: str) -> bool:
    if _TITLE.search(sentence):
        return False
    return not (_CLOCK.search(sentence) and _NOT_A_START.match(following))
