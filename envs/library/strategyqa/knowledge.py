"""Drawing of multi-hop questions that compare a person with a thing.

A question of level n needs n + 1 facts. n - 1 facts lead from a named person to another one
(`Ann's boss is Bob.` for `Ann's boss`). One fact is about that person and one about a thing. At
level 1 a distractor is about another person or thing, and another kind of question. From level 2 on
it may differ from a fact in a word or two.

A family compares a value of the person with one of the thing: they are equal, or one number reaches
the other. The question reveals nothing about the answer, and neither fact decides it alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from laconic.envs.benchmarks import words
from laconic.envs.benchmarks.generation import Problem
from laconic.envs.benchmarks.words import another
from laconic.envs.families.yes_no.inference import generator

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


_EASY = FAMILIES[:2]
"""Families of level 1, whose facts are short enough."""
_Fact = tuple[tuple[str, ...], str]
"""Subject of a fact, and its sentence; a knowledge base has one fact of each subject."""


def question(random: Random, holds: bool, level: int, family: Family) -> Problem:
    """Make a question that joins `level + 1` facts and whose answer is yes (True) or no."""
    people = random.sample(PEOPLE, level)
    relations = [random.choice(RELATIONS) for _ in people[1:]]
    thing, values = random.choice(family.things), family.draw(random, holds)
    facts: dict[tuple[str, ...], str] = {}
    for who, relation, whom in zip(people, relations, people[1:], strict=False):
        facts.update([_related(who, relation, whom)])
    facts.update([_of_person(family, people[-1], values[0]), _of_thing(family, thing, values[1])])
    text = family.question.format(who="'s ".join((people[0], *relations)), thing=thing)
    steps = f"{', '.join(people)}. " if relations else ""
    decoy = (
        partial(_far, family=family, person=people[0], thing=thing)
        if level == 1
        else partial(_near, family=family, people=people, thing=thing, used=frozenset(facts))
    )
    working, answer = steps + family.working(values, holds), "yes" if holds else "no"
    return Problem(tuple(facts.values()), text, answer, working, decoy)


def _far(random: Random, family: Family, person: str, thing: str) -> _Fact:
    """Another person or another thing, in the other easy kind of sentence."""
    other = _EASY[1 - _EASY.index(family)]
    values = other.draw(random, random.random() < 0.5)
    if random.random() < 0.5:
        return _of_person(other, another(random, PEOPLE, person), values[0])
    return _of_thing(other, another(random, other.things, thing), values[1])


def _near(
    random: Random, family: Family, people: list[str], thing: str, used: frozenset[object]
) -> _Fact:
    """Draw a fact, often about a person or thing of the question, whose subject is not used yet."""
    while True:
        other = random.choice((family, *FAMILIES))
        values = other.draw(random, random.random() < 0.5)
        who = random.choice(people if random.random() < 0.5 else PEOPLE)
        what = random.choice(other.things if thing not in other.things else (thing, *other.things))
        related = _related(who, random.choice(RELATIONS), another(random, PEOPLE, who))
        others = _of_person(other, who, values[0]), _of_thing(other, what, values[1])
        fact = random.choice((related, *others))
        if fact[0] not in used:
            return fact


def _related(who: str, relation: str, whom: str) -> _Fact:
    return (who, relation), f"{who}'s {relation} is {whom}."


def _of_person(family: Family, who: str, value: str) -> _Fact:
    return (who, family.person_fact), family.person_fact.format(who=who, value=value)


def _of_thing(family: Family, thing: str, value: str) -> _Fact:
    return (thing, family.thing_fact), family.thing_fact.format(thing=thing, value=value)


generate = generator(
    {
        level: [
            partial(question, level=level, family=family)
            for family in (_EASY if level == 1 else FAMILIES)
        ]
        for level in range(1, 6)
    }
)
"""Makes different tasks, as `inference.generator` says; a level is a number of joins."""
