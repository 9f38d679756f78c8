"""How SGLang is spoken to, where it differs."""

from __future__ import annotations

import pytest

from laconic.learners.engines.sglang import SGLang
from laconic.learners.errors import ServerError


def test_end_tokens_are_sent_and_eos_is_not_ignored(make_team, start_server, tmp_path, play_groups):
    policies = make_team()
    server = start_server(policies)
    with SGLang(url=server.url) as engine:
        engine.open(policies, tmp_path)
        engine.sync()
        play_groups(policies)
    how = server.paths("/generate")[-1]["sampling_params"]
    assert how["stop_token_ids"] == list(policies["solver_0"].end_ids)
    assert "ignore_eos" not in how and (how["top_p"], how["top_k"]) == (1.0, -1)


def test_a_load_that_answers_200_and_says_it_failed_stops_the_sync(
    make_team, start_server, tmp_path, nudge
):
    policies = make_team("shared")
    server = start_server(policies)
    with SGLang(url=server.url) as engine:
        engine.open(policies, tmp_path)
        engine.sync()
        nudge(policies)
        server.sync_fault = "refuse"
        with pytest.raises(ServerError, match="did not do as told: no such folder"):
            engine.sync()
