"""A team: its agents, who answers, who hears whom, whose turn it is, and who knows which facts.

Agents are called `<role>_<number>`, numbered from 0 in each role.

Topology (who hears whom): a name, a mapping or a matrix. Named topologies are symmetric graphs over
the agents in their fixed order. The others may be directed: a mapping lists for each agent those
that it hears, and `matrix[i][j]` is true when agent i hears agent j. A list has one topology for
each round and starts again when it ends. A large team with few links takes a name or a mapping.
A mapping with a `kind` makes the links as the agents speak (`envs.dialogue.chosen`).

Schedule (whose turn it is): `all` lets every agent speak in every round. A list names who speaks in
the first round, the second and so on, and starts again when it ends. Each entry is a role or a list
of roles.

Information (who knows which facts): with `full` every agent reads the whole task. With `split` the
statements are dealt among the agents that hold information, and all agents read the question. So an
agent has to speak, and only agents that hold something relevant have to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, TypeVar

import numpy as np

from laconic.envs.checks import Word, check_agents, check_names, choice, whole
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task

Value = TypeVar("Value")

MAJORITY, JOINT = "majority", "joint"
"""Answer settings under which all agents answer: the most common answer counts, or their messages
are graded as one piece of work."""
Information = Literal["full", "split"]
Shares = dict[str, tuple[int, ...]]
"""Indices of the statements that each agent reads, in reading order."""
Matrix = Sequence[Sequence[int]]
Links = Mapping[str, Sequence[Word]]
"""Agents that each listener hears; listeners that are left out hear none."""
Topology = Word | Links | Matrix | Sequence[Word | Links | Matrix] | Mapping[str, Any]
Hearing = Mapping[str, tuple[str, ...]]
"""Agents that each listener hears."""
Schedule = Word | Sequence[Word | Sequence[Word]]
NAMED: dict[str, Callable[[int, int], Iterable[int]]] = {
    "complete": lambda i, n: range(n),
    "star": lambda i, n: (0,) if i else range(n),
    "chain": lambda i, n: (i - 1, i + 1),
    "ring": lambda i, n: ((i - 1) % n, (i + 1) % n),
    "tree": lambda i, n: ((i - 1) // 2, 2 * i + 1, 2 * i + 2),
    "none": lambda i, n: (),
}
"""Functions that list the agents that agent i of n hears. Places outside 0 to n - 1 and i itself do
not count. Agent 0 is the center of a star and the root of a binary tree."""


def role_of(agent: str) -> str:
    """Return the role in an agent's name `<role>_<number>`."""
    return agent.rsplit("_", 1)[0]


def agent_names(team: Mapping[str, int]) -> list[str]:
    """Return the names of a team's agents, role by role.

    Args:
        team: number of agents of each role.

    Raises:
        SettingError: there is no role, a role is not a plain word, or a number is below 1.
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
    """The agents of a team, with their rights to answer, hear and speak."""

    agents: tuple[str, ...]
    """All agents, in their fixed order."""
    answer: str
    """Role that answers, `majority` or `joint`."""
    answering: tuple[str, ...]
    """Agents whose messages are graded."""
    by_role: bool
    """True if the agents of one role answer, False if all agents do."""
    hearing: tuple[Hearing, ...] = field(hash=False)
    """Agents that each agent hears, by round; the cycle starts again when it ends. Where links are
    made in the episode, all that an agent may come to hear."""
    cycle: tuple[frozenset[str], ...]
    """Agents that speak in each round; the cycle starts again when it ends."""

    @classmethod
    def of(
        cls,
        team: Mapping[str, int],
        topology: Any,
        schedule: Schedule,
        answer: str,
        rounds: int,
    ) -> Roster:
        """Build the roster from the settings of `envs.dialogue.DialogueEnv`.

        Raises:
            SettingError: a setting is outside its range, or no answering agent ever has a turn.
            UnknownNameError: a role or topology does not exist.
        """
        agents = tuple(agent_names(team))
        by_role, answering = answer not in (MAJORITY, JOINT), agents
        if by_role:
            choice("role in env.answer", answer, {*team, MAJORITY, JOINT})
            answering = tuple(agent for agent in agents if role_of(agent) == answer)
        cycle = speakers(
            schedule, {role: [a for a in agents if role_of(a) == role] for role in team}
        )
        if all(set(answering).isdisjoint(speaking) for speaking in cycle[:rounds]):
            turns = [sorted(speaking) for speaking in cycle]
            raise SettingError(
                f"env.schedule must give {' or '.join(answering)} a turn to answer within"
                f" env.rounds; got rounds={rounds} and turns {turns}"
            )
        is_made = isinstance(topology, Mapping) and "kind" in topology
        hears = hearing_by_round("complete" if is_made else topology, agents)
        return cls(agents, answer, answering, by_role, hears, cycle)

    @property
    def joint(self) -> bool:
        """Return whether the messages of all agents are graded as one piece of work."""
        return self.answer == JOINT

    @property
    def holders(self) -> tuple[str, ...]:
        """Agents among whom statements are dealt: those that do not answer, or else all."""
        answering = frozenset(self.answering)
        others = tuple(agent for agent in self.agents if agent not in answering)
        return others or self.agents

    def in_turn(self, agent: str, round: int) -> bool:
        """Return whether an agent may speak in a round, counted from 0."""
        return agent in self.cycle[round % len(self.cycle)]

    def check_order(self, rounds: int) -> None:
        """Check that a turn to answer comes after the first turn of an agent with statements.

        The topology does not matter: `none` is a baseline in which no agent hears another.

        Raises:
            SettingError: there is no such turn within this number of rounds.
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


