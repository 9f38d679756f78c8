"""Texts as vectors of an embedding model: mean of its last hidden states, at length 1.

For `compare.embed`, in the place of counts of tokens. Knows nothing of teams.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laconic.envs.errors import SettingError


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Any, Any]:
    """Tokenizer and model of a folder, or of a name on the hub.

    Raises:
        SettingError: there is none.
    """
    # Imported here because comparisons without it need not wait for them.
    from transformers import AutoModel, AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name), AutoModel.from_pretrained(name).eval()
    except (OSError, ValueError) as error:
        raise SettingError(
            f"compare.embed must be a folder or a name of a model that transformers can load; got"
            f" {name!r}: {str(error).splitlines()[0]}"
        ) from error


def embedded(name: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Vectors of length 1, (texts, width); texts without a token are 0."""
    import torch

    tokenizer, model = load(name)
    rows = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt", truncation=True)["input_ids"]
        if not ids.numel():
            rows.append(np.zeros(model.config.hidden_size))
            continue
        with torch.no_grad():
            states = model(input_ids=ids).last_hidden_state[0].double().mean(dim=0).numpy()
        rows.append(states / (np.linalg.norm(states) or 1.0))
    return np.array(rows)
