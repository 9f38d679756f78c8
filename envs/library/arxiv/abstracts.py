"""Abstracts of invented studies, and drafts of the introductions that expand them.

The best background and the best method lie within every threshold: about 140 and 200 words with
much vocabulary in common and connectives of all kinds. The others leave connectives out, continue
about history, stop early or repeat the background. They depend on the study only. In a sentence,
`[with|without]` holds words with a connective, and those of a plainer draft.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import TypedDict

from laconic.envs.families.writing.generate import Piece, draw
from laconic.envs.task import Split, Task

TASKS = (
    *("finding errors in long tables", "sorting letters by their subject"),
    *("joining records of one person", "naming plants in field photographs"),
    *("forecasting the load of small grids", "reading dates in old registers"),
    *("tracking boats in harbour video", "matching questions with manuals"),
    *("counting cells in blurred slides", "splitting speech by its speaker"),
    *("ranking replies to complaints", "mapping snow from weather radar"),
    *("checking claims about medicines", "aligning songs with their scores"),
    *("detecting leaks in water pipes", "translating notes on maps"),
)
SOURCES = (
    *("archives", "diaries", "forms", "invoices", "logbooks", "measurements", "messages"),
    *("protocols", "recordings", "reports", "scans", "sketches", "surveys", "transcripts"),
)
USERS = (
    *("hospitals", "libraries", "insurers", "farmers", "museums", "rescue teams", "city planners"),
    *("teachers", "courts", "shipping companies", "power stations", "relief workers"),
)
WEAKNESSES = (
    ("need thousands of labelled examples", "labels are given by hand"),
    ("forget what they learned before", "their weights are shared by all seasons"),
    ("break down on rare cases", "rare cases hardly count in training"),
    ("take hours for one answer", "they compare everything with everything"),
    ("cannot explain their output", "their features have no names"),
    ("depend on a single language", "their dictionaries are built in"),
    ("are misled by noise", "they weigh every input alike"),
    ("require a constant network", "they are too large for a device"),
)
"""Weaknesses of earlier systems, with reasons."""
RIVALS = (
    *("deep ensemble", "large transformer", "kernel machine", "nearest neighbour search"),
    *("recurrent network", "rule grammar", "graph network", "random forest", "hidden Markov chain"),
)
KINDS = (
    *("sparse encoder", "two-stage filter", "modular network", "tree of small experts"),
    *("memory of prototypes", "linear attention model", "layered hash", "gated mixture"),
)
IDEAS = (
    *("learns from its own corrections", "shares its weights over time", "asks for few labels"),
    *("keeps only what surprises it", "reads every input at two scales", "drops idle parts"),
    *("grows with the difficulty of a case", "stores rare cases apart", "votes among cheap views"),
)
STEPS = (
    ("cuts them into overlapping pieces", "scores every piece with a cheap rule"),
    ("groups them by their layout", "picks one leader for every group"),
    ("turns them into short codes", "looks up the nearest known codes"),
    ("removes what is said twice", "links the rest by common names"),
    ("orders them by their age", "carries a summary from each to the next"),
    ("marks doubtful passages", "spends its effort on those passages"),
)
"""The first and second thing a method does."""
FIRST_SOUNDS = tuple("Al Bren Cor Del Fen Gal Hol Jun Kel Lor Mar Nor Or Pel Quin Ros".split())
LAST_SOUNDS = tuple("bex dan fit gram kit lane mix net phos rix son tide vane wick".split())
DATA = tuple("Arvo Birk Castel Dorn Elbe Fjord Garda Humber Isar Jura Kemi Loire".split())
LIMITS = (
    *("needs a clean start", "slows down on very long inputs", "guesses where inputs are missing"),
    *("has to be tuned by an expert", "overlooks handwritten remarks", "mixes up similar names"),
)

ABSTRACT = (
    "{Task} matters to {users}, who collect {sources} every day.",
    "Existing systems {weakness}, because {cause}.",
    "We present {name}, a {kind} that {idea}.",
    "It reads the {sources}, {step} and {other_step}.",
    "On {data} it is {gain} points more accurate than a {rival}, and on {other_data} it is as"
    " accurate and {speed} times as fast.",
    "{name} still {limit}, which we discuss together with what it means for {users}.",
)
BACKGROUND = (
    "{Task} has become important to {users}, who collect more {sources} every day than anybody can"
    " read.",
    "[For example, a|A] single error may go unseen for years.",
    "Existing systems for {task} {weakness}, because {cause}.",
    "[Therefore they|They] fail when {sources} change over time, and people no longer trust the"
    " result.",
    "Earlier studies proposed a {rival} for {task}, [but it|which] takes many machines to train.",
    "[Although a|A] {rival} is accurate on {data}[,|, and] {users} cannot afford it in practice.",
    "[In addition, small|Small] groups lack the machines that an accurate system needs.",
    "This gap between accurate and affordable systems is the motivation of our work.",
    "We ask whether a {kind} that {idea} can close the gap.",
    "[In short, we|We] want a system that is accurate, affordable and worth the trust of {users}.",
)
"""Background and motivation."""
HISTORY = (
    "The history of the subject goes back to printed catalogues, whose authors compared entries by"
    " eye and wrote remarks into the margin.",
    "With the first computers came keyword lists, statistical tests and later learned features,"
    " each of them hailed as a final answer and each of them soon replaced.",
)
"""Sentences that a background may omit."""
METHOD = (
    "We present {name}, a {kind} that {idea}, as an accurate and affordable system for {task}.",
    "[First, {name}|{name}] reads the {sources} and {step}.",
    "[Second, it|It] {other_step}, [so that|and] small groups can train it on the machines they"
    " have.",
    "[Finally, it|It] reports the result to {users}, and how far they can trust it.",
    "Existing systems {weakness}, [whereas|and] {name} does better, because it {idea}.",
    "We compare {name} with a {rival} on {data} and on {other_data}.",
    "On {data} it is {gain} points more accurate than the {rival}, and on {other_data} it is as"
    " accurate and {speed} times as fast.",
    "[In fact, a|A] single machine can train {name} within {hours} hours, [while|and] the {rival}"
    " takes many machines and days.",
    "[When we leave out|Without] the second step, the gain on {data} is lost, which shows where it"
    " comes from.",
    "[However, {name}|{name}] still {limit}, [for instance where|where] the {sources} change over"
    " time.",
    "[If the result holds in practice|In practice], {users} can afford {task} every day.",
    "[Overall, the|The] gap between accurate and affordable systems for {task} becomes smaller, and"
    " small groups are no longer left out.",
)
"""Method and implications."""


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
    task = random.choice(TASKS)
    weakness, cause = random.choice(WEAKNESSES)
    step, other_step = random.choice(STEPS)
    data, other_data = random.sample(DATA, 2)
    return Study(
        task=task,
        Task=task[0].upper() + task[1:],
        sources=random.choice(SOURCES),
        users=random.choice(USERS),
        weakness=weakness,
        cause=cause,
        rival=random.choice(RIVALS),
        kind=random.choice(KINDS),
        idea=random.choice(IDEAS),
        step=step,
        other_step=other_step,
        name=random.choice(FIRST_SOUNDS) + random.choice(LAST_SOUNDS),
        data=data,
        other_data=other_data,
        limit=random.choice(LIMITS),
        gain=random.randint(2, 19),
        speed=random.randint(3, 40),
        hours=random.randint(2, 23),
    )


def background(study: Study) -> tuple[str, ...]:
    """Drafts of background and motivation: whole, plain, with too much history, cut short."""
    whole = _told(BACKGROUND, study)
    plain = _told(BACKGROUND, study, connected=False)
    longer = (*HISTORY, *whole)
    return tuple(" ".join(sentences) for sentences in (whole, plain, longer, whole[:5]))


def method(study: Study) -> tuple[str, ...]:
    """Drafts of method and implications: whole, plain, without an end, cut short, all told again.

    The last begins with the background, which is not its part, and so gets too long.
    """
    whole = _told(METHOD, study)
    plain = _told(METHOD, study, connected=False)
    again = (*_told(BACKGROUND, study), *whole)
    return tuple(" ".join(sentences) for sentences in (whole, plain, whole[:9], whole[:4], again))


def _piece(random: Random) -> Piece:
    study = invent(random)
    abstract = " ".join(_told(ABSTRACT, study))
    drafts = {"background": background(study), "method": method(study)}
    reference = "\n".join(texts[0] for texts in drafts.values())
    return Piece(abstract, abstract, reference, drafts)


def _told(sentences: Sequence[str], study: Study, connected: bool = True) -> list[str]:
    """Sentences about a study, with their connectives or without."""
    return [_form(sentence, connected).format(**study) for sentence in sentences]


@cache
def _form(sentence: str, connected: bool) -> str:
    return _CHOICE.sub(r"\1" if connected else r"\2", sentence)
