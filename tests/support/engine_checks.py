"""Recorded log-probabilities compared with the policies' own forward passes."""

from __future__ import annotations

import torch


@torch.no_grad()
def scores(policy, ids):
    """Return the log-probability of each token but the first, given those before it."""
    tokens = torch.tensor([list(ids)], device=policy.device)
    with policy.computing():
        logits = policy.model(input_ids=tokens, use_cache=False).logits[0, :-1]
    logprobs = torch.log_softmax(logits.float() / policy.sampling.temperature, dim=-1)
    return logprobs.gather(-1, tokens[0, 1:, None]).squeeze(-1).tolist()


def turns(groups):
    """Return all turns of some groups."""
    return [turn for group in groups for episode in group.episodes for turn in episode.turns]


def conversation(turn, episode):
    """Return the tokens before a reply: what its agent read and said earlier in the episode."""
    earlier = [other for other in episode if other.agent == turn.agent and other.round < turn.round]
    ids = [token for other in earlier for token in (*other.prompt_ids, *other.reply_ids)]
    return [*ids, *turn.prompt_ids]


def mismatch(groups, policies):
    """Return the largest difference of a recorded log-probability from the policy's own."""
    worst = 0.0
    for group in groups:
        for episode in group.episodes:
            for turn in episode.turns:
                before = conversation(turn, episode.turns)
                own = scores(policies[turn.agent], [*before, *turn.reply_ids])
                own = own[len(before) - 1 :]
                pairs = zip(own, turn.behavior_logprobs, strict=True)
                worst = max(worst, *(abs(a - b) for a, b in pairs))
    return worst
