"""Lockstep play: requests in their order, and recorded turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import SettingError
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.episode import Episode, Group
from laconic.learners.interfaces import Reply, Request
from laconic.learners.rollout.play import Start, collect, play


class Talker:
    """Says its words in turn, by agent and round, and records its requests."""

    def __init__(self, words: Mapping[str, Sequence[str]] | None = None) -> None:
        self.words = words or {}
        self.calls: list[list[Request]] = []
        self.seeds: list[int] = []

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        self.calls.append(list(requests))
        self.seeds.append(seed)
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Reply:
        count = len(request.history)
        words = self.words.get(request.agent, ())
        message = words[count] if count < len(words) else f"word {count}"
        return Reply(message, (count + 1,), (count + 10, 2), (-0.5, -0.25))


class Countdown(ParallelEnv):
    """Plain strings; agent k lives k + 1 rounds and is paid 10 for each; no infos to speak of.

    Options: `lean` returns nothing of agents that ended in this very round but their reward.
    """

    metadata = {"name": "countdown_v0"}

    def __init__(self, lean: bool = False, truncate: str = "") -> None:
        self.possible_agents = ["a_0", "b_0", "c_0"]
        self.lean, self.truncate = lean, truncate

    def observation_space(self, agent: str) -> spaces.Space:
        return spaces.Text(100)

    def action_space(self, agent: str) -> spaces.Space:
        return spaces.Text(100)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None):
        self.agents, self.round, self.seed = list(self.possible_agents), 0, seed
        self.heard: list[dict[str, str]] = []
        return {a: f"start {seed}" for a in self.agents}, {a: {} for a in self.agents}

    def step(self, actions: dict[str, str]):
        assert sorted(actions) == sorted(self.agents)
        self.heard.append(dict(actions))
        self.round += 1
        before = list(self.agents)
        self.agents = [a for a in before if self.possible_agents.index(a) >= self.round]
        visible = self.agents if self.lean else before
        ended = {a: a not in self.agents for a in before}
        return (
            {a: f"round {self.round}" for a in visible},
            dict.fromkeys(before, 10.0),
            {a: ended[a] and a != self.truncate for a in before},
            {a: ended[a] and a == self.truncate for a in before},
            {a: {} for a in visible},
        )


def everyone(env: ParallelEnv, policy: Any) -> dict[str, Any]:
    return dict.fromkeys(env.possible_agents, policy)


def turns_of(episode: Episode, agent: str) -> list:
    return [turn for turn in episode.turns if turn.agent == agent]


# Lockstep


def test_no_starts_give_no_episodes(make_env):
    env, talker = make_env(), Talker()
    assert play([env], everyone(env, talker), [], seed=0) == []
    assert talker.calls == []


def test_every_policy_is_asked_once_a_round_for_all_its_agents_in_all_episodes(make_env):
    environments = [make_env(rounds=3) for _ in range(4)]
    solver, helpers = Talker(), Talker()
    policies = {**everyone(environments[0], helpers), "solver_0": solver}
    play(environments, policies, [Start(n, "fruit") for n in range(4)], seed=0)
    assert [len(call) for call in solver.calls] == [4, 4, 4]
    assert [len(call) for call in helpers.calls] == [12, 12, 12]
    assert [request.agent for request in helpers.calls[0]] == [
        "helper_0",
        "helper_1",
        "helper_2",
    ] * 4


def test_episodes_that_are_over_are_asked_no_more(make_env):
    quick, slow = make_env(rounds=1), make_env(rounds=3)
    talker = Talker()
    episodes = play([quick, slow], everyone(quick, talker), [Start(0), Start(1)], seed=0)
    assert [len(call) for call in talker.calls] == [8, 4, 4]
    assert [len(episode.rewards["solver_0"]) for episode in episodes] == [1, 3]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7])
def test_any_number_of_starts_is_played_in_order(make_env, count):
    environments = [make_env() for _ in range(3)]
    starts = [Start(n, ("fruit", "birds", "unknown")[n % 3]) for n in range(count)]
    episodes = play(environments, everyone(environments[0], Talker()), starts, seed=0)
    assert [episode.task for episode in episodes] == [start.task for start in starts]


def test_equal_seeds_give_equal_episodes_and_others_others(make_env, make_policy):
    policy = make_policy(max_reply_tokens=6)
    environments = [make_env() for _ in range(2)]
    starts = [Start(0, "fruit"), Start(1, "birds"), Start(2)]

    def played(seed: int, greedy: bool = False) -> list[Episode]:
        return play(
            environments, everyone(environments[0], policy), starts, seed=seed, greedy=greedy
        )

    assert played(3) == played(3)
    assert played(3) != played(4)
    assert played(3, greedy=True) == played(4, greedy=True)


def test_every_call_and_every_chunk_of_starts_has_a_seed_of_its_own(make_env):
    env, talker = make_env(), Talker()
    play([env], everyone(env, talker), [Start(0, "fruit")] * 4, seed=0)
    assert len(talker.seeds) == len(set(talker.seeds)) == 8
    assert all(0 <= seed < 2**31 for seed in talker.seeds)


def test_a_policy_with_the_wrong_number_of_replies_raises(make_env):
    class Greedy(Talker):
        def reply(self, requests, *, seed, greedy):
            return super().reply(requests, seed=seed, greedy=greedy)[1:]

    env = make_env()
    with pytest.raises(ValueError, match=r"Greedy.reply must give one reply per request \(4\).* 3"):
        play([env], everyone(env, Greedy()), [Start(0)], seed=0)


# What is written down


def test_a_turn_holds_what_was_sampled_and_what_was_published(make_env):
    env = make_env(budget=Budget(message=3))
    talker = Talker({"solver_0": ("one two three four five", "7 8 9 10")})
    episode = play([env], everyone(env, talker), [Start(0, "fruit")], seed=0)[0]
    first, second = turns_of(episode, "solver_0")
    assert (first.message, first.tokens_said, first.cut) == ("one two three", 3, True)
    assert (second.message, second.tokens_said, second.cut) == ("7 8 9", 3, True)
    assert (first.round, second.round) == (0, 1)
    assert (first.prompt_ids, first.reply_ids) == ((1,), (10, 2))
    assert (second.prompt_ids, second.reply_ids) == ((2,), (11, 2))
    assert first.behavior_logprobs == (-0.5, -0.25)
    assert [turn.round for turn in episode.turns] == [0] * 4 + [1] * 4


def test_silence_is_a_turn_too(make_env):
    env = make_env()
    talker = Talker({"helper_1": ("", "")})
    episode = play([env], everyone(env, talker), [Start(0, "fruit")], seed=0)[0]
    silent = turns_of(episode, "helper_1")
    assert [(turn.message, turn.tokens_said, turn.reply_ids) for turn in silent] == [
        ("", 0, (10, 2)),
        ("", 0, (11, 2)),
    ]


def test_who_was_informed_is_noted_as_it_was_before_the_message(make_env):
    env = make_env(information="split")
    episode = play([env], ScriptedTeam().policies(env), [Start(0, "fruit")], seed=0)[0]
    for agent in ("helper_0", "helper_1", "helper_2"):
        first, second = turns_of(episode, agent)
        assert first.informed is bool(first.message)
        assert second.informed is False or not first.message
    assert [turn.informed for turn in turns_of(episode, "solver_0")] == [None, None]


def test_the_outcome_comes_from_the_last_infos(make_env):
    env = make_env(reward=Reward(price=0.1))
    talker = Talker({"solver_0": ("hm", "so it is 7")})
    episode = play([env], everyone(env, talker), [Start(0, "fruit")], seed=0)[0]
    assert (episode.score, episode.solved, episode.answer) == (1.0, True, "7")
    assert not episode.truncated
    # Helpers say two words a round and the solver one and then four, each read by three others.
    assert episode.tokens_said == {"solver_0": 5, "helper_0": 4, "helper_1": 4, "helper_2": 4}
    assert all(read > 0 for read in episode.tokens_read.values())
    assert set(episode.rewards) == set(env.possible_agents)
    assert all(len(rewards) == 2 for rewards in episode.rewards.values())


def test_rewards_are_kept_by_agent_and_round(make_env):
    price = Reward(price=0.5, normalizer=1)
    env = make_env(reward=price)
    talker = Talker({"solver_0": ("", "7"), "helper_0": ("a b", "")})
    episode = play([env], everyone(env, talker), [Start(0, "fruit")], seed=0)[0]
    paid = episode.rewards
    # own tokens at 0.5 each: none and then 1 for the answer, which also earns the task reward
    assert paid["solver_0"] == (0.0, 1.0 - 0.5)
    assert paid["helper_0"] == (-1.0, 1.0)
    assert paid["helper_1"] == (-1.0, 0.0)


def test_an_episode_says_that_its_budget_was_spent(make_env):
    env = make_env(rounds=5, budget=Budget(episode=8))
    episode = play([env], everyone(env, Talker()), [Start(0, "fruit")], seed=0)[0]
    assert (episode.ended_by, episode.truncated, episode.cut_short) == ("budget", False, True)
    assert sum(episode.tokens_said.values()) == 8
    assert len(episode.rewards["solver_0"]) == 1


# What policies are asked


def test_the_conversation_grows_at_its_end(make_env):
    env, talker = make_env(rounds=3), Talker()
    play([env], everyone(env, talker), [Start(0, "fruit")], seed=0)
    requests = [next(r for r in call if r.agent == "helper_0") for call in talker.calls]
    assert "How many fruits" in requests[0].text
    assert requests[1].text == "solver_0: word 0\nhelper_1: word 0\nhelper_2: word 0"
    assert requests[0].history == requests[0].texts == ()
    assert requests[2].texts == (requests[0].text, requests[1].text)
    assert [reply.message for reply in requests[2].history] == ["word 0", "word 1"]
    assert [request.info["round"] for request in requests] == [0, 1, 2]


def test_agents_out_of_turn_are_not_asked_and_read_all_they_missed_at_once(make_env):
    env = make_env(
        rounds=4,
        schedule=["helper", "helper", "helper", "solver"],
        team={"solver": 1, "helper": 2},
    )
    talker = Talker()
    episode = play([env], everyone(env, talker), [Start(0, "fruit")], seed=0)[0]
    assert [sorted(r.agent for r in call) for call in talker.calls] == [
        ["helper_0", "helper_1"],
        ["helper_0", "helper_1"],
        ["helper_0", "helper_1"],
        ["solver_0"],
    ]
    request = talker.calls[-1][0]
    assert request.history == ()
    assert "How many fruits" in request.text
    lines = [f"helper_{n}: word {k}" for k in range(3) for n in range(2)]
    assert request.text.endswith("\n".join(lines))
    assert [turn.round for turn in turns_of(episode, "solver_0")] == [3]
    assert len(episode.rewards["solver_0"]) == 4


def test_agents_with_nothing_left_are_not_asked(make_env):
    env = make_env(rounds=4, budget=Budget(agent=4))
    talker = Talker({"solver_0": ("", "", "", "")})
    episode = play([env], everyone(env, talker), [Start(0, "fruit")], seed=0)[0]
    # helpers say two tokens a round; the solver has something left and is asked once more
    assert [len(call) for call in talker.calls] == [4, 4, 1]
    assert talker.calls[2][0].agent == "solver_0"
    assert len(turns_of(episode, "helper_0")) == 2


def test_a_request_says_how_many_tokens_are_left(make_env):
    env = make_env(rounds=2, budget=Budget(message=9, agent=10))
    talker = Talker()
    play([env], everyone(env, talker), [Start(0, "fruit")], seed=0)
    assert {request.max_tokens for request in talker.calls[0]} == {9}
    assert {request.max_tokens for request in talker.calls[1]} == {8}  # 10 less two said


# Groups


def test_groups_hold_plays_of_one_start(make_env, make_policy):
    environments = [make_env(information="split") for _ in range(4)]
    policy = make_policy(max_reply_tokens=5)
    starts = [Start(5, "fruit"), Start(6, "birds")]
    groups = collect(environments, everyone(environments[0], policy), starts, 3, seed=0)
    assert [group.task for group in groups] == ["fruit", "birds"]
    for group in groups:
        assert len(group.episodes) == 3
        first = [
            {turn.agent: turn.prompt_ids for turn in episode.turns if turn.round == 0}
            for episode in group.episodes
        ]
        assert first[0] == first[1] == first[2]
        assert len({episode.turns for episode in group.episodes}) > 1


def test_a_task_may_be_played_once(make_env):
    env = make_env()
    (group,) = collect([env], everyone(env, Talker()), [Start(0)], 1, seed=0)
    assert [episode.task for episode in group.episodes] == [group.task]


def test_a_group_without_episodes_is_refused():
    with pytest.raises(SettingError, match="a group holds at least one episode; 'fruit' got none"):
        Group("fruit", ())


# Environments of others


@pytest.mark.parametrize("lean", [False, True])
def test_any_parallel_environment_over_strings_can_be_played(lean):
    env, talker = Countdown(lean), Talker()
    episode = play([env], everyone(env, talker), [Start(17)], seed=0)[0]
    assert [[r.agent for r in call] for call in talker.calls] == [
        ["a_0", "b_0", "c_0"],
        ["b_0", "c_0"],
        ["c_0"],
    ]
    assert talker.calls[0][0].text == "start 17"
    assert talker.calls[2][0].text == "round 2"
    assert talker.calls[0][0].max_tokens is None
    assert env.heard[1] == {"b_0": "word 1", "c_0": "word 1"}
    assert episode.task == "17"
    assert episode.rewards == {"a_0": (10.0,), "b_0": (10.0, 10.0), "c_0": (10.0,) * 3}
    assert episode.score == 20.0  # the mean of 10, 20 and 30
    assert (episode.solved, episode.answer, episode.truncated) == (None, "", False)
    assert (episode.ended_by, episode.cut_short) == ("", False)
    assert episode.tokens_said == episode.tokens_read == {}
    assert [(turn.agent, turn.message) for turn in episode.turns[:3]] == [
        ("a_0", "word 0"),
        ("b_0", "word 0"),
        ("c_0", "word 0"),
    ]


@pytest.mark.parametrize("agent", ["a_0", "c_0"])
def test_an_episode_that_was_truncated_for_any_agent_is_truncated(agent):
    env = Countdown(truncate=agent)
    episode = play([env], everyone(env, Talker()), [Start(0)], seed=0)[0]
    assert episode.truncated and episode.cut_short and episode.ended_by == ""


def test_groups_of_an_environment_without_tasks_are_named_after_their_seed():
    env = Countdown()
    groups = collect([env], everyone(env, Talker()), [Start(4), Start(9)], 2, seed=0)
    assert [group.task for group in groups] == ["4", "9"]


def test_the_outcome_of_an_environment_whose_agents_end_at_different_times_is_the_last_one():
    class Scored(Countdown):
        def step(self, actions):
            observations, rewards, ended, cut, infos = super().step(actions)
            score = {"score": 0.5, "solved": True, "answer": "yes"} if not self.agents else {}
            return observations, rewards, ended, cut, {agent: score for agent in infos}

    env = Scored()
    episode = play([env], everyone(env, Talker()), [Start(0)], seed=0)[0]
    assert (episode.score, episode.solved, episode.answer) == (0.5, True, "yes")


def test_observations_may_be_dicts_with_other_limits():
    class Limited(Countdown):
        def _wrapped(self, texts, remaining):
            return {a: {"text": t, "tokens_left": remaining} for a, t in texts.items()}

        def reset(self, seed=None, options=None):
            texts, infos = super().reset(seed, options)
            return self._wrapped(texts, np.array([3, 9])), infos

        def step(self, actions):
            texts, *rest = super().step(actions)
            return (self._wrapped(texts, 0), *rest)

    env, talker = Limited(), Talker()
    episode = play([env], everyone(env, talker), [Start(0)], seed=0)[0]
    assert [len(call) for call in talker.calls] == [3]
    assert talker.calls[0][0].max_tokens == 3
    assert env.heard[1] == {"b_0": "", "c_0": ""}
    assert len(episode.rewards["c_0"]) == 3
