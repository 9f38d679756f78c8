"""Turns an agent's texts into tokens and its sampled tokens into messages.

`ChatCodec` reads requests and writes replies in the tokens of one model; it neither samples nor
holds weights. A model stays silent by writing the silence word, which ends its reply wherever it
stands (`envs.dialogue.messages`). The word's tokens are recorded and trained like any others.

`tokenize_with` cuts texts into a model's tokens as substrings, for counting budgets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from laconic.envs.dialogue.budget import Tokenize, replace_surrogates
from laconic.envs.dialogue.messages import SilenceWord, join_thought, split_thought
from laconic.envs.errors import SettingError
from laconic.learners.agents.cache import remembered
from laconic.learners.agents.sampling import SamplingSettings
from laconic.learners.agents.template import ChatTemplate
from laconic.learners.interfaces import Reply, Request

log = logging.getLogger(__name__)


class ReplyEnd:
    """Finds the token with which a reply completes the silence word; sampling stops there.

    Replies are decoded only at tokens that can complete the word, so sampling stays fast.
    """

    def __init__(
        self,
        word: SilenceWord,
        text_of: Callable[[Sequence[int]], str],
        piece_of: Callable[[int], str],
        end_ids: Sequence[int],
    ) -> None:
        """Store the decoders of a policy.

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
        """Return the number of tokens up to the end of the word; None without the word.

        The token that completes the word counts, even if it holds further characters.
        """
        if reply_ids and self._word.ends(self._text_of(reply_ids)):
            counts = range(1, len(reply_ids) + 1)
            return next((count for count in counts if self.is_complete(reply_ids[:count])), None)
        return None


class NoReplyEnd(ReplyEnd):
    """Finds no silence word in any reply."""

    def __init__(self) -> None:
        """Find nothing."""
        self.stops = ()

    def can_complete(self, token: int) -> bool:
        """Return False."""
        return False

    def is_complete(self, reply_ids: Sequence[int]) -> bool:
        """Return False."""
        return False

    def length(self, reply_ids: Sequence[int]) -> None:
        """Return None."""


