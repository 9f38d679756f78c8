"""Drawing sentences about athletes that are plausible or not.

Level 1 joins two facts: the sport of the athlete, and the sport an action belongs to. At level 2
the athlete's sport is that of a club, and at level 3 the sentence names a cup, too, whose sport has
to be the same. The athletes are invented, so nothing but the facts tells which sport is theirs; the
actions are real. At level 1 a distractor is about another athlete, with neither name in common,
or about another action; from level 2 on it may differ in a single name.
"""

from __future__ import annotations

from functools import partial
from random import Random

from envs.drawing import span
from envs.inference import MOST_DISTRACTORS, Inference, Span, draw
from envs.sports_table.table import CLUBS, CUPS, FIRST_NAMES, LAST_NAMES, SPORT_OF, SPORTS
from envs.task import Part, Task
from envs.word_problems.words import another

LEVELS = (1, 3)
"""Fewest and most joins of facts."""
DISTRACTORS = (1, 2)
"""Fewest and most distractors of a task, by default."""
_NAMES = tuple(SPORTS)
_ACTIONS = tuple(SPORT_OF)
_Fact = tuple[str, str]
"""What a fact is about, and its sentence."""


def generate(
    seed: int,
    count: int,
    part: Part,
    level: Span = LEVELS,
    distractors: Span = DISTRACTORS,
) -> tuple[Task, ...]:
    """Make different tasks from a seed; fewer of the same seed are the first of these.

    Args:
        seed: any whole number.
        count: how many tasks; of an even number half are plausible.
        part: train or evaluation; they share no problem.
        level: joins of facts that a task takes, 1 to 3; a pair draws from fewest to most.
        distractors: statements that do not matter; a pair draws from fewest to most.

    Raises:
        SettingError: a setting is out of its range, or there are not so many different problems.
    """
    levels = span("level", level, LEVELS)
    extras = span("distractors", distractors, (0, MOST_DISTRACTORS))
    return draw(_SENTENCES, seed, count, part, levels, extras)


def sentence(random: Random, holds: bool, level: int) -> Inference:
    """A sentence about an athlete that is plausible (True) or not."""
    first, last = random.choice(FIRST_NAMES), random.choice(LAST_NAMES)
    sport, club, cup = random.choice(_NAMES), random.choice(CLUBS), random.choice(CUPS)
    action, cups_sport = _done(random, sport, level, holds)
    athlete = f"{first} {last}"
    facts = [_plays(athlete, sport)] if level == 1 else [_member(athlete, club), _club(club, sport)]
    facts.append(_belongs(action))
    sports, where = [sport, SPORT_OF[action]], ""
    if level == 3:
        facts.append(_cup(cup, cups_sport))
        sports.append(cups_sport)
        where = f" in the {cup} Cup"
    decoy = (
        partial(_far, first=first, last=last, action=action)
        if level == 1
        else partial(_near, first=first, last=last, taken=frozenset(name for name, _ in facts))
    )
    return Inference(
        tuple(text for _, text in facts),
        f'Is the following sentence plausible? "{athlete} {action}{where}."',
        holds,
        f"{', '.join(sports)}: {'same' if holds else 'different'}.",
        decoy,
    )


def _done(random: Random, sport: str, level: int, holds: bool) -> tuple[str, str]:
    """An action, and the sport of a cup; where it is not to hold, one or both do not fit."""
    own = cups = sport
    if not holds:
        wrong = random.choice(("action", "cup", "both")) if level == 3 else "action"
        own = sport if wrong == "cup" else another(random, _NAMES, sport)
        cups = sport if wrong == "action" else another(random, _NAMES, sport)
    return random.choice(SPORTS[own]), cups


def _far(random: Random, first: str, last: str, action: str) -> _Fact:
    if random.random() < 0.5:
        name = f"{another(random, FIRST_NAMES, first)} {another(random, LAST_NAMES, last)}"
        return _plays(name, random.choice(_NAMES))
    return _belongs(another(random, _ACTIONS, action))


def _near(random: Random, first: str, last: str, taken: frozenset[str]) -> _Fact:
    """A fact like those of the task whose subject is none of theirs."""
    while True:
        name = random.choice(
            (
                f"{first} {another(random, LAST_NAMES, last)}",
                f"{another(random, FIRST_NAMES, first)} {last}",
            )
        )
        club, sport = random.choice(CLUBS), random.choice(_NAMES)
        subject, text = random.choice(
            (
                _member(name, club),
                _club(club, sport),
                _belongs(random.choice(_ACTIONS)),
                _cup(random.choice(CUPS), sport),
            )
        )
        if subject not in taken:
            return subject, text


def _plays(athlete: str, sport: str) -> _Fact:
    return athlete, f"{athlete} plays {sport}."


def _member(athlete: str, club: str) -> _Fact:
    return athlete, f"{athlete} is with the {club}."


def _club(club: str, sport: str) -> _Fact:
    return club, f"The {club} play {sport}."


def _belongs(action: str) -> _Fact:
    return action, f"Whoever {action} plays {SPORT_OF[action]}."


def _cup(cup: str, sport: str) -> _Fact:
    return f"{cup} Cup", f"The {cup} Cup is for {sport}."


_SENTENCES = {level: [partial(sentence, level=level)] for level in range(LEVELS[0], LEVELS[1] + 1)}
