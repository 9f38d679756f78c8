"""The words that generated posts are made of: who did what to whose thing, and what came of it."""

from __future__ import annotations

from typing import NamedTuple

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
