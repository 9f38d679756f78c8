"""The first words an agent reads: its role, the rules, its share of the task and its budget.

Information `full`: every agent reads the whole task. `split`: the statements are dealt among the
agents that hold information and only the question is read by all, so somebody has to speak, and
only those who hold something that matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal

import numpy as np

from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.roster import Roster, role_of
from laconic.envs.task import Benchmark, Style, Task


@dataclass(frozen=True, slots=True)
class Rules:
    """What every agent of a team is told about the dialogue."""

    roster: Roster
    """Who there is, and who answers."""
    rounds: int
    """Most rounds an episode has."""
    budget: Budget
    """Caps on what may be said."""
    priced: bool
    """Whether tokens cost reward."""


Information = Literal["full", "split"]
Shares = dict[str, tuple[int, ...]]
"""For each agent, the indices of the statements it reads, in reading order."""


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

    What it says first (`spoken`) counts as all it knows. None where nobody can say: everybody reads
    everything, or the source has no flags.
    """
    if information == "full":
        return None
    if spoken:
        return False
    return None if task.relevant is None else any(task.relevant[index] for index in share)


def first_texts(
    task: Task,
    shares: Mapping[str, Sequence[int]],
    rules: Rules,
    benchmark: Benchmark,
    style: Style,
) -> dict[str, str]:
    """What each agent reads first.

    Args:
        task: the task of this episode.
        shares: indices of the statements that each agent may read.
        rules: the dialogue's rules.
        benchmark: explains roles.
        style: `full` explains everything to a language model that has never seen the game; `brief`
            gives the name, the statements and the question to one that was trained on it.
    """
    texts = {}
    for agent, share in shares.items():
        statements = benchmark.separator.join(task.statements[index] for index in share)
        # Who may read everything reads it as the source has it.
        whole = task.whole if len(share) == len(task.statements) else ""
        known = [] if whole else [statements]
        instructions = benchmark.instructions(role_of(agent), style)
        if style == "brief":
            paragraphs = [agent, instructions, *known, whole or task.question]
        else:
            paragraphs = [
                _name(agent, rules.roster.agents),
                instructions,
                _explain(rules),
                *(f"What you know: {facts}" for facts in known if facts),
                f"Question: {whole or task.question}",
            ]
        texts[agent] = "\n".join(filter(None, paragraphs))
    return texts


def _name(agent: str, agents: Sequence[str]) -> str:
    return f"You are {agent} in a team of {len(agents)}: {', '.join(agents)}."


@lru_cache(maxsize=32)
def _explain(rules: Rules) -> str:
    names = ", ".join(rules.roster.answering)
    says = f"{names} says" if len(rules.roster.answering) == 1 else f"most of {names} say"
    graded = f"The answer of the team is what {says}."
    if rules.roster.joint:
        graded = f"What {names} wrote last is graded as one piece of work."
    cost = " Every token you say costs reward; silence is free." if rules.priced else ""
    return (
        f"There are at most {rules.rounds} rounds; in each, those whose turn it is speak at the"
        f" same time or stay silent.{cost} {graded}{_explain_budget(rules.budget)}"
    )


def _explain_budget(budget: Budget) -> str:
    reach = {
        "message": "a message",
        "agent": "you in all",
        "round": "all agents in a round",
        "episode": "all agents together",
    }
    caps = [
        f"{getattr(budget, field.name)} for {reach[field.name]}"
        for field in fields(budget)
        if getattr(budget, field.name) is not None
    ]
    return f" Token budget: {', '.join(caps)}." if caps else ""