class ChatCodec:
    """Reads requests and writes replies in the tokens of one model."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sampling: SamplingSettings
    ) -> None:
        """Read the chat template, and find the tokens that end a reply.

        Args:
            model: gives the longest conversation, the embeddings and the configured end tokens.
            tokenizer: the model's own.
            sampling: sampling settings of the policy.

        Raises:
            SettingError: the template or the silence word needs a token without an embedding.
        """
        self.tokenizer = tokenizer
        self.sampling = sampling
        self.positions = positions_of(model)
        """Maximum tokens of a conversation; None for no limit."""
        self._template = ChatTemplate(tokenizer, sampling.template)
        self._thoughts = self._template.thoughts
        self._rows = embedding_rows(model)
        self._silence = SilenceWord(sampling.silence)
        special = self._silence.word in tokenizer.all_special_tokens
        silence_ids = tokenizer.encode(self._silence.word, add_special_tokens=False)
        self._silence_id = silence_ids[0] if special and len(silence_ids) == 1 else None
        self._check_embeddings((*self._template.fixed_ids, *silence_ids), model)
        ends = _end_ids(model, tokenizer, self._silence_id, self._template.end_id)
        self.end_ids = tuple(token for token in ends if token < self._rows)
        """Tokens that end a reply."""
        pad = tokenizer.pad_token_id
        usable = pad is not None and pad < self._rows
        self.pad_id = int(pad if usable else next(iter(self.end_ids), 0))
        """Token that pads rows, one with an embedding; attention never sees it."""
        self.reply_end = ReplyEnd(
            self._silence, self._text, lambda token: self._decode([token]), self.end_ids
        )
        """Finds where the silence word ends a reply."""
        if not self._silence.ends(self._decode(silence_ids)):
            raise SettingError(
                f"agent.sampling.silence={sampling.silence!r} cannot be written with the tokenizer"
                f" of {str(model.name_or_path)!r}, which reads it back as"
                f" {self._decode(silence_ids)!r}; choose another word"
            )
        self._warned = False

    def read(self, request: Request) -> tuple[int, ...]:
        """Return the tokens that a request puts before the reply."""
        if request.history:
            return self._template.next_prompt(request.text, request.history[-1].reply_ids)
        sampling = self.sampling
        general, own = first_text(
            request.text, request.general, sampling.silence, sampling.explain_silence
        )
        return self._template.first_prompt(own, general)

    def extend_prompt(self, prompt: Sequence[int], text: str) -> tuple[int, ...]:
        """Return a prompt with a text added to its last message; see `ChatTemplate`."""
        return self._template.extend_prompt(prompt, text)

    def write(self, message: str) -> tuple[int, ...]:
        """Return the reply tokens in which this policy says a message.

        A message ends with an end token, and silence with the last token of the silence word.
        """
        if message:
            return (*self._template.reply(message), *self.end_ids[:1])
        return self._template.silence(self._silence.word)

    @property
    def thinks(self) -> bool:
        """True if the template has markers of thoughts, so that replies may begin with one."""
        return self._thoughts is not None

    def quote(self, request: Request, message: str) -> Reply:
        """Return the reply with which this policy would have said a message, cut at its limit.

        The message is empty for silence. The log-probabilities are unknown and stand as 0.
        """
        new = self.read(request)
        ids = self.write(message)[: self.limit(request, [*conversation(request.history), *new])]
        return self.reply_with(request, new, ids, (0.0,) * len(ids))

    def max_new_tokens(self, length: int) -> int:
        """Return the maximum tokens of a reply to a conversation of this length."""
        most = self.sampling.max_reply_tokens
        return most if self.positions is None else max(0, min(most, self.positions - length))

    def reply_with(
        self,
        request: Request,
        new: tuple[int, ...],
        ids: tuple[int, ...],
        logprobs: tuple[float, ...],
    ) -> Reply:
        """Return the reply that some sampled tokens make.

        It is cut behind the silence word, and where its thought or message is too long.

        Args:
            request: the request it answers.
            new: tokens (prompt,) before the reply that are new to the conversation.
            ids: tokens (reply,) as sampled.
            logprobs: log-probability (reply,) of each of them.
        """
        size = self.reply_end.length(ids)
        if self._thoughts is not None:
            # One limit held for thought and message together while they were sampled.
            most = self.sampling.max_reply_tokens
            if request.max_tokens is not None:
                most = min(most, request.max_tokens + 1)
            fits = self._thoughts.within(ids, self._thinking(request), most)
            size = fits if size is None else min(size, fits)
        ids, logprobs = ids[:size], logprobs[:size]
        message, stopped = self.parse(ids, request.agent)
        # It stays in the agent's conversation, where it would be a free note.
        dropped = self._silence.dropped(self._text(ids), message)
        if self._thoughts is None:
            return Reply(message, new, ids, logprobs, truncated=stopped, thought=dropped)
        _, _, unended = self._thoughts.parts(ids)
        thought = self._thought(ids) + dropped
        return Reply(message, new, ids, logprobs, truncated=unended or stopped, thought=thought)

    def parse(self, reply_ids: Sequence[int], agent: str = "") -> tuple[str, bool]:
        """Return the message of a reply, and whether its limit stopped it.

        The message is empty for silence, and for a thought that does not end. A reply is stopped by
        its limit if neither an end token nor the silence word ends it.

        Args:
            reply_ids: tokens (reply,), cut where the silence word ends the reply.
            agent: name of the agent; a reply of its name and the silence word is silent.
        """
        open_end = bool(reply_ids) and reply_ids[-1] not in self.end_ids
        stopped = open_end and not self.reply_end.is_complete(reply_ids)
        return self._silence.split(self._text(reply_ids), agent, stopped).message, stopped

    def limit(self, request: Request, prompt: Sequence[int]) -> int:
        """Return the maximum tokens of this reply: thought, message and end token."""
        limit = self.sampling.max_reply_tokens
        if request.max_tokens is not None:
            limit = min(limit, request.max_tokens + 1)
        if self._thoughts and self._thoughts.offered:
            limit += self._thinking(request) + self._thoughts.count
        if self.positions is None:
            return limit
        free = max(0, self.positions - len(prompt))
        if free == 0 and not self._warned:
            self._warned = True
            log.warning(
                "the conversation of %s has %d tokens and fills the %s positions of its model; it"
                " is silent from here on. Give shorter tasks, fewer rounds or smaller budgets",
                request.agent,
                len(prompt),
                self.positions,
            )
        return min(limit, free)

    def _thought(self, reply_ids: Sequence[int]) -> str:
        """Return the thought of a reply, as an environment will read it.

        Markers beyond those of one thought that was asked for are text of the thought, so that they
        are counted.
        """
        assert self._thoughts is not None
        if reply_ids and reply_ids[-1] in self.end_ids:
            reply_ids = reply_ids[:-1]
        thought, _, _ = self._thoughts.parts(reply_ids)
        pair = (self._thoughts.begin, self._thoughts.end)
        markers = [token for token in reply_ids if token in pair]
        allowed = self._thoughts.count if self._thoughts.offered else 0
        text = self._decode([*thought, *markers[allowed:]])
        return split_thought(join_thought(text, ""))[0]

    def _thinking(self, request: Request) -> int:
        """Return the maximum tokens of a thought, without its markers."""
        most, accepted = self.sampling.thinking_tokens, request.max_thought_tokens
        return most if accepted is None else min(most, accepted)

    def _text(self, reply_ids: Sequence[int]) -> str:
        """Return the text of a reply without its thought and its end token.

        Special tokens within it are part of the text, so that the environment counts them.
        """
        if self._thoughts:
            _, reply_ids, _ = self._thoughts.parts(reply_ids)
        ended = bool(reply_ids) and reply_ids[-1] in self.end_ids
        if ended and reply_ids[-1] != self._silence_id:
            reply_ids = reply_ids[:-1]
        text, header = self._decode(reply_ids), self._template.header.strip()
        begun = bool(header) and text.lstrip().startswith(header)
        return text.lstrip().removeprefix(header) if begun else text

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    def _check_embeddings(self, needed: Sequence[int], model: PreTrainedModel) -> None:
        """Refuse tokens for which the model has no embedding (`SettingError`)."""
        beyond = next((token for token in needed if token >= self._rows), None)
        if beyond is not None:
            name, token = str(model.name_or_path), self.tokenizer.convert_ids_to_tokens(beyond)
            raise SettingError(
                f"agent.model={name!r}: its chat template or agent.sampling.silence needs the token"
                f" {token!r} (id {beyond}), but the model has embeddings for {self._rows} tokens"
                f" and its tokenizer {len(self.tokenizer)} tokens; use the tokenizer that the model"
                " was trained with, or resize its embeddings (model.resize_token_embeddings)"
            )


def first_text(text: str, general: str, silence: str, explain: bool) -> tuple[str, str]:
    """Split the first text of a conversation, and add how to be silent.

    Args:
        text: as the environment shows it.
        general: the part that all agents read, with which the text begins; may be empty.
        silence: the silence word.
        explain: whether to name the silence word, at the end of the general part if there is one.

    Returns:
        The general part, empty if the text does not begin with it, and the agent's own part.
    """
    rule = f"\nTo stay silent, reply with {silence} and nothing else." if explain else ""
    if not general or not text.startswith(general):
        return "", text + rule
    return general + rule, text.removeprefix(general).removeprefix("\n")


def conversation(history: Sequence[Reply]) -> list[int]:
    """Return the tokens of a conversation so far."""
    return [token for reply in history for token in (*reply.prompt_ids, *reply.reply_ids)]


def positions_of(model: PreTrainedModel) -> int | None:
    """Return the maximum tokens of a conversation; None where the architecture names no limit."""
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return positions if isinstance(positions, int) and positions > 0 else None


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
    token also ends a reply.
    """
    configured = model.generation_config.eos_token_id if model.generation_config else None
    ends = configured if isinstance(configured, list) else [configured]
    candidates = dict.fromkeys([template_end, tokenizer.eos_token_id, *ends, silence_id])
    return tuple(int(token) for token in candidates if token is not None)


