r"""Tidying of an answer written in LaTeX: texts that print alike become equal.

`tidy` separates words from mathematics: the content of `\text{...}` is put between the marks `WORD`
and `DROW`. So words are compared as words, and units are not mistaken for variables. Typographic
characters become LaTeX (`x² ≥ ½` is `x^{2} \ge \frac{1}{2}`). Full-width, bold and other forms of
letters and digits become plain ones (Unicode's NFKC).
"""

from __future__ import annotations

import re
import unicodedata

from laconic.envs.dialogue.characters import DASHES

WORD, DROW = "\ue001", "\ue002"
"""Marks around words in a tidied answer."""
MAX_CHARACTERS = 1000
"""Longer answers are not read."""
_MAX_DEPTH = 40
_MAX_DECORATIONS = 3

_WORDS = r"\\(?:text(?:normal|bf|it|rm|sf|tt)?|mbox|hbox|mathrm|mathbf|mathit)(?![A-Za-z])"
# Groups inside the words, two deep.
_TEXT = re.compile(_WORDS + r"\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_UNREAD_TEXT = re.compile(_WORDS + r"\s*\{")
_INNER_TEXT = re.compile(_WORDS)
_ROW_SPACE = re.compile(r"\\\\\[[^\]]{0,20}\]")
# Decoration around an expression.
_DECORATED = re.compile(
    r"\\(?:underline|uline|boldsymbol|bm|pmb|fbox|boxed|framebox|emph|ensuremath|mathop|mathord)"
    r"(?![A-Za-z])\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
)
_ONE_SYMBOL = re.compile(r"\s*(?:\\[A-Za-z]+|[A-Za-z]|-?[0-9.,]+)\s*")
# An operator of TeX that takes all of its group, on both sides.
_INFIX = re.compile(r"\\(over|choose)(?![A-Za-z])")
_INFIX_NAMES = {"over": "frac", "choose": "binom"}
# A power as programs write it, and digits that they group.
_POWER = re.compile(r"(?<=[\w)\]}])\s*\*\*\s*(?:([+-]?\w+(?:\.\w+)?)|\(([^()]*)\))")
_BOLD = re.compile(r"(?<![\w)\]}])\*\*([^*]+)\*\*(?!\w)")
_UNDERSCORED = re.compile(r"(?<![\w.])[0-9]{1,3}(?:_[0-9]{3})+(?![\w{])")
# Words in a list, of which the last stands behind `and`.
_LISTED = re.compile(rf"{WORD}?\s*(\w+(?:\s*,\s*\w+)*)\s*,?\s+(?:and|\\?&)\s+(\w+)\s*{DROW}?")
_AND = re.compile(
    rf",?\s*{WORD}\s*,?\s*(?:and|or)\s*{DROW}"
    r"|(?<=[\s\d}$)\]]),?\s(?:and|or)\s(?=[\s\d\\$(\[-]|[a-z] ?[<>=\\])"
    r"|,?\s*(?:(?<!\\)\\(?:&|lor|vee|land|wedge)(?![A-Za-z]))"
)
# A remainder with its modulus: `8 \pmod{13}`, `8 (mod 13)`, `8 \text{ mod } 13`.
_MOD = rf"(?:\\[bp]?mod(?![A-Za-z])|{WORD}\s*mod(?:ulo)?\s*{DROW}|(?<![A-Za-z\\])mod(?![A-Za-z]))"
_OF = r"\s*\{?\s*(\d{1,20})\s*\}?\s*"
_MODULUS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{WORD}\s*\(?\s*mod(?:ulo)?\s*(\d{{1,20}})\s*\)?\s*{DROW}",
        rf"\(\s*{_MOD}{_OF}\)",
        rf"{_MOD}{_OF}",
    )
)
_SAID = rf"{WORD}([^{WORD}{DROW}]*){DROW}"
_GROUP = r"((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)"
_BARE_MATRIX = r"\\begin\{matrix\}((?:(?!\\begin|\\end).)*)\\end\{matrix\}"
_MATRIX_BRACKETS = tuple(
    (re.compile(rf"{opening}\s*{_BARE_MATRIX}\s*{closing}", re.DOTALL), name)
    for opening, closing, name in (
        (r"\(", r"\)", "pmatrix"),
        (r"\[", r"\]", "bmatrix"),
        (r"\\\{", r"\\\}", "Bmatrix"),
        (r"\\(?:\||lVert|Vert)", r"\\(?:\||rVert|Vert)", "Vmatrix"),
        (r"(?:\||\\lvert|\\vert)", r"(?:\||\\rvert|\\vert)", "vmatrix"),
    )
)
_REWRITES = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        # A comma that groups digits.
        (r"(?<=\d)(?:\{,\}|,\s?\\!\s?|\\,|\\!)(?=\d{3})", ""),
        (r"\\!", ""),
        (
            r"\\(?:left|right|middle|bigl?|bigr|Bigl?|Bigr|biggl?|biggr|displaystyle|textstyle|limits)(?![A-Za-z])",
            "",
        ),
        (r"(?<!\\)\\[,;: ]|~|\\q?quad(?![A-Za-z])", " "),
        # Colors, sizes and empty space, with the arguments that are not printed.
        (
            r"\\(?:(?:text)?color|colorbox|[hv]?phantom|[hv]space\*?)(?![A-Za-z])\s*"
            r"(?:\[[^\[\]]*\]\s*)?\{[^{}]*\}",
            "",
        ),
        (
            r"\\(?:tiny|small|normalsize|large|Large|LARGE|huge|Huge|bf|it|rm|sf|mathstrut)"
            r"(?![A-Za-z])",
            "",
        ),
        (r"\\\$|(?<!\\)\$|(?<!\\)\\[()\[\]]", ""),
        (r"\\?%", f"{WORD}percent{DROW}"),
        (r"\^\s*(?:\{\s*\\circ\s*\}|\\circ(?![A-Za-z]))|\\degrees?(?![A-Za-z])", r"^\\circ "),
        (r"\\(?:[dtcs]|nice)frac(?![A-Za-z])", r"\\frac"),
        (r"\\le(?:q|qslant)?(?![A-Za-z])", r"\\le "),
        (r"\\ge(?:q|qslant)?(?![A-Za-z])", r"\\ge "),
        (r"\\lt(?![A-Za-z])", "<"),
        (r"\\gt(?![A-Za-z])", ">"),
        (r"\\neq?(?![A-Za-z])", r"\\ne "),
        (r"\\lbrace(?![A-Za-z])", r"\\{"),
        (r"\\rbrace(?![A-Za-z])", r"\\}"),
        (r"\\lbrack(?![A-Za-z])", "["),
        (r"\\rbrack(?![A-Za-z])", "]"),
        (r"\\(?:dots|ldots|cdots)(?![A-Za-z])", r"\\dots "),
        (r"\\ast(?![A-Za-z])", r"\\cdot "),
        (r"\\hline(?![A-Za-z])", ""),
        (r"(?<!\\)\\cr(?![A-Za-z])", r"\\\\"),
        (rf"\\([pbBvV]?matrix)\s*\{{{_GROUP}\}}", r"\\begin{\1}\2\\end{\1}"),
        (
            r"\\begin\s*\{array\}\s*(?:\[[tcb]\])?\s*\{(?:[^{}]|\{[^{}]*\}){0,30}\}",
            r"\\begin{matrix}",
        ),
        (r"\\end\s*\{array\}", r"\\end{matrix}"),
        (r"\\begin\s*\{(\w*matrix)\\cdot \}\s*(?:\[[clr]\])?", r"\\begin{\1}"),
        (r"\\end\s*\{(\w*matrix)\\cdot \}", r"\\end{\1}"),
        (r"\\(begin|end)\s*\{([pbBvV]?)smallmatrix\}", r"\\\1{\2matrix}"),
        (r"([\^_])\s*\{\s*(\w)\s*\}", r"\1\2"),
        # What stands apart from an index or a power is no digit of it.
        (r"(?<![\\A-Za-z])(log|ln)(?![A-Za-z])", r"\\\1 "),
        (r"\\log\s*_\s*(\w)", r"\\log_{\1}"),
        (r"([\^_])(\d)\s(?=\s*\d)", r"\1{\2}"),
        (r"\\varnothing(?![A-Za-z])|(?<!\\)\\O(?![A-Za-z])|\\\{\s*\\\}", r"\\emptyset "),
        (r"\\mathbb\s*(?:\{\s*R\s*\}|R(?![A-Za-z]))|\\(?:R|Re)(?![A-Za-z])", r"\\mathbb{R}"),
        (r"\\(?:backslash|smallsetminus|setminus)(?![A-Za-z])", r"\\setminus "),
        (r"(\\setminus\s*)\{([^{}]*)\}", r"\1\\{\2\\}"),
        (r"\u221a\s*(?:\(([^()]*)\)|([0-9]+|[a-z]))", r"\\sqrt{\1\2}"),
        (r"\u221b\s*(?:\(([^()]*)\)|([0-9]+|[a-z]))", r"\\sqrt[3]{\1\2}"),
        (r"\\sqrt\s*\(([^()]*)\)|(?<![\\A-Za-z])sqrt\s*\(([^()]*)\)", r"\\sqrt{\1\2}"),
        # A power of ten after the letter x is no variable.
        (r"(?<=\d)\s*[xX]\s*(?=10\s*\^)", r"\\times "),
        # Units over units, in words.
        (
            rf"\\frac\s*\{{\s*{_SAID}\s*\}}\s*\{{\s*{_SAID}\s*\}}",
            rf"{WORD}\1 per \2{DROW}",
        ),
        (rf"{DROW}\s*/\s*{WORD}", " per "),
        (rf"(?<=[0-9}}])\s*/\s*{WORD}", f"{WORD} per "),
        (r"(?<![\\A-Za-z])pi(?![A-Za-z])", r"\\pi "),
        (r"(?<![\\A-Za-z])(?:inf|infty|infinity|oo)(?![A-Za-z])", r"\\infty "),
        (r"\+\s*\\infty", r"\\infty"),
    )
)
# A number alone or behind `=`, of which the commas make no list.
_GROUPED = re.compile(r"((?:^|=)[\s{]*-?)(\d{1,3}(?:,\d{3})+)(?=[\s}]*$)")
# Digits in groups of three, and digits apart, which are no number unless a mixed one.
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d/]| [\d/])")
_SPACED = re.compile(r"(?<=\d) (?=\d)(?!\d+ ?/)")
_COMMAND = re.compile(r"\\[A-Za-z]+|\\.?", re.DOTALL)
_WITH_ARGUMENTS = re.compile(r"\\(frac|sqrt)(?![A-Za-z])")
_ROOT_INDEX = re.compile(r"\s*\[[^\[\]]*\]")
_CLOSING_TAG = re.compile(r"</([a-z]{1,10}|h[1-6])>")
_TRAILING = re.compile(r"(?:\s|(?<!\\)[.,;:])+$")


