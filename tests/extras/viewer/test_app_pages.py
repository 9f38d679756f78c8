"""Views of an episode as text."""

from __future__ import annotations

import pytest

pytest.importorskip("textual", reason="needs the extra 'watch'")

from laconic.envs.dialogue.reward import Reward  # noqa: E402
from laconic.extras.viewer import app as pages  # noqa: E402
from laconic.extras.viewer.episodes import Episodes  # noqa: E402


def first(folder):
    episodes = Episodes(folder)
    episodes.refresh()
    return episodes.all[0]


def test_a_conversation_has_task_messages_prices_and_the_graded_answer(folder):
    text = pages.conversation(first(folder), Reward(price=0.5, normalizer=50)).plain
    # What looks like markup is text.
    assert text.startswith("step 0, task a\n3 [b]and[/b] 4.\nSum?\n")
    # Five words at 0.01 each.
    assert "helper_0  round 1, 5 tokens, price 0.050, held something useful\n" in text
    assert "  I have 3 and 4\n" in text and "held nothing useful" in text
    assert "✓ graded answer: 7   right: 7   score 1.00   9 tokens said" in text
    assert "price 0.5 for 50 tokens, charged to its speaker" in text
    each = pages.prices(Reward(price=0.5, normalizer=50, charge="listeners"))
    assert each.endswith("charged to its speaker for each listener")


def test_silence_is_shown_as_such_and_no_price_is_made_up(folder):
    episodes = Episodes(folder)
    episodes.refresh()
    text = pages.conversation(episodes.all[1], None).plain
    assert text.count("(silent)") == 2 and "price unknown" in text and "price 0" not in text


def test_a_view_has_only_the_texts_that_an_agent_read_and_said(folder):
    text = pages.view(first(folder), "solver_0", None).plain
    assert "read before round 2\n  helper_0: I have 3 and 4\n  helper_1: Nothing here\n" in text
    assert "#### 7" in text and "Sum?" not in text
