r"""Reading the yes or no that a text commits to, or else the last one it mentions.

Marks are `#### yes`, `\boxed{no}`, `**Yes**` and `the answer is no` (also `Answer: no`); the last
mark counts, and any mark goes before unmarked words. Unmarked, `yes` counts as a word of its own,
and `no` where it is a whole reply and not part of a phrase (`no one`, `no longer`, `No. 5`).
A negated word turns around (`not yes`); one in a question, behind `if`, or offered beside its
opposite (`yes or no`) commits to nothing. For questions of plausibility `plausible` and
`implausible` are understood in marks, and unmarked where neither yes nor no is said.
The work is bounded: a window at the end is read, and so many words in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from laconic.envs.task import majority

Verdict = Literal["yes", "no"]

WINDOW = 20_000
"""Characters at the end of a text that are read."""
_MAX_MENTIONS = 200
_REACH = 100
"""Characters beside a word that may change its meaning."""

# Letters are spelt out: case folding would let other scripts' letters in.
_YES_NO = r"(?P<yes>[Yy][Ee][Ss])|(?P<no>[Nn][Oo])"
_PLAUSIBLE = r"(?P<plausible>(?P<against>[IiUu][MmNn])?[Pp][Ll][Aa][Uu][Ss][Ii][Bb][Ll][Ee])"
_ANY = rf"{_YES_NO}|{_PLAUSIBLE}"
_DRESS = r"[\s*_`\"'“”‘’$(]"
_NOT = r"(?:not|never|hardly|cannot be|far from|less|\w{2,6}n['’]t)"
_FILLER = (
    r"(?:is|was|are|be|been|would|must|should|will|can|could|may|might|has|to|that|the|question|"
    r"this|here|then|therefore|thus|hence|so|clearly|definitely|certainly|surely|simply|just|"
    r"probably|likely|most|very|still|indeed|in|fact|a|an|again|actually|final|not|never|cannot|"
    r"\w{2,6}n['’]t)"
)


def _word(words: str) -> str:
    return rf"(?<!\w)(?<!\w[-'’])(?:{words})(?!\w|[-'’]\w)"


def _marks(words: str) -> tuple[re.Pattern[str], ...]:
    word = _word(words)
    return (
        re.compile(
            rf"####[^\w?]{{0,8}}(?P<between>(?:not\s{{1,3}})?(?:an?\s{{1,3}})?){_DRESS}{{0,3}}{word}"
        ),
        re.compile(
            rf"\\boxed[ ]?\{{[^\w{{}}\\]{{0,4}}(?:\\[a-z]{{2,8}}[ ]?\{{[^\w{{}}\\]{{0,4}}){{0,2}}"
            rf"(?P<between>(?:not\s{{1,3}})?){word}[^\w{{}}?]{{0,4}}\}}{{1,3}}"
        ),
        re.compile(
            rf"\*\*[\s\"'“]{{0,2}}(?P<between>(?:[Nn]ot\s{{1,3}})?){word}[.!,:;]?[\"'”]?\*\*"
        ),
        re.compile(
            r"(?<!\w)(?i:answer|verdict|conclusion)(?!\w)(?:[ ]?\([^()\n]{0,40}\))?"
            rf"(?P<between>(?:[:=,—–-]|{_DRESS}){{0,8}}+"
            rf"(?:(?i:{_FILLER})(?!\w)(?:[:=,—–-]|{_DRESS}){{1,8}}+){{0,8}}+){word}"
        ),
    )


_MARKS = {False: _marks(_YES_NO), True: _marks(_ANY)}
_BARE, _BARE_PLAUSIBLE = re.compile(_word(_YES_NO)), re.compile(_word(_PLAUSIBLE))

_COPULA = re.compile(r"[:=]|(?<!\w)(?:is|was|be|isn['’]t|wasn['’]t)(?!\w)", re.IGNORECASE)
_NEGATION = re.compile(rf"(?<!\w){_NOT}(?!\w)", re.IGNORECASE)
_NEGATED = re.compile(
    rf"(?<!\w){_NOT}\s{{1,3}}(?:(?:an?|simply|very|at all|really|entirely)\s{{1,3}})?"
    rf"{_DRESS}{{0,3}}$",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:(?:n['’]t|(?<!\w)not|(?<!\w)never)\s+(?:think|believe|say|agree|claim|mean)(?:\s+that)?"
    r"|(?<!\w)(?:wrong|false|incorrect|untrue)(?:\s+that)?)(?:\s+(?:the|my|our))?\s+$",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    rf"{_DRESS}{{0,4}}(?:is|was|would be)\s+(?:not|wrong|incorrect|false)(?!\w)", re.IGNORECASE
)
_SUPPOSED = re.compile(
    r"(?<!\w)(?:if|whether|unless|suppos\w{1,4}|assum\w{1,4})(?!\w)[^.?!\n,;]{0,80}$", re.IGNORECASE
)
_ASKED = re.compile(r"[\s*_`\"'”’)]{0,4}\?")
_ASKED_BEFORE = re.compile(
    r"(?:^|[.?!:\n]\s{0,3})(?:is|was)\s+(?:it|this|that|the(?:\s+\w+){1,3})\s+$", re.IGNORECASE
)
_LINK = (
    rf"{_DRESS}{{0,4}}\)?(?:[/|]|,?\s*(?<!\w)(?:or|nor|and|vs\.?|versus)(?!\w)"
    r"(?:\s+(?:an?|maybe|perhaps|possibly|(?:could|may|might) be|is|it is|is it|the answer is|"
    rf"is the answer))?){_DRESS}{{0,4}}"
)
_OFFER = re.compile(rf"{_LINK}(?:yes|no|not|(?:im|un)?plausible)(?!\w)", re.IGNORECASE)
_OFFERED = re.compile(rf"(?<!\w)(?:yes|no|(?:im|un)?plausible){_LINK}$", re.IGNORECASE)
_PHRASE = re.compile(
    # `no` before a noun is no answer; these are the words that a noun phrase cannot begin with.
    r"[ \t]+(?!(?:the|a|an|because|since|as|it|he|she|they|we|you|I|that|this|these|those|there|"
    r"but|and|or|nor|for|so|if|when|while|although|though|given|due|based|however|thus|hence|"
    r"therefore|is|was|would|in|at|by|with|not|wait|sorry)(?!\w))[^\W\d]"
)
_NUMBERED = re.compile(r"\.?[ ]?#?\d")


@dataclass(frozen=True, slots=True)
class _Found:
    begin: int
    end: int
    word: int
    verdict: Verdict


def answer_in(text: str, plausible: bool = False) -> Verdict | None:
    """The answer of a text: the marked one, or else the last one; None without any.

    Args:
        text: any text.
        plausible: whether `plausible` and `implausible` are answers, too.
    """
    marked = _commitment(text, plausible)
    if marked is not None:
        return marked.verdict
    for pattern in (_BARE, _BARE_PLAUSIBLE) if plausible else (_BARE,):
        found = _last(text, (pattern,))
        if found is not None:
            return found.verdict
    return None


def vote(texts: Iterable[str], plausible: bool = False) -> Verdict | None:
    """What most texts answer; those without an answer have no vote, and ties go to the earliest.

    Args:
        texts: the answering agents' messages, in the agents' order.
        plausible: whether `plausible` and `implausible` are answers, too.
    """
    return majority(answer_in(text, plausible) for text in texts)


def commitment(text: str, plausible: bool = False) -> str | None:
    """The last mark with an answer in it, letter for letter; None without one."""
    found = _commitment(text, plausible)
    return text[found.begin : found.end] if found else None


def _commitment(text: str, plausible: bool) -> _Found | None:
    return _last(text, _MARKS[bool(plausible)])


def _last(text: str, patterns: tuple[re.Pattern[str], ...]) -> _Found | None:
    """The last match that commits to something."""
    start = max(0, len(text) - WINDOW)
    matches = chain.from_iterable(
        list(pattern.finditer(text, start))[-_MAX_MENTIONS:] for pattern in patterns
    )
    # Of marks that end in the same word the longest is read, for it tells most.
    latest = sorted(matches, key=lambda match: (_place(match), -match.start()), reverse=True)
    seen: set[int] = set()
    for match in latest:
        if _place(match) in seen:
            continue
        found = _read(text, match)
        if found is not None:
            return found
        if "between" not in match.re.groupindex or _copular(match):
            seen.add(_place(match))
    return None


def _place(match: re.Match[str]) -> int:
    """Where the word itself stands."""
    return match.start(_name(match))


def _name(match: re.Match[str]) -> str:
    return next(name for name in ("yes", "no", "plausible") if match.groupdict().get(name))


def _copular(match: re.Match[str]) -> bool:
    """Whether a mark is none by its looks alone: `answer` needs an `is` or a colon."""
    return match.group()[0] in "#*\\" or bool(_COPULA.search(match["between"]))


def _read(text: str, match: re.Match[str]) -> _Found | None:
    """What a match says, None where it commits to nothing."""
    name, marked = _name(match), "between" in match.re.groupindex
    word, end = match.span(name)
    before = text[max(0, word - _REACH) : word]
    first = text[max(0, match.start() - _REACH) : match.start()]
    if marked and not _copular(match):
        return None
    if _ASKED.match(text, end) or _OFFER.match(text, end) or _OFFERED.search(before):
        return None
    if _SUPPOSED.search(first):
        return None
    if name == "no" and (_PHRASE.match(text, end) or (not marked and _numbered(text, word, end))):
        return None
    if name == "plausible" and not marked and _ASKED_BEFORE.search(before):
        return None
    negations = [
        name == "no" or bool(match.groupdict().get("against")),
        bool(_DENIED.search(first)),
        bool(_DENIED_AFTER.match(text, end)),
    ]
    if marked:
        negations += [True] * len(_NEGATION.findall(match["between"]))
    else:
        negations.append(bool(_NEGATED.search(before)))
    return _Found(match.start(), match.end(), word, "no" if sum(negations) % 2 else "yes")


def _numbered(text: str, word: int, end: int) -> bool:
    """Whether it is the `No.` of a number, as in `Chanel No. 5`."""
    return bool(_NUMBERED.match(text, end)) and text[max(0, word - 2) : word].strip().isalnum()