@dataclass(slots=True, eq=False)
class Pieces(Sequence[str]):
    """Tokens of a text; most are only counted, so they are cut on first access."""

    text: str
    """The text."""
    size: int
    """Number of its tokens."""
    cut: Callable[[str], tuple[str, ...]]
    """Function that cuts it into them."""

    def __len__(self) -> int:
        """Return the number of tokens."""
        return self.size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """Return one token, or several."""
        return self.cut(self.text)[index]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the tokens."""
        return iter(self.cut(self.text))


def tokenize_with(tokenizer: PreTrainedTokenizerBase) -> Tokenize:
    """Return a function that cuts a text into a model's tokens; they join back to the text.

    A character of several tokens belongs to the last of them, so a cut before it leaves it out.
    Characters that a tokenizer drops between two tokens, such as spaces, belong to the second. The
    spelling of a special token is ordinary text.

    Args:
        tokenizer: a fast tokenizer. It is copied, so later changes to it have no effect here.
    """
    # The wrapper around the backend would take a short message as long again.
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_padding()
    backend.no_truncation()
    backend.encode_special_tokens = True

    def cut(text: str) -> tuple[str, ...]:
        spans = backend.encode(replace_surrogates(text), add_special_tokens=False).offsets
        if not spans:
            return (text,) if text else ()
        ends = [min(end, start) for (_, end), (start, _) in zip(spans, spans[1:], strict=False)]
        borders = [0, *ends, len(text)]
        return tuple(text[begin:end] for begin, end in zip(borders, borders[1:], strict=False))

    @remembered
    def tokenize(text: str) -> Pieces:
        # Without offsets, in half the time.
        (encoded,) = backend.encode_batch_fast([replace_surrogates(text)], add_special_tokens=False)
        return Pieces(text, max(len(encoded), bool(text)), cut)

    return tokenize
