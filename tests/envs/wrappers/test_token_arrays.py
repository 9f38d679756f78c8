from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Text
from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.wrappers.token_arrays import BYTES, Codec, TokenArrays

LETTERS = Codec(
    lambda text: [ord(letter) - 96 for letter in text if "a" <= letter <= "z"],
    lambda ids: "".join(chr(number + 96) for number in ids),
    27,
)


class Echo(ParallelEnv[str, Any, Any]):
    """Two agents observe the other's last message as a bare string; infos are empty."""

    def __init__(self) -> None:
        self.metadata = {"name": "echo_v0"}
        self.possible_agents, self.agents = ["left_0", "right_0"], []
        self.space = Text(99, min_length=0)

    def observation_space(self, agent: str) -> Any:
        return self.space

    def action_space(self, agent: str) -> Any:
        return self.space

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        return dict.fromkeys(self.agents, "begin"), {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        observations = {"left_0": actions["right_0"], "right_0": actions["left_0"]}
        flags = dict.fromkeys(observations, False)
        return (
            observations,
            dict.fromkeys(observations, 0.0),
            flags,
            flags,
            {agent: {} for agent in observations},
        )


def padded(*ids: int) -> list[int]:
    return [*ids, *[0] * (4 - len(ids))]


def test_ids_go_in_and_out_and_bare_strings_do_too() -> None:
    env = TokenArrays(Echo(), codec=LETTERS, observation_tokens=4, action_tokens=4)
    observations, infos = env.reset(seed=0)
    # `begin` has five letters; the last four are e, g, i, n.
    assert observations["left_0"].tolist() == [5, 7, 9, 14]
    assert observations["left_0"].dtype == np.int64
    assert (infos["left_0"]["task"], infos["left_0"]["tokens_left"]) == (-1, -1)
    observations, *_ = env.step({"left_0": np.array([1, 2, 0, 3]), "right_0": [0, 1, 2, 3]})
    # The letters before the first padding are said; an action that begins with it is silence.
    assert observations["right_0"].tolist() == padded(1, 2)
    assert observations["left_0"].tolist() == padded()
    assert env.state().tolist() == padded() + padded(1, 2)
    # An agent that is left out is silent, also where the environment wants all actions.
    observations, *_ = env.step({"right_0": padded(3)})
    assert (observations["left_0"].tolist(), observations["right_0"].tolist()) == (
        padded(3),
        padded(),
    )


@pytest.mark.parametrize("text", ["", "The cup is red.", "naïve 😀", "a\x00b", "lone \ud83d"])
def test_bytes_are_read_back(text: str) -> None:
    ids = BYTES.encode(text)
    assert all(1 <= number < BYTES.size for number in ids)
    assert BYTES.decode(ids) == text.encode("utf-8", "replace").decode()


def test_any_ids_of_bytes_are_some_text() -> None:
    generator = np.random.default_rng(0)
    for _ in range(200):
        assert isinstance(BYTES.decode(generator.integers(257, size=9).tolist()), str)


def test_a_dialogue_is_solved_by_ids(make_signal: Any) -> None:
    env = TokenArrays(make_signal(), action_tokens=16, observation_tokens=2048)
    observations, infos = env.reset(seed=0)
    text = BYTES.decode(observations["solver_0"][observations["solver_0"] > 0].tolist())
    assert text.endswith("Question: What colour is the cup?")
    assert {info["tokens_left"] for info in infos.values()} == {0, 2**31 - 1}
    env.step({})
    answer = np.zeros(16, np.int64)
    answer[:8] = BYTES.encode("#### red")
    *_, infos = env.step({"solver_0": answer})
    assert all(info["solved"] == 1 for info in infos.values())


@pytest.mark.parametrize("action", [[1, 2, 3], [0, 0, 0, 27], [-1, 0, 0, 0], [0.0] * 4, "abcd"])
def test_an_action_outside_its_space_is_refused(action: Any) -> None:
    env = TokenArrays(Echo(), codec=LETTERS, observation_tokens=4, action_tokens=4)
    env.reset(seed=0)
    with pytest.raises(SettingError, match="'left_0' must be 4 ids from 0 to 26"):
        env.step({"left_0": action})


def test_settings_are_checked() -> None:
    with pytest.raises(SettingError, match="action_tokens must be a whole number"):
        TokenArrays(Echo(), action_tokens=0)
    with pytest.raises(SettingError, match="observation_tokens must be a whole number"):
        TokenArrays(Echo(), observation_tokens=1.5)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="padding must be a whole number from 0 to 26; got None"):
        Codec(LETTERS.encode, LETTERS.decode, 27, None)  # type: ignore[arg-type]


def test_a_number_of_no_task_is_refused(make_signal: Any) -> None:
    env = TokenArrays(make_signal())
    with pytest.raises(UnknownNameError, match="number of a task 1. .*Known: 0 to 0"):
        env.reset(options={"task": 1})
    with pytest.raises(UnknownNameError, match="Known: none"):
        TokenArrays(Echo()).reset(options={"task": 0})
