"""Games on the defaults of `World`: alternating moves, private observations, common gains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest

from laconic import envs
from laconic.envs import Score, World
from laconic.envs.contract import check_env
from laconic.envs.worlds.base import RandomPlay, TurnView
from laconic.envs.wrappers import DiscreteMessages

# Payoff of the first player for each course of the betting, in antes; None: the higher card wins 1
# after two checks and 2 after a bet and a call.
ENDS = {"check check": 1, "bet call": 2, "check bet call": 2, "bet fold": 1, "check bet fold": -1}


@dataclass(frozen=True)
class Hand:
    """The cards of both players, and the moves so far."""

    players: tuple
    cards: tuple
    moves: tuple = ()

    @property
    def turn(self):
        """Return the player to move."""
        return self.players[len(self.moves) % 2]


@dataclass(frozen=True)
class Kuhn(World):
    """Kuhn poker: one of three cards each, one bet, moves in turn."""

    name = "kuhn"
    team = {"player": 2}
    rounds = 3
    goal = "Two players hold one of the cards 1, 2 and 3. The higher card wins."
    acts = ("check", "bet", "call", "fold")

    def start(self, task, agents, generator):
        """Deal the cards of the task."""
        return Hand(tuple(agents), tuple(Random(task.key).sample((1, 2, 3), 2)))

    def observe(self, state, agent):
        """Return the own card and the moves."""
        moves = f" Moves: {' '.join(state.moves)}." if state.moves else ""
        return f"Your card is {state.cards[state.players.index(agent)]}.{moves}"

    def legal_acts(self, state, agent):
        """Return the moves of the player whose turn it is."""
        if agent != state.turn or self.is_over(state):
            return ()
        return ("call", "fold") if "bet" in state.moves else ("check", "bet")

    def may_talk(self, state, agent):
        """Return True for the player whose turn it is."""
        return agent == state.turn

    def apply(self, state, acts, messages, generator):
        """Play a move; without one the player checks or folds."""
        default = "fold" if "bet" in state.moves else "check"
        state = replace(state, moves=(*state.moves, acts.get(state.turn, default)))
        if not self.is_over(state):
            return state, {}
        moves = " ".join(state.moves)
        gain = ENDS[moves]
        if not moves.endswith("fold") and state.cards[0] < state.cards[1]:
            gain = -gain
        return state, dict(zip(state.players, (gain, -gain), strict=True))

    def is_over(self, state):
        """Return True after a fold, a call or two checks."""
        return " ".join(state.moves) in ENDS

    def score(self, state):
        """Score nothing: one player's gain is the other's loss."""
        return Score(0.0, False, " ".join(state.moves))


@dataclass(frozen=True)
class Lift(World):
    """Two agents lift a box together; each round in which both lift gains 1 for the team."""

    boxes: int = 2

    name = "lift"
    team = {"robot": 2}
    rounds = 5
    goal = "Lift all boxes together."
    acts = ("lift", "wait")
    common_reward = True

    def start(self, task, agents, generator):
        """Return the number of boxes."""
        return self.boxes

    def observe(self, state, agent):
        """Return the number of boxes."""
        return f"{state} boxes."

    def apply(self, state, acts, messages, generator):
        """Lift a box if both lift."""
        lifted = list(acts.values()).count("lift") == 2
        return state - lifted, dict.fromkeys(("robot_0", "robot_1"), float(lifted))

    def is_over(self, state):
        """Return True without boxes."""
        return state == 0

    def score(self, state):
        """Score the boxes lifted."""
        return Score(self.boxes - state, state == 0, f"{state} boxes left")


@pytest.fixture
def kuhn():
    """Return an environment in which player_0 holds the higher card."""
    env = envs.make(Kuhn, tasks=20)
    env.reset(seed=0)
    for key in env.tasks:
        env.reset(seed=0, options={"task": key})
        if env.world_state.cards[0] > env.world_state.cards[1]:
            break
    return env


# With the higher card: 1 after two checks, 2 after a called bet, and the ante after a fold.
@pytest.mark.parametrize(
    ("moves", "gain"),
    [
        (["> check", "> check"], 1),
        (["> bet", "> call"], 2),
        (["> bet", "> fold"], 1),
        (["> check", "> bet", "> call"], 2),
        (["> check", "> bet", "> fold"], -1),
        # Players that do not move check, and fold to a bet.
        (["", ""], 1),
        (["", "> bet", ""], -1),
    ],
)
def test_players_move_in_turn_and_the_game_ends_early(kuhn, moves, gain):
    for number, move in enumerate(moves):
        assert len(kuhn.agents) == 2
        # Only the player to move has room for an act; the move of the other one is not legal.
        player, other = (kuhn.possible_agents[(number + step) % 2] for step in (0, 1))
        assert kuhn.offered(player) and not kuhn.offered(other)
        _, rewards, terminated, _, infos = kuhn.step({player: move, other: "> fold"})
        assert infos[player]["legal"] and not infos[other]["legal"]
    assert all(terminated.values()) and kuhn.agents == []
    assert rewards == {"player_0": gain, "player_1": -gain}
    assert infos["player_0"]["ended_by"] == "rules"


def test_a_player_sees_its_own_card_alone_and_hears_the_one_that_moves(kuhn):
    high, low = kuhn.world_state.cards
    observations, _ = kuhn.reset(seed=0, options={"task": kuhn.task.key})
    assert f"Your card is {high}." in observations["player_0"]["text"]
    assert f"Your card is {low}." in observations["player_1"]["text"]
    assert f"Your card is {high}." not in observations["player_1"]["text"]
    observations, *_ = kuhn.step({"player_0": "I am strong.\n> bet", "player_1": "Really?"})
    assert observations["player_1"]["text"] == (
        f"player_0: I am strong.\nYour card is {low}. Moves: bet."
    )
    assert "Really?" not in observations["player_0"]["text"]


def test_common_gains_are_announced_and_the_episode_ends_when_the_work_is_done():
    env = envs.make(Lift, tasks=2, reward={"price": 1, "normalizer": 10}, tokenize=str.split)
    assert env.metadata["reward"] == "common"
    assert "What counts is what the team gains" in env.reset(seed=0)[0]["robot_0"]["text"]
    _, rewards, *_ = env.step({"robot_0": "Now!\n> lift", "robot_1": "> wait"})
    assert rewards == {"robot_0": -0.1, "robot_1": 0.0}
    for _ in range(2):
        _, rewards, terminated, _, infos = env.step(dict.fromkeys(env.agents, "> lift"))
        assert rewards == {"robot_0": 1.0, "robot_1": 1.0}
    assert all(terminated.values())
    assert (infos["robot_0"]["solved"], infos["robot_0"]["answer"]) == (True, "0 boxes left")


def test_an_episode_ends_after_the_last_round_at_the_latest():
    env = envs.make(Lift, tasks=1)
    env.reset(seed=0)
    rounds = 0
    while env.agents:
        *_, infos = env.step({})
        rounds += 1
    assert rounds == 5 and not infos["robot_0"]["solved"]


@pytest.mark.parametrize("world", [Kuhn, Lift])
def test_the_contract_holds_for_texts_and_numbers(world):
    # In Kuhn poker silence may lose to a bet, but a silent team loses no reward together.
    settings = {"tasks": 20, "reward": {"price": 1}}
    check_env(lambda: envs.make(Lift, **settings))
    check_env(lambda: DiscreteMessages(envs.make(world, **settings)))


def test_random_play_takes_offered_acts_and_phrases():
    turn = TurnView("a_0", {}, "", False, ("> lift", "> wait", "Now!"))
    messages = {RandomPlay(silent=0.5)(turn, Random(seed)) for seed in range(50)}
    assert messages == {"> lift", "> wait", "Now!\n> lift", "Now!\n> wait"}
    assert RandomPlay(silent=0.0)(replace(turn, offered=()), Random(0)) == ""


def test_what_a_world_lacks_is_named_when_it_is_made():
    class Bare(World):
        name = "bare"

    lacking = "apply.*observe.*rounds.*score.*start.*team"
    with pytest.raises(TypeError, match=lacking):
        envs.make(Bare)


def test_chance_of_an_episode_is_the_generators():
    class Dice(Lift):
        def apply(self, state, acts, messages, generator):
            assert isinstance(generator, np.random.Generator)
            return state, {"robot_0": float(generator.random())}

    def rolls(seed, **settings):
        env = envs.make(Dice, tasks=1, **settings)
        env.reset(seed=seed)
        return [env.step({})[1]["robot_0"] for _ in range(4)]

    assert rolls(0) == rolls(0) == rolls(0, topology="none") != rolls(1)
