"""A team: who there is, who answers, who hears whom, whose turn it is, and who knows what.

Agents are called `<role>_<number>`, numbered from 0 in each role. Information `full`: every agent
reads the whole task. `split`: the statements are dealt among the agents that hold information and
only the question is read by all, so somebody has to speak, and only those who hold something that
matters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from laconic.envs.checks import choice, whole
from laconic.envs.dialogue.schedule import Schedule, speakers
from laconic.envs.dialogue.topology import Topology, by_round
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task

MAJORITY, JOINT = "majority", "joint"
"""Answer settings under which all agents answer: the commonest answer counts, or what they wrote
is graded as one piece of work."""
Information = Literal["full", "split"]
Shares = dict[str, tuple[int, ...]]
"""For each agent, the indices of the statements it reads, in reading order."""


def role_of(agent: str) -> str:
    """The role in an agent's name `<role>_<number>`."""
    return agent.rsplit("_", 1)[0]


def agent_names(team: Mapping[str, int]) -> list[str]:
    """The agents of a team, role by role, of which it gives the number of agents.

    No role, a role that is no plain word, and a number below 1 raise SettingError.
    """
    if not isinstance(team, Mapping) or not team:
        raise SettingError(
            f"env.team must give each role a number of agents, as in {{'solver': 1}}; got {team!r}"
        )
    for role, count in team.items():
        if not isinstance(role, str) or not role.isidentifier():
            raise SettingError(
                f"a role in env.team must be letters, digits and '_', a letter first; got {role!r}"
            )
        whole(f"env.team.{role}", count, 1)
    return [f"{role}_{number}" for role, count in team.items() for number in range(count)]


@dataclass(frozen=True, slots=True)
class Roster:
    """The agents of a team and what each may do."""

    agents: tuple[str, ...]
    """All agents, in their fixed order."""
    answer: str
    """The role that answers, `majority` or `joint`."""
    answering: tuple[str, ...]
    """Agents whose messages are graded."""
    hearing: tuple[Mapping[str, tuple[str, ...]], ...] = field(hash=False)
    """Whom each agent hears in each round; starts again when it ends."""
    cycle: tuple[frozenset[str], ...]
    """Who speaks in each round; starts again when it ends."""

    @classmethod
    def of(
        cls,
        team: Mapping[str, int],
        topology: Topology,
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
        roles = {role: [a for a in agents if role_of(a) == role] for role in team}
        cycle = speakers(schedule, roles)
        if all(set(answering).isdisjoint(speaking) for speaking in cycle[:rounds]):
            turns = [sorted(speaking) for speaking in cycle]
            raise SettingError(
                f"env.schedule must give {' or '.join(answering)} a turn to answer within"
                f" env.rounds; got rounds={rounds} and turns {turns}"
            )
        return cls(agents, answer, answering, by_round(topology, agents), cycle)

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

    def check_order(self, rounds: int) -> None:
        """Check that a turn to answer comes after the first turn of an agent with statements.

        The topology does not matter: `none` is a baseline in which no agent hears another.

        Raises:
            SettingError: none does, within this number of rounds.
        """
        if {*self.holders} & {*self.answering}:
            return
        turns = [self.cycle[round % len(self.cycle)] for round in range(rounds)]
        first = next((at for at, turn in enumerate(turns) if turn & {*self.holders}), rounds)
        if any(turn & {*self.answering} for turn in turns[first + 1 :]):
            return
        holding = ",".join(dict.fromkeys(map(role_of, self.holders)))
        raise SettingError(
            f"env.information=split gives the statements to {holding.replace(',', ', ')}, and"
            f" env.answer={self.answer} answers before it can hear of them; got env.rounds={rounds}"
            f" and turns {[sorted(turn) for turn in self.cycle]}. Set"
            f" env.schedule=[[{holding}],{self.answer}] with env.rounds of at least 2,"
            " env.information=full, or another env.answer"
        )


def _answering(answer: str, agents: Sequence[str]) -> tuple[str, ...]:
    if answer in (MAJORITY, JOINT):
        return tuple(agents)
    choice("role in env.answer", answer, {*map(role_of, agents), MAJORITY, JOINT})
    return tuple(agent for agent in agents if role_of(agent) == answer)


def check_actions(actions: Mapping[str, object], agents: Collection[str]) -> None:
    """Refuse actions that no policy can have chosen; any string of any agent is fine.

    Raises:
        UnknownNameError: an action is not of an agent of this team.
        SettingError: an action is not a string.
    """
    for agent, action in actions.items():
        if agent not in agents:
            raise UnknownNameError("agent", agent, agents)
        if not isinstance(action, str):
            raise SettingError(f"the action of {agent!r} must be a string; got {action!r}")


def deal(
    task: Task,
    information: Information,
    agents: Sequence[str],
    holders: Sequence[str],
    generator: np.random.Generator,
) -> Shares:
    """The share of every agent; with fewer statements than holders some shares are empty.

    Args:
        task: the task.
        information: `full` or `split`.
        agents: all agents.
        holders: the agents among whom a split task is dealt.
        generator: source of the random deal; not drawn from for full information.
    """
    if information == "full":
        return dict.fromkeys(agents, tuple(range(len(task.statements))))
    shares: dict[str, list[int]] = {agent: [] for agent in agents}
    order = generator.permutation(len(holders))
    for place, statement in enumerate(generator.permutation(len(task.statements))):
        shares[holders[order[place % len(holders)]]].append(int(statement))
    return {agent: tuple(sorted(share)) for agent, share in shares.items()}


def informed(
    task: Task, information: Information, share: Sequence[int], spoken: bool
) -> bool | None:
    """Whether an agent's next message could tell the team something that matters.

    What it says first (`spoken`) counts as all it knows, and whom no statement was dealt has
    nothing to tell. None where nobody can say: everybody reads everything, or the source has no
    statements or no flags.
    """
    if information == "full":
        return None
    if spoken or (task.statements and not share):
        return False
    return None if task.relevant is None else any(task.relevant[index] for index in share)


def facts_told(
    task: Task, information: Information, shares: Shares, said: Mapping[str, str]
) -> float | None:
    """How much of what mattered was passed on: speech alone does not tell that anything was.

    Args:
        task: what was dealt.
        information: how.
        shares: what each agent was dealt.
        said: by agent, all that was published of it.

    Returns:
        Share of the useful statements of an episode that an agent who held them said word for word,
        case and white space aside, so facts in other words do not count. None where nobody
        can say which are useful, or there is none.
    """
    if information == "full" or task.relevant is None:
        return None
    heard = {agent: _plain(text) for agent, text in said.items()}
    useful = [
        _plain(task.statements[index]) in heard.get(agent, "")
        for agent, share in shares.items()
        for index in share
        if task.relevant[index]
    ]
    return sum(useful) / len(useful) if useful else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
