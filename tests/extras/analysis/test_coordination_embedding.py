"""Texts as vectors of the shipped policy, in the place of an embedding model."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.envs.errors import SettingError
from laconic.extras.analysis.coordination import embedded, vectorizer
from laconic.learners.agents.recipes import SHIPPED


def test_texts_are_vectors_of_length_one_and_equal_texts_are_equal():
    texts = ["Ann has 3 pens.", "Ann has 3 pens.", "Ben eats 14 figs."]
    rows = embedded(str(SHIPPED), texts)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0)
    assert rows[0] == pytest.approx(rows[1])
    assert rows[0] @ rows[2] < 0.999
    assert vectorizer(str(SHIPPED), str.split)(texts) == pytest.approx(rows)


def test_a_text_without_a_token_is_no_direction():
    assert not embedded(str(SHIPPED), [""]).any()


def test_a_missing_model_is_refused_by_name(tmp_path):
    with pytest.raises(SettingError, match=r"compare\.embed must be a folder or a name"):
        embedded(str(tmp_path / "none"), ["word"])
