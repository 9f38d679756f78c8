"""Value heads: the expected return of an agent from a round on, given its conversation so far.

A critic reads hidden states of the policies and has no gradient into them, so that it works alike
on whole models, adapters and frozen policies, and no weight of the value loss has to be tuned
against that of the policy. It is used in training alone.

The state of an agent in a round is the last hidden state at the last token of its conversation
before anybody replies in that round: at the end of its prompt if it has a turn, else where its own
last reply ended. Nothing that is said in the round is in it.

`own`: each policy has a head that sees the conversation of the agent concerned (IPPO, arXiv
2011.09533). `team`: one network sees the conversations of all agents that speak with a model,
frozen ones included, and is told whose value is asked for (MAPPO, arXiv 2103.01955).

The loss is the squared error to the returns. PPO's clipping of values is left out: it was found to
harm whatever its threshold (Andrychowicz et al. 2020, arXiv 2006.05990).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from laconic.envs.checks import choice, number, whole
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.episode import Episode, Turn
from laconic.learners.training.sequences import TokenSequence, collate, microbatches

States = dict[tuple[str, int], Tensor]
"""Agent and round -> (width,) float32; without those that had not read a token yet."""
Sees = Literal["own", "team"]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The input of a value."""

    agent: str
    """Whose return from here on."""
    states: Mapping[str, Tensor]
    """By agent, (width,): the conversations that the critic sees, the agent's own among them."""


