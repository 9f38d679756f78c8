"""Tokens that go through a model while it plays, for every token of the conversations it has."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager

import pytest

from laconic import envs
from laconic.envs.dialogue.budget import Budget
from laconic.learners.agents import folders, smollm2, tiny
from laconic.learners.agents.hf import HFPolicy, HFTeam
from laconic.learners.episode import Group
from laconic.learners.interfaces import Reply, Request
from laconic.learners.rollout.play import Start, collect, play

ROUNDS = (2, 8, *(pytest.param(rounds, marks=pytest.mark.slow) for rounds in (4, 16)))


class Count:
    """Tokens that go through a policy's model."""

    def __init__(self, policy: HFPolicy) -> None:
        self.read = self.padded = 0
        policy.model.base_model.register_forward_pre_hook(self._add, with_kwargs=True)

    def _add(self, _, arguments, keywords) -> None:
        ids, mask = keywords["input_ids"], keywords["attention_mask"]
        self.padded += ids.numel()
        self.read += ids.numel() if mask is None else int(mask[:, -ids.shape[1] :].sum())


def length(groups: Sequence[Group]) -> int:
    """Tokens of all conversations."""
    turns = [turn for group in groups for episode in group.episodes for turn in episode.turns]
    return sum(len(turn.prompt_ids) + len(turn.reply_ids) for turn in turns)


def assert_read_once(policy: HFPolicy, environments, tasks: int, group: int) -> None:
    count, agents = Count(policy), environments[0].possible_agents
    starts = [Start(number) for number in range(tasks)]
    groups = collect(environments, dict.fromkeys(agents, policy), starts, group, seed=0)
    read, padded = count.read / length(groups), count.padded / length(groups)
    print(f"{environments[0].rounds} rounds: {read:.2f} read, with padding {padded:.2f}")
    assert len(agents) == 4
    assert max(turn.round for turn in groups[0].episodes[0].turns) + 1 == environments[0].rounds
    assert read <= 1.02 and padded <= 1.10


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("kind", ["llama", pytest.param("qwen3", marks=pytest.mark.slow)])
def test_a_model_reads_each_token_of_a_conversation_once(make_env, make_policy, kind, rounds):
    """Random weights, which end a reply in one of many, so that rows go on to different lengths."""
    policy = make_policy(kind, model={"max_position_embeddings": 8192}, max_reply_tokens=8)
    team = [make_env(rounds=rounds) for _ in range(8)]
    assert_read_once(policy, team, tasks=2, group=4)


def pretrained(
    team: HFTeam, rounds: int, count: int, instructions: str = "brief"
) -> tuple[HFPolicy, list]:
    """Return a team's one policy, and environments with this number of rounds."""
    settings = {
        "tokenize": team.tokenize,
        "instructions": instructions,
        "rounds": rounds,
        "budget": Budget(message=team.sampling.max_reply_tokens - 1),
    }
    environments = [envs.make("gsm8k", free=True, **settings) for _ in range(count)]
    return team.policies(environments[0])["solver_0"], environments


@pytest.mark.slow
@pytest.mark.parametrize("rounds", ROUNDS)
def test_the_shipped_policy_reads_each_token_once(rounds):
    team = tiny.TinyTeam(sampling=tiny.TinySamplingSettings(max_reply_tokens=10))
    assert_read_once(*pretrained(team, rounds, 32), tasks=4, group=8)


@pytest.mark.slow
@pytest.mark.skipif(folders.find_smollm2() == folders.SMOLLM2_HUB, reason="needs `make smollm2`")
@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_pretrained_model_reads_each_token_once(rounds):
    sampling = smollm2.SmolLM2SamplingSettings(max_reply_tokens=8)
    team = smollm2.SmolLM2Team(sampling=sampling, device="cpu", precision="float32")
    # With brief instructions its first words are the answer, which ends an episode.
    assert_read_once(*pretrained(team, rounds, 4, "full"), tasks=2, group=2)


class Keeper:
    """Notes when it may remember and when it is asked."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    @contextmanager
    def remembering(self):
        self.notes.append("begin")
        yield
        self.notes.append("end")

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        self.notes.append(f"asked {len(requests)}")
        return [Reply("word") for _ in requests]


def test_a_policy_may_remember_while_episodes_are_played_together(make_env):
    """Three episodes, two at a time, of two rounds: four agents that speak by one policy."""
    keeper, environments = Keeper(), [make_env(), make_env()]
    policies = dict.fromkeys(environments[0].possible_agents, keeper)
    play(environments, policies, [Start(0), Start(1), Start(2)], seed=0)
    first = ["begin", "asked 8", "asked 8", "end"]
    assert keeper.notes == [*first, "begin", "asked 4", "asked 4", "end"]


def test_it_forgets_when_a_play_fails(make_env, make_policy):
    policy, broken = make_policy(), make_env()
    policies = dict.fromkeys(broken.possible_agents, policy)

    def fail(actions):
        assert policy._cache is not None
        raise RuntimeError("no more")

    broken.step = fail
    with pytest.raises(RuntimeError, match="no more"):
        play([broken], policies, [Start(0)], seed=0)
    assert policy._cache is None
