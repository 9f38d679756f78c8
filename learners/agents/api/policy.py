"""A policy whose weights are elsewhere: conversations as chat messages, answers as replies.

A conversation reads as that of `HFPolicy` does: what an agent reads is the user's, what it said the
assistant's, and the first text says what the silence word is. Token ids and log-probabilities stay
at the server, so there is nothing to train. What a model thinks before it speaks is told apart by
the server, or stands between `<think>` and `</think>` at the beginning of what it wrote; it is not
part of the conversation after that. The silence word ends a reply: what stands behind it is cut and
charged as a thought.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from laconic.envs.dialogue.budget import Tokenize, split_words, well_formed
from laconic.envs.dialogue.silence import SilenceWord
from laconic.envs.dialogue.thoughts import find
from laconic.learners.agents.api.answers import Answer
from laconic.learners.agents.api.client import Client
from laconic.learners.agents.api.settings import ApiSamplingSettings, Prices
from laconic.learners.agents.base import Reply, Request
from laconic.learners.agents.chat import first_text
from laconic.learners.errors import ServerError

log = logging.getLogger(__name__)


class ApiPolicy:
    """A model behind a server that speaks for one or more agents."""

    frozen = True
    """There is nothing to train here."""

    def __init__(
        self,
        client: Client,
        speech: ApiSamplingSettings,
        prices: Prices,
        *,
        silent_when_full: bool = False,
        tokenize: Tokenize = split_words,
    ) -> None:
        """Join a server and a way to speak.

        Args:
            client: asks the server.
            speech: how the model speaks.
            prices: of its tokens.
            silent_when_full: answer a conversation that is too long for the model with silence.
            tokenize: counts what was written behind the silence word and could not be charged.
        """
        self._silence = SilenceWord(speech.silence)
        self._tokenize = tokenize
        self._client = client
        self._speech = speech
        self._prices = prices
        self._silent_when_full = silent_when_full
        self._warned: set[str] = set()

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer all requests, as many at a time as the limits allow.

        Raises:
            ServerError: one has no usable answer.
        """
        replies = dict(self.stream(requests, seed=seed, greedy=greedy))
        return [replies[place] for place in range(len(requests))]

    def stream(
        self, requests: Sequence[Request], *, seed: int, greedy: bool
    ) -> Iterator[tuple[int, Reply]]:
        """Each reply as it comes, with the place of its request.

        Args:
            requests: turns of any agents of any episodes.
            seed: of the sampling, as far as the server keeps to it.
            greedy: take the likeliest token at each step.

        Raises:
            ServerError: a request has no usable answer; after all that came.
        """
        bodies = [
            {
                "messages": self.messages(request),
                **self._speech.fields(
                    request.max_tokens,
                    (seed + place) % 2**31,
                    greedy,
                    request.max_thought_tokens,
                ),
            }
            for place, request in enumerate(requests)
        ]
        too_long: list[Request] = []
        for place, answer in self._client.stream(bodies):
            if answer.full and not self._silent_when_full:
                too_long.append(requests[place])
            else:
                yield place, self._reply(requests[place], answer)
        if too_long:
            raise ServerError(
                f"{self._full(too_long[0])}, says {self._url}. Give shorter tasks, fewer rounds or"
                " smaller budgets (agent.speech.max_reply_tokens counts, too), or have such agents"
                " fall silent with agent.silent_when_full=true"
            )

    def messages(self, request: Request) -> list[dict[str, str]]:
        """The conversation so far as a server reads it."""
        speech = self._speech
        texts = [*request.texts, request.text]
        parts = first_text(texts[0], request.general, speech.silence, speech.explain_silence)
        texts[0] = "\n".join(filter(None, parts))
        told: list[dict[str, str]] = []
        for text, reply in zip(texts, request.history, strict=False):
            told.append({"role": "user", "content": well_formed(text)})
            told.append({"role": "assistant", "content": reply.message or speech.silence})
        return [*told, {"role": "user", "content": well_formed(texts[-1])}]

    def _reply(self, request: Request, answer: Answer) -> Reply:
        if answer.full:
            self._warn("%s; it is silent from here on", self._full(request))
        if answer.usage.uncounted:
            self._warn("%s does not count tokens: figures of them are too low", self._url)
        if answer.withheld:
            self._warn(
                "%s withheld a reply (%s); such replies are played as silence and counted apart"
                " (eval/withheld)",
                self._url,
                answer.withheld,
            )
        thought, text, ended = find(answer.text)
        if answer.thought:
            thought, text, ended = answer.thought, answer.text, True
        message, rest = self._silence.split(text, request.agent, answer.stopped)
        usage = replace(answer.usage, cost=self._prices.cost(answer.usage))
        if rest and request.max_thought_tokens is None:
            self._warn(
                "an agent wrote behind its silence word, where nobody hears it, and the environment"
                " takes no thoughts to charge it as; it is counted (eval/uncharged)"
            )
            usage = replace(usage, uncharged=len(self._tokenize(rest)))
        elif rest:
            thought = "\n".join(filter(None, (thought, rest)))
        truncated = answer.stopped or not ended
        return Reply(message, usage=usage, truncated=truncated, thought=thought)

    def _full(self, request: Request) -> str:
        model = self._client.server.model
        return f"a conversation of {request.agent} is longer than {model!r} reads"

    @property
    def _url(self) -> str:
        return self._client.server.url

    def _warn(self, message: str, *details: Any) -> None:
        """Say something once."""
        if message not in self._warned:
            self._warned.add(message)
            log.warning(message, *details)
