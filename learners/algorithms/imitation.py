"""Imitation: a policy learns to speak as scripted agents do, before it learns from reward.

Scripted agents play in the environment itself, so what is imitated has the very form that a rollout
has. Their messages are written down in the policy's own tokens; the loss is the mean negative
log-likelihood of these tokens (`Objective` with no ratio and advantage 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from laconic.learners.advantages.credit import own
from laconic.learners.agents.base import Policy, Reply, Request
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.episode import Episode
from laconic.learners.training.logprobs import current_logprobs
from laconic.learners.training.objective import LossInputs, Objective
from laconic.learners.training.sequences import TokenSequence, collate, episode_sequences


@dataclass(frozen=True, slots=True)
class Demonstrator:
    """A policy whose replies carry the tokens in which another one would have said them."""

    speaker: Policy
    """Who decides what is said."""
    writer: HFPolicy
    """Whose tokens it is written in."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """What the speaker says, in the writer's tokens; log-probabilities are 0."""
        said = self.speaker.reply(requests, seed=seed, greedy=greedy)
        return [
            self._written(request, reply) for request, reply in zip(requests, said, strict=True)
        ]

    def _written(self, request: Request, reply: Reply) -> Reply:
        reply_ids = self.writer.write(reply.message)
        return Reply(reply.message, self.writer.read(request), reply_ids, (0.0,) * len(reply_ids))


def demonstrations(episodes: Sequence[Episode]) -> list[TokenSequence]:
    """Every agent's conversation of some demonstrated episodes, each with advantage 1."""
    return [
        replace(sequence, advantage=1.0)
        for index, episode in enumerate(episodes)
        for sequence in episode_sequences(episode, index, own, "episode", None)
    ]


def imitation_loss(policy: HFPolicy, sequences: Sequence[TokenSequence]) -> torch.Tensor:
    """Mean negative log-likelihood of what `demonstrations` gave, in nats per token."""
    batch = collate(sequences, policy.pad_id).to(policy.device)
    objective = Objective(ratio="none", average="token")
    with policy.computing():
        logprobs = current_logprobs(policy.model, batch)
    inputs = LossInputs(
        current_logprobs=logprobs,
        behaviour_logprobs=batch.behaviour_logprobs,
        generated_mask=batch.generated_mask,
        advantages=batch.advantages,
    )
    return objective(inputs).loss
