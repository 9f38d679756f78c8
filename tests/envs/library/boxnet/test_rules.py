"""The rules of BoxNet: views, ways of planning, messages of each step, and pay."""

from __future__ import annotations

import numpy as np
import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.contract.episodes import play
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.boxnet.rules import HOW, BoxNet, Planning
from laconic.envs.task import Task
from laconic.envs.wrappers import DiscreteMessages

# Red is two steps from its target, blue is at its own, green is in the fourth cell.
CELLS = (("box_red", "box_blue", "target_blue"), (), ("target_green",), ("target_red", "box_green"))
PLAN = "arm_0 move box_red 0.5 1.5, arm_3 move box_green 1.5 0.5"


def made(planning, cells=CELLS, **settings):
    """Make a grid of two rows and begin an episode with these cells."""
    columns = settings.pop("columns", 2)
    env = envs.make("boxnet", free=True, tasks=1, planning=planning, columns=columns, **settings)
    task = Task("hand", "", (), "", details={"cells": cells})
    observations, infos = env.reset(seed=0, options={"task": task})
    return env, observations, infos


def speakers(env):
    """Return the agents that may talk now."""
    return [agent for agent in env.agents if env.world.may_talk(env.world_state, agent)]


@pytest.mark.parametrize("view", ["own", "full"])
@pytest.mark.parametrize("planning", HOW)
def test_the_contract_holds_for_every_way_of_planning(planning, view):
    check_env(
        lambda **more: envs.make(
            "boxnet",
            free=True,
            tasks=4,
            tokenize=list,
            planning=planning,
            view=view,
            steps=3,
            **more,
        ),
        episodes=1,
    )


@pytest.mark.parametrize("planning", HOW)
def test_hostile_messages_raise_nothing(planning):
    pieces = ["> ", "move ", "box_red", " target", "0.5 1.5", "arm_0 ", "arm_99 ", "center_0: "]
    pieces += ["EXECUTE", "I Agree", "\n", "\r", "\u2028", "\x00", "\ud800", "9" * 30, "<think>"]
    env = envs.make("boxnet", free=True, tasks=2, planning=planning, order="listed", steps=4)

    def speak(env, agent, generator):
        return "".join(generator.choice(pieces) for _ in range(generator.integers(9)))

    assert play(env, 0, speak).steps


def test_an_arm_sees_its_own_cell_or_all_and_the_center_sees_all():
    _, own, _ = made("cmas", view="own")
    assert own["arm_0"]["text"].endswith(
        "Step 1 of 30.\nYour cell 0.5_0.5: box_red box_blue target_blue"
    )
    assert own["arm_1"]["text"].endswith("Your cell 0.5_1.5: empty")
    everything = "0.5_0.5: box_red box_blue target_blue\n1.5_0.5: target_green\n1.5_1.5: "
    assert own["center_0"]["text"].endswith(f"Step 1 of 30.\n{everything}target_red box_green")
    _, full, _ = made("none", view="full")
    assert full["arm_2"]["text"].endswith(
        "Your cell 1.5_0.5: target_green\n0.5_0.5: box_red box_blue target_blue\n"
        "1.5_1.5: target_red box_green"
    )


def test_facts_count_what_an_agent_sees():
    env, _, infos = made("discuss", view="own")
    seen = {name for name, count in infos["arm_0"]["facts"].items() if count}
    assert seen == {"discuss", "box_red 0.5_0.5", "box_blue 0.5_0.5", "target_blue 0.5_0.5"}
    *_, infos = env.step({})
    assert (infos["arm_0"]["facts"]["act"], infos["arm_0"]["facts"]["discuss"]) == (1, 0)
    _, _, infos = made("none", view="full")
    counts = [count for name, count in infos["arm_1"]["facts"].items() if "_" in name]
    assert sum(counts) == 6 and len(counts) == 4 * 10


def test_each_landing_gains_every_agent_its_share_less_the_price_of_its_words():
    env, _, infos = made("discuss", reward={"price": 1.0, "normalizer": 100})
    # Four tokens (`target`, `_`, `blue`, `here`) at 0.01 each.
    _, rewards, *_ = env.step({"arm_0": "target_blue here"})
    assert rewards == {"arm_0": -0.04, "arm_1": 0.0, "arm_2": 0.0, "arm_3": 0.0}
    _, rewards, *_ = env.step({"arm_0": "> move box_blue target"})
    assert rewards == pytest.approx(dict.fromkeys(env.possible_agents, 1 / 3))
    env.step({})
    env.step({"arm_0": "> move box_red 1.5 0.5", "arm_3": "> move box_green 1.5 0.5"})
    env.step({})
    env.step({"arm_2": "> move box_green target"})
    env.step({})
    env.step({"arm_2": "> move box_red 1.5 1.5"})
    env.step({})
    *_, infos = env.step({"arm_3": "> move box_red target"})
    info = infos["arm_1"]
    assert (info["score"], info["solved"], info["ended_by"]) == (1.0, True, "rules")
    assert info["answer"] == "3 of 3 boxes in 5 steps" and not env.agents
    expected = {"steps_taken": 5, "messages": 1, "objections": 0, "refused": 0}
    assert info["measures"] == expected


