from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from laconic import envs
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.wrappers.base import FullTranscript
from laconic.envs.wrappers.discrete_messages import DiscreteMessages
from laconic.envs.wrappers.numeric import Menu, vocabulary

WORDS = ("cup", "red", "blue", "colour")
SILENCE, STATEMENT, RED, ABSTAIN = range(4)


@pytest.fixture
def make(make_signal: Any) -> Any:
    """Make signal with numbers; the menu is silence, statement, `#### red`, abstention."""
    return lambda words=WORDS, mask="info", **more: DiscreteMessages(
        make_signal(**more), words=words, mask=mask
    )


def holder(env: Any, statement: str) -> str:
    """Return the helper that holds a statement."""
    return next(a for a in env.possible_agents if env.entries(a)[STATEMENT] == statement)


def split(env: Any, array: Any, name: str) -> Any:
    """Return a part of an observation as a list of numbers."""
    return np.asarray(array, np.float64)[env.layout.parts[name]].round(4).tolist()


def test_an_observation_says_who_it_is_what_it_knows_and_what_is_left(make: Any) -> None:
    env = make(budget=envs.Budget(message=64, episode=192))
    observations, _ = env.reset(seed=0)
    agent = holder(env, "The cup is red.")
    number = env.possible_agents.index(agent)
    observation = observations[agent]
    assert observation.dtype == np.float32 and observation.shape == (env.layout.size,)
    assert split(env, observation, "role") == [0.0, 1.0]
    assert split(env, observation, "agent") == [float(place == number) for place in range(4)]
    assert split(env, observation, "time") == [0.0, 1.0]
    # 64 tokens are shown as 64 / (64 + 64), 192 as 192 / (192 + 64), no cap as nearly 1.
    assert split(env, observation, "left") == [0.5, 1.0, 1.0, 0.75]
    assert split(env, observation, "question") == [1.0, 0.0, 0.0, 1.0]
    assert split(env, observation, "known") == [1.0, 1.0, 0.0, 0.0]
    assert not any(split(env, observation, "heard"))


def test_the_menu_says_what_can_be_said_how_long_it_is_and_how_near_the_question(
    make: Any,
) -> None:
    env = make()
    observations, infos = env.reset(seed=0)
    informed, other = holder(env, "The cup is red."), holder(env, "The key is green.")
    rows = {
        agent: np.reshape(split(env, observation, "menu"), (4, 4)).tolist()
        for agent, observation in observations.items()
    }
    # Five tokens are shown as 5 / (5 + 16). Of the four words of the statement `the`, `cup` and
    # `is` are in the question, and of the other one `the` and `is`.
    length = round(5 / 21, 4)
    assert rows[informed][STATEMENT] == [1.0, length, 0.75, 0.0]
    assert rows[other][STATEMENT] == [1.0, length, 0.5, 0.0]
    assert rows[informed][SILENCE] == [1.0, 0.0, 0.0, 0.0]
    assert rows[informed][RED] == [0.0, 0.0, 0.0, 0.0]
    # It is not the solver's turn.
    assert [row[0] for row in rows["solver_0"]] == [1.0, 0.0, 0.0, 0.0]
    assert infos[informed]["action_mask"].tolist() == [1, 1, 0, 1]
    assert infos["solver_0"]["action_mask"].tolist() == [1, 0, 0, 0]
    assert infos[informed]["action_mask"].dtype == np.int8


def test_a_number_says_its_message_and_who_hears_it_sees_its_words(make: Any) -> None:
    env = make()
    env.reset(seed=0)
    informed, other = holder(env, "The cup is red."), holder(env, "The key is green.")
    observations, *_, infos = env.step({informed: STATEMENT, other: SILENCE})
    assert [(m.agent, m.text) for m in env.unwrapped.messages if m.text] == [
        (informed, "The cup is red.")
    ]
    assert (infos[informed]["tokens_said"], infos[other]["tokens_said"]) == (5, 0)
    rows_heard = np.reshape(split(env, observations["solver_0"], "heard"), (3, 6)).tolist()
    helpers = [agent for agent in env.possible_agents if agent != "solver_0"]
    for agent, row_heard in zip(helpers, rows_heard, strict=True):
        # Words cup and red; three of its four words are in the question; it spoke.
        assert row_heard == ([1.0, 1.0, 0.0, 0.0, 0.75, 1.0] if agent == informed else [0.0] * 6)
    # In a star helpers do not hear each other, and one sees that it has said its message.
    assert not any(split(env, observations[other], "heard"))
    assert np.reshape(split(env, observations[informed], "menu"), (4, 4))[STATEMENT][3] == 1.0


