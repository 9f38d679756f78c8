"""The words in which `agent.script=telegraph` says a statement."""

from __future__ import annotations

from laconic.learners.agents.scripted import telegrams


def test_a_telegram_has_words_that_no_other_statement_has_all_of():
    table = [f"The {thing} is {colour}." for thing in ("cup", "hat") for colour in ("red", "blue")]
    found = telegrams([*table, "The cup is red.", "The cup", "It rains."])
    assert found["The cup is red."] == "cup red."
    assert found["It rains."] in ("It", "rains.")
    # All its words stand in others, too.
    assert found["The cup"] == "The cup"
    for text, short in found.items():
        others = [one for one in found if one != text and set(short.split()) <= set(one.split())]
        assert short == text or not others
