"""Every wording is told apart, and says what it is about."""

from __future__ import annotations

from laconic.envs.worlds.commons.wordings import WORDINGS


def test_wordings_have_names_of_their_own_and_say_the_numbers():
    for field in ("role", "verb", "unit", "story"):
        assert len({getattr(one, field) for one in WORDINGS.values()}) == len(WORDINGS)
    for one in WORDINGS.values():
        assert one.role.isidentifier() and one.verb.isalpha()
        assert "100" in one.story and one.unit in f"{one.story} pallets"
    assert [name for name, one in WORDINGS.items() if one.inverse] == ["trash"]
