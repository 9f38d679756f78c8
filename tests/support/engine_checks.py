"""What an engine recorded, compared with the policies' own forward passes."""

from __future__ import annotations

from laconic.learners.engines.probe import scores


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
                own = scores(policy, [*before, *turn.reply_ids], policy.speech.temperature)
                own = own[len(before) - 1 :]
                pairs = zip(own, turn.behaviour_logprobs, strict=True)
                worst = max(worst, *(abs(a - b) for a, b in pairs))
    return worst
