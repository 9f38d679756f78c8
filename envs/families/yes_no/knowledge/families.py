"""What is asked about a person and a thing: one table row per kind of question.

Every kind joins a fact about the person with a fact about the thing: two places or two languages
are the same or not, one number reaches the other or not. The question says nothing about the
answer, and neither fact settles it alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from laconic.envs.families.arithmetic.words import another
from laconic.envs.families.yes_no.knowledge.words import LANGUAGES, TEXTS, THINGS, TOWNS

_Draw = Callable[[Random, bool], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of question with its two kinds of facts."""

    person_fact: str
    """A sentence with `{who}` and the person's `{value}`."""
    thing_fact: str
    """A sentence with `{thing}` and the thing's `{value}`."""
    question: str
    """A sentence with `{who}` and `{thing}`."""
    things: tuple[str, ...]
    """What it is asked about."""
    draw: _Draw
    """Draws the values of person and thing for the answer yes (True) or no."""
    verdicts: tuple[str, str]
    """What is concluded from the two values: for no, and for yes."""

    def working(self, values: tuple[str, str], holds: bool) -> str:
        """Both values beside each other, and what they come to: `Oslo, Rome: different.`."""
        return f"{values[0]}, {values[1]}: {self.verdicts[holds]}."


def _equal(words: tuple[str, ...]) -> _Draw:
    def draw(random: Random, holds: bool) -> tuple[str, str]:
        first = random.choice(words)
        return first, first if holds else another(random, words, first)

    return draw


def _coins(random: Random, holds: bool) -> tuple[str, str]:
    """Coins a person has, and coins a thing costs; enough when not fewer."""
    less, more = sorted((random.randint(1, 9), random.randint(1, 9)))
    if not holds and less == more:
        return _coins(random, holds)
    return (str(more), str(less)) if holds else (str(less), str(more))


def _years(random: Random, holds: bool) -> tuple[str, str]:
    """The year in which a person died, and another in which a thing was made."""
    early, late = sorted(random.sample(range(1000, 2000), 2))
    return (str(late), str(early)) if holds else (str(early), str(late))


PLACE = Family(
    "{who} lives in {value}.",
    "The {thing} is in {value}.",
    "Is the {thing} in {who}'s town?",
    THINGS,
    _equal(TOWNS),
    ("different", "same"),
)
PRICE = Family(
    "{who} has {value} coins.",
    "The {thing} costs {value} coins.",
    "Can {who} buy the {thing}?",
    THINGS,
    _coins,
    ("too few", "enough"),
)
LANGUAGE = Family(
    "{who} reads only {value}.",
    "The {thing} is in {value}.",
    "Can {who} read the {thing}?",
    TEXTS,
    _equal(LANGUAGES),
    ("different", "same"),
)
LIFETIME = Family(
    "{who} died in {value}.",
    "The {thing} was made in {value}.",
    "Was the {thing} there in {who}'s lifetime?",
    THINGS,
    _years,
    ("too late", "in time"),
)
FAMILIES = (PLACE, PRICE, LANGUAGE, LIFETIME)
"""Every kind of question; the first two are short enough for level 1."""
EASY = FAMILIES[:2]
