"""PPO with a value head: IPPO and MAPPO, the baselines of classic multi-agent RL.

PPO (arXiv 1707.06347) compares the return of a reply with the value that a critic gave to it, not
with other episodes of its task. One decision is one reply: the critic evaluates the conversation
before a reply, and all tokens of the reply have one advantage. IPPO and MAPPO differ in the
conversations that the critic sees (`learners.algorithms.critic`).

Rewards between two replies of an agent belong to the first of them, even if others speak meanwhile.
Rewards before its first reply belong to no decision. Rewards are discounted by the agent's own
replies. The value after the last reply is 0, for a truncated episode too: it has spent its budget,
so nothing can follow.

Left out: an entropy bonus, the clipping of values, and several passes of the policy over one
rollout. The ratio and its clipping act from the second minibatch on, as in
`learners.algorithms.group`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from laconic.envs.checks import Ceiling, Share, checked
from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import FORWARD_LOOKING, OF_GROUP, Credit
from laconic.learners.advantages.gae import gae
from laconic.learners.advantages.group import check_returns
from laconic.learners.advantages.whitening import whitened
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.algorithms.base import Resumable
from laconic.learners.algorithms.critic import Critic, read_states
from laconic.learners.algorithms.group import PolicyLearner, Steps
from laconic.learners.episode import Episode, Group
from laconic.learners.interfaces import Policy
from laconic.learners.training.objective import Average, Objective, Ratio
from laconic.learners.training.own_loss import Loss
from laconic.learners.training.sequences import (
    TokenSequence,
    episode_sequences,
    with_advantages,
)
from laconic.learners.training.trainer import MakeOptimizer

MakeCritic = Callable[..., Critic]
"""Constructor of a critic from policies by agent, the agents to train, and a seed."""


@dataclass(frozen=True, slots=True)
class PPO(Objective):
    """Loss of PPO on the tokens of replies: an `Objective` with other defaults."""

    importance_sampling_level: Ratio = "token"
    """Importance ratio of each token; see `Objective`."""
    epsilon_high: Ceiling = 0.2
    """Upper clip, the same as `epsilon`; see `Objective`."""
    average: Average = "token"
    """Mean over all generated tokens; see `Objective`."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Decisions of one agent in one episode."""

    sequences: tuple[TokenSequence, ...]
    """(replies,) oldest first; `episode` counts the episodes of the update."""
    rewards: tuple[float, ...]
    """(replies,) credit from each reply until the next; reward units."""


