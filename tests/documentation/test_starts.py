"""The page of shipped policies is that of their recipes, cards and rows."""

from __future__ import annotations

import importlib
import sys

import pytest
from places import ROOT

from laconic import envs

sys.path.append(str(ROOT / "docs" / "evidence"))
STARTS = importlib.import_module("starts")
CARDS = importlib.import_module("cards")


def test_the_tables_are_those_of_recipes_cards_and_rows():
    page = STARTS.PAGE.read_text("utf-8")
    assert STARTS.render(page) == page, "run: make evidence-tables"


@pytest.mark.parametrize("name", STARTS.RECIPES)
def test_a_recipe_has_a_policy_or_says_that_it_has_none(name):
    assert name in envs.names()
    row = next(row for row in STARTS.policies() if row[0].startswith(f"[`{name}`]"))
    assert CARDS.recipe_command(name) == f"laconic warm-start env={name} threads=1 seed=0"
    card = STARTS.card_of(name)
    assert row[3].startswith("none shipped") == (not card)
    if card:
        # The weights and the table speak of the same environment.
        assert card["env"]["env.name"] == name and card["figures"]["tokens_said"] >= 0


def test_half_of_a_row_of_figures_by_hand():
    assert STARTS.figure("accuracy", 0.876) == "87.6 %" and STARTS.figure("score", 2.0) == "2.00"
    assert STARTS.figure("score", None) == ""
