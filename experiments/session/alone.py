"""Let one agent replace a team: it reads the duties of all agents and writes all parts.

Each part has its own heading. Without any heading, the whole text counts as every part, because a
program may define its functions in any order.
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
"""Role of the agent that writes all parts."""


def append_instructions(environment: DialogueEnv, words: str | Sequence[str]) -> None:
    """Add words to the instructions of every agent after its role, or words for each agent.

    Policies that read the brief form were trained without words and get none.

    Raises:
        SettingError: the number of texts differs from that of the agents.
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
        text = benchmark.instructions(role, style)
        return text if style == "brief" else " ".join(filter(None, (text, words)))

    environment.benchmark = _changed(benchmark, instructions=instructions)


def single_writer(environment: DialogueEnv, team: Mapping[str, int]) -> None:
    """Let the only agent of an environment with a joint answer write the parts of a whole team."""
    benchmark = environment.benchmark
    names = parts_of(team)

    def instructions(role: str, style: Style = "full") -> str:
        if style == "brief":
            return benchmark.instructions(role, style)
        duty, other = benchmark.duties, benchmark.answer_form
        duties = [f"### {part}\n{duty.get(role_of(agent), other)}" for part, agent in names.items()]
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
    """Map the heading of each part to its agent; a role with one agent is itself the heading."""
    agents = agent_names(team)
    return {role_of(agent) if team[role_of(agent)] == 1 else agent: agent for agent in agents}


def cut_parts(text: str, parts: Sequence[str]) -> dict[str, str]:
    """Cut a text into parts by their headings; without any heading, every part is the whole text.

    A heading begins with two or more `#`, because one `#` begins a comment in Python. Parts without
    a heading are left out. The last of equal headings counts.
    """
    names = "|".join(map(re.escape, parts))
    pieces = re.split(rf"(?im)^[ \t]*#{{2,6}}[ \t]*({names})[ \t]*:?[ \t]*$", text)
    if len(pieces) == 1:
        return dict.fromkeys(parts, text)
    part_of = {part.lower(): part for part in parts}
    headed = zip(pieces[1::2], pieces[2::2], strict=True)
    return {part_of[heading.lower()]: words.strip() for heading, words in headed}


def _changed(benchmark: Benchmark, **methods: Any) -> Benchmark:
    """Copy a benchmark with some methods replaced; other environments share the original."""
    changed = copy.copy(benchmark)
    for name, method in methods.items():
        setattr(changed, name, method)
    return changed


def _drafts(task: Task, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Join the drafts of all roles into drafts of the writer, the best drafts first."""
    drafts = {part: task.drafts.get(role_of(agent), ()) for part, agent in names.items()}
    if not all(drafts.values()):
        return {}
    count = max(map(len, drafts.values()))
    joined = (
        "\n".join(f"### {part}\n{texts[min(i, len(texts) - 1)]}" for part, texts in drafts.items())
        for i in range(count)
    )
    return {WRITER: tuple(joined)}