def speakers(
    schedule: Schedule, agents: Mapping[str, Collection[str]]
) -> tuple[frozenset[str], ...]:
    """Return the agents that speak in each round of the schedule's cycle.

    Args:
        schedule: `all`, or a list of roles.
        agents: agents of each role.

    Raises:
        UnknownNameError: an entry names a role that the team does not have.
        SettingError: the list is empty or has an entry that names no role.
    """
    if schedule == "all":
        return (frozenset(chain(*agents.values())),)
    if isinstance(schedule, str):
        raise UnknownNameError("env.schedule", schedule, ["all", "a list of roles"])
    entries = schedule if isinstance(schedule, Sequence) else ()
    cycle = [[entry] if isinstance(entry, str) else entry for entry in entries]
    if not cycle or not all(isinstance(turn, Collection) and turn for turn in cycle):
        raise SettingError(
            f"env.schedule must be 'all' or a list with at least one role for each round;"
            f" got {schedule!r}"
        )
    check_names("role in env.schedule", chain(*cycle), agents)
    return tuple(frozenset(chain(*(agents[role] for role in turn))) for turn in cycle)


def hearing_by_round(
    topology: Topology, agents: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], ...]:
    """Return whom each agent hears in each round of the topology's cycle.

    Raises the errors of `hearing`.
    """
    cycle = topology if _is_cycle(topology) else (topology,)
    return tuple(hearing(one_round, agents) for one_round in cycle)  # type: ignore[arg-type, union-attr]


def _is_cycle(topology: object) -> bool:
    """Return whether a setting is a list of topologies: of names, mappings or matrices."""
    if isinstance(topology, str) or not isinstance(topology, Sequence) or not topology:
        return False
    if any(isinstance(entry, str | Mapping) for entry in topology):
        return True
    lists = [entry for entry in topology if isinstance(entry, Sequence)]
    return any(isinstance(row, Sequence) for entry in lists for row in entry)


