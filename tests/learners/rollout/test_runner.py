"""One episode by itself: a round at a time, with replies that are given or asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from pettingzoo import ParallelEnv

from laconic.envs.dialogue.messages import FreeText
from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import SettingError
from laconic.learners.interfaces import Reply
from laconic.learners.rollout.play import play
from laconic.learners.rollout.runner import AgentState, EpisodeRunner, Start


class Hummer:
    """Always says the same."""

    def reply(self, requests, *, seed, greedy):
        return [Reply("hm")] * len(requests)


def test_a_state_stores_what_it_reads():
    state = AgentState("a")
    state.read({"text": "one", "tokens_left": [4, 9]}, {"x": 1, "y": None})
    state.read("", None)
    state.read("two", None)
    # Only the last observation says how many tokens are left, and this one does not.
    assert (state.unread, state.max_tokens, state.info) == (["one", "", "two"], None, {})


def test_an_episode_is_played_round_by_round(make_env):
    runner = EpisodeRunner(make_env(rounds=2), Start(0, "fruit"))
    assert not runner.slow
    for round in range(2):
        assert runner.running and runner.round == round
        requests = runner.requests()
        assert [received for _, received in requests] == [None] * 4
        runner.step([(request, Reply("7")) for request, _ in requests])
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
    replies = {
        ("solver_0", 0): Reply("given"),
        ("helper_0", 0): lambda request: Reply(request.agent),
        ("helper_1", 0): lambda request: None,
        ("helper_2", 1): Reply("later"),
    }
    runner = EpisodeRunner(make_env(), Start(0, "fruit", replies))
    results = {request.agent: reply for request, reply in runner.requests()}
    assert results == {
        "solver_0": Reply("given"),
        "helper_0": Reply("helper_0"),
        "helper_1": None,
        "helper_2": None,
    }


def test_a_turn_holds_the_comment_on_it(make_env):
    env = make_env(rounds=2, feedback="plain")
    runner = EpisodeRunner(env, Start(0, "fruit"))
    while runner.running:
        runner.step([(request, Reply("7")) for request, _ in runner.requests()])
    by_round = [
        {turn.feedback for turn in runner.episode().turns if turn.round == n} for n in (0, 1)
    ]
    (comment,), last = by_round
    assert comment and last == {""}
    second = next(turn for turn in runner.episode().turns if turn.round == 1)
    assert second.read.endswith(comment)


def test_an_episode_holds_what_was_shown_after_the_last_turns(make_env):
    runner = EpisodeRunner(make_env(rounds=2, topology="complete"), Start(0, "fruit"))
    while runner.running:
        runner.step([(request, Reply(request.agent)) for request, _ in runner.requests()])
    unread = runner.episode().unread
    assert set(unread) == {"solver_0", "helper_0", "helper_1", "helper_2"}
    lines = [f"{agent}: {agent}" for agent in ("helper_0", "helper_1", "helper_2")]
    assert unread["solver_0"].splitlines() == lines


def test_an_agent_that_joins_after_the_reset_is_refused(make_env):
    env = make_env()
    runner = EpisodeRunner(env, Start(0, "fruit"))
    step = env.step

    def joined(actions):
        result = step(actions)
        env.agents = [*env.agents, "late_0"]
        return result

    env.step = joined
    with pytest.raises(SettingError, match="never bring it back. Agent 'late_0': got agents"):
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


def _played(environment, words):
    """Play an episode in which the agents say these words, a tuple of them in each round."""
    runner = EpisodeRunner(environment, Start(0, "fruit"))
    for texts in words:
        messages = dict(zip(environment.possible_agents, texts, strict=True))
        runner.step([(request, Reply(messages[request.agent])) for request, _ in runner.requests()])
    assert not runner.running
    return runner.episode()


def test_an_episode_says_what_the_task_paid_and_what_words_cost(make_env):
    reward = Reward(price=0.5, normalizer=10, charge="team", when="solved")
    environment = make_env(team={"solver": 1, "helper": 1}, rounds=2, reward=reward, tokenize=list)
    # helper_0 says 4 tokens of 0.05 each and then 2; the number is one token, and commits to none.
    episode = _played(environment, [("", "abcd"), ("7", "ab")])
    assert episode.task_rewards == {"solver_0": (0.0, 1.0), "helper_0": (0.0, 1.0)}
    assert episode.bills == {"solver_0": (0.0, 0.05), "helper_0": (0.2, 0.1)}
    assert (episode.max_reward, episode.common, episode.when) == (1.0, True, "solved")
    # All seven tokens are charged to both at the end: 0.35.
    for paid in episode.rewards.values():
        assert paid == pytest.approx((0.0, 0.65), rel=1e-12)


class Silent(ParallelEnv):
    """One agent, two rounds; infos of steps are those that it is given."""

    metadata: ClassVar[dict[str, Any]] = {"name": "silent_v0"}

    def __init__(self, infos, metadata=None):
        self.possible_agents, self._infos = ["a_0"], infos
        self.metadata = {**self.metadata, **(metadata or {})}

    def action_space(self, agent):
        return FreeText()

    def reset(self, seed=None, options=None):
        self.agents, self.round = ["a_0"], 0
        return {"a_0": ""}, {"a_0": {}}

    def step(self, actions):
        info, self.round = self._infos[self.round], self.round + 1
        over = self.round == len(self._infos)
        self.agents = [] if over else ["a_0"]
        return {"a_0": ""}, {"a_0": 0.5}, {"a_0": over}, {"a_0": False}, {"a_0": info}


PAID = {"task_reward": np.float32(0.75), "billed": np.array([0.25]), "charged": 0.25}


@pytest.mark.parametrize(
    ("infos", "task_rewards", "bills"),
    [
        ([PAID, PAID], {"a_0": (0.75, 0.75)}, {"a_0": (0.25, 0.25)}),
        # Others say nothing, or not in every round: nothing is made up.
        ([{}, {}], {}, {}),
        ([{}, PAID], {}, {}),
        # Half of it says nothing, because the rewards may or may not be less the bills.
        ([PAID, {**PAID, "billed": None}], {}, {}),
        ([{**PAID, "task_reward": None}, PAID], {}, {}),
        ([{"billed": 0.25}, {"billed": 0.25}], {}, {}),
        ([{"task_reward": 0.75}, {"task_reward": 0.75}], {}, {}),
    ],
)
def test_what_an_environment_does_not_report_in_every_round_is_empty(infos, task_rewards, bills):
    runner = EpisodeRunner(Silent(infos), Start(0))
    while runner.running:
        runner.step([])
    episode = runner.episode()
    assert (episode.task_rewards, episode.bills) == (task_rewards, bills)
    assert (episode.max_reward, episode.common, episode.when) == (None, False, "always")
    assert not episode.graded


def test_metadata_of_others_says_how_they_pay():
    rules = {"reward": "common", "when": "solved", "max_reward": 4, "chance": 0.25}
    runner = EpisodeRunner(Silent([PAID], rules), Start(0))
    runner.step([])
    episode = runner.episode()
    assert (episode.max_reward, episode.common, episode.when) == (4.0, True, "solved")
    assert episode.chance == 0.25
    with pytest.raises(SettingError, match=r"metadata\['max_reward'\].* got 0"):
        EpisodeRunner(Silent([PAID], {"max_reward": 0}), Start(0))
    with pytest.raises(SettingError, match=r"metadata\['chance'\].* got 1"):
        EpisodeRunner(Silent([PAID], {"chance": 1}), Start(0))


def test_an_environment_is_checked_once_and_another_one_again():
    env = Silent([PAID])
    EpisodeRunner(env, Start(0))
    # Checked at its first episode; a learner plays many.
    env.possible_agents = ["a_0", "a_0"]
    EpisodeRunner(env, Start(1))
    other = Silent([PAID])
    other.possible_agents = ["a_0", "a_0"]
    with pytest.raises(SettingError, match="must name its agents by distinct"):
        EpisodeRunner(other, Start(0))


def test_pay_that_is_no_number_is_refused():
    runner = EpisodeRunner(Silent([{"billed": "much"}]), Start(0))
    with pytest.raises(SettingError, match="are finite numbers. Agent 'a_0': got billed='much'"):
        runner.step([])
