"""Teams of different kinds: each role or agent with weights of its own, an adapter, or a script.

Any builder of policies can be a member: it has `tokenize` and `policies(environment)`, and is shown
an environment that holds its own agents only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import getattr_static
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.roster import by_agent
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.folders import fetched, folder_name
from laconic.learners.agents.hf import HFTeam, give_optimizers
from laconic.learners.interfaces import Policy

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy


@dataclass
class MixedTeam:
    """The policies of a team whose members differ; each trains or is frozen as it says."""

    members: Mapping[str, Any]
    """By role or agent: who speaks for it, an `HFTeam`, a `ScriptedTeam`, or another builder. An
    agent's own member replaces its role's. Agents of one member share weights as that one says."""
    counted_by: str | None = None
    """The member in whose tokens budgets are counted; None takes the first. Replies of the others
    are cut by the same count."""
    model: str | None = None
    """Folder in which a training of such a team left its policies, or their repository on the hub;
    what is not there (the frozen ones) comes from the members' own names. None takes all from
    there."""
    optimizer: Mapping[str, Mapping[str, Any]] | None = None
    """By role or agent: settings of its optimiser that differ from those of `optimizer`."""

    def __post_init__(self) -> None:
        """Check that there are members, and that they are builders.

        Raises:
            SettingError: there is none, or one is no builder of policies.
            UnknownNameError: tokens are to be counted by somebody else.
        """
        if not self.members:
            raise SettingError("agent.members must name a role or agent; got none")
        for name, member in self.members.items():
            # Looked up without loading a tokenizer.
            if any(getattr_static(member, part, None) is None for part in ("tokenize", "policies")):
                raise SettingError(
                    f"agent.members.{name} must be an agent as in conf/agent, with _target_; got"
                    f" {member!r}"
                )
        if self.counted_by is not None and self.counted_by not in self.members:
            raise UnknownNameError("agent.counted_by", self.counted_by, self.members)

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other groups that suit the team, by dotted key.

        Budgets are the largest that any member states. Everything else is as the first trained
        member states, or the first member if none is trained.
        """
        stated = [
            (member, dict(member.defaults(imitates)))
            for member in self.members.values()
            if hasattr(member, "defaults")
        ]
        trained = [own for member, own in stated if not getattr(member, "frozen", True)]
        merged: dict[str, Any] = dict(next(iter(trained or [own for _, own in stated]), {}))
        for key in ("env.budget.message", "env.budget.episode"):
            caps = [own[key] for _, own in stated if key in own]
            if caps:
                merged[key] = None if None in caps else max(caps)
        return merged

    @property
    def tokenize(self) -> Callable[[str], Sequence[str]]:
        """Cuts text into tokens; environments count budgets with it."""
        counting = self.members[self.counted_by or next(iter(self.members))]
        tokenize: Callable[[str], Sequence[str]] = counting.tokenize
        return tokenize

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, Policy]:
        """Return the policy of each agent.

        Raises:
            SettingError: an agent has no member, or a member cannot be made.
            UnknownNameError: a member or an optimiser is of an agent or role that does not exist.
        """
        from laconic.learners.agents.policy import HFPolicy

        agents = environment.possible_agents
        names = {name: name for name in self.members}
        member_of = by_agent("agent or role in agent.members", names, agents)
        own = by_agent("agent or role in agent.optimizer", self.optimizer or {}, agents)
        alone = [agent for agent in agents if agent not in member_of]
        if alone:
            raise SettingError(
                f"agent.members says nothing of {', '.join(alone)}; name them or their role; got"
                f" {', '.join(self.members)}"
            )
        made: dict[str, Policy] = {}
        for name in dict.fromkeys(member_of.values()):
            mine = [agent for agent in agents if member_of[agent] == name]
            made |= self._placed(self.members[name], mine).policies(_Part(environment, mine))
        trained = {agent: one for agent, one in made.items() if isinstance(one, HFPolicy)}
        _check_trained(own, trained)
        give_optimizers(trained, own)
        return {agent: made[agent] for agent in agents}

    def _placed(self, member: Any, agents: Sequence[str]) -> Any:
        """Return a member that reads its agents' weights from `model`, if `model` holds them."""
        if self.model is None or not isinstance(member, HFTeam):
            return member
        folder = Path(fetched(self.model)).expanduser()
        if not folder.is_dir():
            raise SettingError(
                "agent.model must be a folder in which a training left its policies, or a"
                f" repository on the hub with such folders; {self.model!r} is neither"
            )
        places = [folder / folder_name(agent) for agent in agents]
        if not any(place.is_dir() for place in places):
            return member
        return replace(member, model=str(places[0] if _one(member) else folder))


class _Part:
    """An environment as a member sees it: with that member's agents only."""

    def __init__(self, environment: ParallelEnv[str, Any, Any], agents: Sequence[str]) -> None:
        self._environment = environment
        self.possible_agents = list(agents)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)


def _one(member: HFTeam) -> bool:
    """Whether all agents of a member have one policy, which is saved under the first of them."""
    return member.sharing == "shared"


def _check_trained(own: Mapping[str, Any], trained: Mapping[str, HFPolicy]) -> None:
    for agent in own:
        if agent not in trained or trained[agent].frozen:
            raise SettingError(
                f"agent.optimizer has settings for {agent!r}, who is not trained; leave them out"
            )
