"""The first observation of each agent, from the general to the specific.

The part that is equal for all agents and tasks of an environment comes first: rules and roles,
which a chat template may take as its system message. The part of one agent follows: its name, its
share of the task, the question. So most of the first prompts of a team is one text, which a model
encodes once. The text depends on the settings alone, never on the progress of training.
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
from laconic.envs.task import PromptedTask, Style, Task

_CAPPED = {
    "message": "a message",
    "agent": "you in all",
    "round": "all agents in a round",
    "episode": "all agents together",
    "thought": "what you think before a message",
}
GENERAL = ("goal", "duties", "team", "rules")
"""Fields that a template of the general part may name."""
OWN = (*GENERAL, "agent", "role", "duty", "known", "question")
"""Fields that a template of an agent's own part may name."""

_MANY = 100
"""Most agents of a role that the rules name one by one."""


@lru_cache(maxsize=256)
def _fields(template: str) -> tuple[str, ...]:
    """Return the names of the fields in a template."""
    return tuple(name for _, name, _, _ in Formatter().parse(template) if name is not None)


@dataclass(frozen=True, slots=True)
class Templates:
    """Two templates for `str.format`, which make up a first observation.

    Both may name the fields `goal`, `duties` (of all roles), `team` and `rules`. The own part may
    also name `agent`, `role`, `duty`, `known` and `question`. A line is left out if it has fields
    and all of them are empty.
    """

    general: str
    """Template of the part that is equal for all agents and tasks."""
    own: str
    """Template of the part that differs between them."""
    style: Style = "full"
    """Style in which the benchmark states goal and duties."""

    def __post_init__(self) -> None:
        """Raise SettingError or UnknownNameError for a template that cannot be filled in."""
        for part, allowed in (("general", GENERAL), ("own", OWN)):
            try:
                fields = _fields(getattr(self, part))
            except (ValueError, AttributeError, TypeError) as error:
                raise SettingError(
                    f"env.instructions.{part} must be a text for str.format, in which braces that"
                    f" name nothing are doubled; got {getattr(self, part)!r}: {error}"
                ) from error
            check_names(f"field in env.instructions.{part}", fields, allowed)


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
"""`full` explains everything to a language model that has never seen the game. `short` has only the
agent's duty, because a small model repeats the rules that it reads. `brief` has name, facts and
question; the shipped policy was trained on it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a dialogue that every agent of a team reads."""

    roster: Roster
    """Agents, and which of them answer."""
    rounds: int
    """Maximum rounds of an episode."""
    budget: Budget
    """Caps on messages and thoughts."""
    priced: bool
    """True if the settings give tokens a price; a price that changes may be 0 for a while."""
    counts: str = ""
    """Sentence about the goal; empty if the team's answer is graded."""
    options: str = ""
    """Sentences about the options of the environment, each after a space."""
    chosen: str = ""
    """Words for the answer that counts (`envs.dialogue.option.Option.chosen`)."""
    per_listener: bool = False
    """True if a token costs its speaker once for each agent that hears it."""
    reading_priced: bool = False
    """True if tokens cost the agents that hear them."""
    rounds_priced: bool = False
    """True if each round costs the team."""


@dataclass(frozen=True, slots=True)
class InitialPrompt:
    """First observation of an agent, in two parts."""

    general: str
    """Part that all agents of the environment read in every episode; may be empty."""
    own: str
    """Part of this agent alone."""


