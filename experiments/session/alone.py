"""One agent in the place of several: it is told all their duties and writes all their parts.

Each part stands under a heading of its own. Where an agent writes no heading, all it wrote is taken
for every part: a program holds its functions wherever they stand.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.roster import agent_names, role_of
from laconic.envs.errors import SettingError
from laconic.envs.task import Benchmark, Score, Style, Task

WRITER = "writer"
"""The role of one who writes everything."""


def tell(environment: DialogueEnv, words: str | Sequence[str]) -> None:
    """Let an environment tell every agent some words after its role; or each agent its own.

    Policies that read the brief form were trained without any words, and are told none.

    Raises:
        SettingError: there are words for more agents or for fewer.
    """
    if not isinstance(words, str):
        agents = environment.possible_agents
        if len(words) != len(agents):
            raise SettingError(
                f"`say` must be one text, or a list with one for each of {', '.join(agents)}; got"
                f" {len(words)}"
            )
        if environment.instructions != "brief":
            environment.notes = dict(zip(agents, words, strict=True))
        return
    benchmark = environment.benchmark

    def instructions(role: str, style: Style = "full") -> str:
        told = benchmark.instructions(role, style)
        return told if style == "brief" else " ".join(filter(None, (told, words)))

    environment.benchmark = _changed(benchmark, instructions=instructions)


def let_write_all(environment: DialogueEnv, team: Mapping[str, int]) -> None:
    """Let the one agent of an environment of joint work write what a whole team was to write."""
    benchmark = environment.benchmark
    names = parts_of(team)

    def instructions(role: str, style: Style = "full") -> str:
        if style == "brief":
            return benchmark.instructions(role, style)
        duty, other = benchmark.duties, benchmark.answer_form
        duties = [f"### {part}\n{duty.get(role_of(one), other)}" for part, one in names.items()]
        return (
            f"{benchmark.goal} You write all the parts yourself. Put each under a heading of its"
            " own, as here, where it says what belongs there:\n" + "\n".join(duties)
        )

    def score(task: Task, answers: Mapping[str, str]) -> Score:
        text = next(iter(answers.values()), "")
        parts = cut_parts(text, tuple(names)) if text else {}
        return benchmark.score(task, {names[part]: words for part, words in parts.items()})

    environment.benchmark = _changed(benchmark, instructions=instructions, score=score)
    environment.tasks = {
        key: replace(task, drafts=_drafts(task, names)) for key, task in environment.tasks.items()
    }


def parts_of(team: Mapping[str, int]) -> dict[str, str]:
    """The headings of the parts, and whose part each is; a role with one agent gives its name."""
    agents = agent_names(team)
    return {role_of(agent) if team[role_of(agent)] == 1 else agent: agent for agent in agents}


def cut_parts(text: str, parts: Sequence[str]) -> dict[str, str]:
    """What stands under each heading; without any heading, all of the text under each.

    A heading has two marks or more, because one mark is a comment of Python. Parts without one are
    left out; the last of equal headings counts.
    """
    names = "|".join(map(re.escape, parts))
    pieces = re.split(rf"(?im)^[ \t]*#{{2,6}}[ \t]*({names})[ \t]*:?[ \t]*$", text)
    if len(pieces) == 1:
        return dict.fromkeys(parts, text)
    known = {part.lower(): part for part in parts}
    headed = zip(pieces[1::2], pieces[2::2], strict=True)
    return {known[heading.lower()]: words.strip() for heading, words in headed}


def _changed(benchmark: Benchmark, **methods: Any) -> Benchmark:
    """A copy of a benchmark with some methods exchanged; the original serves other environments."""
    changed = copy.copy(benchmark)
    for name, method in methods.items():
        setattr(changed, name, method)
    return changed


def _drafts(task: Task, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """What a script may write in the place of all: the drafts of all roles, the best together."""
    found = {part: task.drafts.get(role_of(agent), ()) for part, agent in names.items()}
    if not all(found.values()):
        return {}
    count = max(map(len, found.values()))
    works = (
        "\n".join(f"### {part}\n{one[min(i, len(one) - 1)]}" for part, one in found.items())
        for i in range(count)
    )
    return {WRITER: tuple(works)}
