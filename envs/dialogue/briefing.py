"""The first words an agent reads: its role, the rules, its share of the task and its budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

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
