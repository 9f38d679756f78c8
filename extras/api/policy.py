"""Team and policy whose model is behind a server: conversations as chat messages.

A conversation reads as that of `HFPolicy`: texts of the environment are the user's, replies of the
agent are the assistant's, and the first text explains the silence word. Token ids and
log-probabilities stay at the server, so there is nothing to train.

A thought is text that the server separates from the reply, or that stands between `<think>` and
`</think>` at its beginning. Later rounds do not include it. The silence word ends a reply: text
behind it is cut, and charged as a thought.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.checks import Model
from laconic.envs.dialogue.budget import Tokenize, replace_surrogates, split_words
from laconic.envs.dialogue.messages import SilenceWord, find_thought
from laconic.envs.errors import SettingError
from laconic.extras.api.answers import Answer
from laconic.extras.api.client import Client, client_of
from laconic.extras.api.settings import (
    ApiSamplingSettings,
    Endpoint,
    Prices,
    RequestLimits,
)
from laconic.learners.agents.chat import first_text, tokenize_with
from laconic.learners.agents.load import load_tokenizer
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Reply, Request

log = logging.getLogger(__name__)


@dataclass
class ApiTeam:
    """A team in which one model behind a server replies for every agent; nothing is trained."""

    model: Model
    """Name of the model on the server."""
    base_url: str = "http://localhost:8000/v1"
    """Address before `/chat/completions`."""
    api_key_env: str | None = None
    """Environment variable that holds the API key; None to send no key."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    """Bounds on the requests."""
    sampling: ApiSamplingSettings = field(default_factory=ApiSamplingSettings)
    """Sampling settings."""
    prices: Prices = field(default_factory=Prices)
    """Prices of tokens."""
    silent_when_full: bool = False
    """True if an agent falls silent when its conversation exceeds the model's context. Otherwise
    the evaluation ends with an error."""
    tokenizer: str | None = None
    """Name or folder of the tokenizer whose tokens budgets count; None to count words."""

    @staticmethod
    def defaults(imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other groups that suit a language model, by dotted key."""
        return {"env.instructions": "full"}

    def __post_init__(self) -> None:
        """Check the endpoint without a request."""
        self.endpoint = Endpoint(self.base_url, self.model, self.api_key_env, self.limits)

    @cached_property
    def tokenize(self) -> Callable[[str], Sequence[str]]:
        """Function that splits text into tokens; environments count budgets with it.

        Raises:
            SettingError: the tokenizer cannot be loaded.
        """
        if self.tokenizer is None:
            return split_words
        try:
            tokenizer = load_tokenizer(self.tokenizer)
        except SettingError as error:
            raise SettingError(f"agent.tokenizer={self.tokenizer!r}: {error}") from error
        return tokenize_with(tokenizer)

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, ApiPolicy]:
        """Return one policy for all agents.

        Raises:
            SettingError: the package openai is not installed.
        """
        policy = ApiPolicy(
            client_of(self.endpoint),
            self.sampling,
            self.prices,
            silent_when_full=self.silent_when_full,
            tokenize=self.tokenize,
        )
        return dict.fromkeys(environment.possible_agents, policy)