def templates(instructions: Style | Mapping[str, str]) -> Templates:
    """Return the templates of a form by its name, or a user's own.

    Raises:
        UnknownNameError: there is no such form, or a template names an unknown field.
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


def known_and_asked(
    task: Task, shares: Mapping[str, Sequence[int]], separator: str
) -> dict[str, tuple[str, str]]:
    """Return the initial knowledge of each agent, and the question it reads.

    Args:
        task: the task of this episode.
        shares: indices of the statements that each agent may read.
        separator: text between two statements.
    """
    parts = {}
    for agent, share in shares.items():
        if task.source_text and len(share) == len(task.statements):
            # An agent that may read everything reads it in the layout of the source.
            parts[agent] = "", task.source_text
        else:
            parts[agent] = separator.join(task.statements[i] for i in share), task.question
    return parts


class PromptBuilder:
    """Writes the first observations of the agents of one environment."""

    def __init__(self, rules: Rules, prompted: PromptedTask, form: Templates) -> None:
        """Write the part that is equal for all episodes, once.

        Args:
            rules: rules of the environment.
            prompted: benchmark or world that explains goal and roles.
            form: templates of the two parts.
        """
        self.prompted, agents = prompted, rules.roster.agents
        roles = tuple(dict.fromkeys(map(role_of, agents)))
        goal, self._duty = _apart({role: prompted.instructions(role, form.style) for role in roles})
        duty = self._duty
        duties = duty.values() if len(roles) == 1 else (f"{role}: {duty[role]}" for role in roles)
        self._words = {
            "goal": goal,
            "duties": "\n".join(duties),
            "team": _listed(agents),
            "rules": _explain(rules),
        }
        self._general, self._own = _filled(form.general, self._words), form.own

    def openings(self, parts: Mapping[str, tuple[str, str]]) -> dict[str, InitialPrompt]:
        """Return the first observation of each agent.

        Args:
            parts: knowledge and question of each agent (`known_and_asked`).
        """
        openings = {}
        for agent, (knowledge, question) in parts.items():
            role = role_of(agent)
            own = {"agent": agent, "role": role, "duty": self._duty[role], "known": knowledge}
            words = {**self._words, **own, "question": question}
            openings[agent] = InitialPrompt(self._general, _filled(self._own, words))
        return openings


def _apart(instructions: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Split instructions into whole sentences that begin those of all roles, and the rest of each.

    The instructions of a single role are all its duty.
    """
    if len(instructions) == 1:
        return "", dict(instructions)
    common = os.path.commonprefix(list(instructions.values()))
    end = common.rfind(". ") + 1
    return common[:end], {role: words[end:].strip() for role, words in instructions.items()}


def _filled(template: str, words: Mapping[str, str]) -> str:
    """Fill in a template; leave out lines whose fields are all empty."""
    lines = []
    for line in template.split("\n"):
        fields = _fields(line)
        if not fields or any(words[field] for field in fields):
            lines.append(line.format(**words))
    return "\n".join(filter(None, lines))


def _explain(rules: Rules) -> str:
    graded = rules.counts or _explain_answer(rules.roster, rules.chosen)
    each = " for each agent that hears it" if rules.per_listener else ""
    cost = f" Every token you say costs reward{each}; silence is free." if rules.priced else ""
    cost += " Every token you hear costs reward." if rules.reading_priced else ""
    cost += " Every round costs the team reward." if rules.rounds_priced else ""
    return (
        f"There are at most {rules.rounds} rounds; in each, those whose turn it is speak at the"
        f" same time or stay silent.{rules.options}{cost}"
        f" {graded}{_explain_budget(rules.budget)}"
    )


def _explain_answer(roster: Roster, chosen: str) -> str:
    names = _listed(roster.answering)
    if roster.joint:
        return f"What {names} wrote last is graded as one piece of work."
    words = (
        (chosen or "what most of {names} say") if len(roster.answering) > 1 else "what {names} says"
    )
    return f"The answer of the team is {words.format(names=names)}."


def _listed(agents: Sequence[str]) -> str:
    """Return the names of agents; of a role with many, the first and the last."""
    of_role: dict[str, list[str]] = {}
    for agent in agents:
        of_role.setdefault(role_of(agent), []).append(agent)
    names: list[str] = []
    for each in of_role.values():
        names += each if len(each) <= _MANY else [f"{each[0]} to {each[-1]}"]
    return ", ".join(names)


def _explain_budget(budget: Budget) -> str:
    caps = [
        f"{getattr(budget, name)} for {whom}"
        for name, whom in _CAPPED.items()
        if getattr(budget, name) is not None
    ]
    return f" Token budget: {', '.join(caps)}." if caps else ""
