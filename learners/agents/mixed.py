"""Teams whose members differ: each role or agent has its own model, adapter or script.

A member is any builder of policies, an object with `tokenize` and `policies(environment)`. It gets
a view of the environment that lists its own agents only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import getattr_static
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pettingzoo import ParallelEnv

from laconic.envs.checks import TRUSTED, Model, Word
from laconic.envs.dialogue.roster import by_agent
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.folders import download_policies, folder_name
from laconic.learners.agents.hf import HFTeam, give_optimizers
from laconic.learners.interfaces import Policy

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy


@dataclass
class MixedTeam:
    """Builder of a team from members, each with its own settings for training."""

    members: Mapping[str, Any]
    """Members by role or agent: `HFTeam`, `ScriptedTeam` or another builder. An entry for an agent
    replaces that of its role. Agents of one member share weights as that member's `sharing`
    says."""
    counted_by: Word | None = None
    """Member whose tokens budgets are counted in; None: the first. Replies of the others are cut by
    the same count."""
    model: Model | None = None
    """Folder, or repository on the hub, with the policies saved by a training of such a team.
    Policies that it lacks, such as frozen ones, come from the members' own `model`. None: all
    policies do."""
    optimizer: Annotated[Mapping[str, Mapping[str, Any]] | None, TRUSTED] = None
    """Optimizer settings by role or agent; they replace those of the group `optimizer`."""

    def __post_init__(self) -> None:
        """Check that there are members and that each is a builder of policies.

        Raises:
            SettingError: there are no members, or one is not a builder of policies.
            UnknownNameError: `counted_by` names no member.
        """
        if not self.members:
            raise SettingError("agent.members must name a role or agent; got none")
        for name, member in self.members.items():
            # `getattr_static` does not compute `tokenize`, which would load a tokenizer.
            if any(getattr_static(member, part, None) is None for part in ("tokenize", "policies")):
                raise SettingError(
                    f"agent.members.{name} must be an agent as in conf/agent, with _target_; got"
                    f" {member!r}"
                )
        if self.counted_by is not None and self.counted_by not in self.members:
            raise UnknownNameError("agent.counted_by", self.counted_by, self.members)

    def for_environment(self, name: str) -> MixedTeam:
        """Return the team with members whose weights suit an environment, by its name."""
        members = {
            role: member.for_environment(name) if hasattr(member, "for_environment") else member
            for role, member in self.members.items()
        }
        return replace(self, members=members)

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit the team, by dotted key.

        Budgets are the largest of any member. All other settings are those of the first trained
        member, or of the first member if none is trained.
        """
        members = [member for member in self.members.values() if hasattr(member, "defaults")]
        settings = [dict(member.defaults(imitates)) for member in members]
        trained = [
            defaults
            for member, defaults in zip(members, settings, strict=True)
            if not getattr(member, "frozen", True)
        ]
        merged: dict[str, Any] = dict(next(iter(trained or settings), {}))
        for key in ("env.budget.message", "env.budget.episode"):
            caps = [defaults[key] for defaults in settings if key in defaults]
            if caps:
                merged[key] = None if None in caps else max(caps)
        return merged

    @property
    def tokenize(self) -> Callable[[str], Sequence[str]]:
        """Function that cuts text into tokens; environments count budgets with it."""
        counting = self.members[self.counted_by or next(iter(self.members))]
        tokenize: Callable[[str], Sequence[str]] = counting.tokenize
        return tokenize

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, Policy]:
        """Return the policy of each agent.

        Raises:
            SettingError: an agent has no member, or a member cannot be built.
            UnknownNameError: `members` or `optimizer` names an agent or role that does not exist.
        """
        from laconic.learners.agents.policy import HFPolicy

        agents = environment.possible_agents
        names = {name: name for name in self.members}
        member_of = by_agent("agent or role in agent.members", names, agents)
        optimizers = by_agent("agent or role in agent.optimizer", self.optimizer or {}, agents)
        missing = [agent for agent in agents if agent not in member_of]
        if missing:
            raise SettingError(
                f"agent.members has no member for {', '.join(missing)}; add them or their role; got"
                f" {', '.join(self.members)}"
            )
        policies: dict[str, Policy] = {}
        for name in dict.fromkeys(member_of.values()):
            mine = [agent for agent in agents if member_of[agent] == name]
            member = self._with_saved_weights(self.members[name], mine)
            policies |= member.policies(MemberView(environment, mine))
        models = {
            agent: policy for agent, policy in policies.items() if isinstance(policy, HFPolicy)
        }
        _check_trained(optimizers, models)
        give_optimizers(models, optimizers)
        return {agent: policies[agent] for agent in agents}

    def _with_saved_weights(self, member: Any, agents: Sequence[str]) -> Any:
        """Return a member that loads its agents' weights from `model`, if `model` has them."""
        if self.model is None or not isinstance(member, HFTeam):
            return member
        folder = Path(download_policies(self.model)).expanduser()
        if not folder.is_dir():
            raise SettingError(
                "agent.model must be a folder with the policies saved by a training, or a"
                f" repository on the hub with such folders; got {self.model!r}"
            )
        folders = [folder / folder_name(agent) for agent in agents]
        if not any(path.is_dir() for path in folders):
            return member
        # A shared policy is saved under the first of its agents.
        return replace(member, model=str(folders[0] if member.sharing == "shared" else folder))


class MemberView:
    """View of an environment that lists the agents of one member only."""

    def __init__(self, environment: ParallelEnv[str, Any, Any], agents: Sequence[str]) -> None:
        """Keep the environment and the agents to list."""
        self._environment = environment
        self.possible_agents = list(agents)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)


def _check_trained(optimizers: Mapping[str, Any], models: Mapping[str, HFPolicy]) -> None:
    for agent in optimizers:
        if agent not in models or models[agent].frozen:
            raise SettingError(
                f"agent.optimizer has settings for {agent!r}, who is not trained; remove them"
            )