class ApiPolicy:
    """A model behind a server that replies for one or more agents."""

    frozen = True
    """There is nothing to train."""

    def __init__(
        self,
        client: Client,
        sampling: ApiSamplingSettings,
        prices: Prices,
        *,
        silent_when_full: bool = False,
        tokenize: Tokenize = split_words,
    ) -> None:
        """Combine a client with sampling settings.

        Args:
            client: client of the endpoint.
            sampling: sampling settings.
            prices: prices of tokens.
            silent_when_full: reply with silence when a conversation exceeds the model's context.
            tokenize: counts text behind the silence word that no environment can charge.
        """
        self._silence = SilenceWord(sampling.silence)
        self._tokenize = tokenize
        self._client = client
        self._sampling = sampling
        self._prices = prices
        self._silent_when_full = silent_when_full
        self._warned: set[str] = set()

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Reply to all requests, within the limits of the endpoint.

        Raises:
            ServerError: a request has no usable answer.
        """
        replies = dict(self.stream(requests, seed=seed, greedy=greedy))
        return [replies[index] for index in range(len(requests))]

    def stream(
        self, requests: Sequence[Request], *, seed: int, greedy: bool
    ) -> Iterator[tuple[int, Reply]]:
        """Yield each reply as it comes, with the index of its request.

        Args:
            requests: turns of any agents in any episodes.
            seed: seed of the sampling, which not every server follows.
            greedy: take the most likely token at each step.

        Raises:
            ServerError: a request has no usable answer; raised after all replies that came.
        """
        bodies = [
            {
                "messages": self.messages(request),
                **self._sampling.fields(
                    request.max_tokens,
                    (seed + index) % 2**31,
                    greedy,
                    request.max_thought_tokens,
                ),
            }
            for index, request in enumerate(requests)
        ]
        too_long: list[Request] = []
        for index, answer in self._client.stream(bodies):
            if answer.full and not self._silent_when_full:
                too_long.append(requests[index])
            else:
                yield index, self._reply(requests[index], answer)
        if too_long:
            raise ServerError(
                f"{self._too_long(too_long[0])}. Set shorter tasks, fewer rounds (env.rounds) or"
                " smaller budgets (env.budget, agent.sampling.max_reply_tokens), or let such agents"
                " fall silent (agent.silent_when_full=true)"
            )

    def messages(self, request: Request) -> list[dict[str, str]]:
        """Return the conversation so far as chat messages."""
        sampling = self._sampling
        texts = [*request.texts, request.text]
        parts = first_text(texts[0], request.general, sampling.silence, sampling.explain_silence)
        texts[0] = "\n".join(filter(None, parts))
        messages: list[dict[str, str]] = []
        for text, reply in zip(texts, request.history, strict=False):
            messages.append({"role": "user", "content": replace_surrogates(text)})
            messages.append({"role": "assistant", "content": reply.message or sampling.silence})
        return [*messages, {"role": "user", "content": replace_surrogates(texts[-1])}]

    def _reply(self, request: Request, answer: Answer) -> Reply:
        url = self._client.endpoint.url
        if answer.full:
            self._warn("%s; it is silent from here on", self._too_long(request))
        if answer.usage.uncounted:
            self._warn("%s does not count tokens, so token figures are too low", url)
        if answer.withheld:
            self._warn(
                "%s withheld a reply (%s). Such replies are played as silence and counted in"
                " eval/withheld",
                url,
                answer.withheld,
            )
        thought, text, ended = find_thought(answer.text)
        if answer.thought:
            thought, text, ended = answer.thought, answer.text, True
        message, rest = self._silence.split(text, request.agent, answer.stopped)
        usage = replace(answer.usage, cost=self._prices.cost(answer.usage))
        if rest and request.max_thought_tokens is None:
            self._warn(
                "an agent wrote text behind its silence word, which no agent reads. The environment"
                " takes no thoughts, so this text is not charged; eval/uncharged counts its tokens"
            )
            usage = replace(usage, uncharged=len(self._tokenize(rest)))
        elif rest:
            thought = "\n".join(filter(None, (thought, rest)))
        truncated = answer.stopped or not ended
        return Reply(message, usage=usage, truncated=truncated, thought=thought)

    def _too_long(self, request: Request) -> str:
        endpoint = self._client.endpoint
        return (
            f"{endpoint.url} refused a conversation of {request.agent} that is longer than the"
            f" context of {endpoint.model!r}"
        )

    def _warn(self, message: str, *details: Any) -> None:
        """Log a warning once per message."""
        if message not in self._warned:
            self._warned.add(message)
            log.warning(message, *details)
