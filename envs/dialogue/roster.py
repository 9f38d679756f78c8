"""A team and its manners: who there is, who answers, who hears whom, and whose turn it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from laconic.envs.dialogue.schedule import Schedule, speakers
from laconic.envs.dialogue.team import agent_names, role_of
from laconic.envs.dialogue.topology import hears
from laconic.envs.errors import SettingError, UnknownNameError

MAJORITY, JOINT = "majority", "joint"
"""Answer settings under which all agents answer: the commonest answer counts, or what they wrote
is graded as one piece of work."""


@dataclass(frozen=True, slots=True)
class Roster:
    """The agents of a team and what each may do."""

    agents: tuple[str, ...]
    """All agents, in their fixed order."""
    answer: str
    """The role that answers, `majority` or `joint`."""
    answering: tuple[str, ...]
    """Agents whose messages are graded."""
    hears: Mapping[str, tuple[str, ...]] = field(hash=False)
    """Whom each agent hears."""
    cycle: tuple[frozenset[str], ...]
    """Who speaks in each round; starts again when it ends."""

    @classmethod
    def of(
        cls,
        team: Mapping[str, int],
        topology: str | Sequence[Sequence[int]],
        schedule: Schedule,
        answer: str,
        rounds: int,
    ) -> Roster:
        """The roster of some settings; see `envs.dialogue.DialogueEnv`.

        Raises:
            SettingError: a setting is outside its range, or nobody has a turn to answer.
            UnknownNameError: a role or topology does not exist.
        """
        agents = tuple(agent_names(team))
        answering = _answering(answer, agents)
        cycle = speakers(schedule, agents)
        if all(set(answering).isdisjoint(speaking) for speaking in cycle[:rounds]):
            raise SettingError(
                f"env.schedule must give {' or '.join(answering)} a turn to answer within"
                f" env.rounds; got rounds={rounds} and turns"
                f" {[sorted(speaking) for speaking in cycle]}"
            )
        return cls(agents, answer, answering, hears(topology, agents), cycle)

    @property
    def joint(self) -> bool:
        """Whether what all agents wrote is graded as one piece of work."""
        return self.answer == JOINT

    @property
    def by_role(self) -> bool:
        """Whether there is a role whose part it is to answer."""
        return self.answer not in (MAJORITY, JOINT)

    @property
    def holders(self) -> tuple[str, ...]:
        """Among whom statements are dealt: those who do not answer, if there are any."""
        others = tuple(agent for agent in self.agents if agent not in self.answering)
        return others or self.agents

    def in_turn(self, agent: str, round: int) -> bool:
        """Whether an agent may speak in a round, from 0."""
        return agent in self.cycle[round % len(self.cycle)]


def _answering(answer: str, agents: Sequence[str]) -> tuple[str, ...]:
    if answer in (MAJORITY, JOINT):
        return tuple(agents)
    chosen = tuple(agent for agent in agents if role_of(agent) == answer)
    if not chosen:
        known = {*map(role_of, agents), MAJORITY, JOINT}
        raise UnknownNameError("role in env.answer", answer, known)
    return chosen
