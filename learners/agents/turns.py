"""Tokens of a turn: the text of a chat template around the texts of agents, encoded as one string.

A tokenizer may treat the beginning of a string in its own way, and merge letters across the border
of two texts. Only a whole turn, from one control token to the next, has the tokens of the whole
rendering. But texts of agents must not become control tokens by spelling them.

So the tokenizer here knows the control tokens by other spellings, which no text can hold. The text
of the template is rewritten with them; the original spellings are ordinary text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer
from transformers import PreTrainedTokenizerBase

from laconic.envs.dialogue.budget import replace_surrogates
from laconic.learners.agents.cache import remembered

_OPEN, _CLOSE = "\U0010fffd", "\U0010fffc"
"""Characters around the other spelling of a control token. Texts read U+FFFD for the first one."""
_CONTEXTS = ("\n", "x", ".", " ")
"""Texts behind which a text is encoded to see its tokens within a longer text."""


def control_words(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """Return the tokens outside ordinary text, such as `<|im_end|>` and `<tool_call>`, by spelling.

    Runs of white space and single characters are ordinary, even if they were added.
    """
    added = tokenizer.added_tokens_decoder.items()
    words = {str(token): token_id for token_id, token in added}
    return {word: token for word, token in words.items() if not word.isspace() and len(word) > 1}


def pattern_of(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds words as tokenizers do: the first, and of these the longest."""
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


class TurnTokenizer:
    """Encodes turns; control tokens stand where the template writes them, and nowhere else."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Copy a fast tokenizer, and add another spelling of each control token."""
        added, words = tokenizer.added_tokens_decoder, control_words(tokenizer)
        # A tokenizer's token for unknown words may stand in a text.
        self.controls = {*words.values()} - {tokenizer.unk_token_id}
        """Tokens that no text of an agent has."""
        self._backend = _without_controls(tokenizer, {*words.values()})
        self._break = f"{_OPEN}{_CLOSE}"
        spellings = {token: self.spelling(token) for token in sorted(words.values())}
        others = [AddedToken(self._break, normalized=False)]
        for token, spelling in spellings.items():
            # They swallow white space as the originals do, but are found wherever they stand: a
            # normalizer that puts a space first hides the originals from some tokenizers.
            sides = {"lstrip": added[token].lstrip, "rstrip": added[token].rstrip}
            others.append(AddedToken(spelling, normalized=False, **sides))
        self._backend.add_tokens(others)
        ids = {
            word.content: token for token, word in self._backend.get_added_tokens_decoder().items()
        }
        self._real: dict[int, tuple[int, ...]] = {
            ids[spelling]: (token,) for token, spelling in spellings.items()
        }
        self._real[ids[self._break]] = ()
        self._words = {word: spellings[token] for word, token in words.items()}
        self._pattern = pattern_of(words)
        swallowing = "|".join(str(token) for token in words.values() if added[token].lstrip)
        # A control token begins a section, unless it swallows white space of the one before.
        self._border = re.compile(rf"(?={_OPEN}(?!(?:{swallowing or '(?!)'}){_CLOSE})\d)")
        self._encode_section = remembered(self._encode)

    def spelling(self, token: int) -> str:
        """Return the other spelling of a control token."""
        return f"{_OPEN}{token}{_CLOSE}"

    def mark(self, fixed: str) -> str:
        """Return a text of the template, in which control tokens have their other spelling."""
        return self._pattern.sub(lambda match: self._words[match[0]], self.plain(fixed))

    def plain(self, text: str) -> str:
        """Return a text that spells no control token in its other spelling."""
        return replace_surrogates(text).replace(_OPEN, "\ufffd")

    def controls_in(self, marked: str) -> list[int]:
        """Return the control tokens of a marked text, in order."""
        return [int(token) for token in re.findall(rf"{_OPEN}(\d+){_CLOSE}", marked)]

    def encode(self, marked: str) -> tuple[int, ...]:
        """Return the tokens of marked and plain texts that were joined; sections are cached."""
        sections = self._border.split(marked)
        return tuple(token for section in sections for token in self._encode_section(section))

    def _encode(self, marked: str) -> tuple[int, ...]:
        # Without offsets, in half the time.
        ids = self._backend.encode_batch_fast([marked], add_special_tokens=False)[0].ids
        if not self.controls.isdisjoint(ids):
            ids = self._encode_slowly(marked)
        return tuple(real for token in ids for real in self._real.get(token, (token,)))

    def _encode_slowly(self, marked: str) -> list[int]:
        """Encode a text that spells control tokens in another way (case, vocabulary)."""
        while True:
            encoded = self._backend.encode(marked, add_special_tokens=False)
            spans = zip(encoded.ids, encoded.offsets, strict=True)
            within = [
                start + 1
                for token, (start, end) in spans
                if token in self.controls and end - start > 1
            ]
            if not within:
                return [token for token in encoded.ids if token not in self.controls]
            for place in reversed(within):
                marked = marked[:place] + self._break + marked[place:]

    def behind(self, before: str, text: str) -> tuple[int, ...]:
        """Return the tokens of a text that stands behind another one; both may be marked.

        Where tokens would span the border, the text is encoded behind another one, or alone.
        """
        for context in (before, *_CONTEXTS):
            head, whole = self.encode(context), self.encode(context + text)
            if whole[: len(head)] == head:
                return whole[len(head) :]
        return self.encode(text)


def _without_controls(tokenizer: PreTrainedTokenizerBase, controls: set[int]) -> Tokenizer:
    """Return a copy of the fast tokenizer that takes control tokens for ordinary text."""
    state = tokenizer.backend_tokenizer.to_str()
    # The list alone is read and written: a large vocabulary takes a second.
    begin = re.search(r'"added_tokens":\s*', state).end()  # type: ignore[union-attr]
    added, end = json.JSONDecoder().raw_decode(state, begin)
    for token in added:
        token["special"] = token["id"] in controls
    backend: Tokenizer = Tokenizer.from_str(state[:begin] + json.dumps(added) + state[end:])
    backend.no_padding()
    backend.no_truncation()
    # Tokens that are marked as special are not looked for in a text.
    backend.encode_special_tokens = True
    return backend
