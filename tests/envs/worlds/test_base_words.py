"""Worlds of words alone: what is heard, silence that ends nothing, and a price of time."""

from __future__ import annotations

from random import Random

import pytest
from door_game import TEAM, Door, door, words

from laconic import envs
from laconic.envs import Reward, Score, World, WorldEnv
from laconic.envs.contract import check_env
from laconic.envs.errors import ContractError, SettingError
from laconic.envs.wrappers import DiscreteMessages
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.play import Start, play


def after(text, **settings):
    """Start the door game and let teller_0 say a text; return the environment and what it gives."""
    env = door(**settings)
    env.reset(seed=0)
    return env, env.step({"teller_0": text})


@pytest.mark.parametrize(
    ("text", "heard", "said", "thought", "legal"),
    [
        ("key", "key", 1, 0, True),
        ("open door", "open door", 2, 0, True),
        ("", "", 0, 0, True),
        # Blanks around a phrase are charged, and no listener reads them.
        (" key  ", "key", 1, 3, True),
        (" \n", "", 0, 2, True),
        # Other words, more words, and a phrase beside an act that the game does not have.
        ("Key", "", 0, 1, False),
        ("key key", "", 0, 2, False),
        ("the key, surely", "", 0, 3, False),
        ("key\n> open", "key", 1, 2, False),
        ("> key", "", 0, 2, False),
    ],
)
def test_only_phrases_are_heard_and_other_words_are_charged(text, heard, said, thought, legal):
    _, (observations, rewards, *_, infos) = after(text)
    assert observations["solver_0"]["text"].startswith(f"teller_0: {heard}" if heard else "")
    assert (f"teller_0: {heard}" in observations["solver_0"]["text"]) == bool(heard)
    info = infos["teller_0"]
    assert (info["message"], info["tokens_said"], info["tokens_thought"]) == (heard, said, thought)
    assert info["legal"] == legal
    assert rewards["teller_0"] == pytest.approx(-0.1 - 0.05 * (said + thought))
    # The rules of the world read what was heard alone.
    assert after(text)[0].world_state.told == (heard == "key")


def test_a_phrase_beyond_a_cap_is_not_cut_to_another_phrase():
    world, tasks = Door(), door().tasks.values()
    env = WorldEnv(world, tuple(tasks), budget=envs.Budget(message=1), tokenize=words)
    env.reset(seed=0)
    _, _, terminated, _, infos = env.step({"solver_0": "open door"})
    assert (infos["solver_0"]["message"], infos["solver_0"]["tokens_thought"]) == ("", 2)
    assert not infos["solver_0"]["legal"] and not any(terminated.values())


def test_silence_ends_nothing_and_costs_only_time():
    env = door()
    env.reset(seed=0)
    paid = []
    while env.agents:
        _, rewards, *_, infos = env.step({})
        paid.append(set(rewards.values()))
    assert paid == [{-0.1}] * 4 and infos["solver_0"]["ended_by"] == "rules"
    assert (infos["solver_0"]["score"], infos["solver_0"]["solved"]) == (0.0, False)


def test_one_agent_alone_pays_for_time_too():
    env = WorldEnv(
        Door(), tuple(door().tasks.values()), team={"solver": 1}, reward=Reward(round_price=0.1)
    )
    env.reset(seed=0)
    assert env.step({"solver_0": ""})[1] == {"solver_0": -0.1}
    assert env.step({"solver_0": "open"})[1] == {"solver_0": -0.1}
    assert env.agents == []


def test_an_agent_that_takes_no_part_yet_pays_for_time_like_the_others():
    class Late(Door):
        def is_present(self, state, agent):
            return agent != "teller_1"

    env = WorldEnv(Late(), tuple(door().tasks.values()), reward=Reward(round_price=0.1))
    env.reset(seed=0)
    assert env.step({})[1] == dict.fromkeys(("teller_0", "teller_1", "solver_0"), -0.1)


def test_the_contract_holds_for_texts_and_numbers():
    check_env(door)
    check_env(lambda: DiscreteMessages(door()))


