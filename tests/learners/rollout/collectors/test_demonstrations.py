"""Demonstrations have the same tokens as rollouts, and only imitated turns are trained."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from laconic.envs.dialogue.budget import Budget
from laconic.envs.errors import SettingError
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import ScriptedTeam, Teacher
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Policy, Reply, Request
from laconic.learners.rollout.collectors.demonstrations import (
    Recorded,
    RejectionSampling,
    TeacherDemos,
    TeacherForcing,
    train_only,
)
from laconic.learners.rollout.play import Start, play

STARTS = [Start(0, "fruit"), Start(1, "birds")]


@pytest.fixture
def policy(make_policy) -> HFPolicy:
    return make_policy(max_reply_tokens=24)


@pytest.fixture
def env(make_env):
    return make_env(information="split")


@pytest.fixture
def team(policy, env):
    return dict.fromkeys(env.possible_agents, policy)


def oracle(env, policy):
    speaker = ScriptedTeam("oracle").policies(env)["solver_0"]
    return dict.fromkeys(env.possible_agents, TeacherForcing(speaker, policy))


def test_a_demonstrator_is_a_policy_that_says_what_its_speaker_says(policy):
    class Speaker:
        def reply(self, requests, *, seed, greedy):
            return [Reply(f"{request.text} {seed} {greedy}") for request in requests]

    demonstrator = TeacherForcing(Speaker(), policy)
    assert isinstance(demonstrator, Policy)
    request = Request("a_0", "Hello")
    (reply,) = demonstrator.reply([request], seed=3, greedy=True)
    assert reply.message == "Hello 3 True"
    assert reply.prompt_ids == policy.read(request)
    assert reply.reply_ids == policy.write("Hello 3 True")
    assert reply.behavior_logprobs == (0.0,) * len(reply.reply_ids)


def test_what_is_demonstrated_reads_back_as_what_was_said(policy, env):
    silent = 0
    for episode in play([env], oracle(env, policy), STARTS, seed=0):
        assert episode.solved
        for turn in episode.turns:
            assert policy.parse(turn.reply_ids)[0] == turn.message
            silent += not turn.message
    # Silence is demonstrated too, with its word.
    assert silent


def test_demonstrations_have_the_very_form_of_a_rollout(policy, env):
    """The policy itself, made to say the same, reads the same tokens and is given the same."""
    (demonstration,) = play([env], oracle(env, policy), STARTS[:1], seed=0)
    messages = {(turn.agent, turn.round): turn.message for turn in demonstration.turns}

    class Parrot(HFPolicy):
        def reply(self, requests, *, seed, greedy):
            replies = []
            for request in requests:
                message = messages[request.agent, len(request.history)]
                ids = self.write(message)
                replies.append(Reply(message, self.read(request), ids, (0.0,) * len(ids)))
            return replies

    parrot = Parrot(policy.model, policy.tokenizer, policy.sampling)
    (played,) = play([env], dict.fromkeys(env.possible_agents, parrot), STARTS[:1], seed=9)
    assert played == demonstration


def test_a_message_over_budget_is_demonstrated_as_it_was_meant(policy, make_env):
    env = make_env(information="split", budget=Budget(message=2))
    speaker = ScriptedTeam("verbose").policies(env)["solver_0"]
    team = dict.fromkeys(env.possible_agents, TeacherForcing(speaker, policy))
    (episode,) = play([env], team, STARTS[:1], seed=0)
    cut = [turn for turn in episode.turns if turn.cut]
    assert cut
    assert all(policy.parse(turn.reply_ids)[0].startswith(turn.message) for turn in cut)
    assert all(policy.parse(turn.reply_ids)[0] != turn.message for turn in cut)


def test_a_teacher_speaks_for_all_and_a_share_of_the_others_is_imitated(env, team):
    def trained(others: float) -> set[str]:
        groups = TeacherDemos(Teacher(), others)([env], team, STARTS, 4, seed=3)
        turns = [turn for group in groups for episode in group.episodes for turn in episode.turns]
        assert all(turn.reply_ids for turn in turns)
        return {turn.agent for turn in turns if turn.trained}

    assert trained(1.0) == set(env.possible_agents)
    assert trained(0.0) == {"solver_0"}
    assert "solver_0" in trained(0.5)
    with pytest.raises(SettingError, match=r"learner\.collect\.others"):
        TeacherDemos(others=1.5)


@pytest.mark.parametrize("slow", [True, False])
def test_what_a_teacher_says_is_not_graded_where_that_waits_for_others(make_env, policy, slow):
    env = make_env(information="split")
    env.metadata = {**env.metadata, "slow_step": slow}
    calls = []

    class Watched(type(env.benchmark)):
        def score(self, task, answers):
            calls.append(task.key)
            return super().score(task, answers)

    env.benchmark = Watched()
    policies = dict.fromkeys(env.possible_agents, policy)
    (group,) = TeacherDemos(others=1.0)([env], policies, STARTS[:1], 2, seed=0)
    assert bool(calls) != slow
    assert {episode.solved is None for episode in group.episodes} == {slow}
    assert all(any(turn.message for turn in episode.turns) for episode in group.episodes)


def test_equal_calls_of_a_teacher_give_equal_groups(env, team):
    first, again, other = (TeacherDemos()([env], team, STARTS, 2, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_of_own_episodes_the_solved_one_of_fewest_tokens_is_imitated(monkeypatch, env, team):
    def episode(solved: bool, *tokens: int) -> Episode:
        turns = tuple(Turn(f"a_{i}", 0, "x", (1,), (2,), (0.0,)) for i, _ in enumerate(tokens))
        counts = {f"a_{i}": count for i, count in enumerate(tokens)}
        return Episode("t", turns, {}, solved=solved, tokens_said=counts)

    plays = {
        0: [episode(True, 5, 4), episode(True, 3, 4), episode(False, 0, 0), episode(True, 7, 0)],
        1: [episode(False, 1), episode(False, 2)],
    }
    monkeypatch.setattr(
        "laconic.learners.rollout.collectors.demonstrations.collect",
        lambda *players, **rest: [Group("t", tuple(plays[place])) for place in (0, 1)],
    )
    collector = RejectionSampling()
    first, second = collector([env], team, STARTS, 4, seed=0)
    assert [[turn.trained for turn in episode.turns] for episode in first.episodes] == [
        [False, False],
        [True, True],
        [False, False],
        [False, False],
    ]
    assert not any(turn.trained for episode in second.episodes for turn in episode.turns)
    assert collector.metrics == {"imitated_groups": 1.0}


def test_own_episodes_are_refused_where_none_has_a_verdict(monkeypatch, env, team):
    groups = [Group("t", (Episode("t", (), {}), Episode("t", (), {})))]
    monkeypatch.setattr(
        "laconic.learners.rollout.collectors.demonstrations.collect", lambda *_, **__: groups
    )
    with pytest.raises(SettingError, match=r"expected infos with `solved`, got none; choose"):
        RejectionSampling().gather(([env], team), STARTS, 2, seed=0)


def test_what_others_say_is_context():
    turns = (Turn("a_0", 0, "x"), Turn("b_0", 0, "y"))
    changed = train_only(Episode("t", turns, {}), {"b_0"})
    assert [turn.trained for turn in changed.turns] == [False, True]


@pytest.fixture
def recorded(tmp_path, env, policy):
    """Writes the episodes of an oracle team as an evaluation keeps them."""

    def write(change=lambda row: row, starts=STARTS) -> str:
        episodes = play([env], oracle(env, policy), starts, seed=0)
        lines = []
        for start, episode in zip(starts, episodes, strict=True):
            row = {"seed": start.seed, "task": start.task, "episode": asdict(episode)}
            lines.append(json.dumps(change(row)) + "\n")
        (tmp_path / "episodes.jsonl").write_text("".join(lines))
        return str(tmp_path)

    return write


def test_recorded_episodes_are_said_again_in_the_policys_own_tokens(recorded, env, team, policy):
    groups = Recorded(recorded())([env], team, STARTS * 4, 2, seed=0)
    episodes = play([env], oracle(env, policy), STARTS, seed=0)
    demonstration = {episode.task: episode for episode in episodes}
    assert len(groups) == 8 and {group.task for group in groups} == demonstration.keys()
    for group in groups:
        (taught,) = group.episodes
        turns = [
            (turn.agent, turn.message, turn.prompt_ids, turn.reply_ids) for turn in taught.turns
        ]
        assert turns == [
            (turn.agent, turn.message, turn.prompt_ids, turn.reply_ids)
            for turn in demonstration[group.task].turns
        ]
        assert all(turn.trained for turn in taught.turns)


def test_what_goes_otherwise_here_is_not_imitated(recorded, env, team):
    def otherwise(row):
        row["episode"]["turns"][0]["read"] = "What nobody here reads."
        return row

    collector = Recorded(recorded(otherwise))
    groups = collector([env], team, STARTS, 2, seed=0)
    assert collector.metrics == {"unfit_episodes": 2.0}
    assert not any(
        turn.trained for group in groups for each in group.episodes for turn in each.turns
    )


def test_failures_and_strange_tasks_are_no_examples(recorded, env, team):
    def failed(row):
        row["episode"]["solved"] = False
        return row

    folder = recorded(failed)
    with pytest.raises(SettingError, match=r"has no solved episode of a training task"):
        Recorded(folder)([env], team, STARTS, 2, seed=0)
    assert Recorded(folder, solved=False)([env], team, STARTS, 2, seed=0)
    folder = recorded(lambda row: row | {"task": "unheard-of"})
    with pytest.raises(SettingError, match=r"laconic evaluate evaluation\.split=train"):
        Recorded(folder)([env], team, STARTS, 2, seed=0)


@pytest.mark.parametrize("text", [None, "no json\n", "[]\n", '{"task": "fruit"}\n'])
def test_a_folder_that_is_no_evaluation_is_refused(tmp_path, env, team, text):
    if text is not None:
        (tmp_path / "episodes.jsonl").write_text(text)
    with pytest.raises(SettingError, match="must be the run folder of an evaluation"):
        Recorded(str(tmp_path))([env], team, STARTS, 2, seed=0)
