"""Word lists of the writing reward: stop-words, and connectives in twelve categories.

The paper (MAGRPO, arXiv 2508.04652) gives the number of categories and what they count for, and not
its lists. These are this project's own, so points for style may differ from the paper's by the
categories that a list knows and the other does not.
"""

from __future__ import annotations

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
