"""Drafts: kept as they were said, emptied of their content, and missed where there are none."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.experiments.comparing import drafts
from laconic.learners.episode import Episode, Turn


def test_what_was_said_last_is_the_draft(tmp_path):
    turns = (Turn("solver_0", 0, "so"), Turn("solver_0", 1, "#### 9"))
    episodes = [Episode("one", turns, {}), Episode("two", (), {})]
    drafts.save(tmp_path, episodes)
    assert drafts.read(tmp_path) == {"one": "#### 9", "two": ""}


def test_an_emptied_draft_keeps_its_form_and_is_no_longer_than_it():
    env = envs.make("gsm8k", tasks=1)
    (key,) = env.tasks
    draft = "He has 4 + 5 eggs.\n  #### 9"
    found = drafts.emptied({key: draft, "gone": "9"}, env, str.split)
    assert found == {key: "xx xxx x x x xxxxx\n  #### x"}
    # Letter for letter, what is crossed out has more tokens; it is cut.
    by_letter = drafts.emptied({key: "9 8"}, env, lambda text: list(text.replace("9", "")))
    assert by_letter == {key: "x "}


def test_drafts_that_are_not_there_are_missed_by_name(tmp_path):
    with pytest.raises(SettingError, match="drafts of 'first', which has none"):
        drafts.read(tmp_path / "first")