def test_the_numeric_menu_has_the_phrases_and_plays_the_game():
    env = DiscreteMessages(door())
    env.reset(seed=0)
    offered = env.env.offered("teller_0")
    assert offered == {"key", "open", "open door"}


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({"round_price": 0.1, "reward": "own"}, "round_price=0.1 with reward='own'"),
        ({"round_price": 0.0}, "Charge nothing for silence.*got reward -0.1"),
    ],
)
def test_the_contract_names_a_price_of_time_that_is_not_what_was_declared(metadata, sentence):
    def declared():
        env = door()
        env.metadata = {**env.metadata, **metadata}
        return env

    with pytest.raises(ContractError, match=sentence):
        check_env(declared)


def test_the_contract_names_time_that_one_agent_pays_alone():
    class Unequal(WorldEnv):
        def step(self, actions):
            seen, rewards, *ends, infos = super().step(actions)
            for changed in (rewards, *(i for a, i in infos.items() if a == "solver_0")):
                changed["solver_0" if changed is rewards else "task_reward"] += 0.05
            return seen, rewards, *ends, infos

    tasks = tuple(door().tasks.values())
    with pytest.raises(ContractError, match=r"Take a price of time.*got task rewards \['-0"):
        check_env(lambda: Unequal(Door(), tasks, reward=Reward(round_price=0.1)))


@pytest.mark.parametrize("name", ["commons", "matrix"])
def test_a_world_of_own_gains_has_no_price_of_time(name):
    with pytest.raises(
        SettingError, match=rf"env={name} pays each agent its own gain: .* got 0\.1"
    ):
        envs.make(name, tasks=1, reward={"round_price": 0.1})
    env = envs.make(name, tasks=1)
    with pytest.raises(SettingError, match="round_price"):
        env.reward = Reward(round_price=0.1)


def test_a_world_of_phrases_has_no_addresses():
    with pytest.raises(SettingError, match=r"got env\.addressing=names"):
        WorldEnv(Door(), tuple(door().tasks.values()), addressing="names")


def test_the_words_that_are_heard_are_explained():
    env = WorldEnv(Door(), tuple(door().tasks.values()))
    text = env.reset(seed=0)[0]["solver_0"]["text"]
    assert "No other words than one of these are heard: `key`, `open`, `open door`." in text
    assert "To act" not in text


def test_a_world_may_call_a_script_silent():
    env = door()
    play_silent = ScriptedTeam("silent").policies(env)
    (episode,) = play([env], play_silent, [Start(0)], seed=0)
    # All of them open in the third round, by the script of this game.
    assert [turn.message for turn in episode.turns] == [""] * 6 + ["open"] * 3


def test_a_script_reads_the_round_and_what_the_agent_said():
    env = door()
    (episode,) = play([env], ScriptedTeam("tell").policies(env), [Start(0)], seed=0)
    written = [turn.written for turn in episode.turns if turn.agent == "teller_0"]
    assert written[:3] == ["key 0 ", "key 1 key 0 ", "key 2 key 0 /key 1 key 0 "]


class Sight(World[float, str]):
    """A world in which what an agent sees is drawn for the episode."""

    name = "sight"
    team = TEAM
    goal = "Look."
    rounds = 1

    def start(self, task, agents, generator):
        return float(generator.random())

    def observe(self, state, agent):
        return f"You see {state}."

    def apply(self, state, acts, messages, generator):
        return state, {"solver_0": float(generator.random())}

    def score(self, state):
        return Score(0.0, False, "")


def test_what_is_seen_by_chance_is_the_episodes():
    def seen(seed, **settings):
        env = envs.make(Sight, tasks=1, **settings)
        texts = [env.reset(seed=seed)[0][agent]["text"] for agent in env.possible_agents]
        return texts[0].splitlines()[-1], env.step({})[1]["solver_0"]

    # Equal seeds see alike, also at another price, and chance goes on after it.
    assert seen(3) == seen(3, reward={"price": 1.0}) and seen(3)[0] != seen(4)[0]
    sight, chance = seen(3)
    assert sight != f"You see {chance}."


def test_authors_of_worlds_find_what_draws_different_tasks():
    def draw(random: Random, key: str) -> envs.Candidate[envs.Task]:
        number = str(random.randrange(50))
        return envs.Candidate(number, lambda: envs.Task(key, number, (), ""))

    tasks = envs.draw_different(draw, 0, 10, "train", "numbers")
    assert len({task.question for task in tasks}) == 10
