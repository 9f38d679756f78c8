"""People and things that generated problems are about."""

from __future__ import annotations

from random import Random

GIRLS = tuple(
    "Amy Ann Bea Dot Eva Fay Gina Ida Ivy Jane Joy Kate Lily Lucy Meg Mia Nina Ola Pam Rose"
    " Sue Una".split()
)
"""Names of people whose pronoun is `her`."""
BOYS = tuple(
    "Abe Adam Ben Carl Dan Eli Fred Gus Hal Ian Jack Ken Leo Max Ned Omar Paul Ray Sam Ted Tom"
    " Wes".split()
)
"""Names of people whose pronoun is `his`."""
PEOPLE = tuple(sorted((*GIRLS, *BOYS)))
"""All names."""
ITEMS = tuple(
    "apples balls beads bells books bowls buttons cakes candles cards coins combs cookies cups"
    " dolls drums eggs fans figs flags forks gems hats kites lamps lemons magnets"
    " maps marbles masks mugs nuts pears pens pins plates plums rings ropes shells"
    " socks spoons stamps stones tickets toys vases".split()
)
"""Things that can be counted, bought and put in boxes: one lower-case word each, plural in s."""
_GIRLS = frozenset(GIRLS)


def their(person: str) -> str:
    """Return `her` or `his`."""
    return "her" if person in _GIRLS else "his"


def another(random: Random, words: tuple[str, ...], *used: str) -> str:
    """Draw a word that is not among those used."""
    while (word := random.choice(words)) in used:
        pass
    return word
