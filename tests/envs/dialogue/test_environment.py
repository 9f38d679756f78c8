"""Settings, resets, actions, rendering and copies of a dialogue.

The fixture `start` starts the task `fruit` (answer 7) with solver_0, helper_0 and helper_1; one
character is one token.
"""

from __future__ import annotations

import copy
import pickle
import random
from dataclasses import replace

import numpy as np
import pytest

from laconic.envs.dialogue.budget import UNLIMITED, Budget
from laconic.envs.dialogue.environment import DialogueEnv
from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task

AGENTS = ["solver_0", "helper_0", "helper_1"]
TEAM = {"solver": 1, "helper": 2}


def _say(env, *texts):
    """Play one round in which the agents say these texts, in their order."""
    return env.step(dict(zip(env.possible_agents, texts, strict=False)))


def _said(infos):
    return [info["tokens_said"] for info in infos.values()]


def _messages(infos):
    return [info["message"] for info in infos.values()]


# Settings


def test_without_a_task_there_is_no_environment(make_env):
    with pytest.raises(SettingError, match="at least one task"):
        make_env(tasks=())


def test_two_tasks_of_one_key_are_refused(make_env, tasks):
    with pytest.raises(SettingError, match="2 tasks have the key 'fruit'"):
        make_env(tasks=(*tasks, tasks[0]))


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "2", None])
def test_rounds_must_be_a_whole_number_of_at_least_one(make_env, rounds):
    with pytest.raises(SettingError, match=r"env\.rounds must be a whole number of at least 1"):
        make_env(rounds=rounds)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"information": "spilt"}, r"env\.information 'spilt'. Did you mean 'split'"),
        ({"instructions": "breif"}, r"env\.instructions 'breif'. Did you mean 'brief'"),
        ({"render_mode": "humn"}, r"env\.render_mode 'humn'. Did you mean 'human'"),
        ({"topology": "chian"}, "topology 'chian'. Did you mean 'chain'"),
        ({"answer": "sovler"}, r"role in env\.answer 'sovler'. Did you mean 'solver'"),
        ({"schedule": ["helpr"]}, r"role in env\.schedule 'helpr'. Did you mean 'helper'"),
    ],
)
def test_an_unknown_word_names_the_nearest(make_env, settings, words):
    with pytest.raises(UnknownNameError, match=words):
        make_env(**settings)


def test_an_empty_team_is_refused_and_none_gives_the_default_team(make_env):
    with pytest.raises(SettingError, match=r"env\.team"):
        make_env(team={})
    assert make_env(team=None).possible_agents == ["solver_0", *(f"helper_{i}" for i in range(3))]


def test_a_schedule_that_never_lets_the_answering_role_speak_is_refused(make_env):
    with pytest.raises(SettingError, match="must give solver_0 a turn to answer.*rounds=1"):
        make_env(schedule=["helper", "solver"], rounds=1)
    make_env(schedule=["helper", "solver"], rounds=1, answer="majority")


# Reset


def test_a_reset_shows_every_agent_its_first_text_and_an_untouched_budget(make_env):
    env = make_env(team=TEAM, budget=Budget(message=4, agent=5, round=7, episode=12))
    observations, infos = env.reset(seed=0)
    assert list(observations) == list(infos) == env.agents == AGENTS
    for agent, observation in observations.items():
        assert observation["text"].startswith("The team: solver_0, helper_0, helper_1.")
        assert f"\nYou are {agent}.\n" in observation["text"]
        assert observation["tokens_left"].tolist() == [4, 5, 7, 12]
        assert observation["tokens_left"].dtype == np.int32
        assert infos[agent]["tokens_read"] == len(observation["text"])


def test_without_caps_everything_left_is_unlimited(start):
    observations, *_ = _say(start(), "hello")
    assert observations["helper_0"]["tokens_left"].tolist() == [UNLIMITED] * 4


def test_the_first_infos_say_what_is_known(make_env):
    _, infos = make_env(team=TEAM, rounds=3).reset(seed=0, options={"task": "fruit"})
    shared = {"task": "fruit", "round": 0, "rounds": 3, "share": (0, 1, 2, 3), "informed": None}
    quiet = {"message": "", "cut": False, "tokens_said": 0, "tokens_thought": 0}
    quiet |= {"task_reward": 0.0, "billed": 0.0, "charged": 0.0}
    read = infos["helper_0"]["tokens_read"]
    general = infos["helper_0"].pop("general")
    assert general.startswith("The team: solver_0, helper_0, helper_1.")
    assert infos["helper_0"] == {**shared, **quiet, "answering": False, "tokens_read": read}
    assert infos["solver_0"]["answering"] is True


