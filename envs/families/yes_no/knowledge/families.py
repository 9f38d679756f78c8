"""People and things of questions, and one table row per kind of question.

Every kind joins a fact about the person with a fact about the thing: two places or two languages
are the same or not, one number reaches the other or not. The question says nothing about the
answer, and neither fact settles it alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from laconic.envs.families.common import words
from laconic.envs.families.common.words import another

PEOPLE = tuple(
    sorted(
        {
            *words.PEOPLE,
            *"Alma Bob Cleo Dora Ella Finn Greta Hugo Ines Jonah Kira Lars Mona Nils".split(),
            *"Otto Pia Rita Sven Tara Vera".split(),
        }
    )
)
"""Everybody; names say nothing about who they are."""
THINGS = tuple(item[:-1] for item in words.ITEMS if item != "coins")
"""Things that lie somewhere and can be bought; money is none."""
TEXTS = tuple("book letter list map note poem recipe report riddle sign song story".split())
"""Things that can be read."""
TOWNS = tuple(
    "Bath Bern Bonn Cairo Cork Delhi Doha Fez Genoa Ghent Graz Hanoi Kobe Kyiv Lagos Leeds Lima"
    " Linz Lyon Malmo Metz Milan Minsk Nara Oslo Paris Perth Pisa Porto Praia Quito Riga Rome"
    " Siena Sofia Tokyo Tunis Turin Vaduz York".split()
)
"""Towns; where they are in the world plays no part."""
LANGUAGES = tuple("Czech Danish Dutch Finnish Greek Hindi Irish Latin Polish Thai Welsh".split())
"""Languages, of which everybody reads one."""
RELATIONS = tuple("boss coach cousin doctor friend neighbor teacher".split())
"""Relations of a person: each person has one of each kind."""

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
    """Things that questions are about."""
    draw: _Draw
    """Draws the values of person and thing for the answer yes (True) or no."""
    verdicts: tuple[str, str]
    """Conclusions from the two values: for no, and for yes."""

    def working(self, values: tuple[str, str], holds: bool) -> str:
        """Return both values and the conclusion from them: `Oslo, Rome: different.`."""
        return f"{values[0]}, {values[1]}: {self.verdicts[holds]}."


def _equal(values: tuple[str, ...]) -> _Draw:
    def draw(random: Random, holds: bool) -> tuple[str, str]:
        first = random.choice(values)
        return first, first if holds else another(random, values, first)

    return draw


def _coins(random: Random, holds: bool) -> tuple[str, str]:
    """Coins a person has, and coins a thing costs; enough when not fewer."""
    less, more = sorted((random.randint(1, 9), random.randint(1, 9)))
    if not holds and less == more:
        return _coins(random, holds)
    return (str(more), str(less)) if holds else (str(less), str(more))


def _years(random: Random, holds: bool) -> tuple[str, str]:
    """Draw the year in which a person died, and the year in which a thing was made."""
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
"""Every kind of question, the easiest first."""