def tidy(answer: str) -> str | None:
    r"""Return an answer in tidied form; None if it is too long or too deeply nested.

    Layout, sizes of brackets and ways of writing one thing are gone: `\left( \dfrac12,\,3
    \right)` becomes `( \frac{1}{2}, 3 )`. Spaces between words and numbers stay.
    """
    if len(answer) > MAX_CHARACTERS or _depth(answer) > _MAX_DEPTH:
        return None
    latex = to_latex(_as_written(answer.replace(WORD, "").replace(DROW, "")))
    text = "".join(letter for letter in latex if letter.isprintable() or letter.isspace())
    text = _without_tags(text)
    text = _ROW_SPACE.sub(r"\\\\", text)
    text = _TEXT.sub(lambda match: f"{WORD}{_INNER_TEXT.sub('', match[1])}{DROW}", text)
    if _UNREAD_TEXT.search(text):
        # Words that stay unread could say anything beside the answer.
        return None
    for _ in range(_MAX_DECORATIONS):
        text = _DECORATED.sub(_undecorated, text)
    for pattern, new in _REWRITES:
        text = pattern.sub(new, text)
    text = _with_operators(text)
    for pattern, name in _MATRIX_BRACKETS:
        text = pattern.sub(rf"\\begin{{{name}}}\1\\end{{{name}}}", text)
    text = _with_modulus(text)
    if listed := _LISTED.fullmatch(text.strip()):
        text = f"{listed[1]}, {listed[2]}"
    text = _AND.sub(",", text)
    text = _GROUPED.sub(lambda match: match[1] + match[2].replace(",", ""), text)
    text = _SPACED.sub(";", _GROUPS.sub(_joined, _braced(" ".join(text.split()))))
    return _TRAILING.sub("", text).strip()


