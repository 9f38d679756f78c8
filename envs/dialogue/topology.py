"""Who hears whom.

A topology is a name or a matrix. Named ones are symmetric graphs over the agents in their fixed
order; a matrix may be directed: `matrix[i][j]` is true when agent i hears agent j. A list of
topologies has one for each round, and starts again when it ends: what is said in a round is heard
as that round's topology has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized

from laconic.envs.checks import choice
from laconic.envs.errors import SettingError

Matrix = Sequence[Sequence[int]]
Topology = str | Matrix | Sequence[str | Matrix]
NAMED: dict[str, Callable[[int, int, int], bool]] = {
    "complete": lambda i, j, n: True,
    "star": lambda i, j, n: min(i, j) == 0,
    "chain": lambda i, j, n: abs(i - j) == 1,
    "ring": lambda i, j, n: (i - j) % n in (1, n - 1),
    "tree": lambda i, j, n: (max(i, j) - 1) // 2 == min(i, j),
    "none": lambda i, j, n: False,
}
"""Whether agents i and j of n are linked. A star's centre and a binary tree's root are agent 0."""


def by_round(topology: Topology, agents: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], ...]:
    """Whom each agent hears in each round of a cycle; of one topology the cycle is one round.

    Raises as `hears` does.
    """
    cycle = topology if _is_cycle(topology) else (topology,)
    return tuple(hears(one, agents) for one in cycle)  # type: ignore[arg-type]


def _is_cycle(topology: object) -> bool:
    """Whether a setting is a list of topologies: of names, or of what has rows."""
    if isinstance(topology, str) or not isinstance(topology, Sequence) or not topology:
        return False
    rows = [one for one in topology if isinstance(one, Sequence) and not isinstance(one, str)]
    named = [one for one in topology if isinstance(one, str)]
    nested = [one for one in rows if one and all(isinstance(row, Sequence) for row in one)]
    return bool(named or nested)


def hears(topology: str | Matrix, agents: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Whom each agent hears; nobody hears itself.

    The topology is a name of `NAMED`, or a matrix with a row and a column for each agent in order.

    Raises:
        UnknownNameError: there is no topology of that name.
        SettingError: the matrix does not have one row and one column per agent, or has an entry
            other than 0 and 1.
    """
    count = len(agents)
    if isinstance(topology, str):
        rule = NAMED[choice("env.topology", topology, NAMED)]
        matrix = [[rule(i, j, count) for j in range(count)] for i in range(count)]
    else:
        matrix = _checked(topology, agents)
    return {
        listener: tuple(agents[j] for j in range(count) if matrix[i][j] and i != j)
        for i, listener in enumerate(agents)
    }


def _checked(topology: object, agents: Sequence[str]) -> list[list[bool]]:
    count = len(agents)
    rows = list(topology) if isinstance(topology, Iterable) else []
    square = len(rows) == count and all(isinstance(r, Sized) and len(r) == count for r in rows)
    if not square or any(entry not in (0, 1) for row in rows for entry in row):
        raise SettingError(
            f"env.topology must be a name or a matrix of 0 and 1 with {count} rows and columns,"
            f" one per agent ({', '.join(agents)}); got {topology!r}"
        )
    return [[bool(entry) for entry in row] for row in rows]
