"""Scripts of a world, called as scripts of agents."""

from __future__ import annotations

import random

import pytest

from laconic import envs
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task
from laconic.learners.agents.scripted import (
    ScriptedTeam,
    Teacher,
    adapt_world_script,
    teacher_policy,
)
from laconic.learners.interfaces import Reply, Request
from laconic.learners.rollout.play import Start, play

TASK = Task("", "", (), "")


def test_a_script_sees_the_request_and_no_task():
    records = []
    script = adapt_world_script(lambda request, generator: records.append(request) or "> catch 3")
    info = {"facts": {"stock": 100.0}, "offered": ("> catch 3",), "round": 4}
    request = Request("fisher_0", "Month 1.", info=info)
    again = Request("fisher_0", "Month 2.", history=(Reply("> x"),), info=info)
    assert script(TASK, request, random.Random(0)) == "> catch 3"
    script(TASK, again, random.Random(0))
    assert [turn.has_spoken for turn in records] == [False, True]
    assert [(turn.round, turn.said) for turn in records] == [(4, ()), (4, ("> x",))]
    assert (records[0].agent, records[0].text, records[0].facts) == (
        "fisher_0",
        "Month 1.",
        {"stock": 100},
    )
    assert records[0].offered == ("> catch 3",)


@pytest.fixture
def commons():
    return envs.make("commons", free=True, tasks=4, months=2, talk_rounds=1)


# Two months: of 12 each 60 and 40 units, of 10 each 100.
@pytest.mark.parametrize(
    ("script", "units"), [("share", 20), ("oracle", 20), ("constant:12", 24), ("silent", 0)]
)
def test_a_team_follows_a_script_of_the_world(commons, script, units):
    policies = ScriptedTeam(script).policies(commons)
    (episode,) = play([commons], policies, [Start(0)], seed=0)
    assert episode.measures["gain"] == units
    assert all(turn.message == "" for turn in episode.turns)
    assert {turn.act for turn in episode.turns} == {
        "" if not units else f"> catch {units // 2}",
        "",
    }


def test_a_script_of_no_world_or_of_another_environment_is_refused(commons):
    with pytest.raises(UnknownNameError, match=r"agent\.script 'sharing'. Did you mean 'share'"):
        ScriptedTeam("sharing").policies(commons)
    with pytest.raises(
        SettingError, match=r"^agent\.script=telegraph is for dialogues; commons has"
    ):
        ScriptedTeam("telegraph").policies(commons)
    with pytest.raises(UnknownNameError, match=r"agent\.script 'share'"):
        ScriptedTeam("share").policies(envs.make("signal", free=True, tasks=2))


def test_the_teacher_plays_a_world_in_its_own_verb():
    env = envs.make("commons", free=True, tasks=4, wording="pasture", months=2, talk_rounds=1)
    policy = teacher_policy(Teacher(silent_uninformed=0.0), env)
    (episode,) = play([env], dict.fromkeys(env.possible_agents, policy), [Start(0)], seed=0)
    harvests = [turn for turn in episode.turns if turn.round % 2 == 0]
    assert all(turn.act.startswith("> graze ") for turn in harvests)
    assert all(turn.message for turn in episode.turns if turn.round == 1)