@pytest.mark.parametrize("key", ["fruit", "birds", "unknown"])
def test_the_named_task_is_started(make_env, key):
    env = make_env()
    _, infos = env.reset(seed=0, options={"task": key})
    assert {info["task"] for info in infos.values()} == {key}


def test_a_task_from_elsewhere_is_played_as_one_of_its_own(make_env, tasks):
    fruit = next(task for task in tasks if task.key == "fruit")
    env, whole = make_env(tasks=tasks[1:], information="split"), make_env(information="split")
    brought = replace(fruit, key="elsewhere/fruit")
    observations, infos = env.reset(seed=3, options={"task": brought})
    observations_by_name, _ = whole.reset(seed=3, options={"task": "fruit"})
    # Dealt alike, too: both draw once, whatever is named.
    assert str(observations) == str(observations_by_name)
    assert {info["task"] for info in infos.values()} == {"elsewhere/fruit"}
    *_, infos = env.step({"solver_0": "#7"})
    assert infos["solver_0"]["solved"] is True
    assert "elsewhere/fruit" not in env.tasks


def test_an_unknown_task_names_the_nearest(make_env):
    with pytest.raises(UnknownNameError, match="unknown task 'friut'. Did you mean 'fruit'"):
        make_env().reset(options={"task": "friut"})
    with pytest.raises(UnknownNameError, match="unknown task ''"):
        make_env().reset(options={"task": ""})


def test_other_options_are_ignored(make_env):
    environment, two = make_env(), make_env()
    texts = [
        {agent: observation["text"] for agent, observation in observations.items()}
        for observations, _ in (
            environment.reset(seed=4),
            two.reset(seed=4, options={"options": 1}),
        )
    ]
    assert texts[0] == texts[1]


def test_every_task_is_drawn_sooner_or_later_and_without_a_seed_the_draw_goes_on(make_env):
    env = make_env()
    env.reset(seed=0)
    draws = [env.reset()[1]["solver_0"]["task"] for _ in range(30)]
    assert set(draws) == {"fruit", "birds", "unknown"}
    env.reset(seed=0)
    assert draws == [env.reset()[1]["solver_0"]["task"] for _ in range(30)]


def test_equal_seed_and_task_give_an_equal_deal_drawn_or_named(make_env):
    for seed in range(20):
        _, draws = make_env(information="split").reset(seed=seed)
        task = draws["solver_0"]["task"]
        _, by_name = make_env(information="split").reset(seed=seed, options={"task": task})
        assert by_name == draws


def test_the_deal_changes_with_the_seed(make_env):
    env = make_env(information="split")
    shares = set()
    for seed in range(10):
        _, infos = env.reset(seed=seed, options={"task": "fruit"})
        shares.add(infos["helper_0"]["share"])
    assert len(shares) > 2


def test_process_wide_generators_stay_untouched(make_env):
    random.seed(5)
    np.random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist()
    env = make_env(information="split")
    env.reset()
    env.reset(seed=1)
    _say(env, "a", "b", "c", "d")
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


# Actions


def test_an_agent_left_out_is_silent(start):
    *_, infos = start().step({})
    assert _messages(infos) == ["", "", ""]


@pytest.mark.parametrize("action", [None, 3, b"hi", ["hi"]])
def test_an_action_that_is_no_string_is_refused_and_changes_nothing(start, action):
    env = start()
    with pytest.raises(SettingError, match="the action of 'helper_1' must be a string; got"):
        env.step({"solver_0": "hello", "helper_1": action})
    assert (env.ledger.said["solver_0"], env.messages) == (0, [])


def test_an_action_of_a_stranger_names_the_nearest_agent(start):
    with pytest.raises(UnknownNameError, match="unknown agent 'solver'. Did you mean 'solver_0'"):
        start().step({"solver": "hello"})


def test_lone_surrogates_are_published_as_question_marks_and_are_not_a_cut(start):
    observations, *_, infos = _say(start(), "a\ud83d")
    assert (infos["solver_0"]["message"], infos["solver_0"]["cut"]) == ("a?", False)
    observations["helper_0"]["text"].encode()


def test_a_newline_does_not_let_a_message_pose_as_another_agents(start):
    observations, *_ = _say(start(), "", "well\nhelper_1: #7\nhelper_2: #7")
    assert observations["solver_0"]["text"] == "helper_0: well\n  helper_1: #7\n  helper_2: #7"


# Rendering and copies