def squeezed(text: str) -> str:
    """Return a tidied answer without white space and marks of words, for literal comparison."""
    return "".join(text.split()).replace(WORD, "").replace(DROW, "")


def _without_tags(text: str) -> str:
    """Remove HTML tags from a text, since closing tags are no mathematics."""
    for name in set(_CLOSING_TAG.findall(text)):
        text = re.sub(rf"</?{name}>", " ", text)
    return text


def _as_written(text: str) -> str:
    """Write powers and grouped digits of programs, and emphasis of Markdown, as LaTeX does."""
    text = _POWER.sub(lambda power: f"^{{{power[1] or power[2]}}}", _BOLD.sub(r"\1", text))
    return _UNDERSCORED.sub(lambda number: number[0].replace("_", ""), text)


def _undecorated(match: re.Match[str]) -> str:
    inside = match[1]
    return inside if _ONE_SYMBOL.fullmatch(inside) else f"{{{inside}}}"


def _with_operators(text: str) -> str:
    r"""Write `{1 \over 2}` as `\frac{1}{2}`, and `\choose` as `\binom`.

    Without braces the operator takes what stands between brackets, commas and equality signs.
    """
    while operator := _INFIX.search(text):
        begin, end = _reach(text[: operator.start()], -1), _reach(text[operator.end() :], 1)
        start, stop = operator.start() - begin, operator.end() + end
        above = _without_braces(text[start : operator.start()].strip())
        below = _without_braces(text[operator.end() : stop].strip())
        if text[:start].endswith("{") and text[stop:].startswith("}"):
            start, stop = start - 1, stop + 1
        command = rf"\{_INFIX_NAMES[operator[1]]}{{{above}}}{{{below}}}"
        text = text[:start] + command + text[stop:]
    return text


