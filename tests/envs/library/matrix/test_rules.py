"""Matrix games: payoffs by hand, talk, and scripts against what can be worked out."""

from __future__ import annotations

import numpy as np
import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.contract.episodes import play as play_with
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.matrix.rules import (
    ACTS,
    PAYOFFS,
    STRATEGIES,
    Matrix,
    numbers,
    threshold_factor,
)
from laconic.envs.wrappers import DiscreteMessages
from laconic.learners import ScriptedTeam, Start, play

EIGHT = [f"player_{number}" for number in range(8)]


def made(**settings):
    """Make a game and begin an episode."""
    env = envs.make("matrix", free=True, tasks=4, **settings)
    return env, *env.reset(seed=0)


@pytest.mark.parametrize("game", ACTS)
@pytest.mark.parametrize("chat", [0, 2])
def test_the_contract_holds_for_every_game(game, chat):
    check_env(
        lambda **more: envs.make(
            "matrix", free=True, tasks=4, tokenize=list, game=game, chat=chat, length=3, **more
        ),
        episodes=2,
    )


@pytest.mark.parametrize(
    ("game", "first", "second", "gains"),
    [
        ("ipd", "C", "C", (1, 1)),
        ("ipd", "C", "D", (-1, 2)),
        ("ipd", "D", "C", (2, -1)),
        ("ipd", "D", "D", (0, 0)),
        ("stag", "stag", "stag", (1, 1)),
        ("stag", "stag", "hare", (0, 0.75)),
        ("stag", "hare", "stag", (0.75, 0)),
        ("stag", "hare", "hare", (0.75, 0.75)),
    ],
)
def test_payoffs_of_games_of_two(game, first, second, gains):
    env, *_ = made(game=game, chat=0, length=2)
    observations, rewards, *_ = env.step({"player_0": f"> {first}", "partner_0": f"> {second}"})
    # Payoffs are divided by the two rounds.
    assert tuple(rewards.values()) == tuple(gain / 2 for gain in gains)
    assert observations["player_0"]["text"] == f"You chose {first}, the other {second}."
    assert observations["partner_0"]["text"] == f"You chose {second}, the other {first}."


# k of eight; one fewer than k, or k. Twelve cells: who reaches k gains 0.2 whatever it chose.
@pytest.mark.parametrize("threshold", [2, 4, 6, 8])
@pytest.mark.parametrize("growth", ["multiplicative", "additive"])
def test_payoffs_of_the_threshold_game(threshold, growth):
    for count, collective, independent in (
        (threshold - 1, 0.8, 1.0),
        (threshold, 1.2, 1.2),
    ):
        env, *_ = made(game="threshold", threshold=threshold, chat=0, length=2, growth=growth)
        acts = dict.fromkeys(EIGHT, "> independent") | dict.fromkeys(EIGHT[:count], "> collective")
        factors = [collective] * count + [independent] * (8 - count)
        for capital in (1.0, None):
            before = env.world_state.capital
            observations, rewards, *_ = env.step(acts)
            after = [
                each * factor if growth == "multiplicative" else each + factor - 1
                for each, factor in zip(before, factors, strict=True)
            ]
            assert env.world_state.capital == pytest.approx(after)
            assert list(rewards.values()) == pytest.approx(np.subtract(after, before))
            assert capital is None or set(before) == {capital}
        text = observations["player_7"]["text"]
        assert text == f"{count} of 8 chose collective. Your capital is {after[7]:.3g}."


def test_all_cells_of_the_threshold_game():
    cells = {
        (own, count): threshold_factor(own, count, 4) for own in (True, False) for count in (3, 4)
    }
    assert cells == {(True, 3): 0.8, (True, 4): 1.2, (False, 3): 1.0, (False, 4): 1.2}


def test_who_does_not_choose_takes_the_other_act_and_loses_nothing():
    for game in ACTS:
        env, *_ = made(game=game, reward={"price": 1.0})
        while env.agents:
            _, rewards, *_ = env.step({})
            assert min(rewards.values()) >= 0
        assert not any(map(any, env.world_state.history))


def test_talk_comes_before_the_choice_and_costs_its_price():
    env, *_ = made(chat=1, length=1, reward={"price": 1.0, "normalizer": 10})
    observations, rewards, *_ = env.step({"player_0": "I choose C.", "partner_0": "> C"})
    # Four tokens at 0.1 each; an act out of turn of two tokens.
    assert rewards == pytest.approx({"player_0": -0.4, "partner_0": -0.2})
    assert observations["partner_0"]["text"] == "player_0: I choose C.\nChoose now."
    _, rewards, *_, infos = env.step({"player_0": "> D", "partner_0": "> C"})
    # What was said binds no one.
    assert rewards == {"player_0": 2.0, "partner_0": -1.0}
    info = infos["player_0"]
    assert info["score"] == 0.5 and "solved" not in info
    assert info["answer"] == "1 of 2 choices are C" and info["measures"] == {"cooperation": 0.5}


def test_the_most_that_a_game_pays_is_what_all_first_acts_gain():
    for settings, most in (
        ({}, 1.0),
        ({"game": "stag"}, 1.0),
        ({"game": "threshold", "length": 3}, 1.2**3 - 1),
        ({"game": "threshold", "length": 3, "growth": "additive"}, 0.6),
    ):
        env, *_ = made(**settings)
        assert env.metadata["max_reward"] == pytest.approx(most)
        policies = ScriptedTeam("oracle").policies(env)
        (episode,) = play([env], policies, [Start(0)], seed=0)
        assert episode.solved is None and episode.score == pytest.approx(1.0)
        assert sum(map(sum, episode.rewards.values())) == pytest.approx(
            most * len(env.possible_agents)
        )


