"""Texts cut into the tokens of a model, as substrings: what budgets are counted with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import overload

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from laconic.envs.dialogue.tokens import Tokenize, well_formed

_REMEMBERED = 65536
"""Texts whose number of tokens is kept: the episodes of a group read and say much the same."""


class Pieces(Sequence[str]):
    """The tokens of a text; most are only counted, so they are cut when somebody looks at them."""

    __slots__ = ("_count", "_cut", "_text")

    def __init__(self, text: str, count: int, cut: Callable[[str], tuple[str, ...]]) -> None:
        """Take a text, the number of its tokens, and what cuts it into them."""
        self._text, self._count, self._cut = text, count, cut

    def __len__(self) -> int:
        """How many tokens."""
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """One token, or several."""
        return self._cut(self._text)[index]

    def __iter__(self) -> Iterator[str]:
        """Token by token."""
        return iter(self._cut(self._text))


def tokenize_with(tokenizer: PreTrainedTokenizerBase) -> Tokenize:
    """What cuts a text into the tokens of a model; they join back to the text.

    A character of several tokens belongs to the last of them, so a cut before it leaves it out.
    What a tokenizer drops between two tokens, such as spaces, belongs to the second. What spells a
    special token is text like any other.

    Args:
        tokenizer: a fast one. It is copied, so what is set on it later changes nothing here.
    """
    # Asked directly: the wrapper around it costs a short message as much again.
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_padding()
    backend.no_truncation()
    backend.encode_special_tokens = True

    def cut(text: str) -> tuple[str, ...]:
        spans = backend.encode(well_formed(text), add_special_tokens=False).offsets
        if not spans:
            return (text,) if text else ()
        ends = [min(end, start) for (_, end), (start, _) in zip(spans, spans[1:], strict=False)]
        borders = [0, *ends, len(text)]
        return tuple(text[begin:end] for begin, end in zip(borders, borders[1:], strict=False))

    @lru_cache(maxsize=_REMEMBERED)
    def tokenize(text: str) -> Pieces:
        # Without offsets, in half the time.
        (encoded,) = backend.encode_batch_fast([well_formed(text)], add_special_tokens=False)
        return Pieces(text, max(len(encoded), bool(text)), cut)

    return tokenize
