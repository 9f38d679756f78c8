"""Drawing multi-hop questions: who is meant, what holds of them, what holds of the thing.

A question of level n needs n + 1 facts: n - 1 that lead from a named person to the one who is
meant (`Ann's boss is Bob.` for `Ann's boss`), one about that person and one about a thing. At level
1 a distractor is the easiest there is: another person or thing, and the other kind of question.
From level 2 on it may differ from a fact in a word or two.
"""

from __future__ import annotations

from functools import partial
from random import Random

from laconic.envs.families.common.generation import Problem
from laconic.envs.families.common.words import another
from laconic.envs.families.yes_no.inference import generator
from laconic.envs.families.yes_no.knowledge.families import FAMILIES, PEOPLE, RELATIONS, Family

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
