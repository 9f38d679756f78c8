"""What a server cannot do for a team is said before anything is played."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.engines.dialect import Described, Launch
from laconic.learners.engines.fit import check_fit, check_team, fingerprint, launch_for
from laconic.learners.errors import ServerError

NEED = Launch("base", 8000, "float32", 16, 8, 1024)


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (Described("base", dtype="bfloat16"), "computes in bfloat16 and the trainer in float32"),
        (Described("base", rank=0), "takes no adapters"),
        (Described("base", rank=8), "up to rank 8, and agent.lora.rank=16"),
        (Described("base", adapters=4), "holds 4 adapters at a time.*needs 8"),
        (Described("base", processed=False), "temperature"),
    ],
)
def test_a_server_that_does_not_fit_is_refused_with_a_command(found, word):
    with pytest.raises(ServerError, match=rf"http://here.*{word}.*Start it with: vllm serve"):
        check_fit(found, NEED, "http://here", "vllm serve base")


def test_a_server_that_fits_or_says_nothing_passes():
    check_fit(Described("base"), NEED, "http://here", "")
    check_fit(Described("base", 1024, "float32", 64, 8, True), NEED, "http://here", "")


@pytest.mark.parametrize(("sharing", "rank", "adapters"), [("lora", 4, 6), ("shared", 0, 0)])
def test_a_server_needs_room_for_the_adapters_that_still_speak(make_team, sharing, rank, adapters):
    policies = make_team(sharing)
    team = {name: policies[name] for name in ("solver_0", "helper_0")[: 2 if rank else 1]}
    need = launch_for(team, 1)
    # Two agents: versions s, s - 1, and one on its way out, each.
    assert (need.rank, need.adapters, need.dtype) == (rank, adapters, "float32")
    assert need.positions == 1024 and need.model == team["solver_0"].base


def test_several_whole_models_are_refused(make_team):
    with pytest.raises(SettingError, match=r"whole models of its own for solver_0, helper_0"):
        check_team(make_team("separate"))


@pytest.mark.parametrize("sharing", ["lora", "shared"])
def test_a_fingerprint_changes_with_any_trained_weight(make_team, nudge, sharing):
    policies = make_team(sharing)
    before = fingerprint(policies["solver_0"])
    assert fingerprint(policies["solver_0"]) == before
    nudge(policies, 1e-6)
    assert fingerprint(policies["solver_0"]) != before