def hearing(topology: str | Links | Matrix, agents: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return whom each agent hears, in the order of the agents; no agent hears itself.

    Args:
        topology: a name of `NAMED`, the agents that each agent hears, or a matrix with a row and a
            column for each agent in order.
        agents: all agents, in order.

    Raises:
        UnknownNameError: there is no topology or agent of that name.
        SettingError: the matrix does not have one row and one column per agent, or has an entry
            other than 0 and 1; or an entry of a mapping is no list.
    """
    count = len(agents)
    places: Iterable[Iterable[int]]
    if isinstance(topology, str):
        neighbors = NAMED[choice("env.topology", topology, NAMED)]
        places = (neighbors(i, count) for i in range(count))
    elif isinstance(topology, Mapping):
        places = _placed(topology, {agent: place for place, agent in enumerate(agents)})
    else:
        places = ((j for j in range(count) if row[j]) for row in _checked(topology, agents))
    return {
        listener: tuple(agents[j] for j in sorted(set(linked)) if 0 <= j < count and j != i)
        for i, (listener, linked) in enumerate(zip(agents, places, strict=True))
    }


def listeners_of(hears: Hearing) -> dict[str, list[str]]:
    """Return the listeners of each agent that any agent hears."""
    listeners: dict[str, list[str]] = {}
    for listener, speakers in hears.items():
        for speaker in speakers:
            listeners.setdefault(speaker, []).append(listener)
    return listeners


def _placed(links: Links, place_of: Mapping[str, int]) -> Iterator[list[int]]:
    """Yield the places of the agents that each agent hears."""
    check_names("agent in env.topology", links, place_of)
    for agent in place_of:
        names = links.get(agent, ())
        if isinstance(names, str) or not isinstance(names, Collection):
            raise SettingError(
                f"env.topology.{agent} must be a list of the agents that it hears; got {names!r}"
            )
        check_names("agent in env.topology", names, place_of)
        yield [place_of[name] for name in names]


def _checked(topology: object, agents: Sequence[str]) -> list[list[bool]]:
    count = len(agents)
    rows = list(topology) if isinstance(topology, Iterable) else []
    square = len(rows) == count and all(isinstance(r, Sized) and len(r) == count for r in rows)
    if not square or any(entry not in (0, 1) for row in rows for entry in row):
        raise SettingError(
            "env.topology must be a name, a mapping with the agents that each agent hears, or a"
            f" matrix of 0 and 1 with {count} rows and columns, one per agent"
            f" ({', '.join(agents)}); got {topology!r}"
        )
    return [[bool(entry) for entry in row] for row in rows]


def check_actions(actions: Mapping[str, object], agents: Collection[str]) -> None:
    """Check that actions are strings of agents of the team; any string is fine.

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
    """Deal the statements of a task; with fewer statements than holders some shares are empty.

    Args:
        task: the task.
        information: `full` or `split`.
        agents: all agents.
        holders: the agents among whom a split task is dealt.
        generator: source of the random deal; not drawn from for full information.

    Returns:
        The share of every agent.
    """
    if information == "full":
        return dict.fromkeys(agents, tuple(range(len(task.statements))))
    shares: dict[str, list[int]] = {agent: [] for agent in agents}
    order = generator.permutation(len(holders))
    for place, statement in enumerate(generator.permutation(len(task.statements))):
        shares[holders[order[place % len(holders)]]].append(int(statement))
    return {agent: tuple(sorted(share)) for agent, share in shares.items()}


def informed(
    task: Task, information: Information, share: Sequence[int], has_spoken: bool
) -> bool | None:
    """Return whether an agent's next message could tell the team something relevant.

    Its first message counts as all it knows, so an agent that `has_spoken` is not informed. Nor is
    an agent without statements.

    Returns:
        None where this is unknown: every agent reads the whole task, or the source has no
        statements or no flags.
    """
    if information == "full":
        return None
    if has_spoken or (task.statements and not share):
        return False
    return None if task.relevant is None else any(task.relevant[index] for index in share)


def facts_told(
    task: Task, information: Information, shares: Shares, texts: Mapping[str, str]
) -> float | None:
    """Return the share of the relevant statements that their holders passed on.

    Args:
        task: the task that was dealt.
        information: how it was dealt.
        shares: statements of each agent.
        texts: all messages that each agent published, as one text.

    Returns:
        Share of the relevant statements that an agent who held them repeated word for word. Case
        and white space do not count. A fact in other words is not recognized. None where it is
        unknown which statements are relevant, or none is.
    """
    if information == "full" or task.relevant is None:
        return None
    plain_texts = {agent: _plain(text) for agent, text in texts.items()}
    repeated = [
        _plain(task.statements[index]) in plain_texts.get(agent, "")
        for agent, share in shares.items()
        for index in share
        if task.relevant[index]
    ]
    return sum(repeated) / len(repeated) if repeated else None


def _plain(text: str) -> str:
    """Return a text without differences in case and white space."""
    return " ".join(text.casefold().split())


def by_agent(kind: str, values: Mapping[str, Value], agents: Sequence[str]) -> dict[str, Value]:
    """Expand a mapping with keys of roles and agents to one entry per agent.

    Args:
        kind: kind of the keys, for the message.
        values: value of each role (`helper`) or agent (`helper_1`); an entry for an agent replaces
            that of its role.
        agents: agents of an environment, `<role>_<number>`.

    Returns:
        Agent -> value, without agents that have no entry and whose role has none.

    Raises:
        SettingError: the environment does not name its agents by strings.
        UnknownNameError: a key is neither a role nor an agent of the environment.
    """
    check_agents(agents)
    names = {*agents, *map(role_of, agents)}
    for name in values:
        if name not in names:
            raise UnknownNameError(kind, name, names)
    return {
        agent: values[agent] if agent in values else values[role_of(agent)]
        for agent in agents
        if agent in values or role_of(agent) in values
    }
