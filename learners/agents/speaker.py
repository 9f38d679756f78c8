"""What a policy reads and says, in tokens: turns in, the tokens before a reply and the reply out.

A model stays silent by writing the silence word, which ends its reply wherever it stands
(`envs.dialogue.silence`). Its tokens are recorded and trained like any others. Nothing here
samples or has weights.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from laconic.envs.dialogue.silence import SilenceWord
from laconic.envs.dialogue.thoughts import join, split
from laconic.envs.errors import SettingError
from laconic.learners.agents.base import Reply, Request
from laconic.learners.agents.chat import Chat, first_text
from laconic.learners.agents.sampling import SamplingSettings
from laconic.learners.agents.silence import ReplyEnd

log = logging.getLogger(__name__)


class Speaker:
    """Reads turns and writes messages in the tokens of one model."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, speech: SamplingSettings
    ) -> None:
        """Read the chat template, and find what ends a reply.

        Args:
            model: gives the longest conversation, the embeddings and the configured end tokens.
            tokenizer: the model's own.
            speech: how the policy speaks.

        Raises:
            SettingError: the template or the silence word needs a token without an embedding.
        """
        self.tokenizer = tokenizer
        self.speech = speech
        self.positions = positions_of(model)
        """Most tokens of a conversation; None for any number."""
        self._chat = Chat(tokenizer, speech.template)
        self._thoughts = self._chat.thoughts
        self._rows = embedding_rows(model)
        self._silence = SilenceWord(speech.silence)
        special = self._silence.word in tokenizer.all_special_tokens
        silence_ids = tokenizer.encode(self._silence.word, add_special_tokens=False)
        self._silence_id = silence_ids[0] if special and len(silence_ids) == 1 else None
        self._check_embeddings((*self._chat.fixed_ids, *silence_ids), model)
        ends = _end_ids(model, tokenizer, self._silence_id, self._chat.end_id)
        self._end_ids = tuple(token for token in ends if token < self._rows)
        self.reply_end = ReplyEnd(self._silence, self._text, self._piece, self._end_ids)
        """Finds where the silence word ends a reply."""
        if not self._silence.ends(self._decode(silence_ids)):
            raise SettingError(
                f"agent.speech.silence={speech.silence!r} cannot be written with the tokenizer of"
                f" {str(model.name_or_path)!r}, which reads it back as"
                f" {self._decode(silence_ids)!r}; choose another word"
            )
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
        """Return the reply tokens in which this policy says a message.

        A message ends with an end token, and silence with the last token of the silence word.
        """
        start = (*self._chat.unthought, *self._chat.header)
        if message:
            return (*start, *self._chat.say(message), *self._end_ids[:1])
        return (*start, *self.tokenizer.encode(self._silence.word, add_special_tokens=False))

    def message(self, reply_ids: Sequence[int], agent: str = "") -> str:
        """Return what a reply says: empty for silence, and for a thought that does not end.

        Args:
            reply_ids: tokens of the reply, cut where the silence word ends it.
            agent: name of the agent; a reply of its name and the silence word is silent.
        """
        return self._silence.split(self._text(reply_ids), agent, self._stopped(reply_ids)).message

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
        """The token that fills rows, one that the model has; attention never sees it."""
        pad = self.tokenizer.pad_token_id
        usable = pad is not None and pad < self._rows
        return int(pad if usable else next(iter(self._end_ids), 0))

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
        """Return the reply of some sampled tokens.

        It is cut behind the silence word, and where its thought or message is too long.

        Args:
            request: what was asked.
            new: tokens that stood before it and were new to the conversation.
            ids: tokens as sampled.
            logprobs: log-probability of each of them.
        """
        size = self.reply_end.length(ids)
        if self._thoughts is not None:
            # One limit held for thought and message together while they were sampled.
            most = self.speech.max_reply_tokens
            if request.max_tokens is not None:
                most = min(most, request.max_tokens + 1)
            fits = self._thoughts.within(ids, self._thinking(request), most)
            size = fits if size is None else min(size, fits)
        ids, logprobs = ids[:size], logprobs[:size]
        stopped, message = self._stopped(ids), self.message(ids, request.agent)
        if self._thoughts is None:
            return Reply(message, new, ids, logprobs, truncated=stopped)
        _, _, unended = self._thoughts.parts(ids)
        thought = self._thought(ids)
        return Reply(message, new, ids, logprobs, truncated=unended or stopped, thought=thought)

    def _thought(self, reply_ids: Sequence[int]) -> str:
        """Return the thought of a reply, as an environment will read it.

        Markers beyond those of one thought that was asked for are text of the thought, so that they
        are counted.
        """
        assert self._thoughts is not None
        if reply_ids and reply_ids[-1] in self._end_ids:
            reply_ids = reply_ids[:-1]
        thought, _, _ = self._thoughts.parts(reply_ids)
        pair = (self._thoughts.begin, self._thoughts.end)
        markers = [token for token in reply_ids if token in pair]
        allowed = self._thoughts.count if self._thoughts.offered else 0
        text = self._decode([*thought, *markers[allowed:]])
        return split(join(text, ""))[0]

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
        """Return whether the limit stopped a reply, and neither an end token nor the word did."""
        if not reply_ids or reply_ids[-1] in self._end_ids:
            return False
        return not self.reply_end.is_complete(reply_ids)

    def _text(self, reply_ids: Sequence[int]) -> str:
        """Return the text of a reply without its thought and its end token.

        Special tokens within it are a part of the text, so that the environment counts them.
        """
        if self._thoughts:
            _, reply_ids, _ = self._thoughts.parts(reply_ids)
        header = self._chat.header
        if header and tuple(reply_ids[: len(header)]) == header:
            reply_ids = reply_ids[len(header) :]
        ended = bool(reply_ids) and reply_ids[-1] in self._end_ids
        if ended and reply_ids[-1] != self._silence_id:
            reply_ids = reply_ids[:-1]
        return self._decode(reply_ids)

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    def _piece(self, token: int) -> str:
        return self._decode([token])

    def _check_embeddings(self, needed: Sequence[int], model: PreTrainedModel) -> None:
        """Refuse tokens that the model has no embedding for (`SettingError`)."""
        beyond = next((token for token in needed if token >= self._rows), None)
        if beyond is not None:
            name, token = str(model.name_or_path), self.tokenizer.convert_ids_to_tokens(beyond)
            raise SettingError(
                f"agent.model={name!r}: its chat template or agent.speech.silence needs the token"
                f" {token!r} (id {beyond}), but the model has embeddings for {self._rows} tokens"
                f" and its tokenizer {len(self.tokenizer)} tokens; use the tokenizer that the model"
                " was trained with, or resize its embeddings (model.resize_token_embeddings)"
            )

    def _thinking(self, request: Request) -> int:
        """Return how many tokens a thought may have, its markers aside."""
        most, accepted = self.speech.thinking_tokens, request.max_thought_tokens
        return most if accepted is None else min(most, accepted)


def past(history: Sequence[Reply]) -> list[int]:
    """The tokens of a conversation so far."""
    return [token for reply in history for token in (*reply.prompt_ids, *reply.reply_ids)]


def positions_of(model: PreTrainedModel) -> int | None:
    """Most tokens that a conversation may have; None where the architecture names no bound."""
    found = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return found if isinstance(found, int) and found > 0 else None


def embedding_rows(model: PreTrainedModel) -> int:
    """Return the number of tokens that a model has embeddings for."""
    weight: Tensor = model.get_input_embeddings().weight  # type: ignore[assignment]
    return len(weight)


def _end_ids(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    silence_id: int | None,
    template_end: int | None,
) -> tuple[int, ...]:
    """Return the tokens that end a reply, that of the chat template first; there may be none.

    A base model's own end token may differ from its template's. A silence word that is one special
    token ends a reply, too.
    """
    configured = model.generation_config.eos_token_id if model.generation_config else None
    ends = configured if isinstance(configured, list) else [configured]
    found = dict.fromkeys([template_end, tokenizer.eos_token_id, *ends, silence_id])
    return tuple(int(token) for token in found if token is not None)
