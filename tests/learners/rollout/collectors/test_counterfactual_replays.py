"""Episodes played again: unchanged they repeat themselves, changed they go another way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.reward import Reward
from laconic.learners.advantages.credit import team_parts
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.episode import Episode, Parts, Turn
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.collectors.counterfactual import Replay, replayed, spoken_rounds
from laconic.learners.rollout.play import Start, play, replies_of

TIGHT = {"rounds": 3, "budget": Budget(message=5, round=12), "reward": Reward(price=0.3)}


def without_logprobs(episode: Episode) -> Episode:
    """Return the part of an episode that is compared bit for bit; probabilities may be rounded."""
    turns = (
        replace(turn, behavior_logprobs=(0.0,) * len(turn.reply_ids)) for turn in episode.turns
    )
    return replace(episode, turns=tuple(turns))


def test_without_replays_nothing_is_played(relay, relayers):
    assert replayed(Players([relay], {"x_0": relayers()}), [], seed=0) == ([], 0)
    assert relay.played == []


@pytest.mark.parametrize("last", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_an_unchanged_replay_of_a_greedy_episode_is_the_episode(make_env, make_policy, last):
    policy = make_policy(max_reply_tokens=8)
    environments = [make_env(**TIGHT) for _ in range(3)]
    policies = dict.fromkeys(environments[0].possible_agents, policy)
    starts = [Start(seed, task) for seed, task in enumerate(("fruit", "birds", "unknown"))]
    recorded = play(environments, policies, starts, seed=0, greedy=True)
    assert any(turn.cut for episode in recorded for turn in episode.turns)
    again = play(
        environments,
        policies,
        [
            replace(start, replies=replies_of(t for t in episode.turns if t.round <= last))
            for start, episode in zip(starts, recorded, strict=True)
        ],
        seed=1,
        greedy=True,
    )
    assert list(map(without_logprobs, again)) == list(map(without_logprobs, recorded))
    replays = [Replay(s, episode, last) for s, episode in zip(starts, recorded, strict=True)]
    ends, _ = replayed(Players(environments, policies), replays, seed=2)
    assert [end.rewards for end in ends] == [episode.rewards for episode in recorded]


def test_a_sampled_episode_stands_for_itself_when_rounds_are_sampled(make_env, make_policy):
    env = make_env()
    policies = dict.fromkeys(env.possible_agents, make_policy(max_reply_tokens=8))
    (episode,) = play([env], policies, [Start(0, "fruit")], seed=0)
    replays = [Replay(Start(0, "fruit"), episode, round) for round in (0, 1)]
    ends, played = replayed(Players([env], policies), replays, seed=0, greedy=False)
    assert (ends, played) == ([episode] * 2, 0)


def test_silence_frees_the_room_that_a_message_took(make_env):
    # All speak in every round, the solver first served; eight tokens a round are soon spent.
    env = make_env(rounds=2, budget=Budget(round=8), information="full", reward=Reward(price=1.0))
    policies = ScriptedTeam("verbose").policies(env)
    start = Start(0, "fruit")
    (episode,) = play([env], policies, [start], seed=0)
    first = [turn for turn in episode.turns if turn.round == 0]
    assert any(turn.cut for turn in first)
    assert sum(turn.tokens_said for turn in first) == 8
    # Whoever had the room is silent, and another says up to eight words of what it had wanted to.
    speaker = max(first, key=lambda turn: turn.tokens_said).agent
    silenced = Replay(start, episode, 0, {speaker: ""})
    (changed,), played = replayed(Players([env], policies), [silenced], seed=0)
    assert played == 1
    tokens = {message.agent: message.tokens for message in env.messages if message.round == 0}
    assert tokens[speaker] == 0
    assert sum(tokens.values()) == 8
    assert team_parts(changed) == pytest.approx(team_parts(episode))


def test_equal_seeds_give_equal_returns(make_env, make_policy):
    environments = [make_env(reward=Reward(price=0.3)) for _ in range(2)]
    policies = dict.fromkeys(environments[0].possible_agents, make_policy(max_reply_tokens=8))
    start = Start(0, "fruit")
    (episode,) = play(environments, policies, [start], seed=0)
    replays = [Replay(start, episode, 0, {a: ""}) for a in ("solver_0", "helper_0")]

    def returns(seed: int, greedy: bool) -> list[Parts]:
        players = Players(environments, policies)
        ends, _ = replayed(players, replays, seed=seed, greedy=greedy)
        return [team_parts(end) for end in ends]

    assert returns(1, False) == returns(1, False)
    assert returns(1, True) == returns(2, True)
    assert len({tuple(returns(seed, False)) for seed in range(8)}) > 1


def test_a_round_is_played_again_if_somebody_spoke_or_thought_in_it():
    turns = (
        Turn("x_0", 0, ""),
        Turn("y_0", 0, "left"),
        Turn("x_0", 1, "", thought="hm", tokens_thought=1),
        Turn("y_0", 1, ""),
        Turn("x_0", 2, ""),
        Turn("y_0", 2, ""),
    )
    episode = Episode(task="t", turns=turns, rewards={"x_0": (0.0,) * 3, "y_0": (0.0,) * 3})
    replays = spoken_rounds(Start(0), episode)
    speakers = [(replay.round, set(replay.speakers)) for replay in replays]
    assert speakers == [(0, {"y_0"}), (1, {"x_0"})]
