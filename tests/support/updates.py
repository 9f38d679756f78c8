"""Groups with chosen returns, learners of them, and what became of the weights."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial

import torch

from laconic.learners.agents.hf import HFPolicy
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Reply, Request
from laconic.learners.rollout.play import Start, collect

SGD = partial(torch.optim.SGD, lr=0.1)
UNIT_SGD = partial(torch.optim.SGD, lr=1.0)
ADAMW = partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.0)
INF = float("inf")

Speakers = dict[str, HFPolicy]
_SAID: dict[Hashable, list[Reply]] = {}


def replies(policy: HFPolicy, requests: Sequence[Request], seed: int) -> list[Reply]:
    """Sample replies; those of another policy of equal weights and settings are reused."""
    state = policy.model.state_dict().values()
    data = (tensor.reshape(-1).view(torch.uint8).numpy().tobytes() for tensor in state)
    weights = tuple(map(hash, data))
    settings = (policy.model.config.model_type, policy.model.dtype, repr(policy.sampling))
    key = (*settings, weights, repr(requests), seed)
    if key not in _SAID:
        _SAID[key] = policy.reply(requests, seed=seed, greedy=False)
    return _SAID[key]


def episode(speakers: Speakers, pays: Sequence[float], seed: int, rounds: int = 2) -> Episode:
    """Play an episode in which all agents speak in every round and are paid in the last one."""
    turns: list[Turn] = []
    histories: dict[str, list] = {agent: [] for agent in speakers}
    for number in range(rounds):
        for place, (agent, policy) in enumerate(speakers.items()):
            text = f"Hello {agent}, this is round {number}."
            history = tuple(histories[agent])
            request = Request(agent, text, history, (text,) * len(history))
            draw = seed * 100 + number * 10 + place
            (reply,) = replies(policy, [request], draw)
            histories[agent].append(reply)
            turns.append(
                Turn(
                    agent,
                    number,
                    reply.message,
                    reply.prompt_ids,
                    reply.reply_ids,
                    reply.behavior_logprobs,
                )
            )
    rewards = {
        agent: (*([0.0] * (rounds - 1)), pay) for agent, pay in zip(speakers, pays, strict=True)
    }
    return Episode("t", tuple(turns), rewards)


def group_of(speakers: Speakers, pays: Sequence[Sequence[float]], **settings: int) -> Group:
    """Play one episode per row of pays, each with its own replies."""
    return Group(
        "t",
        tuple(episode(speakers, row, seed, **settings) for seed, row in enumerate(pays)),
    )


def weights(policy: HFPolicy) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in policy.model.state_dict().items()}


def equal(weights: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(weights[name], other[name]) for name in weights)


def distance(weights: dict[str, torch.Tensor], policy: HFPolicy) -> float:
    """Euclidean distance over all parameters, tied ones counted once."""
    moved = (weights[name] - parameter for name, parameter in policy.model.named_parameters())
    return sum(difference.square().sum().item() for difference in moved) ** 0.5


@torch.no_grad()
def reply_logprobs(policy: HFPolicy, turn: Turn) -> torch.Tensor:
    ids = torch.tensor([[*turn.prompt_ids, *turn.reply_ids]])
    logprobs = torch.log_softmax(policy.model(input_ids=ids).logits[0], dim=-1)
    place = len(turn.prompt_ids) - 1
    return logprobs[place:-1].gather(-1, torch.tensor(turn.reply_ids)[:, None]).squeeze(-1)


def learner(speakers: Speakers, optimizer: Callable = SGD, **settings) -> GroupLearner:
    return GroupLearner(speakers, optimizer, **{"minibatches": 1, **settings})


def played(policies, make_env, pays=(1.0, 0.0, 0.5)) -> Group:
    """Episodes of one task, everybody paid the same number for each."""
    environments = [make_env(rounds=2) for _ in pays]
    (group,) = collect(environments, policies, [Start(0, "fruit")], len(pays), seed=0)
    episodes = [
        replace(
            episode, rewards={agent: (pay,) * 2 for agent in policies}, task_rewards={}, bills={}
        )
        for episode, pay in zip(group.episodes, pays, strict=True)
    ]
    return Group(group.task, tuple(episodes))