def test_a_team_that_does_nothing_loses_nothing_and_solves_nothing():
    env, *_ = made("discuss", steps=2, reward={"price": 1.0})
    while env.agents:
        _, rewards, *_, infos = env.step({})
        assert set(rewards.values()) == {0.0}
    assert (infos["arm_0"]["solved"], infos["arm_0"]["score"]) == (False, 0.0)


def test_an_act_needs_its_box_in_the_cell_and_counts_for_its_own_agent_alone():
    env, *_ = made("none")
    *_, infos = env.step({"arm_1": "> move box_red 0.5 0.5", "arm_3": "> move box_green 0.5 0.5"})
    assert [infos[f"arm_{number}"]["legal"] for number in (0, 1, 3)] == [True, False, False]
    assert env.world_state.cells == CELLS


def test_listed_arms_move_one_after_another_and_others_all_together():
    acts = {"arm_0": "> move box_red 0.5 1.5", "arm_1": "> move box_red 1.5 1.5"}
    acts["arm_3"] = "> move box_red target"
    for order, left in (("listed", 2), ("together", 3)):
        env, *_ = made("none", order=order)
        *_, infos = env.step(acts)
        assert sum(thing.startswith("box") for c in env.world_state.cells for thing in c) == left
        assert infos["arm_1"]["legal"] == (order == "listed")
    env, *_ = made("none", order="listed")
    env.step({"arm_1": "> move box_red 1.5 1.5"})
    assert env.world_state.refused == 1


def test_a_center_says_one_message_a_step_and_only_acts_count():
    env, *_ = made("cmas")
    assert speakers(env) == ["center_0"]
    observations, *_ = env.step({"center_0": PLAN, "arm_0": "Let me."})
    assert observations["arm_3"]["text"] == f"center_0: {PLAN}\nAct now."
    assert speakers(env) == []
    env.step({"arm_3": "> move box_green 1.5 0.5"})
    # Red was in the plan, and its arm did not act.
    assert env.world_state.cells[0] == CELLS[0] and env.world_state.cells[2][-1] == "box_green"
    assert (env.world_state.messages, env.world_state.step) == (1, 1)


def test_a_plan_that_cannot_be_carried_out_is_sent_back_six_times():
    env, *_ = made("cmas", budget={"message": None})
    wrong = "arm_1 move box_red target, arm_9 move box_red target"
    for _ in range(6):
        observations, *_ = env.step({"center_0": wrong})
        assert speakers(env) == ["center_0"]
    assert observations["center_0"]["text"] == f"Nobody spoke.\nNot possible: {wrong}. Plan again."
    assert "Not possible" not in observations["arm_1"]["text"]
    observations, *_ = env.step({"center_0": wrong})
    assert env.world_state.phase == "act" and env.world_state.refused == 14
    # The count begins anew in the next step.
    env.step({})
    env.step({"center_0": wrong})
    assert env.world_state.resent == 1


@pytest.mark.parametrize(
    ("answers", "objections"),
    [
        ({"arm_0": "I Agree", "arm_3": "I agree."}, 0),
        ({"arm_0": "I Agree"}, 0),
        ({}, 0),
        ({"arm_0": "I Agree", "arm_3": "Red comes first."}, 1),
        ({"arm_0": "No.", "arm_3": "No."}, 2),
    ],
)
def test_a_draft_takes_one_message_each_arm_with_a_task_and_one_revision(answers, objections):
    env, *_ = made("hmas2")
    env.step({"center_0": PLAN})
    assert speakers(env) == ["arm_0", "arm_3"]
    env.step(answers | {"arm_1": "I have no task."})
    assert env.world_state.objections == objections
    assert speakers(env) == (["center_0"] if objections else [])
    env.step({"center_0": PLAN})
    assert env.world_state.messages == 1 + len(answers) + (objections > 0)
    assert env.world_state.phase == ("act" if objections else "draft")


def test_a_draft_without_tasks_needs_no_consent():
    env, *_ = made("hmas2")
    env.step({"center_0": "Wait."})
    assert env.world_state.phase == "act"


