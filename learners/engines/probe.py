"""Sync check: verify after every sync that each server samples with the weights it was given.

Status 200 proves nothing. A tied output head may not have been reloaded, or an adapter's name may
stand for the base model or for old weights. So every server continues a fixed text, in the way of a
rollout: at its temperature and with its caches. It also returns the log-probabilities of the most
likely next tokens. These are compared with the trainer's own models: with the weights the server
should have, and with those it could have instead (another version, the base, another agent's).

The trainer also scores the sampled tokens: several in a server's first sync, to check that it
continues cached text as the trainer does, and one in later syncs.

Probe requests are ordinary completions, so they may run beside those of a rollout.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from laconic.learners.agents.cache import cache_argument
from laconic.learners.engines.client import Completion
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Prompt, Request

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

PROMPT_TOKENS = 16
"""Maximum number of tokens of the text."""
FIRST_SAMPLED = 4
"""Number of tokens to sample from a server on its first sync."""
TOP_TOKENS = 20
"""Number of next tokens whose log-probabilities are compared; servers return no more."""
_FLOAT32_TOLERANCE, _COARSE_TOLERANCE = 1e-4, 0.05
"""Mean distance (nats per token) that counts as rounding, in float32 and in other types."""
_EQUAL = 1e-7
"""Mean distance (nats per token) below which weights count as equal."""
_TEXT = (
    "Four helpers each hold a part of what is known: a baker sold 36 loaves in the morning and 18"
    " in the afternoon, a loaf costs 4 coins, and 7 loaves were given away. How many coins were"
    " earned?"
)


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """Reply of one server to the probe prompt of one policy."""

    agent: str
    """Name of the policy."""
    url: str
    """Base URL of the server."""
    completion: Completion
    """Reply with the log-probabilities of the most likely tokens."""


@dataclass(frozen=True, slots=True)
class PromptState:
    """The probe prompt after a forward pass of the trainer's model."""

    logprobs: Tensor
    """Log-probabilities of the next token, (vocabulary,)."""
    cache: Any
    """Keys and values, from which the model can continue."""


class ProbeReference:
    """Log-probabilities that servers should return, and those of weights they may confuse."""

    def __init__(self, team: Mapping[str, HFPolicy], tolerance: float | None) -> None:
        """Choose the probe prompts.

        Args:
            team: distinct policies, by name.
            tolerance: mean distance (nats per token) that counts as rounding; None for the default
                of the types involved.
        """
        self._team, self._tolerance = team, tolerance
        self.texts = {name: probe_text(policy) for name, policy in team.items()}
        self.vocabulary = max(map(vocabulary_size, team.values()), default=0)
        """Number of tokens of the model."""
        self.max_distance = 0.0
        """Largest distance since the last `update`, nats per token."""
        self._logprobs: dict[int, dict[str, Tensor]] = {}
        """Next-token log-probabilities by version and policy, each (vocabulary,)."""
        self._base: dict[tuple[int, ...], Tensor] = {}
        """Next-token log-probabilities of the base model, by text."""
        self._states: dict[str, PromptState] = {}

    def update(self, version: int) -> None:
        """Compute the reference of a version; with sharded weights all processes call this."""
        self.max_distance = 0.0
        self._states = {
            name: read_prompt(policy, self.texts[name]) for name, policy in self._team.items()
        }
        logprobs = {name: state.logprobs for name, state in self._states.items()}
        # Replaced and not changed: a server may be restored meanwhile, by the versions before.
        self._logprobs = {**self._logprobs, version: logprobs}
        for name, policy in self._team.items():
            # All adapters of a team share one base, which training does not change.
            if policy.adapted and self.texts[name] not in self._base:
                with policy.bare():
                    state = read_prompt(policy, self.texts[name])
                self._base[self.texts[name]] = state.logprobs

    def keep(self, versions: Collection[int]) -> None:
        """Drop the references of all other versions."""
        self._logprobs = {
            version: logprobs for version, logprobs in self._logprobs.items() if version in versions
        }

    def prompts(self, version: int, limit: int) -> dict[str, Prompt]:
        """Return the probe prompt of each policy, to be continued by `limit` tokens at most."""
        return {
            name: Prompt(
                self.texts[name],
                min(limit, policy.max_new_tokens(len(self.texts[name]))),
                policy.end_ids,
                policy.sampling.temperature,
                seed=version,
            )
            for name, policy in self._team.items()
        }

    def score(self, replies: Sequence[ProbeReply]) -> list[list[float]]:
        """Return the trainer's log-probabilities of the sampled tokens, one list per reply.

        With sharded weights all processes call this.
        """
        scores = [
            continue_prompt(
                self._team[reply.agent], self._states[reply.agent], reply.completion.ids
            )
            for reply in replies
        ]
        self._states = {}
        return scores

    def check(self, reply: ProbeReply, version: int, dtype: str | None, loaded: str) -> None:
        """Compare the most likely tokens after the prompt with the reference.

        Args:
            reply: reply of a server.
            version: version that the server should have.
            dtype: type in which the server computes, if known.
            loaded: description of the loaded weights and their server, for the message.

        Raises:
            ServerError: the server samples with other weights.
        """
        top = reply.completion.top_logprobs[0]
        tokens = list(top)
        alternatives = {
            name: logprobs[tokens].tolist()
            for name, logprobs in self._alternatives(reply.agent, version).items()
        }
        expected = self._logprobs[version][reply.agent][tokens].tolist()
        tolerance = self._tolerance_of(reply.agent, dtype)
        distance = check_distance(list(top.values()), expected, alternatives, tolerance, loaded)
        self.max_distance = max(self.max_distance, distance)

    def check_sampled(
        self, reply: ProbeReply, scores: Sequence[float], dtype: str | None, sampled: str
    ) -> None:
        """Compare the log-probabilities of the sampled tokens with the trainer's scores.

        Raises:
            ServerError: they differ by more than rounding.
        """
        tolerance = self._tolerance_of(reply.agent, dtype)
        distance = check_distance(reply.completion.logprobs, scores, {}, tolerance, sampled)
        self.max_distance = max(self.max_distance, distance)

    def _alternatives(self, agent: str, version: int) -> dict[str, Tensor]:
        """Return the log-probabilities of weights that a server may have instead, by their name."""
        alternatives: dict[str, Tensor] = {}
        before = max((number for number in self._logprobs if number < version), default=None)
        for number, policies in self._logprobs.items():
            if number != version:
                name = "the version before" if number == before else f"version {number}"
                alternatives[name] = policies[agent]
        if self.texts[agent] in self._base:
            alternatives["the base"] = self._base[self.texts[agent]]
        for mate, logprobs in self._logprobs[version].items():
            # Fresh adapters are all equal; then the probe cannot and need not tell them apart.
            if mate != agent and self.texts[mate] == self.texts[agent]:
                alternatives[f"the weights of {mate}"] = logprobs
        return alternatives

    def _tolerance_of(self, agent: str, dtype: str | None) -> float:
        trainer = self._team[agent].precision.computed
        return self._tolerance or default_tolerance(dtype, trainer)


