"""The first words an agent reads, from the general to the specific.

What is alike for all agents and tasks of an environment comes first (rules and roles: a chat
template may take it as its system message), then what is the agent's own: its name, its share of
the task, the question. So most of the first prompts of a team is one text, which a model has to
read once. What is said follows from the settings alone, never from the moment of a training.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import Formatter
from typing import get_args

from laconic.envs.checks import check_names, choice
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.roster import Roster, role_of
from laconic.envs.errors import SettingError
from laconic.envs.task import Explained, Style, Task

_CAPPED = {
    "message": "a message",
    "agent": "you in all",
    "round": "all agents in a round",
    "episode": "all agents together",
    "thought": "what you think before a message",
}
GENERAL = ("goal", "duties", "team", "rules")
"""What a template of the general part may name."""
OWN = (*GENERAL, "agent", "role", "duty", "known", "question")
"""What a template of an agent's own part may name."""


@lru_cache(maxsize=256)
def _fields(template: str) -> tuple[str, ...]:
    """The names in a template."""
    return tuple(name for _, name, _, _ in Formatter().parse(template) if name is not None)


@dataclass(frozen=True, slots=True)
class Templates:
    """The two parts of a first text, as `str.format` writes them, a line for each paragraph.

    They may name `goal`, `duties` (of all roles), `team` and `rules`; the own part `agent`, `role`,
    `duty`, `known` and `question` too. A line of which all fields are empty is left out.
    """

    general: str
    """What is alike for all agents and tasks."""
    own: str
    """What differs between them."""
    style: Style = "full"
    """The style in which the benchmark tells goal and duties."""

    def __post_init__(self) -> None:
        """Refuse names that nothing fills in."""
        for part, known in (("general", GENERAL), ("own", OWN)):
            try:
                named = _fields(getattr(self, part))
            except (ValueError, AttributeError, TypeError) as error:
                raise SettingError(
                    f"env.instructions.{part} must be a text for str.format, in which braces that"
                    f" name nothing are doubled; got {getattr(self, part)!r}: {error}"
                ) from error
            check_names(f"field in env.instructions.{part}", named, known)


FORMS: Mapping[str, Templates] = {
    "full": Templates(
        general="{goal}\nThe team: {team}.\n{rules}\n{duties}",
        own="You are {agent}.\nWhat you know: {known}\nQuestion: {question}",
    ),
    "short": Templates(
        general="Be brief.",
        own="{duty}\nQuestion: {question}\nFacts: {known}",
        style="short",
    ),
    "brief": Templates(general="", own="{agent}\n{duty}\n{known}\n{question}", style="brief"),
}
"""`full` explains all to a language model that has never seen the game; `short` says what to do and
no more, because a small one repeats the rules that it is told; `brief`, name, facts and question,
is what the shipped policy was trained on."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What every agent of a team is told about the dialogue."""

    roster: Roster
    """Who there is, and who answers."""
    rounds: int
    """How many rounds an episode has at the most."""
    budget: Budget
    """Caps on what may be said."""
    priced: bool
    """Whether tokens cost reward by the setting; a price that moves may be 0 for a while."""
    counts: str = ""
    """What counts in the end, in words; empty where it is the answer of those who answer."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What an agent reads first."""

    general: str
    """What all agents of the environment read, in every episode; may be empty."""
    own: str
    """What is this agent's alone."""

    @property
    def text(self) -> str:
        """Both parts."""
        return "\n".join(filter(None, (self.general, self.own)))


def templates(instructions: Style | Mapping[str, str]) -> Templates:
    """The templates of a form by its name, or a user's own.

    Raises:
        UnknownNameError: there is no such form, or a template names what does not exist.
        SettingError: a part is missing, or is no text for `str.format`.
    """
    if not isinstance(instructions, Mapping):
        return FORMS[choice("env.instructions", instructions, get_args(Style))]
    parts = ("general", "own")
    check_names("part of env.instructions", instructions, parts)
    if set(instructions) != set(parts):
        raise SettingError(
            "env.instructions must be full, short, brief, or a mapping with two texts, `general`"
            f" and `own`; got {dict(instructions)!r}"
        )
    return Templates(instructions["general"], instructions["own"])


def shown(
    task: Task, shares: Mapping[str, Sequence[int]], separator: str
) -> dict[str, tuple[str, str]]:
    """What each agent knows of a task at first, and what it is asked.

    Args:
        task: the task of this episode.
        shares: indices of the statements that each agent may read.
        separator: stands between two statements.
    """
    found = {}
    for agent, share in shares.items():
        statements = separator.join(task.statements[index] for index in share)
        # Who may read everything reads it as the source has it.
        whole = task.whole if len(share) == len(task.statements) else ""
        found[agent] = ("" if whole else statements, whole or task.question)
    return found


class Briefing:
    """Writes what the agents of one environment read first."""

    def __init__(self, rules: Rules, explained: Explained, form: Templates) -> None:
        """Put what is alike for all episodes into words, once.

        Args:
            rules: of the environment.
            explained: explains goal and roles.
            form: how it is said.
        """
        self.explained, agents = explained, rules.roster.agents
        roles = tuple(dict.fromkeys(map(role_of, agents)))
        goal, self._duty = _apart(
            {role: explained.instructions(role, form.style) for role in roles}
        )
        duty = self._duty
        said = duty.values() if len(roles) == 1 else (f"{role}: {duty[role]}" for role in roles)
        self._words = {
            "goal": goal,
            "duties": "\n".join(said),
            "team": ", ".join(agents),
            "rules": _explain(rules),
        }
        self._general, self._own = _filled(form.general, self._words), form.own

    def openings(self, shown: Mapping[str, tuple[str, str]]) -> dict[str, Opening]:
        """What each agent reads first, from what it knows and what it is asked."""
        found = {}
        for agent, (known, question) in shown.items():
            role = role_of(agent)
            own = {"agent": agent, "role": role, "duty": self._duty[role], "known": known}
            words = {**self._words, **own, "question": question}
            found[agent] = Opening(self._general, _filled(self._own, words))
        return found


def _apart(told: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """What all roles are told alike at first, whole sentences, and what each is told then.

    Of a single role all is its duty.
    """
    if len(told) == 1:
        return "", dict(told)
    common = os.path.commonprefix(list(told.values()))
    end = common.rfind(". ") + 1
    return common[:end], {role: words[end:].strip() for role, words in told.items()}


def _filled(template: str, words: Mapping[str, str]) -> str:
    lines = []
    for line in template.split("\n"):
        named = _fields(line)
        if not named or any(words[name] for name in named):
            lines.append(line.format(**words))
    return "\n".join(filter(None, lines))


def _explain(rules: Rules) -> str:
    graded = rules.counts or _explain_answer(rules.roster)
    cost = " Every token you say costs reward; silence is free." if rules.priced else ""
    return (
        f"There are at most {rules.rounds} rounds; in each, those whose turn it is speak at the"
        f" same time or stay silent.{cost} {graded}{_explain_budget(rules.budget)}"
    )


def _explain_answer(roster: Roster) -> str:
    names = ", ".join(roster.answering)
    if roster.joint:
        return f"What {names} wrote last is graded as one piece of work."
    says = f"{names} says" if len(roster.answering) == 1 else f"most of {names} say"
    return f"The answer of the team is what {says}."


def _explain_budget(budget: Budget) -> str:
    caps = [
        f"{getattr(budget, name)} for {whom}"
        for name, whom in _CAPPED.items()
        if getattr(budget, name) is not None
    ]
    return f" Token budget: {', '.join(caps)}." if caps else ""
