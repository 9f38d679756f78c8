"""Agents that speak with a causal language model of `transformers`.

`HFPolicy` is one set of weights; `HFTeam` gives each agent of an environment its policy: one shared
by all, or one each. A model stays silent by beginning its reply with the silence word; that token
is recorded and trained like any other.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import torch
from pettingzoo import ParallelEnv
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase

from envs.errors import SettingError, UnknownNameError
from envs.task import Style
from envs.tokens import well_formed
from learners.agents.base import Reply, Request
from learners.agents.chat import Chat
from learners.agents.generate import Sampling, generate
from learners.agents.load import agent_folders, load_model, load_tokenizer


@dataclass(frozen=True, slots=True)
class Speech:
    """How a policy speaks."""

    silence: str = "<silence>"
    """The word with which a reply begins that says nothing."""
    explain_silence: bool = True
    """Whether the first text of a conversation says what the silence word is."""
    max_reply_tokens: int = 256
    """Most tokens of a reply, whatever the environment would accept."""
    temperature: float = 1.0
    """Sampling temperature; greedy evaluation does not use it."""
    template: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the tokenizer's chat template."""

    def __post_init__(self) -> None:
        """Check ranges."""
        if not self.silence.strip():
            raise SettingError(f"agent.silence must be a word; got {self.silence!r}")
        most = self.max_reply_tokens
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise SettingError(
                f"agent.max_reply_tokens must be a whole number of at least 1; got {most!r}"
            )
        if not 0 < self.temperature < math.inf:
            raise SettingError(
                f"agent.temperature must be above 0 (evaluation is greedy by itself);"
                f" got {self.temperature!r}"
            )