def probe_text(policy: HFPolicy) -> tuple[int, ...]:
    """Return the beginning of a conversation, at most half as long as the policy's positions."""
    limit = PROMPT_TOKENS
    if policy.positions is not None:
        limit = min(limit, policy.positions // 2)
    return policy.read(Request("probe", _TEXT))[:limit]


def vocabulary_size(policy: HFPolicy) -> int:
    """Return the number of tokens of a policy's model."""
    return int(policy.model.config.get_text_config().vocab_size)


@torch.no_grad()
def read_prompt(policy: HFPolicy, text: Sequence[int]) -> PromptState:
    """Run the trainer's model over a text, at the policy's temperature."""
    tokens = torch.tensor([list(text)], device=policy.device)
    # The output head is the widest layer; most models can apply it to the last token alone.
    selective = "logits_to_keep" in signature(policy.model.forward).parameters
    options = {"logits_to_keep": 1} if selective else {}
    with policy.computing():
        out = policy.model(input_ids=tokens, use_cache=True, **options)
    cache = getattr(out, cache_argument(policy.model))
    return PromptState(_log_softmax(out.logits[0, -1], policy), cache)


@torch.no_grad()
def continue_prompt(policy: HFPolicy, state: PromptState, ids: Sequence[int]) -> list[float]:
    """Return the trainer's log-probability of each token sampled after a prompt.

    Args:
        policy: policy that read the prompt.
        state: its state; not changed.
        ids: sampled token ids, at least 1.
    """
    rows = state.logprobs[None]
    if len(ids) > 1:
        tokens = torch.tensor([list(ids[:-1])], device=policy.device)
        cache = {cache_argument(policy.model): deepcopy(state.cache)}
        with policy.computing():
            out = policy.model(input_ids=tokens, use_cache=True, **cache)
        rows = torch.cat([rows, _log_softmax(out.logits[0], policy)])
    return [float(row[token]) for row, token in zip(rows, ids, strict=True)]


def _log_softmax(logits: Tensor, policy: HFPolicy) -> Tensor:
    return torch.log_softmax(logits.float() / policy.sampling.temperature, dim=-1).cpu()


def default_tolerance(server: str | None, trainer: str) -> float:
    """Return the rounding (nats per token) between the types of a server and the trainer."""
    exact = trainer == "float32" and server in ("float32", None)
    return _FLOAT32_TOLERANCE if exact else _COARSE_TOLERANCE


def mean_distance(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the mean absolute difference (nats per token); infinite for NaN or other lengths."""
    if len(first) != len(second) or not first:
        return math.inf
    mean = fmean(abs(a - b) for a, b in zip(first, second, strict=True))
    return mean if math.isfinite(mean) else math.inf


def check_distance(
    received: Sequence[float],
    expected: Sequence[float],
    alternatives: Mapping[str, Sequence[float]],
    tolerance: float,
    context: str,
) -> float:
    """Raise if log-probabilities of a server are not those of the weights it should have.

    Args:
        received: log-probabilities of the server.
        expected: those of the weights it should have.
        alternatives: those of weights it could have instead, by the name of these.
        tolerance: mean distance (nats per token) that counts as rounding.
        context: description of the loaded weights and their server, for the message.

    Returns:
        The mean distance between received and expected, nats per token.

    Raises:
        ServerError: the distance is above the tolerance, or more than twice that to an alternative.
    """
    distance = mean_distance(received, expected)
    distances = {name: mean_distance(received, other) for name, other in alternatives.items()}
    nearest = min(distances, key=lambda name: distances[name], default=None)
    if nearest is not None and distances[nearest] < 0.5 * distance and distance > _EQUAL:
        raise ServerError(
            f"{context}, but the server samples with {nearest}: its log-probabilities are"
            f" {distances[nearest]:.2g} nats per token from those, and {distance:.2g} from the"
            " loaded weights. Nothing was trained on its replies; docs/engines.md says what such a"
            " server needs"
        )
    if distance > tolerance:
        raise ServerError(
            f"{context}, but the server's log-probabilities are {distance:.2g} nats per token from"
            f" the trainer's; at most {tolerance:.2g} counts as rounding (engine.tolerance)."
            " Nothing was trained on its replies. Usual causes (docs/engines.md): another base"
            " model or dtype, --logprobs-mode, a tied output head that was not reloaded"
        )
    return distance