def _without_braces(text: str) -> str:
    inside, end = _argument(text, 0)
    return inside if text.startswith("{") and end == len(text) else text


def _reach(text: str, step: int) -> int:
    """Return how many characters an infix operator takes, from its side of a text on."""
    depth = 0
    for count, letter in enumerate(text[::step]):
        depth += step * ((letter in "{([") - (letter in "})]"))
        if depth < 0 or (depth == 0 and letter in ",;=<>"):
            return count
    return len(text)


def _with_modulus(text: str) -> str:
    """Write the modulus of a text as a unit in words, so that a congruence is an equation."""
    for pattern in _MODULUS:
        text, count = pattern.subn(rf"{WORD}mod \1{DROW}", text)
        if count:
            return re.sub(r"\\equiv(?![A-Za-z])", "=", text)
    return text


def _joined(match: re.Match[str]) -> str:
    return match.group().replace(" ", "")


def _depth(text: str) -> int:
    depth = most = 0
    for letter in text:
        depth += (letter in "{([") - (letter in "})]")
        most = max(most, depth)
    return most


def _braced(text: str) -> str:
    r"""Put braces around the arguments of `\frac` and `\sqrt`, and around numbers after `^`."""
    parts, place = [], 0
    for match in _WITH_ARGUMENTS.finditer(text):
        if match.start() < place:
            continue
        parts.append(text[place : match.end()])
        place = match.end()
        for _ in range(2 if match[1] == "frac" else 1):
            if match[1] == "sqrt" and (root := _ROOT_INDEX.match(text, place)):
                parts.append(root.group().strip())
                place = root.end()
            argument, place = _argument(text, place)
            parts.append("{" + _braced(argument) + "}")
    return "".join((*parts, text[place:]))