def test_a_choice_is_known_as_a_number():
    env, _, infos = made(game="threshold", threshold=3, chat=0)
    assert infos["player_0"]["facts"] == {
        "choose": 1,
        "talk": 0,
        "played": 0,
        "own": 0,
        "others": 0,
        "most": 0,
        "round": 0,
    }
    *_, infos = env.step(dict.fromkeys(EIGHT[:2], "> collective"))
    facts = infos["player_0"]["facts"]
    assert [facts[name] for name in ("played", "own", "most", "round")] == [1, 1, 0, 0.1]
    assert facts["others"] == pytest.approx(1 / 7)


def test_imitation_tips_the_threshold_game_exactly_at_the_threshold():
    for threshold in (2, 4, 6, 8):
        for count in range(9):
            env, *_ = made(game="threshold", threshold=threshold, chat=0, length=4)
            script = env.world.script("imitate")
            acts = dict.fromkeys(EIGHT[:count], "> collective")
            while env.agents:
                *_, infos = env.step(acts)
                acts = {agent: turn(script, agent, info) for agent, info in infos.items()}
            assert sum(env.world_state.history[-1]) == (8 if count >= threshold else 0)


def turn(script, agent, info):
    """Return a script's act."""
    from random import Random

    from laconic.envs.worlds.base import TurnView

    return script(TurnView(agent, info["facts"], "", True), Random(0))


@pytest.mark.parametrize(
    ("first", "second", "gains"),
    [
        # Ten rounds: TFT loses the first one to ALLD. WSLS cooperates in every other one.
        ("tft", "alld", (-0.1, 0.2)),
        ("wsls", "alld", (-0.5, 1.0)),
        ("tft", "wsls", (1.0, 1.0)),
        ("memory:0/1/1/1/1", "allc", (1.1, 0.8)),
    ],
)
def test_memory_one_strategies_play_as_they_are_written(first, second, gains):
    env, _, infos = made(chat=0)
    scripts = {"player_0": env.world.script(first), "partner_0": env.world.script(second)}
    total = dict.fromkeys(scripts, 0.0)
    while env.agents:
        acts = {agent: turn(scripts[agent], agent, info) for agent, info in infos.items()}
        _, rewards, *_, infos = env.step(acts)
        total = {agent: total[agent] + reward for agent, reward in rewards.items()}
    assert tuple(total.values()) == pytest.approx(gains)


def test_a_strategy_is_named_or_drawn_from_a_seed():
    assert numbers("1/0/0.5/1/0") == (1, 0, 0.5, 1, 0)
    assert numbers("7") == tuple(np.random.default_rng(7).random(5)) != numbers("8")
    for words in ("", "1/0", "1/0/0/0/2", "a", "-1"):
        with pytest.raises(SettingError, match="needs a seed or five probabilities"):
            numbers(words)


def test_the_payoff_of_a_pair_of_acts_is_that_of_the_order_of_states():
    assert PAYOFFS["ipd"] == (1, -1, 2, 0)
    assert STRATEGIES["tft"] == (1, 1, 0, 1, 0)


def test_hostile_messages_raise_nothing():
    pieces = ["> ", "C", "D", "stag", "collective", "\n", "\x00", "\ud800", "9" * 30, "<think>", ""]

    def speak(env, agent, generator):
        return "".join(generator.choice(pieces) for _ in range(generator.integers(6)))

    for game in ACTS:
        assert play_with(envs.make("matrix", free=True, tasks=2, game=game), 0, speak).steps


@pytest.mark.parametrize("game", ACTS)
def test_a_numeric_team_plays_by_menu(game):
    env = DiscreteMessages(envs.make("matrix", free=True, tasks=4, game=game, length=3))
    generator = np.random.default_rng(0)
    _, infos = env.reset(seed=0)
    while env.agents:
        masks = {agent: infos[agent]["action_mask"] for agent in env.agents}
        actions = {a: int(generator.choice(np.flatnonzero(mask))) for a, mask in masks.items()}
        *_, infos = env.step(actions)
        assert {info["solved"] for info in infos.values()} == {0 if env.agents else -1}
    assert len(env.unwrapped.world_state.history) == 3
    assert {message.act for message in env.unwrapped.messages} > {""}


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"game": "chicken"}, UnknownNameError, r"env\.game 'chicken'"),
        ({"length": 0}, SettingError, r"env\.length must be a whole number of at least 1; got 0"),
        ({"chat": -1}, SettingError, r"env\.chat must be"),
        ({"growth": "none"}, UnknownNameError, r"env\.growth 'none'"),
        (
            {"team": {"player": 3}},
            SettingError,
            r"game=ipd is for two agents; got env\.team with 3",
        ),
        (
            {"game": "threshold", "threshold": 9},
            SettingError,
            r"env\.threshold must be at most the number of agents, 8; got 9",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        envs.make("matrix", free=True, **{"tasks": 2, **settings})


def test_every_game_is_explained_to_agents():
    for game, acts in ACTS.items():
        world = Matrix(game=game, threshold=5)
        for role in world.roles:
            words = world.instructions(role)
            assert all(f"`> {act}`" in words for act in acts) and "There are 10 rounds." in words
    assert "at least 5 of you" in Matrix(game="threshold", threshold=5).goal
