"""Groups of joint works, whose tasks have drafts and details that stay at home, in a swarm."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.extras.swarm.exchange import Exchange, share
from laconic.extras.swarm.replay import benchmark_of, replay_groups
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.play import Start, collect


@pytest.mark.parametrize("name", ["coop_humaneval", "tldr"])
def test_a_group_of_a_joint_work_is_shared_read_back_and_taken(tmp_path, name):
    env = envs.make(name, free=True, tasks=2)
    task = next(iter(env.tasks.values()))
    assert task.drafts
    policies = ScriptedTeam("oracle").policies(env)
    group = collect([env], policies, [Start(1, task.key)], 2, seed=0)[0]
    Exchange(tmp_path, "ann").publish(share(benchmark_of(env), group, task, 1), "1")
    read = Exchange(tmp_path, "bob").read("ann/1.json")
    assert read.task.drafts == task.drafts
    (replayed,) = replay_groups([env], policies, [read], max_tokens=4096)
    assert replayed is not None and not replayed.own
    rewards = [[episode.rewards for episode in each.episodes] for each in (replayed, group)]
    assert rewards[0] == rewards[1]