def _argument(text: str, place: int) -> tuple[str, int]:
    """Return the argument of a command that starts at a place, without braces, and its end."""
    while place < len(text) and text[place] == " ":
        place += 1
    if place >= len(text) or text[place] in "}])":
        return "", place
    if text[place] == "\\":
        command = _COMMAND.match(text, place)
        assert command is not None
        if command.group() == r"\sqrt":
            inner, after = _argument(text, command.end())
            return rf"\sqrt{{{inner}}}", after
        return command.group(), command.end()
    if text[place] != "{":
        return text[place], place + 1
    depth = 0
    for end in range(place, len(text)):
        escaped = text[end - 1] == "\\"
        depth += 0 if escaped else (text[end] == "{") - (text[end] == "}")
        if depth == 0:
            return text[place + 1 : end].strip(), end + 1
    return text[place + 1 :].strip(), len(text)


_SIGNS = {
    **dict.fromkeys(DASHES, "-"),
    **dict.fromkeys("\u2044\u2215", "/"),
    **dict.fromkeys("\u00b7\u22c5\u2219\u2217*", r"\cdot "),
    **dict.fromkeys("\u00d7\u2715\u2716", r"\times "),
    **dict.fromkeys("\u00b0\u00ba", r"^\circ "),
    **dict.fromkeys("\u2032\u2019", "'"),
    **dict.fromkeys("\u2223\u23d0", "|"),
    **dict.fromkeys("\u27e8\u2329\u3008", r"\langle "),
    **dict.fromkeys("\u27e9\u232a\u3009", r"\rangle "),
    **dict.fromkeys("\u2205\u00d8", r"\emptyset "),
    "\u00f7": r"\div ",
    "\u2264": r"\le ",
    "\u2a7d": r"\le ",
    "\u2265": r"\ge ",
    "\u2a7e": r"\ge ",
    "\u2260": r"\ne ",
    "\u221e": r"\infty ",
    "\u222a": r"\cup ",
    "\u2229": r"\cap ",
    "\u2208": r"\in ",
    "\u2216": r"\setminus ",
    "\u211d": r"\mathbb{R}",
    "\u00b1": r"\pm ",
    "\u2248": r"\approx ",
    "\u2261": r"\equiv ",
    "\u2236": ":",
    "\u3001": ",",
    "\u3002": ".",
}
_GREEK = {
    letter: rf"\{name} "
    for letter, name in zip(
        "αβγδεθλμνξπρστφχψωΔΘΛΞΠΣΦΨΩ",
        "alpha beta gamma delta epsilon theta lambda mu nu xi pi rho sigma tau phi chi psi omega"
        " Delta Theta Lambda Xi Pi Sigma Phi Psi Omega".split(),
        strict=True,
    )
}
_TABLE = str.maketrans(_SIGNS | _GREEK)
_RAISED, _LOWERED = "\u2070\u00b9\u00b2\u00b3\u2074-\u207f", "\u2080-\u208e"
_SCRIPTS = re.compile(rf"[{_RAISED}]+|[{_LOWERED}]+")
_FRACTION = re.compile("[\u00bc-\u00be\u2150-\u215e\u2189]")


def to_latex(text: str) -> str:
    """Return a text in which typographic characters are written as LaTeX writes them."""
    if text.isascii():
        return text.translate(_TABLE)
    text = _FRACTION.sub(_fraction, _SCRIPTS.sub(_script, text))
    return unicodedata.normalize("NFKC", text.translate(_TABLE)).translate(_TABLE)


def _script(run: re.Match[str]) -> str:
    sign = "^" if re.match(f"[{_RAISED}]", run[0]) else "_"
    return f"{sign}{{{unicodedata.normalize('NFKC', run[0])}}}"


def _fraction(letter: re.Match[str]) -> str:
    above, _, below = unicodedata.normalize("NFKC", letter[0]).partition("\u2044")
    return rf"\frac{{{above}}}{{{below}}}"
