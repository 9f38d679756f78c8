"""Texts cut into the tokens of a model, as substrings: what budgets are counted with."""

from __future__ import annotations

from functools import lru_cache

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from envs.tokens import Tokenize, well_formed

_REMEMBERED = 65536
"""Texts whose tokens are kept: the episodes of a group read and say much the same."""


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

    @lru_cache(maxsize=_REMEMBERED)
    def tokenize(text: str) -> tuple[str, ...]:
        spans = backend.encode(well_formed(text), add_special_tokens=False).offsets
        if not spans:
            return (text,) if text else ()
        ends = [min(end, start) for (_, end), (start, _) in zip(spans, spans[1:], strict=False)]
        borders = [0, *ends, len(text)]
        return tuple(text[begin:end] for begin, end in zip(borders, borders[1:], strict=False))

    return tokenize
