"""What a policy makes of a conversation: its hidden states, for a critic to look at.

The state of an agent in a round is the last hidden state at the last token of its conversation
before anybody replies in that round: at the end of its prompt if it has a turn, else where its own
last reply ended. Nothing that is said in the round is in it. Read without gradient; knows neither
rewards nor values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from laconic.learners.agents.policy import HFPolicy
from laconic.learners.episode import Episode, Turn
from laconic.learners.training.microbatches import microbatches
from laconic.learners.training.sequences import TokenSequence, collate

States = dict[tuple[str, int], Tensor]
"""Agent and round -> (width,) float32; without those that had not read a token yet."""


def read_states(
    episodes: Sequence[Episode], policies: Mapping[str, HFPolicy], max_tokens: int
) -> list[States]:
    """Read every conversation once.

    Args:
        episodes: sampled by the policies as they are now.
        policies: by agent, of those whose conversations are read.
        max_tokens: most tokens, padding included, of one forward pass.

    Returns:
        The states of each episode, on the devices of the policies; none of agents without tokens.
    """
    found: list[States] = [{} for _ in episodes]
    places = {}
    for policy in dict.fromkeys(policies.values()):
        agents = [agent for agent, one in policies.items() if one is policy]
        conversations = []
        for index, episode in enumerate(episodes):
            for agent in agents:
                turns = _spoken([turn for turn in episode.turns if turn.agent == agent])
                ends = _ends(turns, 1 + max((turn.round for turn in episode.turns), default=-1))
                if ends:
                    read = _conversation(episode, index, turns)
                    places[id(read)] = ends
                    conversations.append(read)
        for part in microbatches(conversations, max_tokens):
            for one, states in zip(part, _hidden_states(policy, part), strict=True):
                for number, end in places[id(one)].items():
                    # A copy of its own, so that the states of all other tokens are let go.
                    found[one.episode][one.agent, number] = states[end - 1].float().clone()
    return found


def _spoken(turns: list[Turn]) -> list[Turn]:
    """The turns up to the last with a reply; what comes after one fills more than the model has."""
    while turns and not turns[-1].reply_ids:
        turns = turns[:-1]
    return turns


def _ends(turns: Sequence[Turn], rounds: int) -> dict[int, int]:
    """How many tokens of a conversation lie before the replies of each round, if there are any."""
    by_round = {turn.round: turn for turn in turns}
    ends = {}
    read = 0
    for number in range(rounds):
        turn = by_round.get(number)
        read += len(turn.prompt_ids) if turn else 0
        if read:
            ends[number] = read
        read += len(turn.reply_ids) if turn else 0
    return ends


def _conversation(episode: Episode, index: int, turns: Sequence[Turn]) -> TokenSequence:
    """All tokens of an agent as context."""
    token_ids = tuple(token for turn in turns for token in (*turn.prompt_ids, *turn.reply_ids))
    return TokenSequence(
        task=episode.task,
        agent=turns[0].agent,
        episode=index,
        round=None,
        token_ids=token_ids,
        generated=(False,) * len(token_ids),
        behaviour_logprobs=(0.0,) * len(token_ids),
        pay=0.0,
    )


@torch.no_grad()
def _hidden_states(policy: HFPolicy, sequences: Sequence[TokenSequence]) -> Tensor:
    """Last hidden states (sequences, tokens, width), without the output head."""
    batch = collate(sequences, policy.pad_id).to(policy.device)
    states: Tensor = policy.model.base_model(
        input_ids=batch.token_ids, attention_mask=batch.attention_mask.long(), use_cache=False
    ).last_hidden_state
    return states
