"""`check_env` explains the faults of a user's environment before anything relies on it."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Space
from pettingzoo import AECEnv, ParallelEnv

from laconic.envs.contract import check_env
from laconic.envs.contract.episodes import misfit
from laconic.envs.dialogue.messages import FreeText
from laconic.envs.errors import ContractError


class Echo(ParallelEnv):
    """A sound environment: two agents say something twice, and are told how much that was."""

    metadata = {"name": "echo_v0"}
    seen: Space = FreeText()
    said: Space = FreeText()

    def __init__(self):
        self.possible_agents, self.agents = ["left_0", "right_0"], []

    def observation_space(self, agent):
        return self.seen

    def action_space(self, agent):
        return self.said

    def reset(self, seed=None, options=None):
        self.agents, self.time, self.letters = list(self.possible_agents), 0, 0
        return {agent: self.look() for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions):
        alive, self.time = self.agents, self.time + 1
        self.letters += sum(len(text) for text in actions.values())
        over = self.time == 2
        self.agents = [] if over else alive
        seen = {agent: self.look() for agent in alive}
        returned = (dict.fromkeys(alive, value) for value in (0.0, over, False))
        return seen, *returned, {agent: {} for agent in alive}

    def look(self):
        return f"{self.letters} letters so far"


class NoAgents(Echo):
    def __init__(self):
        pass


class Numbered(Echo):
    def __init__(self):
        self.possible_agents = [0, 1]


class InTurns(AECEnv):
    """Of PettingZoo's other kind, whose reset returns nothing."""

    possible_agents = ["left_0"]

    def observation_space(self, agent):
        return FreeText()

    action_space = observation_space

    def reset(self, seed=None, options=None):
        pass


class Unspaced(Echo):
    def observation_space(self, agent):
        return {"left": FreeText()}[agent]


class NotASpace(Echo):
    said = str


class NoOptions(Echo):
    def reset(self, seed=None):
        return super().reset(seed)


class NoInfos(Echo):
    def reset(self, seed=None, options=None):
        return super().reset(seed)[0]


class Four(Echo):
    def step(self, actions):
        observations, rewards, over, _, infos = super().step(actions)
        return observations, rewards, over, infos


class OneForAll(Echo):
    def step(self, actions):
        observations, rewards, *_, infos = super().step(actions)
        return observations, rewards, not self.agents, False, infos


class Nothing(Echo):
    def step(self, actions):
        super().step(actions)


class Numeric(Echo):
    """Its spaces are of numbers, and its step takes texts all the same."""

    seen, said = Box(0, 9, (2,), np.int64), Discrete(3)

    def look(self):
        return np.zeros(2, np.int64)


class Unannounced(Echo):
    def look(self):
        return np.zeros(2, np.int64)


class Short(Space):
    """Texts of up to 40 characters, by a space that asks nothing but that."""

    def sample(self, *_, **__):
        return ""

    def contains(self, x):
        return len(x) < 40


class Misjudged(Echo):
    seen = Short()

    def look(self):
        return np.int64(self.letters)


class Deciphered(Echo):
    """Its agents say texts and see numbers, which a language model does not read."""

    seen = Box(0, 9, (2,), np.int64)

    def look(self):
        return np.zeros(2, np.int64)


class Counted(Echo):
    """Names its tasks by their number, which is not for `reset` to look up."""

    tasks = 5


PARTS = "List agents by name in `possible_agents`, and give each of them two gymnasium spaces."
RESET = (
    "Take `seed` and `options` in `reset`, and return two dicts by agent: observations and infos."
)
STEP = "Return observations, rewards, terminations, truncations, infos from `step`: dicts by agent."


def test_what_has_everything_is_not_complained_of():
    check_env(Echo)
    check_env(Counted)


@pytest.mark.parametrize(
    ("broken", "expected", "came"),
    [
        (object, PARTS, "got no `possible_agents`"),
        (NoAgents, PARTS, "got no `possible_agents`"),
        (Numbered, PARTS, "got possible_agents=[0, 1]"),
        (Unspaced, PARTS, "Agent 'left_0': got KeyError ('left_0') from observation_space"),
        (NotASpace, PARTS, "Agent 'left_0': got <class 'str'> from action_space"),
        (InTurns, RESET, "got NoneType None"),
        (NoOptions, RESET, "got reset(seed=None): got an unexpected keyword argument 'options'"),
        (NoInfos, RESET, "got dict {'left_0': '0 letters so far', 'right_0': '0"),
        (Four, STEP, "got 4 values: dict, dict, dict, dict"),
        (OneForAll, STEP, "got 5 values: dict, dict, bool, bool, dict"),
        (Nothing, STEP, "got NoneType None"),
        (
            Numeric,
            "Accept every sample of an action space in `step`.",
            "got TypeError (object of type 'numpy.int64' has no len()) on the actions {'left_0': ",
        ),
        (
            Unannounced,
            "Keep every observation in its space",
            "'left_0': got array([0, 0]), which is not in FreeText()",
        ),
        (
            Misjudged,
            "Keep every observation in its space",
            "fails: TypeError (object of type 'numpy.int64' has no len())",
        ),
        (
            Deciphered,
            "Observe text where actions are text: a string, or a mapping with a string",
            "Agent 'left_0': got array([0, 0])",
        ),
    ],
)
def test_what_is_missing_is_told_with_what_was_expected_and_what_came(broken, expected, came):
    with pytest.raises(ContractError) as caught:
        check_env(broken)
    assert str(caught.value).startswith(expected)
    assert came in str(caught.value)


def test_what_lies_in_a_space_is_no_misfit_and_what_does_not_is_told():
    assert misfit(np.array([1.0]), Box(0, 1, (1,), np.float64)) == ""
    assert misfit("a", FreeText()) == ""
    assert misfit(7, Discrete(3)) == "7, which is not in Discrete(3)"


def test_the_error_of_a_step_is_kept_for_whoever_looks_for_its_place():
    with pytest.raises(ContractError) as caught:
        check_env(Numeric)
    assert isinstance(caught.value.__cause__, TypeError)
