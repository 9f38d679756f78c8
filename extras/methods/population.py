"""Teams that meet partners from a pool: one role is played by another partner in every group.

A partner is a frozen policy, a script, or the learner itself. Which one plays is drawn from the key
of the task. All episodes of a group share their task, so they meet one partner and stay comparable.
Nothing tells the learner whom it meets, except how the partner plays (arXiv 2602.16301).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.checks import Share, Word, check_fields
from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.learners.agents.mixed import MemberView, MixedTeam
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.interfaces import Policy, Reply, Request


class PartnerPolicy:
    """Policy of a seat: in every task another one of its partners plays. It is never trained."""

    def __init__(self, learner: Policy, pool: Sequence[Policy], self_share: float) -> None:
        """Join the partners.

        Args:
            learner: policy of the agents that learn.
            pool: the other partners.
            self_share: fraction of tasks in which the learner is its own partner, 0 to 1.
        """
        self._learner, self._pool, self._self_share = learner, tuple(pool), self_share

    def partner(self, task: str) -> Policy:
        """Return the partner that plays in a task."""
        digest = blake2b(task.encode("utf-8", "replace"), digest_size=8).digest()
        place = int.from_bytes(digest) / 2**64
        if place < self._self_share:
            return self._learner
        share = (place - self._self_share) / (1 - self._self_share)
        return self._pool[int(share * len(self._pool))]

    def know(self, tasks: Mapping[str, Task]) -> None:
        """Add tasks for the scripts in the pool."""
        for policy in self._pool:
            if hasattr(policy, "know"):
                policy.know(tasks)

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer all requests, each by the partner of its task."""
        partners = [self.partner(str(request.info["task"])) for request in requests]
        replies: dict[int, Reply] = {}
        for partner in {id(policy): policy for policy in partners}.values():
            places = [place for place, policy in enumerate(partners) if policy is partner]
            asked = [requests[place] for place in places]
            answers = partner.reply(asked, seed=seed, greedy=greedy)
            replies |= dict(zip(places, answers, strict=True))
        return [replies[place] for place in range(len(requests))]


@dataclass
class PopulationTeam(MixedTeam):
    """A team whose members learn, and whose partners come from a pool.

    Its `members` are those of a mixed team, for all roles but `seat`.
    """

    seat: Word = "partner"
    """Role of the partners."""
    pool: Sequence[Word | Any] = ("tft", "wsls", "allc", "alld")
    """Partners: names of scripts, or builders of policies such as frozen models."""
    self_share: Share = 0.5
    """Fraction of tasks in which the first member is its own partner, 0 to 1."""

    def __post_init__(self) -> None:
        """Check members and pool.

        Raises:
            SettingError: there are no members, `seat` is one of them, the pool is empty or has an
                entry that is no partner, or `self_share` is outside its range.
        """
        super().__post_init__()
        check_fields(self, "agent")
        if self.seat in self.members:
            raise SettingError(
                f"agent.members must not have the role of agent.seat={self.seat}, which partners"
                " from agent.pool play"
            )
        if not self.pool and self.self_share < 1:
            raise SettingError(
                "agent.pool must have a partner if agent.self_share is below 1; got none and"
                f" {self.self_share}"
            )
        for partner in self.pool:
            if not isinstance(partner, str) and not hasattr(type(partner), "policies"):
                raise SettingError(
                    "agent.pool must list names of scripts, or agents as in conf/agent, with"
                    f" _target_; got {partner!r}"
                )

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, Policy]:
        """Return the policy of each agent; those of the seat are never trained.

        Raises:
            SettingError: the environment has no such role, or a member cannot be built.
        """
        agents = environment.possible_agents
        seats = [agent for agent in agents if role_of(agent) == self.seat]
        if not seats or len(seats) == len(agents):
            roles = ", ".join(dict.fromkeys(map(role_of, agents)))
            raise SettingError(
                f"agent.seat must be one of several roles of the environment; got {self.seat!r},"
                f" and its roles are {roles}"
            )
        learning = [agent for agent in agents if agent not in seats]
        policies = super().policies(MemberView(environment, learning))
        view = MemberView(environment, seats)
        teams = [ScriptedTeam(each) if isinstance(each, str) else each for each in self.pool]
        pools = [team.policies(view) for team in teams]
        for seat in seats:
            pool = [partners[seat] for partners in pools]
            policies[seat] = PartnerPolicy(policies[learning[0]], pool, self.self_share)
        return {agent: policies[agent] for agent in agents}
