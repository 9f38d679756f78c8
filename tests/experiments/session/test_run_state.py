"""The policies that a run saves."""

from __future__ import annotations

from laconic.experiments.session.run_state import save_policies


class Kept:
    """A policy that writes down where it was saved."""

    def __init__(self, frozen=False):
        self.frozen, self.places = frozen, []

    def save(self, place):
        self.places.append(place)


def test_one_policy_lies_in_the_folder_and_several_in_folders_of_their_first_agents(tmp_path):
    shared, own, frozen = Kept(), Kept(), Kept(frozen=True)
    save_policies({"a_0": shared, "a_1": shared}, tmp_path)
    assert shared.places == [tmp_path]
    team = {"a_0": shared, "a_1": shared, "b_0": own, "c_0": frozen, "d_0": object()}
    save_policies(team, tmp_path)
    assert shared.places[1:] == [tmp_path / "a_0"] and own.places == [tmp_path / "b_0"]
    assert frozen.places == []
