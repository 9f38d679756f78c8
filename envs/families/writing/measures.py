"""Measures of texts: lengths, vocabularies, their overlap, and connectives.

Words are runs of letters and digits of any script, in lower case, with apostrophes inside them.
Every measure is taken in one pass, so a text of a million characters takes a fraction of a second.

The paper (MAGRPO, arXiv 2508.04652) gives the number of categories of connectives and their weight,
but not its lists. The lists here are this project's own, so points for style may differ from the
paper's by the categories that only one of the lists knows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType

STOP_WORDS = frozenset(
    # Articles, demonstratives, quantities.
    "a an the this that these those such some any all both each every either neither no none much"
    " many more most few less least other another same own enough several"
    # Pronouns.
    " i me my mine myself you your yours yourself yourselves he him his himself she her hers"
    " herself it its itself we us our ours ourselves they them their theirs themselves one who whom"
    " whose which what whoever whatever"
    # Prepositions.
    " of in on at by for with without from to into onto upon about above across after against"
    " along among around before behind below beneath beside between beyond down during inside near"
    " off out outside over past per since through throughout till toward towards under until up via"
    " within"
    # Conjunctions, and adverbs that say nothing of their own.
    " and or nor but so yet if unless because as than then though although while whereas whether"
    " when whenever where wherever how why not only just also too very quite rather even still"
    " again ever never always here there now once well almost perhaps however therefore thus hence"
    " indeed instead"
    # Auxiliaries.
    " be am is are was were been being have has had having do does did doing done can could may"
    " might must shall should will would ought cannot"
    # Short forms.
    " i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd"
    " it'll we're we've we'd we'll they're they've they'd they'll that's there's here's who's"
    " what's let's isn't aren't wasn't weren't haven't hasn't hadn't don't doesn't didn't can't"
    " couldn't won't wouldn't shouldn't mustn't".split()
)
"""Words that count neither as vocabulary nor as overlap, in lower case."""

CONNECTIVES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "addition": (
            *("also", "moreover", "furthermore", "additionally", "besides", "likewise"),
            *("in addition", "as well as", "on top of that", "not only"),
        ),
        "contrast": (
            *("but", "however", "whereas", "conversely", "instead", "by contrast"),
            *("in contrast", "on the other hand", "on the contrary", "rather than"),
        ),
        "concession": (
            *("although", "though", "nevertheless", "nonetheless", "despite", "even though"),
            *("even so", "in spite of", "all the same"),
        ),
        "cause": (
            "because",
            "since",
            "because of",
            "due to",
            "owing to",
            "given that",
            "thanks to",
        ),
        "result": (
            *("so", "therefore", "thus", "hence", "consequently", "accordingly"),
            *("as a result", "for this reason", "that is why", "which means"),
        ),
        "order": (
            *("first", "firstly", "second", "secondly", "third", "thirdly", "next", "finally"),
            *("lastly", "to begin with", "in the end"),
        ),
        "time": (
            *("when", "whenever", "while", "after", "afterwards", "before", "until", "meanwhile"),
            *("later", "then", "eventually", "as soon as", "at the same time", "at last"),
        ),
        "example": (
            *("for example", "for instance", "such as", "namely", "in particular", "e g"),
            *("to illustrate", "among others"),
        ),
        "condition": (
            *("if", "unless", "otherwise", "provided that", "as long as", "in case", "even if"),
            *("depending on", "whether"),
        ),
        "purpose": (
            *("in order to", "so that", "so as to", "to this end", "to that end"),
            *("for this purpose", "with the aim of"),
        ),
        "emphasis": (
            *("indeed", "in fact", "above all", "especially", "notably", "importantly"),
            *("clearly", "of course", "most of all"),
        ),
        "summary": (
            *("overall", "in short", "in brief", "in summary", "to sum up", "in conclusion"),
            *("all in all", "in other words", "to summarise", "to summarize", "on the whole"),
        ),
    }
)
"""Connectives of each category, in lower case, the words of a phrase parted by one space."""


_WORD = re.compile(r"\w+(?:'\w+)*")
_Phrase = tuple[str, ...]


def spaced_words(text: str) -> int:
    """Count the pieces between white space, the length that level 1 asks for."""
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
    """Return the score of a number of categories: 0.4 for the first, 0.05 for each further one."""
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
