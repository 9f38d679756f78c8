r"""Cutting of a problem written in LaTeX into its conditions and its question.

Formulas (`$...$`, `\[...\]`), figures (`[asy]`) and environments are never cut; a full stop at a
formula's end ends the sentence. If the marks of formulas do not pair up, the problem stays whole.
"""

from __future__ import annotations

import re

from laconic.envs.families.common.sources import split_sentences

_BLOCK = re.compile(
    r"\[asy\].*?\[/asy\]|\\begin\{(?P<name>[a-z]+\*?)\}.*?\\end\{(?P=name)\}|\\\[.*?\\\]|\\\(.*?\\\)"
    r"|(?<!\\)\$\$.*?(?<!\\)\$\$|(?<!\\)\$(?:[^$\\]|\\.)*\$",
    re.DOTALL,
)
_LOOSE = re.compile(r"(?<!\\)\$|\\[\[\]()]|\[/?asy\]|\\(?:begin|end)\{")
_ASKS = re.compile(
    r"(?:Find|Compute|Determine|Evaluate|Simplify|Solve|Express|Give|State|Calculate|Prove|Show|"
    r"Write|Factor|Expand|Enter|List|How|What|Which|Who|When|Where|Rationalize|Round|Convert|"
    r"Complete|Estimate|Let us know|Name|Order|Identify|Describe|Add|Subtract|Multiply|Divide)\b"
)


def cut(problem: str) -> tuple[tuple[str, ...], str]:
    """Cut a problem into its conditions and the question, which includes all text after it.

    The question begins with the first sentence that has a question mark or begins with a request
    (`Find`, `Compute`, ...). A problem that cannot be cut safely consists of the question only.
    """
    if "\ue000" in problem:
        return (), problem.strip()
    blocks: list[str] = []

    def hold(match: re.Match[str]) -> str:
        blocks.append(match.group())
        # Looks like a word that begins a sentence, and keeps the full stop at a formula's end.
        stop = _full_stop(match.group())
        return f"X\ue000{len(blocks) - 1}{f'z{stop}' if stop else 'q'}"

    held = _BLOCK.sub(hold, problem)
    if _LOOSE.search(held):
        return (), problem.strip()
    masked = split_sentences(held)
    start = next(
        (
            i
            for i, sentence_text in enumerate(masked)
            if "?" in sentence_text or _ASKS.match(sentence_text)
        ),
        None,
    )
    start = len(masked) - 1 if start is None else start
    sentences = [_show(sentence, blocks) for sentence in masked]
    return tuple(sentences[:start]), " ".join(sentences[start:])


def _full_stop(block: str) -> str:
    inside = re.sub(r"(?:\$+|\\[\])]|\s)+$", "", block)
    return inside[-1] if inside.endswith((".", "?", "!")) and block[0] != "[" else ""


def _show(sentence: str, blocks: list[str]) -> str:
    return re.sub("X\ue000([0-9]+)(?:q|z[.?!])", lambda match: blocks[int(match[1])], sentence)
