"""Scripts that address facts to the agents that answer (`env.addressing=names`)."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.learners.agents.scripted import ScriptedTeam, Teacher, teacher_policy
from laconic.learners.rollout.play import Start, play


def gsm8k(addressing: str, count: int = 4, tasks: int = 3, **settings):
    """Make a complete team of one solver; a token costs 1 for each listener."""
    return envs.make(
        "gsm8k",
        free=True,
        tasks=tasks,
        team={"solver": 1, "helper": count - 1},
        topology="complete",
        addressing=addressing,
        generator={"level": 2, "distractors": 2},
        reward={"price": 1.0, "normalizer": 1.0, "charge": "listeners"},
        information="split",
        instructions="brief",
        **{"schedule": ["helper", "solver"], **settings},
    )


def episodes(env, policies):
    return play([env], policies, [Start(seed, key) for seed, key in enumerate(env.tasks)], seed=0)


@pytest.mark.parametrize("count", range(3, 17))
def test_oracle_with_addresses_solves_as_much_with_one_reader_in_place_of_all(count):
    read = []
    for kind, listeners in (("none", count - 1), ("names", 1)):
        env = gsm8k(kind, count)
        played = episodes(env, ScriptedTeam("oracle").policies(env))
        assert len(played) == 3 and all(episode.solved for episode in played)
        for episode in played:
            # T tokens are read T (n - 1) times, or T times.
            assert episode.measures["listeners"] == listeners
            for agent, tokens in episode.tokens_said.items():
                if agent != "solver_0":
                    assert sum(episode.bills[agent]) == listeners * tokens
        read.append(sum(sum(episode.tokens_read.values()) for episode in played))
    assert read[1] < read[0]


def test_who_addresses_whom():
    def first_words(script, kind="names", **settings):
        env = gsm8k(kind, **settings)
        turns = [
            turn for e in episodes(env, ScriptedTeam(script).policies(env)) for turn in e.turns
        ]
        return {
            (turn.agent == "solver_0", turn.message.startswith("@solver: "))
            for turn in turns
            if turn.message
        }

    helpers_do, helpers_do_not, solver_does_not = (False, True), (False, False), (True, False)
    assert first_words("oracle") == first_words("telegraph") == {helpers_do, solver_does_not}
    # Others speak to all, and so does every script where names do not count or all agents answer.
    assert first_words("verbose") == {helpers_do_not, solver_does_not}
    assert first_words("oracle", "scopes") == {helpers_do_not, solver_does_not}
    voters = first_words("oracle", answer="majority", schedule="all")
    assert voters == {helpers_do_not, solver_does_not}


def test_a_teacher_addresses_half_of_its_facts_and_no_draw_changes_without_addresses():
    def messages(kind):
        env = gsm8k(kind, tasks=60)
        policy = teacher_policy(Teacher(silent_informed=0.0, silent_uninformed=0.0), env)
        turns = [
            t for e in episodes(env, dict.fromkeys(env.possible_agents, policy)) for t in e.turns
        ]
        return [turn.message for turn in turns if turn.agent != "solver_0"]

    with_names = messages("names")
    share = sum(text.startswith("@solver: ") for text in with_names) / len(with_names)
    # 180 messages: 0.5 within four standard errors.
    assert len(with_names) == 180 and abs(share - 0.5) < 4 * (0.25 / 180) ** 0.5
    assert messages("none") == messages("scopes")
