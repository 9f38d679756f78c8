"""Short invented posts of people who were let down, and drafts of their summaries.

Somebody was to do something with the author's thing, did harm to it and behaves badly. At level 1
a post says no more than that; at levels 2 and 3 there are sentences that a summary leaves out. The
drafts depend on the story alone. The best concise draft is one plain sentence, and the best
detailed draft tells the whole story with connectives of four kinds; the others are too long, too
short, say the same twice or leave the connectives out, and earn less.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from laconic.envs.families.common.generation import Span, span
from laconic.envs.families.writing.generate import Piece, draw
from laconic.envs.families.writing.story import (
    ASIDES,
    FEELINGS,
    PEOPLE,
    PLANS,
    PLOTS,
    REACTIONS,
    TIMES,
)
from laconic.envs.task import Split, Task

LEVELS = (1, 3)
"""Lowest and highest level of a post."""
_ASIDES: Mapping[int, tuple[int, int]] = MappingProxyType({1: (0, 0), 2: (4, 6), 3: (10, 14)})
"""Fewest and most sentences of each level that do not matter."""


class Story(NamedTuple):
    """Event of the story."""

    who: str
    pronoun: str
    event: str
    thing: str
    when: str
    harmed: str
    where: str
    reaction: str
    feeling: str
    need: str
    plan: str


def generate(seed: int, count: int, split: Split, level: Span = LEVELS) -> tuple[Task, ...]:
    """Make different tasks from a seed; fewer of the same seed are the first of these.

    Args:
        seed: any whole number.
        count: how many tasks.
        split: train or evaluation; they share no story, whatever is said beside it.
        level: 1 (about 35 words) to 3 (about 160); a pair draws from lowest to highest.

    Raises:
        SettingError: a setting is out of its range, or there are not so many different posts.
    """
    levels = span("level", level, LEVELS)
    return draw(lambda random: _piece(random, random.randint(*levels)), "posts", seed, count, split)


def tell(random: Random) -> Story:
    """Draw the event of the story."""
    who, pronoun = random.choice(PEOPLE)
    plot = random.choice(PLOTS)
    thing = random.choice(plot.things)
    return Story(
        who,
        pronoun,
        plot.event.format(thing=thing),
        thing,
        random.choice(TIMES),
        random.choice(plot.harms),
        random.choice(plot.places),
        random.choice(REACTIONS),
        random.choice(FEELINGS),
        random.choice(plot.needs),
        random.choice(PLANS),
    )


def concise(story: Story) -> tuple[str, ...]:
    """Drafts of the concise summary: one sentence, two in one, all of it, and too few words."""
    who, pronoun, event, thing, when, harmed, where, reaction, feeling, need, _ = story
    return (
        f"My {who} has {harmed} my {thing} and now {pronoun} {reaction}.",
        f"My {who} {event} {when}, {harmed} it {where}, and now {pronoun} {reaction}.",
        f"My {who} {event} {when}, {harmed} it {where}, and now {pronoun} {reaction}. I feel"
        f" {feeling} and need it for {need}.",
        f"My {who} {harmed} my {thing}.",
    )


def detailed(story: Story) -> tuple[str, ...]:
    """Drafts of the fuller one: with connectives, plain, saying all twice, cut short, too short."""
    who, pronoun, event, thing, when, harmed, where, reaction, feeling, need, _ = story
    return (
        f"First my {who} {event} {when}, but {pronoun} {harmed} it {where}. Now {pronoun}"
        f" {reaction}, so I feel {feeling} because I need it for {need}.",
        f"My {who} {event} {when} and {harmed} it {where}. Now {pronoun} {reaction}. I feel"
        f" {feeling} and I need it for {need}.",
        f"My {who} has {harmed} my {thing}, my own {thing}, and now {pronoun} {reaction}, yes my"
        f" {who} {reaction}.",
        f"My {who} {event}, {harmed} it and now {pronoun} {reaction}.",
        f"My {who} {reaction}.",
    )


def _piece(random: Random, level: int) -> Piece:
    story = tell(random)
    aside = random.sample(ASIDES, random.randint(*_ASIDES[level]))
    core = _sentences(story)
    sentences = list(core)
    for sentence in aside:
        sentences.insert(random.randint(0, len(sentences)), sentence)
    drafts = {"concise": concise(story), "detailed": detailed(story)}
    return Piece(" ".join(core), " ".join(sentences), drafts["concise"][0], drafts)


def _sentences(story: Story) -> tuple[str, ...]:
    who, pronoun, event, _, when, harmed, where, reaction, feeling, need, plan = story
    return (
        f"My {who} {event} {when} and {harmed} it {where}.",
        f"Now {pronoun} {reaction}.",
        f"I feel {feeling}, as I need it for {need}.",
        f"Should I {plan}?",
    )
