r"""Typographic characters of an answer as LaTeX: `x² ≥ ½` as `x^{2} \ge \frac{1}{2}`.

Full-width, bold and other forms of letters and digits become plain ones (Unicode's NFKC).
"""

from __future__ import annotations

import re
import unicodedata

from laconic.envs.families.common.benchmark import DASHES

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
