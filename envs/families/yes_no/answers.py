r"""Reading of the yes or no with which a text answers.

The rules, for whole words in any case (`yes-men` and `know` do not count):

1. Words behind a mark decide, and the last mark counts: `#### yes`, `\boxed{yes}`,
   `**yes**`, `<answer>yes</answer>`, `answer: yes`, `answer = yes`, `the answer is yes`. Behind the
   marks `####`, `\boxed{...}`, `<answer>`, `answer:` and `answer =`, `true` and `y` are yes,
   `false` and `n` are no. A letter must end its line or sentence. `**true**`, `__true__` and
   `*false*` are answers as sentences, items or headings of their own.
2. Without a mark the last `yes` or `no` of the text counts.
3. `not` or `n't` right before the word negates it (`not a yes` is no).
4. These words do not count: a word before a question mark; one of two alternatives (`yes or no`,
   `yes, no`); `no`, `true` or `false` before another word (`no one`) except `because` and `since`.
5. For questions of plausibility `plausible` (yes) and `implausible` (no) count in marks. Without a
   mark they count if rule 2 finds neither yes nor no.

Nothing else of English is understood: `never yes` and `if the answer is yes` are yes. Full-width
letters count as plain ones, and characters that print nothing do not count. Only the last 20,000
characters of a text are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from laconic.envs.dialogue.characters import INVISIBLE, ascii_alike

Verdict = Literal["yes", "no"]

WINDOW = 20_000
"""Characters at the end of a text that are read."""
_UNSEEN = dict.fromkeys(map(ord, INVISIBLE))

# The scoped `a` keeps case folding from letting other scripts' letters in.
_YES, _NO, _PLAUSIBLE = "(?ai:yes)", "(?ai:no)", "(?ai:(?:im)?plausible)"
_TRUTH, _LETTER = "(?ai:true|false)", "(?ai:[yn])"
_DRESS = r"(?:[\s*_`\"'“”‘’$()]|\\+[()\[\]]|\\(?:text|math)[a-z]{0,4}[ ]?\{|</?[a-z]{1,10}>){0,4}"
_MORE = r"[ \t]{1,9}(?!because|since)\w"
_YES_NO = rf"{_YES}|{_NO}(?!{_MORE})"
# A letter ends its line, its sentence or its brackets, so that `y = 3` is a variable.
_TRUTH_OR_LETTER = (
    rf"{_TRUTH}(?!{_MORE})|{_LETTER}(?=[\s*_`\"'“”‘’$()\\.!]{{0,6}}(?:\n|\Z)|[.!,;*}}]|\\?[)\]]|</)"
)
_TURN = r"(?P<turn>(?:(?<!\w)not|n['’]t)\s{1,3}(?:(?:an?|very|at all|really)\s{1,3})?)?"
_STRICT_MARK = r"####|\\boxed[ ]?\{(?:\\[a-z]{2,8}[ ]?\{)?|<(?i:answer)>|(?<!\w)(?i:answer)[ ]?[:=]"
_MARK = rf"(?:{_STRICT_MARK}|\*\*|(?<!\w)(?i:answer)[ ](?:is|must[ ]be)(?!\w):?){_DRESS}"
_END = r"(?:[. ]{0,2}\}{1,3}|[.!]?\*\*)?"
_OFFERED = rf"(?:{_YES}|{_NO}|{_PLAUSIBLE}|{_TRUTH}|{_LETTER})"
_FOR, _AGAINST = r"(?ai:yes|true|y)(?!\w)", r"(?ai:no|false|n)(?!\w)"
_OFFER = re.compile(
    rf"(?<!\w){_OFFERED}{_DRESS}"
    r"(?:[/|&]|,?\s{0,3}(?<!\w)(?:and|vs\.?|n?or(?:\s{1,3}\w{1,10}){0,3}?)(?!\w))"
    rf"{_DRESS}(?:{_OFFERED}|not)(?!\w)"
    # `yes, no` says both; `no, no one` and `yes, no doubt` do not.
    rf"|(?<!\w)(?:{_FOR}{_DRESS}[,;]{_DRESS}{_AGAINST}|{_AGAINST}{_DRESS}[,;]{_DRESS}{_FOR})"
    rf"(?!\w)(?!{_MORE})"
)


def _pattern(mark: str, words: str, end: str = "") -> re.Pattern[str]:
    # Underscores around a marked word are emphasis; elsewhere they belong to a name.
    before, behind = ("(?<![^\\W_])", "(?!_*[^\\W_])") if mark else (r"(?<!\w)", r"(?!\w)")
    word = rf"{before}(?<!\w[-'’])(?P<word>{words}){behind}(?![-'’]\w)(?!{_DRESS}\?)"
    return re.compile(rf"{mark}(?i:{_TURN}){_DRESS if mark else ''}{word}{end}")


_TRUE_FALSE = _pattern(f"(?:{_STRICT_MARK}){_DRESS}", _TRUTH_OR_LETTER, _END)
_EMPHASIS = r"(?:\*{1,3}(?!\*)|_{1,3}(?!_)|`|</?(?:b|strong|i|em)>)"
# Of another sentence it is a word like others: `it is **true** that stones sink`.
_EMPHASIZED = _pattern(
    rf"(?:\A|(?<=[\n:.!?>]))[ \t]{{0,9}}(?:[-+*\u2022][ \t]{{1,9}})?{_EMPHASIS}",
    _TRUTH,
    rf"(?:[.!:]{_EMPHASIS}|{_EMPHASIS}(?![ \t]{{0,9}}\w))",
)
_MARKED = {
    False: (_pattern(_MARK, _YES_NO, _END), _TRUE_FALSE, _EMPHASIZED),
    True: (_pattern(_MARK, f"{_YES_NO}|{_PLAUSIBLE}", _END), _TRUE_FALSE, _EMPHASIZED),
}
_BARE, _BARE_PLAUSIBLE = _pattern("", _YES_NO), _pattern("", _PLAUSIBLE)


def answer_in(text: str, plausible: bool = False) -> Verdict | None:
    """Return the answer of a text by the rule above; None without any.

    Args:
        text: any text.
        plausible: whether `plausible` and `implausible` are answers, too.
    """
    for patterns in (_MARKED[plausible], (_BARE,), (_BARE_PLAUSIBLE,) if plausible else ()):
        last = _last(text, patterns)
        if last is not None:
            return _verdict(last)
    return None


def commitment(text: str, plausible: bool = False) -> tuple[str, Verdict] | None:
    """Return the last mark with an answer in it, letter for letter, and that answer, if any."""
    last = _last(text, _MARKED[plausible])
    if last is None:
        return None
    tail = text[-WINDOW - 1 :]
    if not tail.isascii():
        # The match lies in a text without the characters that print nothing.
        places = [place for place, letter in enumerate(tail) if letter not in INVISIBLE]
        return tail[places[last.start()] : places[last.end() - 1] + 1], _verdict(last)
    return tail[last.start() : last.end()], _verdict(last)


def _verdict(answer: re.Match[str]) -> Verdict:
    against = answer["word"].lower() in ("no", "implausible", "false", "n")
    return "no" if against != bool(answer["turn"]) else "yes"


def _last(text: str, patterns: Sequence[re.Pattern[str]]) -> re.Match[str] | None:
    """Return the last match at the end of a text, in which alternatives are blanked out."""
    tail = text[-WINDOW - 1 :]
    # The first letter of a tail shows whether a word begins behind it; it is not read itself.
    start = int(len(tail) > WINDOW)
    if not tail.isascii():
        tail = ascii_alike(tail.translate(_UNSEEN))
    cleared = _OFFER.sub(lambda offer: "\n" * len(offer[0]), tail)
    matches = [match for pattern in patterns for match in pattern.finditer(cleared, start)]
    return max(matches, key=lambda match: match.start("word"), default=None)
