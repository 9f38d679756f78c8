"""Where the silence word ends a reply, in tokens: sampling stops there, and replies are cut there.

What the word is, and what a reply with it says, is in `envs.dialogue.silence`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from laconic.envs.dialogue.silence import SilenceWord


class ReplyEnd:
    """Finds the token with which a reply completes the silence word.

    Texts are decoded only at tokens that can complete the word, so that sampling stays fast.
    """

    def __init__(
        self,
        word: SilenceWord,
        text_of: Callable[[Sequence[int]], str],
        piece_of: Callable[[int], str],
        end_ids: Sequence[int],
    ) -> None:
        """Take what decodes replies.

        Args:
            word: the silence word.
            text_of: decodes the tokens of a reply, without its thought and its end token.
            piece_of: decodes one token.
            end_ids: tokens that end a reply by themselves; they never complete the word.
        """
        self._word, self._text_of, self._piece_of = word, text_of, piece_of
        self._last = word.word[-1].casefold()
        self._can_complete: dict[int, bool] = dict.fromkeys(end_ids, False)
        self.stops = word.spellings
        """Strings at which a server stops sampling."""

    def can_complete(self, token: int) -> bool:
        """Return whether a token may be the last one of the word."""
        if token not in self._can_complete:
            piece = self._piece_of(token).casefold()
            # A token without text of its own may be a part of a character.
            self._can_complete[token] = not piece or self._last in piece or "\ufffd" in piece
        return self._can_complete[token]

    def is_complete(self, reply_ids: Sequence[int]) -> bool:
        """Return whether the last token of a reply so far completes the word."""
        return self.can_complete(reply_ids[-1]) and self._word.ends(self._text_of(reply_ids))

    def length(self, reply_ids: Sequence[int]) -> int | None:
        """Return how many tokens of a reply there are up to the end of the word.

        The token that completes the word counts, also where it holds further characters. None: the
        word does not stand in the reply.
        """
        return next(self._lengths(reply_ids), None)

    def _lengths(self, reply_ids: Sequence[int]) -> Iterator[int]:
        if reply_ids and self._word.ends(self._text_of(reply_ids)):
            for count in range(1, len(reply_ids) + 1):
                if self.is_complete(reply_ids[:count]):
                    yield count
