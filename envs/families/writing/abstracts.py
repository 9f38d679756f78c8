"""Abstracts of invented studies, and drafts of the introductions that expand them.

The best background and the best method lie within every threshold: about 140 and 200 words with
much vocabulary in common and connectives of all kinds. The others leave connectives out, go on
about history, stop early or tell the background again. They depend on the study alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import TypedDict

from laconic.envs.families.writing import study as tables
from laconic.envs.families.writing.generate import Piece, draw
from laconic.envs.task import Split, Task

_CHOICE = re.compile(r"\[(.*?)\|(.*?)\]")


class Study(TypedDict):
    """Subject of the study, in words for the gaps of sentences."""

    task: str
    Task: str
    sources: str
    users: str
    weakness: str
    cause: str
    rival: str
    kind: str
    idea: str
    step: str
    other_step: str
    name: str
    data: str
    other_data: str
    limit: str
    gain: int
    speed: int
    hours: int


def generate(seed: int, count: int, split: Split) -> tuple[Task, ...]:
    """Generate different tasks from a seed; a smaller count gives the first of them.

    Args:
        seed: any whole number.
        count: number of tasks.
        split: `train` or `evaluation`; they share no abstract.

    Raises:
        SettingError: a setting is out of its range, or there are fewer different abstracts.
    """
    return draw(_piece, "abstracts", seed, count, split)


def invent(random: Random) -> Study:
    """Draw a study."""
    task = random.choice(tables.TASKS)
    weakness, cause = random.choice(tables.WEAKNESSES)
    step, other_step = random.choice(tables.STEPS)
    data, other_data = random.sample(tables.DATA, 2)
    return Study(
        task=task,
        Task=task[0].upper() + task[1:],
        sources=random.choice(tables.SOURCES),
        users=random.choice(tables.USERS),
        weakness=weakness,
        cause=cause,
        rival=random.choice(tables.RIVALS),
        kind=random.choice(tables.KINDS),
        idea=random.choice(tables.IDEAS),
        step=step,
        other_step=other_step,
        name=random.choice(tables.FIRST_SOUNDS) + random.choice(tables.LAST_SOUNDS),
        data=data,
        other_data=other_data,
        limit=random.choice(tables.LIMITS),
        gain=random.randint(2, 19),
        speed=random.randint(3, 40),
        hours=random.randint(2, 23),
    )


def background(study: Study) -> tuple[str, ...]:
    """Drafts of background and motivation: whole, plain, with too much history, cut short."""
    whole = _told(tables.BACKGROUND, study)
    plain = _told(tables.BACKGROUND, study, connected=False)
    longer = (*tables.HISTORY, *whole)
    return tuple(" ".join(sentences) for sentences in (whole, plain, longer, whole[:5]))


def method(study: Study) -> tuple[str, ...]:
    """Drafts of method and implications: whole, plain, without an end, cut short, all told again.

    The last begins with the background, which is not its part, and so gets too long.
    """
    whole = _told(tables.METHOD, study)
    plain = _told(tables.METHOD, study, connected=False)
    again = (*_told(tables.BACKGROUND, study), *whole)
    return tuple(" ".join(sentences) for sentences in (whole, plain, whole[:9], whole[:4], again))


def _piece(random: Random) -> Piece:
    study = invent(random)
    abstract = " ".join(_told(tables.ABSTRACT, study))
    drafts = {"background": background(study), "method": method(study)}
    reference = "\n".join(texts[0] for texts in drafts.values())
    return Piece(abstract, abstract, reference, drafts)


def _told(sentences: Sequence[str], study: Study, connected: bool = True) -> list[str]:
    """Sentences about a study, with their connectives or without."""
    return [_form(sentence, connected).format(**study) for sentence in sentences]


@cache
def _form(sentence: str, connected: bool) -> str:
    return _CHOICE.sub(r"\1" if connected else r"\2", sentence)