class HFPolicy:
    """One set of weights that speaks for one or more agents.

    The model stays in evaluation mode, in training too: with dropout no importance ratio would be
    that of two policies, and the first of an update would not be 1.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, speech: Speech
    ) -> None:
        """Join a model and its tokenizer.

        Args:
            model: a causal language model.
            tokenizer: its fast tokenizer.
            speech: how it speaks.
        """
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.speech = speech
        self._chat = Chat(tokenizer, speech.template)
        self._end_ids = _end_ids(model, tokenizer, speech.silence, self._chat.end_id)
        # A hub model may bring top-k, top-p or penalties; recorded log-probabilities know of none.
        self.model.generation_config = GenerationConfig(
            eos_token_id=list(self._end_ids) or None, pad_token_id=self.pad_id
        )

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer all requests in one batched call.

        Args:
            requests: turns of any agents of any episodes.
            seed: of the sampling; the process-wide generator is left as it was.
            greedy: take the likeliest token at each step.
        """
        if not requests:
            return []
        news = [self.read(request) for request in requests]
        prompts = [
            [*_past(request.history), *new] for request, new in zip(requests, news, strict=True)
        ]
        limits = [self._limit(request) for request in requests]
        sampling = Sampling(
            max_new_tokens=max(limits),
            temperature=self.speech.temperature,
            greedy=greedy,
            end_ids=self._end_ids,
            pad_id=self.pad_id,
        )
        devices = [self.model.device] if self.model.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            _seed(self.model.device, seed)
            sampled = generate(self.model, prompts, sampling)
        return [
            Reply(self.message(ids[:limit]), new, ids[:limit], logprobs[:limit])
            for (ids, logprobs), new, limit in zip(sampled, news, limits, strict=True)
        ]

    def read(self, request: Request) -> tuple[int, ...]:
        """The tokens that this turn puts before the reply."""
        if request.history:
            return self._chat.go_on(request.text, request.history[-1].reply_ids)
        text = request.text
        if self.speech.explain_silence:
            text += f"\nTo stay silent, reply with {self.speech.silence} and nothing else."
        return self._chat.open(text)

    def write(self, message: str) -> tuple[int, ...]:
        """The reply tokens in which this policy says a message, end token included."""
        if message:
            return (*self._chat.say(message), *self._end_ids[:1])
        ids = tuple(self.tokenizer.encode(self.speech.silence, add_special_tokens=False))
        return ids if ids[-1] in self._end_ids else (*ids, *self._end_ids[:1])

    def message(self, reply_ids: Sequence[int]) -> str:
        """What a reply says; empty for silence.

        A reply that was stopped within the silence word is silence too: it had no room for more.
        """
        text = str(self.tokenizer.decode(list(reply_ids), skip_special_tokens=True)).strip()
        stopped = bool(reply_ids) and reply_ids[-1] not in self._end_ids
        silent = text.startswith(self.speech.silence)
        return "" if silent or (stopped and self.speech.silence.startswith(text)) else text

    @property
    def pad_id(self) -> int:
        """The token that fills rows; attention never sees it."""
        pad = self.tokenizer.pad_token_id
        return int(pad if pad is not None else next(iter(self._end_ids), 0))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self.model.device
        return device

    def save(self, folder: Path) -> None:
        """Write model and tokenizer so that stock `transformers` loads them."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def _limit(self, request: Request) -> int:
        """Tokens this reply may have: the message and the token that ends it."""
        most = self.speech.max_reply_tokens
        return most if request.max_tokens is None else min(most, request.max_tokens + 1)


@dataclass
class HFTeam:
    """The policies of a team, made from a causal language model by name or path."""

    model: str
    """Name on the hub, or path of a folder that `save_pretrained` wrote."""
    sharing: Literal["shared", "separate"] = "shared"
    """`shared`: one policy for all agents. `separate`: each agent has its own, alike at first."""
    speech: Speech = field(default_factory=Speech)
    """How the policies speak."""
    dtype: str = "float32"
    """Type of the weights, as `transformers` names it (`float32`, `bfloat16`, `auto`)."""
    device: str = "auto"
    """Device of the weights; `auto` takes a GPU where there is one."""
    instructions: Style = "full"
    """The form of first observation these weights understand; for `env.instructions`."""
    learning_rate: float = 1e-6
    """A learning rate that suits these weights; for `optimizer.lr`."""

    def __post_init__(self) -> None:
        """Check what can be checked without loading."""
        if self.sharing not in ("shared", "separate"):
            raise UnknownNameError("agent.sharing", self.sharing, ["shared", "separate"])

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The model's tokenizer."""
        return load_tokenizer(next(iter(agent_folders(self.model).values()), self.model))

    @cached_property
    def tokenize(self) -> Callable[[str], Sequence[str]]:
        """Cuts text into the model's tokens; environments count budgets with it."""
        return lru_cache(maxsize=65536)(lambda text: pieces(self.tokenizer, text))

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, HFPolicy]:
        """The policy of each agent; with shared weights they are one object.

        Raises:
            SettingError: the model cannot be loaded, or was saved for other agents than these.
        """
        agents = environment.possible_agents
        saved = agent_folders(self.model)
        if saved and (self.sharing == "shared" or not saved.keys() >= set(agents)):
            raise SettingError(
                f"agent.model={self.model!r} holds separate policies of {', '.join(saved)}; use it"
                f" with agent.sharing=separate and these agents, or name one of its folders; got"
                f" agent.sharing={self.sharing} and {', '.join(agents)}"
            )
        if saved:
            return {agent: self._policy(self._load(saved[agent])) for agent in agents}
        model = self._load(self.model)
        if self.sharing == "shared":
            return dict.fromkeys(agents, self._policy(model))
        return {agent: self._policy(copy.deepcopy(model)) for agent in agents}

    def _policy(self, model: PreTrainedModel) -> HFPolicy:
        return HFPolicy(model, self.tokenizer, self.speech)

    def _load(self, name: str) -> PreTrainedModel:
        return load_model(name, self.dtype, self.device)


def pieces(tokenizer: PreTrainedTokenizerBase, text: str) -> list[str]:
    """A text as the substrings its tokens stand for; they join back to the text.

    A character of several tokens belongs to the last of them, so a cut before it leaves it out.
    What a tokenizer drops between two tokens, such as spaces, belongs to the second.
    """
    encoded = tokenizer(
        well_formed(text),
        add_special_tokens=False,
        split_special_tokens=True,
        return_offsets_mapping=True,
    )
    spans = encoded["offset_mapping"]
    if not spans:
        return [text] if text else []
    ends = [min(end, start) for (_, end), (start, _) in zip(spans, spans[1:], strict=False)]
    borders = [0, *ends, len(text)]
    return [text[begin:end] for begin, end in zip(borders, borders[1:], strict=False)]


def _past(history: Sequence[Reply]) -> list[int]:
    return [token for reply in history for token in (*reply.prompt_ids, *reply.reply_ids)]


def _seed(device: torch.device, seed: int) -> None:
    """Seed the generators that sampling draws from; `torch.manual_seed` would seed every device."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)


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
