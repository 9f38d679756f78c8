"""One episode by itself: a round at a time, with replies that are given or asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.agents.base import Reply
from laconic.learners.rollout.play import play
from laconic.learners.rollout.runner import AgentState, EpisodeRunner, Start


class Hummer:
    """Always says the same."""

    def reply(self, requests, *, seed, greedy):
        return [Reply("hm")] * len(requests)


def test_a_state_reads_and_asks():
    state = AgentState("a")
    state.read({"text": "one", "tokens_left": [4, 9]}, {"x": 1, "y": None})
    # What says nothing leaves no line.
    state.read("", None)
    state.read("two", None)
    request = state.request()
    # Only the last observation says what is left, and this one says nothing.
    assert (request.text, request.max_tokens, request.info) == ("one\ntwo", None, {})
    assert (request.history, request.texts) == ((), ())


def test_an_episode_is_played_round_by_round(make_env):
    runner = EpisodeRunner(make_env(rounds=2), Start(0, "fruit"))
    assert not runner.slow
    for round in range(2):
        assert runner.running and runner.round == round
        asked = runner.requests()
        assert [given for _, given in asked] == [None] * 4
        runner.step([(request, Reply("7")) for request, _ in asked])
    assert not runner.running and runner.requests() == []
    episode = runner.episode()
    assert (episode.task, episode.solved, len(episode.turns)) == ("fruit", True, 8)


def test_who_is_not_in_the_replies_is_silent(make_env):
    runner = EpisodeRunner(make_env(rounds=1), Start(0, "fruit"))
    (request, _), *_ = runner.requests()
    runner.step([(request, Reply("7"))])
    assert [(turn.agent, turn.message) for turn in runner.episode().turns] == [(request.agent, "7")]
    assert all(len(paid) == 1 for paid in runner.episode().rewards.values())


def test_a_start_gives_replies_or_makes_them_of_the_request(make_env):
    given = {
        ("solver_0", 0): Reply("given"),
        ("helper_0", 0): lambda request: Reply(request.agent),
        ("helper_1", 0): lambda request: None,
        ("helper_2", 1): Reply("later"),
    }
    runner = EpisodeRunner(make_env(), Start(0, "fruit", given))
    found = {request.agent: reply for request, reply in runner.requests()}
    assert found == {
        "solver_0": Reply("given"),
        "helper_0": Reply("helper_0"),
        "helper_1": None,
        "helper_2": None,
    }


def test_an_agent_that_joins_after_the_reset_is_refused(make_env):
    env = make_env()
    runner = EpisodeRunner(env, Start(0, "fruit"))
    step = env.step

    def joined(actions):
        found = step(actions)
        env.agents = [*env.agents, "late_0"]
        return found

    env.step = joined
    with pytest.raises(SettingError, match="'late_0' joined after the reset"):
        runner.step([])


@pytest.mark.parametrize("rounds", [1, 2])
def test_an_episode_that_never_ends_is_an_error_that_names_the_setting(make_env, rounds):
    env = make_env(rounds=9)
    start = Start(0, "fruit", max_rounds=rounds)
    talker = dict.fromkeys(env.possible_agents, Hummer())
    with pytest.raises(SettingError, match=rf"did not end within env.max_rounds={rounds} rounds"):
        play([env], talker, [start], seed=0)
    assert len(play([env], talker, [replace(start, max_rounds=9)], seed=0)) == 1


def test_the_environment_says_after_how_many_rounds_and_a_start_may_say_otherwise(make_env):
    env = make_env(rounds=9)
    env.metadata = {**env.metadata, "max_rounds": 2}
    talker = dict.fromkeys(env.possible_agents, Hummer())
    with pytest.raises(SettingError, match="env.max_rounds=2 rounds; let DialogueEnv end"):
        play([env], talker, [Start(0, "fruit")], seed=0)
    assert len(play([env], talker, [Start(0, "fruit", max_rounds=9)], seed=0)) == 1
    assert EpisodeRunner(make_env(), Start(0))._max_rounds == 1000
