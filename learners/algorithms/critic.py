"""Value heads: the expected return of an agent from a round on, given its conversation so far.

A critic reads hidden states of the policies and sends no gradient into them. It therefore works on
whole models, adapters and frozen policies alike, and the weight of its loss needs no tuning against
the loss of the policy. It is used in training only.

The state of an agent in a round is the last hidden state at the last token of its conversation
before any reply of that round: at the end of its prompt if it has a turn, else at the end of its
last reply. Nothing that is said in the round is in it.

    sees=own   a head per policy, on the conversation of the agent itself (IPPO, arXiv 2011.09533)
    sees=team  one network on the conversations of all agents with a model, frozen ones included,
               and on whose value it is (MAPPO, arXiv 2103.01955)

The loss is the squared error to the returns. PPO's clipping of values is left out: it did harm at
every threshold (Andrychowicz et al. 2020, arXiv 2006.05990).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from laconic.envs.checks import Count, Positive, checked
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.episode import Episode, Turn
from laconic.learners.training.sequences import TokenSequence, collate, microbatches

States = dict[tuple[str, int], Tensor]
"""States (width,) float32 by agent and round; none before an agent has read a token."""
Sees = Literal["own", "team"]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Input of the network for one decision."""

    agent: str
    """Agent whose return from here on is estimated."""
    states: Mapping[str, Tensor]
    """States (width,) by agent, of the conversations that the critic sees."""


class Critic:
    """Estimates the values of an update's decisions, and learns from their returns."""

    @checked("learner.critic")
    def __init__(
        self,
        policies: Mapping[str, HFPolicy],
        trained: Collection[str],
        *,
        sees: Sees = "own",
        width: Count = 64,
        learning_rate: Positive = 1e-3,
        epochs: Count = 4,
        batch: Count = 256,
        seed: int = 0,
    ) -> None:
        """Make the network, which at first returns 0 everywhere.

        Args:
            policies: policies of all agents with a model; equal objects share weights.
            trained: agents whose values are estimated.
            sees: conversations it reads, the agent's `own` or those of the `team`.
            width: units of the hidden layer.
            learning_rate: learning rate of its optimizer, Adam.
            epochs: passes over the decisions of an update.
            batch: decisions per optimizer step.
            seed: seed of the first weights and of the order of the decisions.
        """
        read = {
            agent: policy
            for agent, policy in policies.items()
            if sees == "team" or agent in trained
        }
        self.sees = sees
        self.policies: Mapping[str, HFPolicy] = MappingProxyType(read)
        """Policies by agent, of those whose conversations it reads."""
        self._epochs, self._batch, self._seed = epochs, batch, seed
        device = next((policy.device for policy in read.values()), torch.device("cpu"))
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self._network = NETWORKS[sees](self.policies, width).to(device)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=learning_rate)

    def view(self, agent: str, round: int, states: States) -> View:
        """Return its input for an agent's decision in a round, from the states of the episode."""
        if self.sees == "own":
            return View(agent, {agent: states[agent, round]})
        return View(agent, {other: state for (other, at), state in states.items() if at == round})

    @torch.no_grad()
    def values(self, views: Sequence[View]) -> Tensor:
        """Compute values (views,), float32 on the CPU, reward units."""
        values: Tensor = self._network(views).cpu()
        return values

    def learn(
        self, views: Sequence[View], values: Tensor, returns: Tensor, updates: int
    ) -> dict[str, float]:
        """Move the values (views,) of an update's decisions toward the returns (views,).

        The order of the decisions depends on the updates done so far.

        Returns:
            `value_loss`, the mean squared error before the update. `explained_variance`, the part
            of the variance of the returns that the values predicted (1: all, 0: as much as their
            mean); missing where all returns are equal. `skipped_value_steps`, the number of steps
            that were skipped because loss or gradient was not finite, if any.
        """
        order = np.random.default_rng((self._seed, updates))
        skipped = 0
        for _ in range(self._epochs):
            shuffled = order.permutation(len(views)).tolist()
            for first in range(0, len(shuffled), self._batch):
                places = shuffled[first : first + self._batch]
                skipped += not self._step([views[place] for place in places], returns[places])
        errors, spread = returns - values, float(returns.var(unbiased=False))
        metrics = {"value_loss": float(errors.square().mean())}
        if spread > 0:
            metrics["explained_variance"] = 1 - float(errors.var(unbiased=False)) / spread
        return metrics | ({"skipped_value_steps": float(skipped)} if skipped else {})

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the network and of its optimizer."""
        return {"network": self._network.state_dict(), "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        self._network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])

    def _step(self, views: Sequence[View], returns: Tensor) -> bool:
        """Take one optimizer step; return False if it was skipped."""
        self._optimizer.zero_grad(set_to_none=True)
        values = self._network(views)
        loss = (values - returns.to(values)).square().mean()
        loss.backward()
        gradients = [
            weight.grad for weight in self._network.parameters() if weight.grad is not None
        ]
        if not all(bool(tensor.isfinite().all()) for tensor in (loss, *gradients)):
            return False
        self._optimizer.step()
        return True


class OwnConversation(nn.Module):
    """Head of two layers for each policy; agents that share a policy share its head."""

    def __init__(self, policies: Mapping[str, HFPolicy], width: int) -> None:
        """Make one head per policy."""
        super().__init__()
        different = list(dict.fromkeys(policies.values()))
        self._head_of = {agent: different.index(policy) for agent, policy in policies.items()}
        self._encoders = nn.ModuleList(_encoder(policy, width) for policy in different)
        self._weights = nn.Parameter(torch.zeros(len(different), width))
        self._biases = nn.Parameter(torch.zeros(len(different)))

    def forward(self, views: Sequence[View]) -> Tensor:
        """Compute values (views,)."""
        values = self._biases.new_zeros(len(views))
        for head, encoder in enumerate(self._encoders):
            places = [i for i, view in enumerate(views) if self._head_of[view.agent] == head]
            if places:
                states = torch.stack([views[i].states[views[i].agent] for i in places])
                read = torch.tanh(encoder(states.to(self._biases)))
                estimates = read @ self._weights[head] + self._biases[head]
                values = values.index_put((torch.tensor(places, device=values.device),), estimates)
        return values


class AllConversations(nn.Module):
    """Network of three layers on the mean of all encoded conversations and on whose value it is."""

    def __init__(self, policies: Mapping[str, HFPolicy], width: int) -> None:
        """Make an encoder and an embedding for each agent."""
        super().__init__()
        self._agents = {agent: place for place, agent in enumerate(policies)}
        self._encoders = nn.ModuleList(_encoder(policy, width) for policy in policies.values())
        self._asking = nn.Parameter(torch.zeros(len(policies), width))
        self._hidden = nn.Linear(width, width)
        self._value = nn.Linear(width, 1)
        nn.init.zeros_(self._value.weight)
        nn.init.zeros_(self._value.bias)

    def forward(self, views: Sequence[View]) -> Tensor:
        """Compute values (views,)."""
        team = self._asking[[self._agents[view.agent] for view in views]]
        for agent, place in self._agents.items():
            places = [i for i, view in enumerate(views) if agent in view.states]
            if places:
                states = torch.stack([views[i].states[agent] for i in places]).to(team)
                read = self._encoders[place](states) / len(self._agents)
                team = team.index_add(0, torch.tensor(places, device=team.device), read)
        values: Tensor = self._value(torch.tanh(self._hidden(torch.tanh(team))))
        return values.squeeze(-1)


NETWORKS: Mapping[str, Callable[[Mapping[str, HFPolicy], int], nn.Module]] = MappingProxyType(
    {"own": OwnConversation, "team": AllConversations}
)
"""Networks of the critic, by the conversations that they read."""


def _encoder(policy: HFPolicy, width: int) -> nn.Module:
    """Make a layer from the hidden states of a model to the network's own width."""
    size = int(policy.model.config.get_text_config().hidden_size)
    return nn.Sequential(nn.LayerNorm(size, elementwise_affine=False), nn.Linear(size, width))


