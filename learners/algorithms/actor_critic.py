"""PPO with a value head: IPPO and MAPPO, for comparison with classic multi-agent RL.

PPO (arXiv 1707.06347) compares the return of a reply with what a critic expected of it, and not
with other episodes of its task. One decision is one reply: the critic gives a value to the
conversation before a reply, and all tokens of the reply have one advantage. Which conversations the
critic sees is what tells IPPO from MAPPO (`learners.algorithms.critic`).

Between two replies of an agent others may speak, and it may be out of turn; all rewards until its
next reply belong to its last one. Rewards before its first reply belong to no decision. Rewards are
discounted by the agent's own replies. The value after the last reply is 0: an episode that is
truncated here has spent its budget, which ends it for good.

Left out: an entropy bonus, the clipping of values, and several passes of the policy over one
rollout; minibatches are what makes the ratio and its clipping act, as in
`learners.algorithms.group`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from laconic.envs.checks import choice, number
from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import WHOLE, Credit
from laconic.learners.advantages.gae import gae
from laconic.learners.advantages.group import check_returns
from laconic.learners.advantages.whitening import whitened
from laconic.learners.agents.base import Policy
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.algorithms.base import Resumable
from laconic.learners.algorithms.critic import Critic, read_states
from laconic.learners.algorithms.group import PolicyLearner, Steps
from laconic.learners.episode import Episode, Group
from laconic.learners.training.objective import Average, Objective, Ratio
from laconic.learners.training.sequences import TokenSequence, episode_sequences
from laconic.learners.training.trainer import MakeOptimizer

MakeCritic = Callable[..., Critic]
"""Called with the policies of all agents that speak with a model, those to train, and the seed."""


@dataclass(frozen=True, slots=True)
class PPO(Objective):
    """The loss of PPO on the tokens of replies: an `Objective` with other defaults."""

    ratio: Ratio = "token"
    """As above."""
    clip_high: float = 0.2
    """As above."""
    average: Average = "token"
    """As above."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The decisions of one agent in one episode."""

    sequences: tuple[TokenSequence, ...]
    """Its replies, oldest first; `episode` counts the episodes of the update."""
    rewards: tuple[float, ...]
    """(replies,) credit from each reply on until the next."""


class ActorCriticLearner(PolicyLearner):
    """PPO whose advantages come from a critic and generalised advantage estimation."""

    def __init__(
        self,
        policies: Mapping[str, Policy],
        optimizer: MakeOptimizer,
        *,
        critic: MakeCritic = Critic,
        charge_when: Literal["solved", "always"] = "solved",
        gamma: float = 1.0,
        gae_lambda: float = 0.95,
        objective: Objective | None = None,
        seed: int = 0,
        **common: Any,
    ) -> None:
        """Check the settings and make one optimiser per policy, and the critic.

        Args:
            policies: see `PolicyLearner`, as for the optimiser.
            optimizer: makes an optimiser of a policy's parameters.
            critic: makes the critic.
            charge_when: episodes whose costs are charged. One critic cannot know the pass rate of a
                group, by which `GroupLearner` weighs costs; `learner/price=pass_rate` is its form
                for a whole update.
            gamma: discount of rewards per further reply they lie ahead, 0 to 1.
            gae_lambda: how far rewards are trusted over the critic, 0 to 1.
            objective: the loss of the policies; None: that of `PPO`.
            seed: of the order in which replies enter the minibatches, and of the critic.
            **common: further settings of `PolicyLearner`; the unit is always a reply.

        Raises:
            SettingError: a setting is out of range, or the credit foretells what a critic is for.
        """
        self._charge_when = choice("learner.charge_when", charge_when, ("solved", "always"))
        self._gamma: float = number("learner.gamma", gamma, lowest=0, highest=1)
        self._lambda: float = number("learner.gae_lambda", gae_lambda, lowest=0, highest=1)
        super().__init__(
            policies, optimizer, unit="reply", objective=objective or PPO(), seed=seed, **common
        )
        if self._credit in WHOLE:
            raise SettingError(
                f"learner.credit={common['credit']} holds what comes of a message later, which is"
                " what a critic adds; set learner.credit to own, team or outcome, or take a"
                " learner without critic (learner=grpo)"
            )
        self._trained = tuple(agent for trainer in self._trainers for agent in trainer.agents)
        speaking = {agent: one for agent, one in policies.items() if isinstance(one, HFPolicy)}
        self._critic = critic(speaking, self._trained, seed=seed)

    def _learn(self, groups: Sequence[Group]) -> tuple[Steps, dict[str, float]]:
        episodes = [episode for group in groups for episode in group.episodes]
        if self._charge_when == "solved":
            episodes = [replace(episode, when="solved") for episode in episodes]
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
        """Values first, as they are of the policies that sampled; then all steps."""
        critic, replies = self._critic, [one for path in trajectories for one in path.sequences]
        max_tokens = self._settings.microbatch_tokens
        states = self._processes.map_sharded(
            episodes, lambda own: read_states(own, critic.policies, max_tokens)
        )
        views = [critic.view(one.agent, _round(one), states[one.episode]) for one in replies]
        values = critic.values(views).double()
        advantages = self._advantages(trajectories, values)
        compared = [
            replace(one, advantage=advantage)
            for one, advantage in zip(replies, advantages.tolist(), strict=True)
        ]
        steps: Steps = {}
        for trainer in self._trainers:
            own = [one for one in compared if one.agent in trainer.agents]
            steps[trainer] = trainer.update(whitened(own), self._updates)
        learned = critic.learn(views, values, values + advantages, self._updates)
        return steps, learned

    def _memory(self) -> Mapping[str, Resumable]:
        return {"critic": self._critic}

    def _advantages(self, trajectories: Sequence[Trajectory], values: Tensor) -> Tensor:
        """Advantages (replies,) of all trajectories, one after the other, as the values are."""
        lengths = [len(one.sequences) for one in trajectories]
        mask = pad_sequence([torch.ones(n, dtype=torch.bool) for n in lengths], batch_first=True)
        rewards = [torch.tensor(one.rewards, dtype=values.dtype) for one in trajectories]
        padded = pad_sequence(list(values.split(lengths)), batch_first=True)
        given = pad_sequence(rewards, batch_first=True)
        return gae(given, padded, mask, self._gamma, self._lambda)[mask]


def trajectories_of(
    episode: Episode,
    index: int,
    credit: Credit,
    agents: Collection[str],
    *,
    mask_truncated: bool = False,
) -> Iterator[Trajectory]:
    """Make the decisions of each agent to train that has reply tokens of its own.

    A decision earns the task reward less the full cost: one critic cannot know a group's pass rate.

    The arguments are those of `episode_sequences`; replies given to an agent are context.

    Raises:
        SettingError: an agent spoke but has no rewards, or a return is not finite.
    """
    credits = credit(episode)
    replies: dict[str, list[TokenSequence]] = {}
    for one in episode_sequences(
        episode, index, credit, "reply", agents, mask_truncated=mask_truncated
    ):
        replies.setdefault(one.agent, []).append(one)
    for agent, own in replies.items():
        check_returns([one.return_to_go for one in own], [one.key for one in own])
        starts = [_round(one) for one in own]
        ends = [*starts[1:], None]
        paid = [
            task - cost for task, cost in zip(credits.task[agent], credits.cost[agent], strict=True)
        ]
        rewards = (sum(paid[s:e]) for s, e in zip(starts, ends, strict=True))
        yield Trajectory(tuple(own), tuple(map(float, rewards)))


def _round(reply: TokenSequence) -> int:
    """The round of a sequence that is a single reply."""
    return int(reply.round or 0)
