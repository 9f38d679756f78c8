"""Short invented posts of people who were let down, and drafts of their summaries.

In each story someone was supposed to take care of the author's thing, damaged it and behaves badly.
At level 1 a post tells only the story; at levels 2 and 3 it also has sentences that a summary
leaves out. The drafts depend on the story only. The best concise draft is one plain sentence. The
best detailed draft tells the whole story with connectives of four kinds. The other drafts are too
long, too short, repetitive or without connectives, and earn less.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from laconic.envs.benchmarks.generation import Span, span
from laconic.envs.families.writing.generate import Piece, draw
from laconic.envs.task import Split, Task

PEOPLE = (
    *(("aunt", "she"), ("boss", "he"), ("brother", "he"), ("cousin", "she"), ("coach", "he")),
    *(("daughter", "she"), ("father", "he"), ("friend", "he"), ("manager", "she")),
    *(("mother", "she"), ("nephew", "he"), ("neighbour", "he"), ("niece", "she")),
    *(("roommate", "she"), ("sister", "she"), ("son", "he"), ("teacher", "she"), ("uncle", "he")),
)
"""People of the story, with their pronouns."""
TIMES = (
    *("on Monday", "on Friday", "on Sunday", "last week", "last month", "last night"),
    *("this morning", "at Easter", "in March", "in August", "over Christmas", "yesterday"),
)
FEELINGS = (
    *("angry", "annoyed", "ashamed", "bitter", "helpless", "hurt", "lonely", "sad", "tired"),
    *("upset", "used", "worried"),
)
REACTIONS = (
    *("avoids my calls", "blames my kids", "denies the whole thing", "laughs about it"),
    *("refuses to pay", "pretends to be ill", "wants more time", "calls me rude"),
    *("offers half the money", "says nothing happened"),
)
PLANS = (
    *("ask for money", "call a lawyer", "let it go", "move out", "talk to the family"),
    *("tell everybody", "wait a month", "write a letter"),
)


class Plot(NamedTuple):
    """A kind of story; `{thing}` stands for the thing it is about."""

    event: str
    """Beginning of the story, in the past tense."""
    harms: tuple[str, ...]
    """Harm that was then done to the thing, in the past tense."""
    places: tuple[str, ...]
    """Places or circumstances."""
    things: tuple[str, ...]
    """Things that the story is about."""
    needs: tuple[str, ...]
    """Purposes of the thing."""


PLOTS = (
    Plot(
        "borrowed my {thing}",
        ("broke", "lost", "ruined", "scratched", "sold"),
        ("at a party", "in the rain", "on the beach", "on a long hike", "behind the school"),
        ("bike", "camera", "car", "drone", "guitar", "jacket", "kayak", "laptop", "tent"),
        ("a trip in June", "my new job", "a race in May", "the summer camp", "my exam"),
    ),
    Plot(
        "promised to feed my {thing}",
        ("forgot", "lost", "hurt", "scared", "starved"),
        ("in the garden", "near the road", "during a storm", "with the door open", "at the lake"),
        ("cat", "dog", "goat", "hamster", "horse", "parrot", "pony", "rabbit", "turtle"),
        ("company at night", "the village show", "my children", "a school film", "my health"),
    ),
    Plot(
        "offered to paint my {thing}",
        ("damaged", "flooded", "spoiled", "stained", "wrecked"),
        ("with the wrong colour", "without a plan", "in one hour", "with old brushes", "at noon"),
        ("bathroom", "boat", "cabin", "door", "fence", "garage", "kitchen", "roof", "shed"),
        ("the next tenant", "a sale in spring", "my wedding", "guests from abroad", "winter"),
    ),
    Plot(
        "joined my {thing}",
        ("cancelled", "copied", "deleted", "delayed", "spoiled"),
        ("near the deadline", "behind my back", "during my holiday", "by mistake", "for fun"),
        ("blog", "choir", "course", "lecture", "podcast", "project", "show", "study", "team"),
        ("my degree", "a grant in autumn", "the spring fair", "my visa", "a prize in July"),
    ),
)
ASIDES = (
    "We grew up in the same street and used to get along.",
    "Sorry for the long post, English is not my first language.",
    "My mother says that I take such things too hard.",
    "I work two jobs and hardly sleep at the moment.",
    "We have known each other for about nine years.",
    "There was a quarrel about money two years ago.",
    "Nobody else saw it, so it is my word against another.",
    "I have not told my partner about any of this.",
    "My landlord heard the noise and sent me a note.",
    "We share a garden gate and meet almost every day.",
    "I tried to stay calm and made some tea.",
    "Some of our friends say that I should be patient.",
    "It was not cheap, and I paid for it on my own.",
    "I found out by chance from a photo on the internet.",
    "My therapist told me to write things down.",
    "There will be a family dinner next Saturday.",
    "I never had a problem like this before.",
    "The shop told me that it cannot be mended.",
    "We live in a small town where everybody talks.",
    "I keep thinking about it at work.",
    "Last year something like it happened to my grandmother.",
    "I wrote three messages and deleted them all.",
    "This is a new account, for obvious reasons.",
    "I do not want to make a scene in front of the kids.",
)
"""Sentences that a summary leaves out."""


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
    """Generate different tasks from a seed; a smaller count gives the first of them.

    Args:
        seed: any whole number.
        count: number of tasks.
        split: `train` or `evaluation`; they share no story, even with other sentences around it.
        level: 1 (about 35 words) to 3 (about 160); a pair draws from lowest to highest.

    Raises:
        SettingError: a setting is out of its range, or there are fewer different posts.
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
