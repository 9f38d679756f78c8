"""Log-probabilities of replies that nobody sampled here, so that an update can count from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from laconic.learners.advantages.credit import own
from laconic.learners.agents.base import Policy
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.episode import Episode
from laconic.learners.training.logprobs import recomputed
from laconic.learners.training.sequences import episode_sequences


def scored(
    episodes: Sequence[Episode], policies: Mapping[str, Policy], max_tokens: int
) -> list[Episode]:
    """The episodes, in order, with what a forward pass now gives the turns that are trained.

    Turns of scripts, and turns that are context, stay as they are.

    Args:
        episodes: as they were played here, in the tokens of these policies.
        policies: who spoke for each agent.
        max_tokens: max. tokens, padding included, of one forward pass.
    """
    found: dict[tuple[int, str], Iterator[float]] = {}
    for policy, agents in _speakers(policies):
        sequences = [
            one
            for index, episode in enumerate(episodes)
            for one in episode_sequences(episode, index, own, "episode", agents)
        ]
        temperature = policy.speech.temperature
        for one in recomputed(policy.model, sequences, policy.pad_id, temperature, max_tokens):
            generated = zip(one.behavior_logprobs, one.generated, strict=True)
            found[one.episode, one.agent] = iter([each for each, mine in generated if mine])
    scored = []
    for index, episode in enumerate(episodes):
        turns = []
        for turn in episode.turns:
            if turn.trained and (index, turn.agent) in found:
                logprobs = tuple(islice(found[index, turn.agent], len(turn.reply_ids)))
                turn = replace(turn, behavior_logprobs=logprobs)
            turns.append(turn)
        scored.append(replace(episode, turns=tuple(turns)))
    return scored


def _speakers(policies: Mapping[str, Policy]) -> list[tuple[HFPolicy, list[str]]]:
    """Every set of weights with the agents that speak by it."""
    found: dict[int, tuple[HFPolicy, list[str]]] = {}
    for agent, policy in policies.items():
        if isinstance(policy, HFPolicy):
            found.setdefault(id(policy), (policy, []))[1].append(agent)
    return list(found.values())
