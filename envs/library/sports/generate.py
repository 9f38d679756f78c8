"""Drawing of sentences about athletes that are plausible or not.

Level 1 joins two facts: the sport of the athlete, and the sport of an action. At level 2 the
athlete's sport is that of a club. At level 3 the sentence also names a cup, which must have the
same sport. Athletes and moves are invented and change their sports between tasks, so the facts are
needed: a team would memorize the sports of real moves. At level 1 a distractor is about another
athlete or action, without a common name, verb or move. From level 2 on it may differ in a single
word.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import NamedTuple

from laconic.envs.benchmarks.generation import Problem
from laconic.envs.benchmarks.words import another
from laconic.envs.families.yes_no.inference import generator

SPORTS = tuple(
    "baseball basketball cricket darts football golf hockey rugby snooker soccer tennis"
    " volleyball".split()
)
"""Sports by their real names."""
FIRST_NAMES = tuple(
    "Abo Alek Ando Bela Beno Cato Dano Dela Edro Elo Fara Feno Gavo Goro Hano Helo Ilo Ivo Jaro"
    " Jelo Kano Keo Lado Leno Lugo Mavo Milo Nalo Neko Nilo Odo Orlo Pavo Pelo Quilo Rado Remo"
    " Salo Sivo Tavo Timo Ugo Ulo Vano Velo Wado Xavo Yaro Yelo Zeno".split()
)
"""First names, invented or rare."""
LAST_NAMES = tuple(
    "Ambel Arn Barl Bolm Brisk Cald Corv Dask Delv Dorn Eddel Falk Fenn Garn Gild Grell Hald"
    " Hask Horl Irvel Jarn Jost Kald Kelm Korv Larn Lesk Lorm Marn Meld Mosk Narl Nesk Orm Palk"
    " Perl Quarn Rask Reld Rusk Sarn Selk Sorl Tarn Tolk Vask Velm Vorn Wesk Zarn".split()
)
"""Family names, invented."""
VERBS = tuple(
    "blocked caught chased cleared copied dodged drew dropped faked forced held landed led"
    " lifted lost made missed nailed opened passed played pulled pushed saved sank set shot"
    " spun stole threw took won".split()
)
"""Verbs of moves, in the past tense."""
MOVES = tuple(
    "bilp bork brell brint crask crunt dilf dorve drusk fenk flimp flork frisp glant glemp"
    " gorsk grelk hulm jask jelt jorp kemp klint krelp lorve lusk mipe mordle nask nemp nolk"
    " plesk plomp prask quelt rilp rommet sharn skelp slorn smeck sprole stelk tasp trelk tusp"
    " vambo vort welk zorch".split()
)
"""Moves, invented, so that their sport cannot be known in advance."""
CLUBS = tuple(
    "Badgers Cranes Falcons Foxes Hornets Lions Otters Owls Ravens Sharks Tigers Wolves".split()
)
"""Clubs; each has one sport."""
_CUPS = "Amber Bronze Coral Crystal Emerald Harbor Ivory Jade Maple Onyx Ruby Silver"
CUPS = tuple(f"{name} Cup" for name in _CUPS.split())
"""Cups; each has one sport."""


_Fact = tuple[str, str]
"""Subject of a fact, and its sentence."""
_PLAYS, _MEMBER, _CLUB = "{} plays {}.", "{} is with the {}.", "The {} play {}."
_BELONGS, _CUP = "Whoever {} plays {}.", "The {} is for {}."


def sentence(random: Random, holds: bool, level: int) -> Problem:
    """Make a sentence about an athlete that is plausible (True) or not."""
    first, last = random.choice(FIRST_NAMES), random.choice(LAST_NAMES)
    verb, move = random.choice(VERBS), random.choice(MOVES)
    sport, club, cup = random.choice(SPORTS), random.choice(CLUBS), random.choice(CUPS)
    actions_sport, cups_sport = _other_sports(random, sport, level, holds)
    athlete, action = f"{first} {last}", _action(verb, move)
    facts = [_fact(_MEMBER, athlete, club), _fact(_CLUB, club, sport)]
    facts = [_fact(_PLAYS, athlete, sport)] if level == 1 else facts
    facts.append(_fact(_BELONGS, action, actions_sport))
    sports, where = [sport, actions_sport], ""
    if level == 3:
        facts.append(_fact(_CUP, cup, cups_sport))
        sports.append(cups_sport)
        where = f" in the {cup}"
    names = _Names(first, last, verb, move)
    decoy = (
        partial(_far, names=names)
        if level == 1
        else partial(_near, names=names, used=frozenset(subject for subject, _ in facts))
    )
    return Problem(
        tuple(text for _, text in facts),
        f'Is the following sentence plausible? "{athlete} {action}{where}."',
        "yes" if holds else "no",
        f"{', '.join(sports)}: {'same' if holds else 'different'}.",
        decoy,
    )


class _Names(NamedTuple):
    """Athlete and action of a sentence."""

    first: str
    last: str
    verb: str
    move: str


def _other_sports(random: Random, sport: str, level: int, holds: bool) -> tuple[str, str]:
    """Draw the sports of an action and a cup; without `holds`, one or both do not fit."""
    if holds:
        return sport, sport
    wrong = random.choice(("action", "cup", "both")) if level == 3 else "action"
    action = sport if wrong == "cup" else another(random, SPORTS, sport)
    return action, sport if wrong == "action" else another(random, SPORTS, sport)


def _far(random: Random, names: _Names) -> _Fact:
    if random.random() < 0.5:
        first = another(random, FIRST_NAMES, names.first)
        last = another(random, LAST_NAMES, names.last)
        return _fact(_PLAYS, f"{first} {last}", random.choice(SPORTS))
    verb, move = another(random, VERBS, names.verb), another(random, MOVES, names.move)
    return _fact(_BELONGS, _action(verb, move), random.choice(SPORTS))


def _near(random: Random, names: _Names, used: frozenset[str]) -> _Fact:
    """Draw a fact like those of the task about another subject."""
    first, last, verb, move = names
    while True:
        family = f"{first} {another(random, LAST_NAMES, last)}"
        athlete = random.choice((family, f"{another(random, FIRST_NAMES, first)} {last}"))
        similar = _action(verb, another(random, MOVES, move))
        action = random.choice((similar, _action(another(random, VERBS, verb), move)))
        club, sport = random.choice(CLUBS), random.choice(SPORTS)
        member, belongs = _fact(_MEMBER, athlete, club), _fact(_BELONGS, action, sport)
        cup = _fact(_CUP, random.choice(CUPS), sport)
        fact = random.choice((member, _fact(_CLUB, club, sport), belongs, cup))
        if fact[0] not in used:
            return fact


def _action(verb: str, move: str) -> str:
    return f"{verb} a {move}"


def _fact(form: str, subject: str, other: str) -> _Fact:
    return subject, form.format(subject, other)


generate = generator({level: [partial(sentence, level=level)] for level in range(1, 4)})
"""Makes different tasks, as `inference.generator` says; a level is a number of joins."""