class Critic:
    """The values of an update's decisions, and how they are learned."""

    def __init__(
        self,
        policies: Mapping[str, HFPolicy],
        trained: Collection[str],
        *,
        sees: Sees = "own",
        width: int = 64,
        learning_rate: float = 1e-3,
        epochs: int = 4,
        batch: int = 256,
        seed: int = 0,
    ) -> None:
        """Make the network, which at first gives 0 everywhere.

        Args:
            policies: by agent, of all that speak with a model; equal objects share weights.
            trained: agents whose values are asked for.
            sees: the conversations it reads, the agent's `own` or those of the `team`.
            width: of the hidden layer.
            learning_rate: of its optimiser, Adam.
            epochs: passes over the decisions of an update.
            batch: decisions of an optimiser step.
            seed: of the first weights and of the order of the decisions.
        """
        choice("learner.critic.sees", sees, get_args(Sees))
        for name, count in (("width", width), ("epochs", epochs), ("batch", batch)):
            whole(f"learner.critic.{name}", count, 1)
        number("learner.critic.learning_rate", learning_rate, above=0)
        seen = {agent: one for agent, one in policies.items() if sees == "team" or agent in trained}
        self.sees = sees
        self.policies: Mapping[str, HFPolicy] = MappingProxyType(seen)
        """By agent, of those whose conversations it reads."""
        self._epochs, self._batch, self._seed = epochs, batch, seed
        device = next((policy.device for policy in seen.values()), torch.device("cpu"))
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self._network = NETWORKS[sees](self.policies, width).to(device)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=learning_rate)

    def view(self, agent: str, round: int, states: States) -> View:
        """What it sees of an agent's decision in a round, given the states of the episode."""
        if self.sees == "own":
            return View(agent, {agent: states[agent, round]})
        return View(agent, {other: one for (other, at), one in states.items() if at == round})

    @torch.no_grad()
    def values(self, views: Sequence[View]) -> Tensor:
        """Values (views,), float32 on the CPU, reward units."""
        values: Tensor = self._network(views).cpu()
        return values

    def learn(
        self, views: Sequence[View], values: Tensor, returns: Tensor, updates: int
    ) -> dict[str, float]:
        """Move the values (views,) of all decisions of an update towards the returns (views,).

        The order of the steps follows the updates done so far.

        Returns:
            `value_loss`, the mean squared error before the update, and `explained_variance`, the
            part of the variance of the returns that the values foretold: 1 is all, 0 as much as
            their mean does; not where all returns are equal. A step whose loss or gradient is not
            finite is left out and counted as `skipped_value_steps`.
        """
        order = np.random.default_rng((self._seed, updates))
        skipped = 0
        for _ in range(self._epochs):
            drawn = order.permutation(len(views)).tolist()
            for first in range(0, len(drawn), self._batch):
                places = drawn[first : first + self._batch]
                skipped += not self._step([views[place] for place in places], returns[places])
        errors, spread = returns - values, float(returns.var(unbiased=False))
        metrics = {"value_loss": float(errors.square().mean())}
        if spread > 0:
            metrics["explained_variance"] = 1 - float(errors.var(unbiased=False)) / spread
        return metrics | ({"skipped_value_steps": float(skipped)} if skipped else {})

    def state_dict(self) -> dict[str, Any]:
        """The network and its optimiser."""
        return {"network": self._network.state_dict(), "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])

    def _step(self, views: Sequence[View], returns: Tensor) -> bool:
        """One optimiser step; False for one that was skipped."""
        self._optimizer.zero_grad(set_to_none=True)
        values = self._network(views)
        loss = (values - returns.to(values)).square().mean()
        loss.backward()
        gradients = [one.grad for one in self._network.parameters() if one.grad is not None]
        if not all(bool(one.isfinite().all()) for one in (loss, *gradients)):
            return False
        self._optimizer.step()
        return True


class OwnConversation(nn.Module):
    """A head of two layers for each policy; agents that share a policy share its head."""

    def __init__(self, policies: Mapping[str, HFPolicy], width: int) -> None:
        """Make one head per policy, as wide inside as asked for."""
        super().__init__()
        different = list(dict.fromkeys(policies.values()))
        self._head_of = {agent: different.index(policy) for agent, policy in policies.items()}
        self._encoders = nn.ModuleList(_encoder(policy, width) for policy in different)
        self._weights = nn.Parameter(torch.zeros(len(different), width))
        self._biases = nn.Parameter(torch.zeros(len(different)))

    def forward(self, views: Sequence[View]) -> Tensor:
        """Values (views,)."""
        values = self._biases.new_zeros(len(views))
        for head, encoder in enumerate(self._encoders):
            places = [i for i, view in enumerate(views) if self._head_of[view.agent] == head]
            if places:
                states = torch.stack([views[i].states[views[i].agent] for i in places])
                read = torch.tanh(encoder(states.to(self._biases)))
                found = read @ self._weights[head] + self._biases[head]
                values = values.index_put((torch.tensor(places, device=values.device),), found)
        return values


class AllConversations(nn.Module):
    """The mean of what is made of each agent's conversation, and of who asks, in three layers."""

    def __init__(self, policies: Mapping[str, HFPolicy], width: int) -> None:
        """Make an encoder and an entry of its own for each agent."""
        super().__init__()
        self._agents = {agent: place for place, agent in enumerate(policies)}
        self._encoders = nn.ModuleList(_encoder(policy, width) for policy in policies.values())
        self._asking = nn.Parameter(torch.zeros(len(policies), width))
        self._hidden = nn.Linear(width, width)
        self._value = nn.Linear(width, 1)
        nn.init.zeros_(self._value.weight)
        nn.init.zeros_(self._value.bias)

    def forward(self, views: Sequence[View]) -> Tensor:
        """Values (views,)."""
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
"""The networks by what they see."""


def _encoder(policy: HFPolicy, width: int) -> nn.Module:
    """From hidden states, whose size differs from model to model, to the network's own width."""
    size = int(policy.model.config.get_text_config().hidden_size)
    return nn.Sequential(nn.LayerNorm(size, elementwise_affine=False), nn.Linear(size, width))


def read_states(
    episodes: Sequence[Episode], policies: Mapping[str, HFPolicy], max_tokens: int
) -> list[States]:
    """The states of each episode, every conversation of these agents read once, without gradient.

    The policies are those that sampled; `max_tokens`: max. tokens, padding included, of one pass.
    States are on the devices of the policies; agents without tokens have none.
    """
    found: list[States] = [{} for _ in episodes]
    places = {}
    for policy in dict.fromkeys(policies.values()):
        agents = [agent for agent, one in policies.items() if one is policy]
        conversations = []
        for index, episode in enumerate(episodes):
            for agent in agents:
                turns = [turn for turn in episode.turns if turn.agent == agent]
                # What comes after the last reply with tokens fills more than the model has.
                while turns and not turns[-1].reply_ids:
                    turns.pop()
                ends = _ends(turns, 1 + max((turn.round for turn in episode.turns), default=-1))
                if ends:
                    read = _conversation(episode, index, turns)
                    places[id(read)] = ends
                    conversations.append(read)
        for part in microbatches(conversations, max_tokens):
            for one, states in zip(part, _hidden_states(policy, part), strict=True):
                for round, end in places[id(one)].items():
                    # A copy of its own, so that the states of all other tokens are let go.
                    found[one.episode][one.agent, round] = states[end - 1].float().clone()
    return found


def _ends(turns: Sequence[Turn], rounds: int) -> dict[int, int]:
    """How many tokens of a conversation lie before the replies of each round, if there are any."""
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
    """All tokens of an agent as context."""
    token_ids = tuple(token for turn in turns for token in (*turn.prompt_ids, *turn.reply_ids))
    length, agent = len(token_ids), turns[0].agent
    masks = (False,) * length, (0.0,) * length
    return TokenSequence(episode.task, agent, index, None, token_ids, *masks, return_to_go=0.0)


@torch.no_grad()
def _hidden_states(policy: HFPolicy, sequences: Sequence[TokenSequence]) -> list[Tensor]:
    """Last hidden states (tokens, width) of each sequence, without the output head."""
    batch = collate(sequences, policy.pad_id).to(policy.device)
    hosts, row_of = batch.hosts.unique(return_inverse=True)
    token_ids, attention_mask = batch.token_ids[hosts], batch.attention_mask[hosts]
    with policy.computing():
        states: Tensor = policy.model.base_model(
            input_ids=token_ids, attention_mask=attention_mask.long(), use_cache=False
        ).last_hidden_state
    return [states[row] for row in row_of.tolist()]