def test_arms_speak_in_turns_until_one_executes():
    env, *_ = made("dmas")
    for number in (0, 1, 2):
        assert speakers(env) == [f"arm_{number}"]
        env.step({f"arm_{number}": "Hm."})
    observations, *_ = env.step({"arm_3": f"EXECUTE {PLAN}"})
    assert env.world_state.phase == "act"
    assert observations["arm_0"]["text"] == f"arm_3: EXECUTE {PLAN}\nAct now."
    env.step({})
    assert speakers(env) == ["arm_0"]


def test_an_arm_whose_plan_is_sent_back_speaks_again():
    env, *_ = made("dmas")
    env.step({"arm_0": "Hm."})
    env.step({"arm_1": "EXECUTE arm_1 move box_red target"})
    assert speakers(env) == ["arm_1"]
    env.step({"arm_1": f"EXECUTE {PLAN}"})
    assert env.world_state.phase == "act"


def test_a_dialogue_ends_after_four_turns_each_or_a_silent_turn_of_all():
    for said, turns in (("Hm.", 16), ("", 4)):
        env, *_ = made("dmas")
        count = 0
        while env.world_state.phase == "turns":
            env.step(dict.fromkeys(env.agents, said))
            count += 1
        assert (count, env.world_state.messages) == (turns, 16 if said else 0)


def test_arms_of_a_draft_go_on_in_a_dialogue():
    env, *_ = made("hmas1")
    env.step({"center_0": PLAN})
    assert speakers(env) == ["arm_0"]
    env.step({"arm_0": "Hm."})
    assert speakers(env) == ["arm_3"]
    env.step({"arm_3": "EXECUTE"})
    assert env.world_state.phase == "act" and env.world_state.messages == 3


def test_arms_discuss_before_the_first_step_and_when_a_box_has_landed():
    env, *_ = made("plan_first", discussion=2)
    phases = []
    for act in ("", "> move box_red 0.5 1.5", "> move box_blue target", "", "", "", "", ""):
        phases.append(env.world_state.phase)
        env.step({"arm_0": act if env.world_state.phase == "act" else "Hm."})
    # Rounds 1 and 2 of talk, a step in which nothing lands, and one in which blue does not yet.
    assert phases == ["discuss", "discuss", "act", "discuss", "discuss", "act", "act", "act"]


@pytest.mark.parametrize("view", ["own", "full"])
def test_a_numeric_team_plays_by_menu(view):
    env = DiscreteMessages(envs.make("boxnet", free=True, tasks=4, view=view, steps=4))
    generator = np.random.default_rng(0)
    _, infos = env.reset(seed=0)
    acted = 0
    while env.agents:
        masks = {agent: infos[agent]["action_mask"] for agent in env.agents}
        actions = {a: int(generator.choice(np.flatnonzero(mask))) for a, mask in masks.items()}
        *_, infos = env.step(actions)
        acted += sum(bool(message.act) for message in env.unwrapped.messages[-4:])
    assert acted and env.unwrapped.world_state.refused == 0


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"rows": 0}, SettingError, r"env\.rows must be a whole number of at least 1; got 0"),
        ({"steps": None}, SettingError, r"env\.steps must be"),
        ({"view": "all"}, UnknownNameError, r"env\.view 'all'"),
        ({"planning": "cma"}, UnknownNameError, r"env\.planning 'cma'. Did you mean 'cmas'"),
        ({"order": "row"}, UnknownNameError, r"env\.order 'row'"),
        (
            {"team": {"arm": 3}},
            SettingError,
            r"needs the team {'arm': 4}; got arm_0, arm_1, arm_2,",
        ),
        ({"team": {"center": 1, "arm": 3}}, SettingError, "got center_0, arm_0, arm_1, arm_2, so"),
        (
            {"team": {"arm": 4, "center": 1}, "planning": "cmas"},
            SettingError,
            r"needs the team {'center': 1, 'arm': 4}; got arm_0",
        ),
        ({"generator": {"boxes": 6}}, SettingError, r"generator\.boxes must be .* from 1 to 5"),
        ({"generator": {"box": 2}}, UnknownNameError, "'box'. Did you mean 'boxes'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        envs.make("boxnet", free=True, **{"tasks": 2, **settings})


def test_every_way_of_planning_is_explained_to_agents():
    assert tuple(HOW) == Planning.__args__
    for planning, words in HOW.items():
        world = BoxNet(planning=planning)
        assert all(words in world.instructions(role) for role in world.roles)
        assert ("center" in world.roles) == ("center" in words)
