"""Each episode is a task of its own."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from concurrent.futures import Future

import pytest

from laconic.learners.engines.server import EventLoop
from laconic.learners.interfaces import Prompt, SampledReply
from laconic.learners.rollout.async_episodes import AsyncEpisodes
from laconic.learners.rollout.play import Listener, Start, play


class Slow:
    """Samples one end token after a time that the episode decides."""

    version = 3

    def __init__(self, seconds):
        self.loop, self.seconds = EventLoop(), seconds
        self.now = self.most = 0
        self.asked: list[Prompt] = []
        self.verified = 0

    async def sample_one(self, prompt):
        self.asked.append(prompt)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.seconds(prompt.episode))
        self.now -= 1
        return SampledReply((prompt.end_ids[0],), (-0.5,), prompt.version)

    def sample(self, prompts):
        return [self.loop.run(self.sample_one(prompt)) for prompt in prompts]

    def submit(self, work) -> Future:
        return self.loop.submit(work)

    def verify(self):
        self.verified += 1


@pytest.fixture
def slow_team(make_policy, make_env):
    """Agents whose replies take as long as is said, and environments to play in."""

    def make(seconds, count, **settings):
        policy, sampler = make_policy(), Slow(seconds)
        policy.sample_with(sampler)
        environments = [make_env(**settings) for _ in range(count)]
        return environments, dict.fromkeys(environments[0].possible_agents, policy), sampler

    return make


def test_a_slow_episode_holds_up_nobody(slow_team):
    environments, policies, sampler = slow_team(lambda place: 0.5 if place == 0 else 0.0, 2)
    ended = []

    class Notes(Listener):
        def ended(self, place, episode):
            assert threading.current_thread() is threading.main_thread()
            ended.append(place)

    starts = [Start(place, "fruit") for place in range(6)]
    episodes = play(environments, policies, starts, seed=1, listener=Notes())
    assert ended == [1, 2, 3, 4, 5, 0] and len(episodes) == 6
    assert sampler.verified == 1


def test_one_episode_runs_per_environment(slow_team):
    environments, policies, sampler = slow_team(lambda _: 0.01, 3)
    starts = [Start(0, "fruit")] * 7
    episodes = AsyncEpisodes(environments, policies, starts, 1, math.inf)
    assert len(episodes.play(sampler)) == 7
    assert sampler.most == 3 * len(policies)


def test_a_reply_has_the_seed_of_its_place_and_nothing_else(slow_team):
    def seeds(delay, seed=1):
        environments, policies, sampler = slow_team(lambda place: delay * (place % 2), 4)
        play(environments, policies, [Start(place, "fruit") for place in range(4)], seed=seed)
        assert {request.version for request in sampler.asked} == {3}
        return sorted((request.episode, request.seed) for request in sampler.asked)

    assert seeds(0.0) == seeds(0.02)
    assert seeds(0.0) != seeds(0.0, seed=2)
    results = [seed for _, seed in seeds(0.0)]
    assert len(set(results)) == len(results)


def test_greedy_play_asks_for_the_likeliest_token(slow_team):
    environments, policies, sampler = slow_team(lambda _: 0.0, 2)
    play(environments, policies, [Start(0, "fruit")], seed=1, greedy=True)
    assert {request.temperature for request in sampler.asked} == {0.0}
    play(environments, policies, [Start(0, "fruit")], seed=1)
    assert {request.temperature for request in sampler.asked} == {0.0, 1.0}


def test_environments_that_wait_step_beside_each_other(slow_team):
    environments, policies, _ = slow_team(lambda _: 0.0, 8)
    for environment in environments:
        environment.metadata = {**environment.metadata, "slow_step": True}
        step = environment.step
        environment.step = lambda actions, step=step: (time.sleep(0.2), step(actions))[1]
    began = time.monotonic()
    episodes = play(environments, policies, [Start(0, "fruit")] * 8, seed=1)
    rounds = max(len(episode.rewards["solver_0"]) for episode in episodes)
    assert time.monotonic() - began < 0.2 * rounds * 4


def test_what_goes_wrong_in_one_episode_ends_the_play_as_itself(slow_team):
    def fail(place):
        if place == 2:
            raise ConnectionError("the server is gone")
        return 0.0

    environments, policies, sampler = slow_team(fail, 2)
    with pytest.raises(ConnectionError, match="the server is gone"):
        play(environments, policies, [Start(0, "fruit")] * 5, seed=1)
    assert sampler.verified == 0