def test_the_answer_ends_the_episode_and_infos_have_its_score(make: Any) -> None:
    env = make()
    _, infos = env.reset(seed=0)
    assert {info["solved"] for info in infos.values()} == {0}
    env.step(dict.fromkeys(env.agents, SILENCE))
    _, rewards, terminated, _, infos = env.step({"solver_0": RED})
    assert set(rewards.values()) == {1.0} and all(terminated.values()) and env.agents == []
    assert {(info["solved"], info["score"]) for info in infos.values()} == {(1, 1.0)}
    assert all(info["action_mask"].tolist() == [1, 0, 0, 0] for info in infos.values())


def test_what_is_off_the_menu_is_silence(make: Any) -> None:
    env = make()
    env.reset(seed=0)
    # Helpers have no answers, and the solver has no turn.
    env.step({agent: RED for agent in env.agents})
    assert not any(message.text for message in env.unwrapped.messages)


def test_a_message_that_does_not_fit_is_off_the_menu(make: Any) -> None:
    env = make(budget=envs.Budget(message=4))
    _, infos = env.reset(seed=0)
    agent = holder(env, "The cup is red.")
    # A statement has five tokens, `I do not know.` has five too.
    assert infos[agent]["action_mask"].tolist() == [1, 0, 0, 0]


def test_what_is_heard_adds_up_over_rounds(make: Any) -> None:
    env = make(schedule="all", topology="complete", information="full")
    observations, _ = env.reset(seed=0)
    env.step({"helper_0": 1})
    observations, *_ = env.step({"helper_0": 2})
    row_heard = np.reshape(split(env, observations["solver_0"], "heard"), (3, 6))[0].tolist()
    # `The ball is blue.` and `The cup is red.`: of the, ball, is, blue, cup, red three are asked.
    assert row_heard == [1.0, 1.0, 1.0, 0.0, 0.5, 1.0]


def test_the_mask_is_in_the_observation_on_demand(make: Any) -> None:
    env = make(mask="observation")
    observations, infos = env.reset(seed=0)
    for agent, observation in observations.items():
        assert set(observation) == {
            "observation",
            "action_mask",
        } and observation in env.observation_space(agent)
        assert "action_mask" not in infos[agent]
    with pytest.raises(UnknownNameError, match="mask"):
        make(mask="nowhere")


def test_another_part_has_the_same_shapes_and_numbers_with_the_menu_of_the_first() -> None:
    train, evaluation = (
        envs.make("gsm8k", free=True, information="split", split=split, tasks=60)
        for split in ("train", "evaluation")
    )
    words = vocabulary(train.tasks.values())
    first = DiscreteMessages(train, words=words)
    second = DiscreteMessages(evaluation, menu=first.menu, words=words)
    assert second.menu.answers == first.menu.answers
    assert second.observation_space("solver_0") == first.observation_space("solver_0")
    observations, _ = second.reset(seed=0)
    assert all(
        observation in first.observation_space(agent) for agent, observation in observations.items()
    )


def test_no_observation_reveals_the_relevant_statements(make: Any) -> None:
    env = make()
    task = env.unwrapped.tasks["own"]
    swapped = type(task)(task.key, task.question, task.statements, "red", (True, False, False))
    first, second = (env.reset(seed=0, options={"task": each})[0] for each in (task, swapped))
    for agent in env.possible_agents:
        np.testing.assert_array_equal(first[agent], second[agent])


@pytest.mark.parametrize("action", [4, -1, 1.0, "1", None, [0, 1]])
def test_an_action_that_is_no_number_of_the_menu_is_refused(make: Any, action: Any) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(SettingError, match="'helper_0' must be a whole number from 0 to 3"):
        env.step({"helper_0": action})


def test_actions_of_any_integer_kind_are_taken(make: Any) -> None:
    env = make()
    env.reset(seed=0)
    env.step({"helper_0": np.int64(1), "helper_1": np.array([1]), "helper_2": np.array(1)})
    assert sum(bool(message.text) for message in env.unwrapped.messages) == 3


def test_other_environments_are_refused(make_signal: Any) -> None:
    with pytest.raises(SettingError, match="needs a DialogueEnv.*got FullTranscript"):
        DiscreteMessages(FullTranscript(make_signal()))  # type: ignore[arg-type]


def test_a_menu_can_be_passed(make_signal: Any) -> None:
    env = DiscreteMessages(make_signal(), menu=Menu(1, 0, ("#### red", "#### blue")), words=4)
    env.reset(seed=0)
    assert env.entries("solver_0")[2:4] == ("#### red", "#### blue")
    assert env.action_space("solver_0").n == 5
