"""Whether a server speaks with the weights it was given: asked after every sync.

That a server answered 200 proves nothing: a tied output head may have stayed as it was, an
adapter's name may stand for the base, or for weights of yesterday. So it is asked to go on with a
fixed text, in the way of a rollout, with its temperature and its caches, and for the
log-probabilities of the likeliest tokens there. These are compared with what the trainer's own
models give: with the weights it should have, and with those it could have instead (the version
before, the base, another agent's). The tokens drawn behind the text the trainer scores too: several
in a server's first sync, which so shows that it goes on with what it has cached as the trainer
does, and one in every later one, for that is a matter of the server and not of the weights.

Such requests are those of a rollout, so they may be made while replies are under way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from laconic.learners.agents.base import Request
from laconic.learners.agents.cache import cache_argument
from laconic.learners.errors import ServerError

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

TOKENS = 16
"""Most tokens of the text."""
SAMPLED = 4
"""Most tokens with which it is gone on with by a server that has not been heard yet."""
LIKELIEST = 20
"""Tokens whose log-probabilities are compared behind the text; servers give no more."""
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
    """How a conversation of this policy begins.

    It fills no more than half of its positions, so that it can be gone on with.
    """
    most = TOKENS if policy.positions is None else min(TOKENS, policy.positions // 2)
    return policy.read(Request("probe", _TEXT))[:most]


def vocabulary_of(policy: HFPolicy) -> int:
    """Tokens that the model of a policy knows."""
    return int(policy.model.config.get_text_config().vocab_size)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the trainer's model has read it, from where it can be gone on with."""

    row: Tensor
    """Log-probabilities of every next token, (vocabulary,)."""
    past: Any
    """Its keys and values; None where it is not gone on with."""


@torch.no_grad()
def read(policy: HFPolicy, text: Sequence[int]) -> Reading:
    """Have the trainer's model read a text once, at the policy's temperature."""
    tokens = torch.tensor([list(text)], device=policy.device)
    # The output head is the widest layer, and most models can be told where it is needed.
    told = "logits_to_keep" in signature(policy.model.forward).parameters
    where = {"logits_to_keep": 1} if told else {}
    with policy.computing():
        out = policy.model(input_ids=tokens, use_cache=True, **where)
    return Reading(_logprobs(out.logits[0, -1], policy), getattr(out, cache_argument(policy.model)))


@torch.no_grad()
def go_on(policy: HFPolicy, reading: Reading, drawn: Sequence[int]) -> list[float]:
    """What the trainer's model gives each token drawn behind the text; the reading stays as it is.

    Args:
        policy: whose model it is.
        reading: of its text.
        drawn: token ids.
    """
    first = at(reading.row, drawn[:1])
    if len(drawn) == 1:
        return first
    tokens = torch.tensor([list(drawn)], device=policy.device)
    with policy.computing():
        past = deepcopy(reading.past)
        held = {cache_argument(policy.model): past}
        out = policy.model(input_ids=tokens[:, :-1], use_cache=True, **held)
    rows = _logprobs(out.logits[0], policy)
    return [*first, *(float(row[one]) for row, one in zip(rows, drawn[1:], strict=True))]


def _logprobs(logits: Tensor, policy: HFPolicy) -> Tensor:
    return torch.log_softmax(logits.float() / policy.speech.temperature, dim=-1).cpu()


def tolerance(dtype: str | None, trainer: str) -> float:
    """What is taken for rounding between a server's type and the trainer's."""
    return max(TOLERANCES.get(dtype or trainer, COARSE), TOLERANCES.get(trainer, COARSE))


def at(row: Tensor, tokens: Sequence[int]) -> list[float]:
    """The log-probabilities of some next tokens."""
    found: list[float] = row[list(tokens)].tolist()
    return found


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
