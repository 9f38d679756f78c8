"""Scripted teams of BoxNet: what they solve, and how many messages and tokens it takes."""

from __future__ import annotations

from random import Random

import pytest
import yaml
from places import CONF

from laconic import envs
from laconic.envs.dialogue.budget import split_words
from laconic.envs.library.boxnet.grid import Grid
from laconic.envs.library.boxnet.rules import HOW
from laconic.envs.library.boxnet.script import Planner
from laconic.envs.worlds.base import TurnView
from laconic.learners import ScriptedTeam, Start, play

TALKING = [planning for planning in HOW if planning != "none"]
COUNT = 3


def played(script, planning, view, **settings):
    """Play three grids with a script and return the episodes."""
    makes = [
        envs.make("boxnet", free=True, tasks=COUNT, planning=planning, view=view, **settings)
        for _ in range(COUNT)
    ]
    policies = ScriptedTeam(script).policies(makes[0])
    starts = [Start(number, f"train-0/{number}") for number in range(COUNT)]
    return play(makes, policies, starts, seed=0)


def grids():
    """Return the three tasks; the last arm of the first dialogue always speaks."""
    tasks = envs.make("boxnet", free=True, tasks=COUNT).tasks.values()
    assert all(task.details["cells"][-1] for task in tasks)
    return tasks


def measured(episodes, name):
    return [episode.measures[name] for episode in episodes]


STEPS = [episode.measures["steps_taken"] for episode in played("oracle", "none", "full")]


@pytest.mark.parametrize("script", ["oracle", "verbose"])
@pytest.mark.parametrize("view", ["own", "full"])
@pytest.mark.parametrize("planning", TALKING)
def test_every_way_of_planning_comes_to_the_same_steps(script, view, planning):
    episodes = played(script, planning, view)
    assert all(episode.solved for episode in episodes)
    assert measured(episodes, "steps_taken") == STEPS
    assert set(measured(episodes, "refused")) == {0}


def test_who_sees_all_need_not_talk_and_who_sees_one_cell_tells_it_once():
    silent = played("oracle", "discuss", "full")
    assert measured(silent, "messages") == [0] * COUNT and all(one.solved for one in silent)
    telling = played("oracle", "discuss", "own")
    # One word for each box and each target, and only cells with something in them.
    words = [sum(len(turn.message.split()) for turn in episode.turns) for episode in telling]
    assert words == [sum(map(len, task.details["cells"])) for task in grids()]
    assert max(measured(telling, "messages")) <= 4


def test_who_neither_sees_nor_hears_the_others_does_not_solve_it():
    assert not any(episode.solved for episode in played("oracle", "none", "own"))


def test_messages_of_each_step_are_those_of_the_scheme():
    assert measured(played("oracle", "cmas", "full"), "messages") == STEPS
    assert measured(played("oracle", "dmas", "full"), "messages") == STEPS
    # The first dialogue takes a message of each arm whose cell is not empty.
    first = [sum(map(bool, task.details["cells"])) for task in grids()]
    assert measured(played("oracle", "dmas", "own"), "messages") == [
        count + steps - 1 for count, steps in zip(first, STEPS, strict=True)
    ]
    # Center and first arm with a task.
    assert measured(played("verbose", "hmas1", "full"), "messages") == [2 * n for n in STEPS]
    # Center and each arm with a task, which agrees; a silent arm agrees as well.
    acts = [sum(bool(turn.act) for turn in one.turns) for one in played("verbose", "hmas2", "full")]
    assert measured(played("verbose", "hmas2", "full"), "messages") == [
        steps + count for steps, count in zip(STEPS, acts, strict=True)
    ]
    assert measured(played("oracle", "hmas2", "full"), "messages") == STEPS


def test_a_plan_of_the_largest_grid_fits_under_the_default_cap():
    # Fifteen boxes at the most, each with an arm: `arm_0 move box_red 0.5 1.5,` has 14 tokens.
    cap = yaml.safe_load((CONF / "env" / "boxnet.yaml").read_text())["budget"]["message"]
    assert 15 * len(split_words("arm_0 move box_red 0.5 1.5,")) == 210 <= cap


def test_a_lost_plan_is_not_carried_out():
    episodes = played("oracle", "cmas", "own", channel={"lose": 1.0, "mark": True}, steps=3)
    assert all(episode.measures["steps_taken"] == 3 for episode in episodes)
    assert not any(turn.act for episode in episodes for turn in episode.turns)


def test_an_arm_does_its_task_in_the_last_plan_of_the_step():
    planner = Planner(Grid(1, 2), sees_all=False, shared=False, wordy=0.0, silent=0.0)
    facts = {"act": 1.0, "step": 1.0}
    earlier = "Step 1 of 9.\ncenter_0: arm_0 move box_red target\nStep 2 of 9.\nYour cell 0.5_0.5: "
    draft, revised = "arm_0 move box_red 0.5 1.5", "arm_0 move box_blue target"
    offered = tuple(f"> {task[6:]}" for task in (draft, revised))

    def act(*lines):
        turn = TurnView("arm_0", facts, "\n".join(lines), True, offered, earlier)
        return planner(turn, Random(0))

    assert act(f"center_0: {draft}") == "> move box_red 0.5 1.5"
    assert act(f"center_0: {draft}", f"center_0: {revised}") == "> move box_blue target"
    # The plan of an earlier step, a plan without a task, and a task that is not offered.
    assert act("Act now.") == act("center_0: arm_1 move box_red target") == ""
    assert act("center_0: arm_0 move box_green target") == ""
