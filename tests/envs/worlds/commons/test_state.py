"""Recorded months of another system, harvest by harvest."""

from __future__ import annotations

import json

import pytest
from places import DATA

from laconic import envs
from laconic.envs.worlds.commons.state import Month, State

RECORDED = DATA / "govsim_replay.jsonl"


def test_a_month_and_its_talk_have_one_number():
    month = Month(100, {"a_0": 60}, {"a_0": 60}, 50)
    assert month.after == 40
    assert State(("a_0",), 100).month == 0
    assert State(("a_0",), 40, (month,), talk=0).month == 0
    assert State(("a_0",), 80, (month,)).month == 1


@pytest.mark.skipif(not RECORDED.is_file(), reason="no recorded episodes; LACONIC_DATA names them")
def test_recorded_months_come_out_as_they_were():
    runs = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    env = envs.make("commons", tasks=1, language="none")
    months, short = 0, 0
    for run in runs:
        env.reset(seed=0)
        for row in run["rounds"]:
            wanted = dict(zip(env.possible_agents, row["wanted"].values(), strict=True))
            caught = dict(zip(env.possible_agents, row["caught"].values(), strict=True))
            assert env.world_state.stock == row["before"], run["run"]
            env.step({agent: f"> catch {one:g}" for agent, one in wanted.items()})
            month = env.world_state.months[-1]
            assert (month.before, month.after) == (row["before"], row["after"])
            assert month.wanted == wanted
            if sum(wanted.values()) <= row["before"]:
                assert month.caught == caught
            else:
                short += 1
                assert sum(month.caught.values()) == sum(caught.values()) == row["before"]
                assert all(month.caught[agent] <= wanted[agent] for agent in wanted)
            months += 1
        # A run that is longer here was interrupted there.
        over = row["after"] < 5 or row["round"] == 11
        assert bool(env.agents) == (not over)
        assert over or run["experiment"] is None
    assert (len(runs), months, short) == (75, 422, 34)
