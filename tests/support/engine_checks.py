"""What an engine recorded, compared with the policies' own forward passes."""

from __future__ import annotations

import torch


@torch.no_grad()
def scores(policy, ids):
    """What a policy's model gives each token but the first, given those before it."""
    tokens = torch.tensor([list(ids)], device=policy.device)
    with policy.computing():
        logits = policy.model(input_ids=tokens, use_cache=False).logits[0, :-1]
    found = torch.log_softmax(logits.float() / policy.speech.temperature, dim=-1)
    return found.gather(-1, tokens[0, 1:, None]).squeeze(-1).tolist()


def turns(groups):
    return [turn for group in groups for episode in group.episodes for turn in episode.turns]


def conversation(turn, all_turns):
    """The tokens before a reply: what the agent read and said in its episode so far."""
    found = []
    for one in all_turns:
        if one.agent == turn.agent and one.round < turn.round:
            found += [*one.prompt_ids, *one.reply_ids]
    return [*found, *turn.prompt_ids]


def mismatch(groups, policies):
    """Largest difference between what was recorded and the policies' own forward passes."""
    worst = 0.0
    for group in groups:
        for episode in group.episodes:
            for turn in episode.turns:
                before = conversation(turn, episode.turns)
                policy = policies[turn.agent]
                own = scores(policy, [*before, *turn.reply_ids])
                own = own[len(before) - 1 :]
                pairs = zip(own, turn.behaviour_logprobs, strict=True)
                worst = max(worst, *(abs(a - b) for a, b in pairs))
    return worst
