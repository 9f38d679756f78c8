"""Drafts: what an entry of one pass answered, for another that revises it.

A draft is said by an agent of its own before the second pass, letter for letter or emptied of its
content (`Benchmark.null_draft`), so that first and second pass are paired task by task.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Tokenize, cut
from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.session.team_layouts import DRAFTER
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.episode import Episode
from laconic.learners.interfaces import Policy
from laconic.learners.untrusted_files import read_json

FILE = "drafts.json"


def save(folder: Path, episodes: Sequence[Episode]) -> None:
    """Write what was said last about each task."""
    said = {one.task: ([turn.message for turn in one.turns] or [""])[-1] for one in episodes}
    write_atomically(folder / FILE, json.dumps(said, indent=2) + "\n")


def read(folder: Path) -> dict[str, str]:
    """The drafts of an entry, by task.

    Raises:
        SettingError: it has left none.
    """
    path = folder / FILE
    if not path.is_file():
        raise SettingError(f"it revises the drafts of {folder.name!r}, which has left none")
    found: dict[str, str] = read_json(path)
    return found


def emptied(
    drafts: Mapping[str, str], environment: DialogueEnv, tokenize: Tokenize
) -> dict[str, str]:
    """Drafts of the same form that say nothing, and have no more tokens."""
    benchmark, tasks = environment.benchmark, environment.tasks
    return {
        key: cut(benchmark.null_draft(tasks[key], text), len(tokenize(text)), tokenize)[0]
        for key, text in drafts.items()
        if key in tasks
    }


def with_drafter(policies: Mapping[str, Policy], drafts: Mapping[str, str]) -> dict[str, Policy]:
    """Policies of a team in which the one who drafts says these, by task."""
    drafter = ScriptedPolicy(lambda _, request, __: drafts.get(request.info["task"], ""), {})
    return {**policies, f"{DRAFTER}_0": drafter}
