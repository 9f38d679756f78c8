"""The drafts of a generated function are graded as they are meant to be."""

from __future__ import annotations

import pytest

from laconic.envs.families.coding.generate import items
from laconic.envs.families.cooperation.base import drafts
from laconic.envs.library.coop_humaneval.benchmark import BENCHMARK

# Pairs of drafts of the auxiliary and of main, and what they are worth at most.
WORTH = {(0, 0): 4.0, (0, 1): 3.5, (0, 2): 2.5, (3, 2): 2.1, (0, 5): 0.4, (3, 5): 0.0}


def test_every_role_has_its_drafts_the_best_first():
    item = items(0, 1, "train", level=3)[0]
    result = drafts(item)
    assert {role: len(texts) for role, texts in result.items()} == {"auxiliary": 4, "main": 6}
    assert result["auxiliary"][0].startswith("def aux(v):")
    assert "aux(v)" in result["main"][0] and f"def {item.puzzle.name}(v):" in result["main"][0]
    assert len({*result["auxiliary"], *result["main"]}) == 10
    assert drafts(item) == result


@pytest.mark.parametrize(("pair", "worth"), WORTH.items())
def test_drafts_are_worth_what_they_show(pair, worth):
    task = BENCHMARK.generate(3, 1)[0]
    auxiliary, main = (
        task.drafts[role][at] for role, at in zip(BENCHMARK.roles, pair, strict=True)
    )
    score = BENCHMARK.score(task, {"auxiliary_0": auxiliary, "main_0": main})
    assert score.value == pytest.approx(worth)
    assert score.solved == (worth > 2)
