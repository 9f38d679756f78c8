"""What every world promises, found by listing."""

from __future__ import annotations

from random import Random

import pytest

from laconic import envs
from laconic.envs import worlds
from laconic.envs.errors import UnknownNameError
from laconic.envs.worlds.base import Manners, Seen, World

MANNERS = Manners(terse=0.5, silent=0.5, best=0.5, frames=1)


@pytest.fixture(params=worlds.names())
def world(request):
    """Every world there is, with its defaults."""
    return worlds.world(request.param)()


def test_worlds_are_environments_by_name_and_no_benchmarks(world):
    assert isinstance(world, World) and world.name in envs.names()
    assert world.name in envs.names("worlds") and world.name not in envs.names("benchmarks")
    with pytest.raises(UnknownNameError):
        envs.benchmark(world.name)


def test_a_state_is_told_in_facts_and_phrases_of_one_size(world):
    env = envs.make(world.name, tasks=2)
    env.reset(seed=0)
    phrases = world.phrases()
    assert len(set(phrases)) == len(phrases)
    while env.agents:
        for agent in env.agents:
            facts = world.told(env.world_state, agent)
            assert tuple(facts) == tuple(world.facts)
            assert world.offered(env.world_state, agent) <= set(phrases)
        env.step({})


def test_what_is_offered_as_an_act_is_legal_and_within_its_room(world):
    env = envs.make(world.name, tasks=2)
    env.reset(seed=0)
    acts = 0
    for agent in env.agents:
        for line in world.offered(env.world_state, agent):
            if line.startswith(">"):
                acts += 1
                assert world.read(env.world_state, agent, line) is not None
                assert len(env.tokenize("\n" + line)) <= len(
                    env.tokenize("\n" + world.longest_act())
                )
    assert acts >= len(env.agents)


def test_every_script_and_the_teacher_play(world):
    env = envs.make(world.name, tasks=2)
    for name in world.scripts():
        script = world.script(f"{name}3" if name.endswith(":") else name)
        for speaker in (script, world.teacher(MANNERS)):
            random, (seen, infos) = Random(0), env.reset(seed=0)
            while env.agents:
                said = {
                    agent: speaker(
                        Seen(agent, infos[agent]["facts"], seen[agent]["text"], False), random
                    )
                    for agent in env.agents
                }
                seen, *_, infos = env.step(said)
                assert all(info["legal"] for info in infos.values()), (name, said)
    with pytest.raises(UnknownNameError):
        world.script("nobody")
