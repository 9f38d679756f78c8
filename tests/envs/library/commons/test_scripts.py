"""Scripts of a commons, by their outcomes."""

from __future__ import annotations

from random import Random

import pytest

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.envs.library.commons.scripts import lowest_proposal, proposal
from laconic.envs.worlds.base import TeacherStyle, TurnView


def played(script, seed=0, **settings):
    """Play a team that follows a script and return its last info."""
    env = envs.make("commons", free=True, tasks=1, **settings)
    speaker = (
        env.world.teacher(script) if isinstance(script, TeacherStyle) else env.world.script(script)
    )
    random, (observations, infos) = Random(seed), env.reset(seed=seed)
    unread = {agent: [observation["text"]] for agent, observation in observations.items()}
    while env.agents:
        messages = {}
        for agent in env.agents:
            if observations[agent]["tokens_left"][0]:
                text = "\n".join(unread[agent])
                messages[agent] = speaker(
                    TurnView(agent, infos[agent]["facts"], text, True), random
                )
                unread[agent] = []
        observations, *_, infos = env.step(messages)
        for agent, observation in observations.items():
            unread[agent].append(observation["text"])
    return infos[f"{env.world.words.role}_0"]


# Units each and months, worked out in test_rules.py.
@pytest.mark.parametrize(
    ("script", "gain", "months"),
    [
        ("share", 120, 12),
        ("oracle", 120, 12),
        ("verbose", 120, 12),
        ("newcomer", 120, 12),
        ("endgame", 130, 12),
        ("greedy", 20, 1),
        ("constant:11", 39, 4),
        ("constant:0", 0, 12),
    ],
)
def test_scripts_reach_what_can_be_worked_out(script, gain, months):
    measures = played(script)["measures"]
    assert (measures["gain"], measures["months"]) == (gain, months)
    assert bool(measures["words_per_month"]) == (script == "verbose")


def test_the_share_of_trash_keeps_the_house():
    assert played("share", wording="trash")["measures"]["survived"] == 1


def test_a_newcomer_ruins_a_team_that_cannot_tell_it():
    informed = played("newcomer", newcomer=True, months=15)["measures"]
    uninformed = played("newcomer", newcomer=True, months=15, language="none")["measures"]
    assert informed["survived"] == 1 and informed["words_per_month"] > 0
    assert uninformed["survived"] == 0 and uninformed["months"] < 15


def test_the_teacher_heeds_what_it_hears_and_takes_too_much_else():
    style = TeacherStyle(terse=0.5, silent=0.25, best=0.2, frames=3)
    talking = [played(style, seed, talk_rounds=1) for seed in range(10)]
    silent = [played(style, seed, language="none") for seed in range(10)]
    assert sum(info["measures"]["survived"] for info in talking) >= 9
    assert not any(info["measures"]["survived"] for info in silent)


def test_proposals_are_read_as_they_are_made():
    assert lowest_proposal(f"fisher_1: {proposal(8)}\nMonth 2: 70 tons.") == 8
    assert lowest_proposal("12 each, or 7 each.") == 7
    assert lowest_proposal("Month 2: 70 tons.") is lowest_proposal("All got 10 10, left 5.") is None


@pytest.mark.parametrize("name", ["constant:", "constant:x", "constant:-1"])
def test_a_constant_needs_a_number(name):
    with pytest.raises(SettingError, match="needs a whole number of units"):
        envs.make("commons", free=True, tasks=1).world.script(name)