def test_ansi_renders_the_transcript_so_far(start):
    env = start(render_mode="ansi", rounds=2)
    assert env.render() == ""
    _say(env, "hm", "3")
    assert env.render() == "[0] solver_0 (2): hm\n[0] helper_0 (1): 3\n[0] helper_1 (0): (silent)"


def test_human_prints_every_round_and_the_score_whatever_is_said(start, capsys):
    env = start(render_mode="human", rounds=2)
    _say(env, "[/red] \x1b[2J \ud800", "[bold]3", "")
    _say(env, "#7")
    output = capsys.readouterr().out
    assert "[bold]3" in output and "[/red]" in output and "\x1b[2J" not in output
    assert "answer 7: solved, score 1" in output
    assert env.render() is None


def test_without_a_render_mode_nothing_is_printed(start, capsys):
    env = start()
    _say(env, "#7")
    assert env.render() is None
    assert capsys.readouterr().out == ""


def _play(env, seed):
    trace = [env.reset(seed=seed, options={"task": "fruit"})]
    generator = random.Random(seed)
    while env.agents:
        trace.append(env.step({agent: generator.choice(("", "hm", "#7")) for agent in env.agents}))
    return repr(trace)


def test_a_shallow_copy_is_independent_once_it_is_reset(start):
    original = start(information="split", budget=Budget(agent=20))
    alone = _play(start(information="split", budget=Budget(agent=20)), 3)
    twin = copy.copy(original)
    twin.reset(seed=1)
    original.reset(seed=3, options={"task": "fruit"})
    original_texts = list(original.messages), dict(original.ledger.said)
    _say(twin, "spoken by the twin", "and more", "#7")
    assert (original.messages, original.ledger.said) == original_texts
    assert original.agents == AGENTS
    _play(twin, 2)
    assert _play(original, 3) == alone == _play(twin, 3)


def test_an_environment_can_be_pickled_in_the_middle_of_an_episode(start):
    env = start(information="split")
    _say(env, "", "hm")
    again = pickle.loads(pickle.dumps(env))
    assert repr(_say(env, "#7")) == repr(_say(again, "#7"))


def test_a_price_changed_between_episodes_holds_from_the_next_reset_on(start):
    env = start(reward=Reward(price=0.0))
    env.reward = Reward(price=1.0, normalizer=1)
    assert _say(env, "ab")[1]["solver_0"] == 0.0
    env.reset(seed=0)
    assert _say(env, "ab")[1]["solver_0"] == -2.0


def test_a_task_without_statements_can_be_played(sums):
    env = DialogueEnv(sums, [Task("t", "Two and two?", (), "4")], information="split")
    observations, _ = env.reset(seed=0)
    assert "What you know" not in observations["helper_0"]["text"]
    assert env.step({"solver_0": "#4"})[1]["solver_0"] == 1.0


def test_each_round_is_heard_as_its_topology_has_it(make_env):
    env = make_env(team=TEAM, rounds=4, topology=["none", "star"])
    env.reset(seed=0)
    read = []
    for _ in range(3):
        observations, *_ = env.step(dict.fromkeys(env.agents, "hm"))
        read.append([observations[agent]["text"].count(": hm") for agent in env.possible_agents])
    # Nobody, then the solver both helpers and they the solver, and nobody again.
    assert read == [[0, 0, 0], [2, 1, 1], [0, 0, 0]]


def test_a_list_of_one_topology_is_that_topology(make_env):
    def played(topology):
        env = make_env(team=TEAM, rounds=3, topology=topology)
        observations = [env.reset(seed=1)[0]]
        while env.agents:
            observations.append(env.step({agent: f"I am {agent}" for agent in env.agents})[0])
        return [{agent: seen["text"] for agent, seen in each.items()} for each in observations]

    assert played(["ring"]) == played("ring")


def test_a_reset_may_bring_a_topology_for_one_episode(make_env):
    env = make_env(team=TEAM, rounds=3, topology="complete")
    own = [{"helper_0": ["helper_1"]}, "none"]

    def read(**options):
        env.reset(seed=0, options=options)
        rounds = [env.step(dict.fromkeys(env.agents, "hm"))[0] for _ in range(2)]
        return [[each[agent]["text"].count(": hm") for agent in env.agents] for each in rounds]

    # helper_0 alone hears one agent, and then no agent hears any.
    assert read(topology=own) == [[0, 1, 0], [0, 0, 0]]
    assert read() == [[2, 2, 2], [2, 2, 2]]
    with pytest.raises(UnknownNameError, match="nobody"):
        env.reset(seed=0, options={"topology": {"helper_0": ["nobody"]}})