class ActorCriticLearner(PolicyLearner):
    """PPO whose advantages come from a critic and generalized advantage estimation."""

    @checked("learner")
    def __init__(
        self,
        policies: Mapping[str, Policy],
        optimizer: MakeOptimizer,
        *,
        critic: MakeCritic = Critic,
        gamma: Share = 1.0,
        gae_lambda: Share = 0.95,
        objective: Objective | Loss | None = None,
        seed: int = 0,
        **common: Any,
    ) -> None:
        """Check the settings and make one optimizer per policy, and the critic.

        Args:
            policies: see `PolicyLearner`.
            optimizer: see `PolicyLearner`.
            critic: makes the critic.
            gamma: discount of a reward per further reply of the agent, 0 to 1.
            gae_lambda: weight of rewards over the critic, 0 to 1.
            objective: loss of the policies; None: that of `PPO`.
            seed: seed of the order in which replies enter the minibatches, and of the critic.
            **common: further settings of `PolicyLearner`; the unit is always a reply.

        Raises:
            SettingError: a setting is out of range, or the credit already includes later rounds.
        """
        self._gamma, self._lambda = gamma, gae_lambda
        objective = PPO() if objective is None else objective
        super().__init__(
            policies, optimizer, unit="reply", objective=objective, seed=seed, **common
        )
        if self._credit in FORWARD_LOOKING:
            raise SettingError(
                f"learner.credit={common['credit']} already includes the rounds after a message,"
                " which a critic would add again; set learner.credit to own, team or outcome, or"
                " take a learner without critic (learner=grpo)"
            )
        if self._credit in OF_GROUP:
            raise SettingError(
                f"learner.credit={common['credit']} compares the episodes of a group, of which a"
                " critic knows nothing; set learner.credit to own, team or outcome, or take a"
                " learner without critic (learner=grpo)"
            )
        self._trained = tuple(agent for trainer in self._trainers for agent in trainer.agents)
        models = {
            agent: policy for agent, policy in policies.items() if isinstance(policy, HFPolicy)
        }
        self._critic = critic(models, self._trained, seed=seed)

    def _learn(self, groups: Sequence[Group]) -> tuple[Steps, dict[str, float]]:
        episodes = [episode for group in groups for episode in group.episodes]
        trajectories = [
            trajectory
            for index, episode in enumerate(episodes)
            for trajectory in trajectories_of(
                episode, index, self._credit, self._trained, mask_truncated=self._mask_truncated
            )
        ]
        return self._learn_from(episodes, trajectories) if trajectories else ({}, {})

    def _learn_from(
        self, episodes: Sequence[Episode], trajectories: Sequence[Trajectory]
    ) -> tuple[Steps, dict[str, float]]:
        """Compute all values under the policies that sampled, then take all steps."""
        critic = self._critic
        replies = [reply for trajectory in trajectories for reply in trajectory.sequences]
        max_tokens = self._settings.microbatch_tokens
        states = self._processes.map_sharded(
            episodes, lambda share: read_states(share, critic.policies, max_tokens)
        )
        views = [
            critic.view(reply.agent, _round(reply), states[reply.episode]) for reply in replies
        ]
        values = critic.values(views).double()
        advantages = self._advantages(trajectories, values)
        compared = with_advantages(replies, advantages.tolist())
        steps: Steps = {}
        for trainer in self._trainers:
            sequences = [each for each in compared if each.agent in trainer.agents]
            weighed = whitened(
                [each.advantage for each in sequences], [sum(each.generated) for each in sequences]
            )
            steps[trainer] = trainer.update(with_advantages(sequences, weighed), self._updates)
        learned = critic.learn(views, values, values + advantages, self._updates)
        return steps, learned

    def _memory(self) -> Mapping[str, Resumable]:
        return {"critic": self._critic}

    def _advantages(self, trajectories: Sequence[Trajectory], values: Tensor) -> Tensor:
        """Compute the advantages (replies,) of trajectories, in the order of the values."""
        lengths = [len(each.sequences) for each in trajectories]
        mask = pad_sequence([torch.ones(n, dtype=torch.bool) for n in lengths], batch_first=True)
        rewards = pad_sequence(
            [torch.tensor(each.rewards, dtype=values.dtype) for each in trajectories],
            batch_first=True,
        )
        padded = pad_sequence(list(values.split(lengths)), batch_first=True)
        return gae(rewards, padded, mask, self._gamma, self._lambda)[mask]


def trajectories_of(
    episode: Episode,
    index: int,
    credit: Credit,
    agents: Collection[str],
    *,
    mask_truncated: bool = False,
) -> Iterator[Trajectory]:
    """Make the trajectory of each agent to train that has reply tokens of its own.

    A decision earns the task reward less the cost. The arguments are those of `episode_sequences`.
    Replies with `trained=False` are context.

    Raises:
        SettingError: an agent spoke but has no rewards, or a return is not finite.
    """
    credits = credit(episode)
    replies: dict[str, list[TokenSequence]] = {}
    for reply in episode_sequences(
        episode, index, credit, "reply", agents, mask_truncated=mask_truncated
    ):
        replies.setdefault(reply.agent, []).append(reply)
    for agent, own in replies.items():
        check_returns([reply.return_to_go for reply in own], [reply.key for reply in own])
        starts = [_round(reply) for reply in own]
        ends = [*starts[1:], None]
        paid = [
            task - cost for task, cost in zip(credits.task[agent], credits.cost[agent], strict=True)
        ]
        rewards = (sum(paid[s:e]) for s, e in zip(starts, ends, strict=True))
        yield Trajectory(tuple(own), tuple(map(float, rewards)))


def _round(reply: TokenSequence) -> int:
    """Return the round of a sequence that is a single reply."""
    return int(reply.round or 0)
