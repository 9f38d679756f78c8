from __future__ import annotations

from typing import Any

from laconic import envs
from laconic.envs.wrappers.base import FullTranscript


def test_an_agent_sees_all_it_has_read_and_said(make_signal: Any) -> None:
    plain, env = make_signal(schedule="all"), FullTranscript(make_signal(schedule="all"))
    first = plain.reset(seed=0)[0]["solver_0"]["text"]
    observations = [env.reset(seed=0)[0]["solver_0"]]
    actions = {"solver_0": "Tell me.", "helper_0": "two\nlines"}
    observations += [
        env.step(actions)[0]["solver_0"],
        env.step({"helper_1": "three"})[0]["solver_0"],
    ]
    assert [observation["text"] for observation in observations] == [
        first,
        f"{first}\nsolver_0: Tell me.\nhelper_0: two\n  lines",
        f"{first}\nsolver_0: Tell me.\nhelper_0: two\n  lines\nhelper_1: three",
    ]
    assert (
        observations[1]["tokens_left"].tolist()
        == plain.step(actions)[0]["solver_0"]["tokens_left"].tolist()
    )


def test_its_own_message_is_shown_as_it_was_published(make_signal: Any) -> None:
    env = FullTranscript(make_signal(schedule="all", budget=envs.Budget(message=2)))
    env.reset(seed=0)
    observations, *_ = env.step({"solver_0": "one two three"})
    assert observations["solver_0"]["text"].endswith("\nsolver_0: one two\nNobody spoke.")


def test_an_episode_begins_with_nothing_of_the_last_one(make_signal: Any) -> None:
    env = FullTranscript(make_signal(schedule="all"))
    first, _ = env.reset(seed=0)
    env.step({"solver_0": "Tell me."})
    assert env.reset(seed=0)[0]["solver_0"]["text"] == first["solver_0"]["text"]
