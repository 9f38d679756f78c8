"""Whether a server speaks with the weights it was given: asked after every sync.

That a server answered 200 proves nothing: a tied output head may have stayed as it was, an
adapter's name may stand for the base, or for weights of yesterday. So it scores a fixed text, and
what it gives is compared with what the trainer's own models give: with the weights it should have,
and with those it could have instead (the version before, the base, another agent's). Then it goes
on with the text for some tokens, which the trainer scores too: that is the way of training, with
the temperature and the caches of a rollout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from laconic.learners.agents.base import Request
from laconic.learners.errors import ServerError

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

TOKENS = 96
"""Most tokens of the text that is scored."""
SAMPLED = 8
"""Most tokens with which it is gone on with."""
TOLERANCES = {"float32": 1e-4}
"""Mean distance (nats a token) that is taken for rounding, by type; other types are coarser."""
COARSE = 0.05
_FLOOR = 1e-7
"""Distances below are equal."""
_TEXT = (
    "Four helpers each hold a part of what is known: a baker sold 36 loaves in the morning and 18"
    " in the afternoon, a loaf costs 4 coins, and 7 loaves were given away. How many coins were"
    " earned?"
)


def text_of(policy: HFPolicy) -> tuple[int, ...]:
    """The tokens that are scored: how a conversation of this policy begins.

    They fill no more than half of its positions, so that it can be gone on with.
    """
    most = TOKENS if policy.positions is None else min(TOKENS, policy.positions // 2)
    return policy.read(Request("probe", _TEXT))[:most]


def vocabulary_of(policy: HFPolicy) -> int:
    """Tokens that the model of a policy knows."""
    return int(policy.model.config.get_text_config().vocab_size)


@torch.no_grad()
def scores(policy: HFPolicy, ids: Sequence[int], temperature: float = 1.0) -> list[float]:
    """What the trainer's model gives each token but the first, given those before it."""
    tokens = torch.tensor([list(ids)], device=policy.device)
    with policy.computing():
        logits = policy.model(input_ids=tokens, use_cache=False).logits[0, :-1]
    return _taken(logits, tokens[0, 1:], temperature)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the trainer's model has read it, from where it can be gone on with."""

    scores: list[float]
    """As of `scores` at temperature 1."""
    last: Tensor
    """Logits behind its last token, (1, vocabulary)."""
    past: Any
    """Its keys and values."""


@torch.no_grad()
def read(policy: HFPolicy, ids: Sequence[int]) -> Reading:
    """Have the trainer's model read a text once."""
    tokens = torch.tensor([list(ids)], device=policy.device)
    with policy.computing():
        out = policy.model(input_ids=tokens, use_cache=True)
    logits = out.logits[0]
    return Reading(_taken(logits[:-1], tokens[0, 1:], 1.0), logits[-1:], out.past_key_values)


@torch.no_grad()
def go_on(
    policy: HFPolicy, reading: Reading, ids: Sequence[int], temperature: float
) -> list[float]:
    """What the trainer's model gives each token of a continuation; the reading stays as it is."""
    tokens = torch.tensor([list(ids)], device=policy.device)
    with policy.computing():
        past = deepcopy(reading.past)
        logits = policy.model(input_ids=tokens, past_key_values=past, use_cache=True).logits[0]
    return _taken(torch.cat([reading.last, logits[:-1]]), tokens[0], temperature)


def _taken(logits: Tensor, ids: Tensor, temperature: float) -> list[float]:
    """The log-probability of each token, in the row that stands before it."""
    logprobs = torch.log_softmax(logits.float() / temperature, dim=-1)
    found: list[float] = logprobs.gather(-1, ids[:, None]).squeeze(-1).tolist()
    return found


def tolerance(dtype: str | None, trainer: str) -> float:
    """What is taken for rounding between a server's type and the trainer's."""
    return max(TOLERANCES.get(dtype or trainer, COARSE), TOLERANCES.get(trainer, COARSE))


def distance(first: Sequence[float], second: Sequence[float]) -> float:
    """Mean absolute difference, nats a token; infinite between different lengths, and of NaN."""
    if len(first) != len(second) or not first:
        return math.inf
    found = fmean(abs(a - b) for a, b in zip(first, second, strict=True))
    return found if math.isfinite(found) else math.inf


def judge(
    given: Sequence[float],
    wanted: Sequence[float],
    others: Mapping[str, Sequence[float]],
    limit: float,
    what: str,
) -> float:
    """Stop where a server speaks with other weights than it should.

    Args:
        given: log-probabilities of the server.
        wanted: those of the weights it should have.
        others: those of weights it could have instead, by what these are.
        limit: distance that is taken for rounding.
        what: was loaded where, for the message.

    Returns:
        The distance of what the server gave from what it should have.

    Raises:
        ServerError: it is above the limit, or twice that from other weights.
    """
    off = distance(given, wanted)
    near = {name: distance(given, one) for name, one in others.items()}
    nearest = min(near, key=lambda name: near[name], default=None)
    if nearest is not None and near[nearest] < 0.5 * off and off > _FLOOR:
        raise ServerError(
            f"{what}, but the server speaks with {nearest}: its log-probabilities are"
            f" {near[nearest]:.2g} nats a token from those, and {off:.2g} from what was loaded."
            " Nothing was trained on it; docs/engines.md says what such a server needs"
        )
    if off > limit:
        raise ServerError(
            f"{what}, but the server's log-probabilities are {off:.2g} nats a token from the"
            f" trainer's, and at most {limit:.2g} are taken for rounding (engine.tolerance)."
            " Nothing was trained on it; docs/engines.md has the usual causes: another base or"
            " dtype, --logprobs-mode, a tied output head that was not reloaded"
        )
    return off
