"""The words in which `agent.script=telegraph` says a statement."""

from __future__ import annotations

from laconic.learners.agents.scripted import telegrams


def test_a_telegram_has_words_that_no_other_statement_has_all_of():
    table = [f"The {thing} is {colour}." for thing in ("cup", "hat") for colour in ("red", "blue")]
    result = telegrams([*table, "The cup is red.", "The cup", "It rains."])
    assert result["The cup is red."] == "cup red."
    assert result["It rains."] in ("It", "rains.")
    # All its words stand in others, too.
    assert result["The cup"] == "The cup"
    for text, short in result.items():
        words = set(short.split())
        others = [other for other in result if other != text and words <= set(other.split())]
        assert short == text or not others
