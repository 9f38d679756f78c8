"""Turning what an agent reads into tokens, for any tokenizer, without ever re-tokenising a reply.

The tokenizer's chat template is rendered once around placeholders and cut there into the tokens
that open a conversation, stand between a reply and the next text, and ask for a reply. What agents
read is tokenised apart from these with special tokens switched off, so no message can close a turn
or pose as another speaker by spelling a control token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from transformers import PreTrainedTokenizerBase

from envs.errors import SettingError
from envs.tokens import well_formed

_FIRST, _REPLY, _NEXT = "\ue000first\ue001", "\ue000reply\ue001", "\ue000next\ue001"


class Chat:
    """The token form of one agent's conversation: text, reply, text, reply, ..."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, template: Mapping[str, Any] | None = None
    ) -> None:
        """Cut the chat template into its fixed parts.

        Args:
            tokenizer: a fast tokenizer; without a chat template a plain one is used.
            template: further arguments of the chat template (`enable_thinking: false`).
        """
        self._tokenizer = tokenizer
        opening, between, asking = _parts(tokenizer, dict(template or {}))
        self._opening = self._encode(opening)
        self._between = self._encode(between)
        self._asking = self._encode(asking)
        self._texts = lru_cache(maxsize=65536)(self._encode_text)

    def open(self, text: str) -> tuple[int, ...]:
        """The tokens before an agent's first reply."""
        return (*self._opening, *self._texts(text), *self._asking)

    def go_on(self, text: str, last_reply: Sequence[int]) -> tuple[int, ...]:
        """The tokens between an agent's last reply and its next one.

        Args:
            text: what is new to the agent.
            last_reply: tokens of its last reply as sampled. A reply that already ended itself is
                not ended twice.
        """
        between = self._between
        if last_reply and between and last_reply[-1] == between[0]:
            between = between[1:]
        return (*between, *self._texts(text), *self._asking)

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False))

    def _encode_text(self, text: str) -> tuple[int, ...]:
        plain = well_formed(text)
        ids = self._tokenizer.encode(plain, add_special_tokens=False, split_special_tokens=True)
        return tuple(ids)


def _parts(tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any]) -> tuple[str, str, str]:
    """What a conversation opens with, what follows a reply, and what asks for the next one."""
    if tokenizer.chat_template is None:
        return "User: ", f"{tokenizer.eos_token or ''}\nUser: ", "\nAssistant: "
    messages = [
        {"role": "user", "content": _FIRST},
        {"role": "assistant", "content": _REPLY},
        {"role": "user", "content": _NEXT},
    ]
    rendered = str(
        tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **settings
        )
    )
    try:
        opening, rest = rendered.split(_FIRST)
        _, rest = rest.split(_REPLY)
        between, asking = rest.split(_NEXT)
    except ValueError:
        raise SettingError(
            "the chat template of this tokenizer does not show each message once, as user,"
            f" assistant, user; it gave {rendered!r}"
        ) from None
    return opening, between, asking
