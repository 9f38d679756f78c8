"""What a policy reads and says, in tokens: turns in, the tokens before a reply and the reply out.

A model stays silent by beginning its reply with the silence word; that token is recorded and
trained like any other. Nothing here samples or has weights.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from laconic.learners.agents.base import Reply, Request
from laconic.learners.agents.chat import Chat, first_text, said
from laconic.learners.agents.sampling import SamplingSettings

log = logging.getLogger(__name__)


class Speaker:
    """Reads turns and writes messages in the tokens of one model."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, speech: SamplingSettings
    ) -> None:
        """Speak in the tokens of a model.

        Args:
            model: says how long a conversation may be, and what ends a reply.
            tokenizer: the model's own.
            speech: how it speaks.
        """
        self.tokenizer = tokenizer
        self.speech = speech
        self.positions = positions_of(model)
        """Most tokens of a conversation; None for any number."""
        self._chat = Chat(tokenizer, speech.template)
        self._thoughts = self._chat.thoughts
        self._end_ids = _end_ids(model, tokenizer, speech.silence, self._chat.end_id)
        self._warned = False

    def read(self, request: Request) -> tuple[int, ...]:
        """The tokens that this turn puts before the reply."""
        if request.history:
            return self._chat.go_on(request.text, request.history[-1].reply_ids)
        speech = self.speech
        general, own = first_text(
            request.text, request.general, speech.silence, speech.explain_silence
        )
        return self._chat.open(own, general)

    def write(self, message: str) -> tuple[int, ...]:
        """The reply tokens in which this policy says a message, end token included."""
        begun = self._chat.unthought
        if message:
            return (*begun, *self._chat.say(message), *self._end_ids[:1])
        ids = (*begun, *self.tokenizer.encode(self.speech.silence, add_special_tokens=False))
        return ids if ids[-1] in self._end_ids else (*ids, *self._end_ids[:1])

    def message(self, reply_ids: Sequence[int]) -> str:
        """What a reply says; empty for silence, and for one that does not end its thought."""
        if self._thoughts:
            _, reply_ids, _ = self._thoughts.parts(reply_ids)
        text = str(self.tokenizer.decode(list(reply_ids), skip_special_tokens=True))
        return said(text, self.speech.silence, self._stopped(reply_ids))

    def quote(self, request: Request, message: str) -> Reply:
        """The reply with which this policy would have said a message here, cut where it would be.

        The message is as `message` gives it, empty for silence. The log-probabilities of its tokens
        are not known and stand as 0.
        """
        new = self.read(request)
        ids = self.write(message)[: self.limit(request, [*past(request.history), *new])]
        return self.reply_with(request, new, ids, (0.0,) * len(ids))

    @property
    def pad_id(self) -> int:
        """The token that fills rows; attention never sees it."""
        pad = self.tokenizer.pad_token_id
        return int(pad if pad is not None else next(iter(self._end_ids), 0))

    @property
    def end_ids(self) -> tuple[int, ...]:
        """Tokens that end a reply."""
        return self._end_ids

    def room(self, length: int) -> int:
        """Tokens that a reply to a conversation of that length may have at most."""
        most = self.speech.max_reply_tokens
        return most if self.positions is None else max(0, min(most, self.positions - length))

    def reply_with(
        self,
        request: Request,
        new: tuple[int, ...],
        ids: tuple[int, ...],
        logprobs: tuple[float, ...],
    ) -> Reply:
        """The reply that some sampled tokens are, cut where thought or message are too long.

        Args:
            request: what was asked.
            new: tokens that stood before it and were new to the conversation.
            ids: tokens as sampled.
            logprobs: of each of them.
        """
        if self._thoughts is None:
            return Reply(self.message(ids), new, ids, logprobs, truncated=self._stopped(ids))
        # Sampled was what both may have together.
        most = self.speech.max_reply_tokens
        if request.max_tokens is not None:
            most = min(most, request.max_tokens + 1)
        kept = self._thoughts.within(ids, self._thinking(request), most)
        ids, logprobs = ids[:kept], logprobs[:kept]
        thought, _, unended = self._thoughts.parts(ids)
        text = str(self.tokenizer.decode(thought, skip_special_tokens=True))
        stopped = unended or self._stopped(ids)
        return Reply(self.message(ids), new, ids, logprobs, truncated=stopped, thought=text)

    def limit(self, request: Request, prompt: Sequence[int]) -> int:
        """Tokens this reply may have: its thought, the message and the token that ends it."""
        limit = self.speech.max_reply_tokens
        if request.max_tokens is not None:
            limit = min(limit, request.max_tokens + 1)
        if self._thoughts and self._thoughts.offered:
            limit += self._thinking(request) + self._thoughts.count
        if self.positions is None:
            return limit
        room = max(0, self.positions - len(prompt))
        if room == 0 and not self._warned:
            self._warned = True
            log.warning(
                "the conversation of %s has %d tokens and fills the %s positions of its model; it"
                " is silent from here on. Give shorter tasks, fewer rounds or smaller budgets",
                request.agent,
                len(prompt),
                self.positions,
            )
        return min(limit, room)

    def _stopped(self, reply_ids: Sequence[int]) -> bool:
        """Whether a reply was stopped by its limit."""
        return bool(reply_ids) and reply_ids[-1] not in self._end_ids

    def _thinking(self, request: Request) -> int:
        """Tokens a thought may have, its markers aside."""
        most, accepted = self.speech.thinking_tokens, request.max_thought_tokens
        return most if accepted is None else min(most, accepted)


def past(history: Sequence[Reply]) -> list[int]:
    """The tokens of a conversation so far."""
    return [token for reply in history for token in (*reply.prompt_ids, *reply.reply_ids)]


def positions_of(model: PreTrainedModel) -> int | None:
    """Most tokens that a conversation may have; None where the architecture names no bound."""
    found = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return found if isinstance(found, int) and found > 0 else None


def _end_ids(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    silence: str,
    template_end: int | None,
) -> tuple[int, ...]:
    """The tokens that end a reply, that of the chat template first; none is fine, if wasteful.

    A base model's own end token may differ from its template's. A silence word of one special token
    ends a reply too.
    """
    configured = model.generation_config.eos_token_id if model.generation_config else None
    ends = configured if isinstance(configured, list) else [configured]
    found = dict.fromkeys([template_end, tokenizer.eos_token_id, *ends])
    if silence in tokenizer.all_special_tokens:
        found[tokenizer.convert_tokens_to_ids(silence)] = None
    return tuple(int(token) for token in found if token is not None)
