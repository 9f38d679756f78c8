"""What the conversations of a batch have in common goes through a model once.

Every prompt begins with the same rules, and the episodes of a group begin with the same prompt;
what differs is the end. So a batch is read in stages, each on the keys and values of the one
before: the beginning that all rows share, the prompts, and the rows from the first state that is
asked for on. Gradients flow back through all of them, and are those of whole rows up to the order
of sums (cf. prefix grouping, arXiv 2506.05433).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

WORTH = 0.75
"""Stages are read instead of rows where they have no more than this share of their tokens."""

Slice = tuple[int, int]
"""The tokens of a row from one place to another."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Texts that are read together, each after one of the stage before."""

    rows: tuple[int, ...]
    """Row of the batch that a text is found in."""
    parents: tuple[int, ...]
    """Text of the stage before that it goes on from."""
    places: tuple[Slice, ...]
    """Where it stands in that row."""

    @property
    def tokens(self) -> int:
        """Tokens of the stage, padding included."""
        return len(self.rows) * max(end - begin for begin, end in self.places)

    @property
    def whole(self) -> bool:
        """Whether each text has tokens."""
        return all(end > begin for begin, end in self.places)


def stages_of(token_ids: Tensor, lengths: Sequence[int], asked: Sequence[int]) -> list[Stage]:
    """The stages in which a batch is read with the fewest tokens; the last has every row's end.

    Args:
        token_ids: (rows, tokens), padded on the right.
        lengths: tokens of each row.
        asked: place of the first state of each row that is asked for.

    Returns:
        Stages, or none where whole rows are as cheap as that.
    """
    rows = token_ids.tolist()
    common = _common([row[:most] for row, most in zip(rows, asked, strict=True)])
    prompts: dict[tuple[int, ...], int] = {}
    parents = [
        prompts.setdefault(tuple(row[:most]), len(prompts))
        for row, most in zip(rows, asked, strict=True)
    ]
    firsts = [parents.index(prompt) for prompt in range(len(prompts))]
    every = range(len(rows))
    opening = Stage((0,), (0,), ((0, common),))
    prompt = Stage(tuple(firsts), (0,) * len(firsts), tuple((common, asked[one]) for one in firsts))
    ends = Stage(tuple(every), tuple(parents), tuple(zip(asked, lengths, strict=True)))
    after = Stage(tuple(every), (0,) * len(rows), tuple((common, one) for one in lengths))
    ways = [[opening, prompt, ends], [opening, after]]
    # A text without tokens would read nothing at all.
    ways = [way for way in ways if all(stage.whole or not stage.tokens for stage in way)]
    best = min(ways, key=lambda way: sum(stage.tokens for stage in way))
    worth = sum(stage.tokens for stage in best) <= WORTH * len(rows) * max(lengths)
    return [stage for stage in best if stage.tokens] if worth else []


def can_share(model: PreTrainedModel) -> bool:
    """Whether a model's keys and values can be read by several rows, with gradients.

    Not where layers look back a number of places (they count padding too), keep something else, or
    forget their activations; and not where weights are in parts, whose processes keep step.
    """
    layers = DynamicCache(config=model.config).layers
    return (
        not any(getattr(one, "gradient_checkpointing", False) for one in model.modules())
        and bool(layers)
        and all(type(layer) is DynamicLayer for layer in layers)
        and not any(hasattr(one, "device_mesh") for one in model.parameters())
    )


def cut(stage: Stage, matrix: Tensor) -> Tensor:
    """The texts of a stage (texts, longest) out of a matrix (rows, tokens), padded on the right."""
    width = max(end - begin for begin, end in stage.places)
    found = matrix.new_zeros((len(stage.rows), width))
    for text, (row, (begin, end)) in enumerate(zip(stage.rows, stage.places, strict=True)):
        found[text, : end - begin] = matrix[row, begin:end]
    return found


def places_of(stage: Stage, device: torch.device) -> Tensor:
    """Positions (texts, longest) of the tokens of a stage in their rows."""
    width = max(end - begin for begin, end in stage.places)
    begins = torch.tensor([begin for begin, _ in stage.places], device=device)
    return begins[:, None] + torch.arange(width, device=device)


def go_on(cache: DynamicCache, held: Tensor, stage: Stage) -> tuple[DynamicCache, Tensor]:
    """Keys, values and mask (texts, held tokens) of what the texts of a stage go on from."""
    index = torch.tensor(stage.parents, device=held.device)
    given, layers = DynamicCache(), cast(list[Any], cache.layers)
    for number, layer in enumerate(layers):
        given.update(layer.keys.index_select(0, index), layer.values.index_select(0, index), number)
    return given, held.index_select(0, index)


def _common(texts: Sequence[list[int]]) -> int:
    """Tokens with which all texts begin."""
    least, most = min(texts), max(texts)
    return next(
        (place for place, pair in enumerate(zip(least, most, strict=False)) if pair[0] != pair[1]),
        min(len(least), len(most)),
    )
