"""Acts in messages, the contract of every world, and the defaults of `World`."""

from __future__ import annotations

from random import Random

import pytest

from laconic import envs
from laconic.envs.errors import UnknownNameError
from laconic.envs.registry import find
from laconic.envs.worlds.base import TeacherStyle, TurnView, World, join_act, split_act

STYLE = TeacherStyle(terse=0.5, silent=0.5, best=0.5, frames=1)


@pytest.mark.parametrize(
    ("message", "speech", "act"),
    [
        ("", "", ""),
        ("> catch 10", "", "> catch 10"),
        ("Ten each.\n> catch 10", "Ten each.", "> catch 10"),
        ("Ten each.\n> catch 10\n \n", "Ten each.", "> catch 10"),
        ("> catch 3\n> catch 10", "> catch 3", "> catch 10"),
        # Other lines, lines without the mark, and quotes are speech.
        ("> catch 10\nTen each.", "> catch 10\nTen each.", ""),
        ("Ten each. > catch 10", "Ten each. > catch 10", ""),
        ("See:\n  > catch 50", "See:\n  > catch 50", ""),
        ("fisher_1: > catch 50", "fisher_1: > catch 50", ""),
        (" > catch 10", " > catch 10", ""),
    ],
)
def test_the_last_line_is_an_act_if_it_begins_with_the_mark(message, speech, act):
    assert split_act(message) == (speech, act)


def test_speech_and_act_are_put_together_as_they_are_taken_apart():
    for speech, act in (("", ""), ("Hm.", ""), ("", "> end"), ("Two\nlines.", "> next a_1")):
        assert split_act(join_act(speech, act)) == (speech, act)


@pytest.fixture(params=envs.names("worlds"))
def world(request):
    """Return every world with its defaults."""
    return find(request.param)()


def test_worlds_are_environments_by_name_and_no_benchmarks(world):
    assert isinstance(world, World) and world.name in envs.names()
    assert world.name in envs.names("worlds") and world.name not in envs.names("benchmarks")
    with pytest.raises(UnknownNameError):
        envs.benchmark(world.name)


def test_a_state_is_told_in_facts_and_menu_of_one_size(world):
    env = envs.make(world.name, tasks=2)
    env.reset(seed=0)
    menu = world.menu()
    assert len(set(menu)) == len(menu)
    while env.agents:
        for agent in env.agents:
            facts = world.facts_for(env.world_state, agent)
            assert tuple(facts) == tuple(world.facts)
            assert set(world.offered(env.world_state, agent)) <= set(menu)
        env.step({})


def test_what_is_offered_as_an_act_is_legal_and_within_its_room(world):
    env = envs.make(world.name, tasks=2)
    env.reset(seed=0)
    acts = 0
    # A world may begin with a round of talk.
    while not acts:
        for agent in env.agents:
            for line in world.offered(env.world_state, agent):
                if line.startswith(">"):
                    acts += 1
                    assert world.parse_act(env.world_state, agent, line[2:]) is not None
                    longest = max(len(env.tokenize(f"\n> {act}")) for act in world.longest_acts())
                    assert len(env.tokenize("\n" + line)) <= longest
        env.step({})
    assert acts >= len(world.team)


def test_every_script_and_the_teacher_play(world):
    env = envs.make(world.name, tasks=2)
    for name in world.script_names:
        script = world.script(f"{name}3" if name.endswith(":") else name)
        for speaker in (script, world.teacher(STYLE)):
            random, (observations, infos) = Random(0), env.reset(seed=0)
            while env.agents:
                messages = {
                    agent: speaker(
                        TurnView(agent, infos[agent]["facts"], observations[agent]["text"], False),
                        random,
                    )
                    for agent in env.agents
                }
                observations, *_, infos = env.step(messages)
                assert all(info["legal"] for info in infos.values()), (name, messages)
    with pytest.raises(UnknownNameError):
        world.script("nobody")