def read_states(
    episodes: Sequence[Episode], policies: Mapping[str, HFPolicy], max_tokens: int
) -> list[States]:
    """Compute the states of each episode; each conversation is read once, without gradient.

    Args:
        episodes: plays of any tasks.
        policies: policies that sampled them, by agent.
        max_tokens: most tokens of one pass, padding included.

    Returns:
        (episodes,) states on the devices of the policies; none for agents without tokens.
    """
    by_episode: list[States] = [{} for _ in episodes]
    ends_of = {}
    for policy in dict.fromkeys(policies.values()):
        agents = [agent for agent, each in policies.items() if each is policy]
        conversations = []
        for index, episode in enumerate(episodes):
            for agent in agents:
                turns = [turn for turn in episode.turns if turn.agent == agent]
                # What follows the last reply with tokens may not fit into the model's positions.
                while turns and not turns[-1].reply_ids:
                    turns.pop()
                ends = _ends(turns, 1 + max((turn.round for turn in episode.turns), default=-1))
                if ends:
                    conversation = _conversation(episode, index, turns)
                    ends_of[id(conversation)] = ends
                    conversations.append(conversation)
        for part in microbatches(conversations, max_tokens):
            for each, states in zip(part, _hidden_states(policy, part), strict=True):
                for round, end in ends_of[id(each)].items():
                    # A copy, so that the states of all other tokens are freed.
                    by_episode[each.episode][each.agent, round] = states[end - 1].float().clone()
    return by_episode


def _ends(turns: Sequence[Turn], rounds: int) -> dict[int, int]:
    """Count the tokens of a conversation before the replies of each round; rounds with any."""
    by_round = {turn.round: turn for turn in turns}
    ends = {}
    read = 0
    for round in range(rounds):
        turn = by_round.get(round)
        read += len(turn.prompt_ids) if turn else 0
        if read:
            ends[round] = read
        read += len(turn.reply_ids) if turn else 0
    return ends


def _conversation(episode: Episode, index: int, turns: Sequence[Turn]) -> TokenSequence:
    """Make a sequence of all tokens of an agent as context."""
    token_ids = tuple(token for turn in turns for token in (*turn.prompt_ids, *turn.reply_ids))
    length, agent = len(token_ids), turns[0].agent
    masks = (False,) * length, (0.0,) * length
    return TokenSequence(episode.task, agent, index, None, token_ids, *masks, return_to_go=0.0)


@torch.no_grad()
def _hidden_states(policy: HFPolicy, sequences: Sequence[TokenSequence]) -> list[Tensor]:
    """Compute the last hidden states (tokens, width) of each sequence, without the output head."""
    batch = collate(sequences, policy.pad_id, policy.device)
    rows, row_of = batch.row_of.unique(return_inverse=True)
    token_ids, attention_mask = batch.token_ids[rows], batch.attention_mask[rows]
    with policy.computing():
        states: Tensor = policy.model.base_model(
            input_ids=token_ids, attention_mask=attention_mask.long(), use_cache=False
        ).last_hidden_state
    return [states[row] for row in row_of.tolist()]
