"""Drafts: the answers of an entry in shape `pass`, for another entry that revises them.

An extra agent says the draft before the second pass, word for word or emptied of its content
(`Benchmark.null_draft`). So the first and the second pass are paired task by task.
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
    """Write the last message about each task."""
    messages = {
        episode.task: episode.turns[-1].message if episode.turns else "" for episode in episodes
    }
    write_atomically(folder / FILE, json.dumps(messages, indent=2) + "\n")


def read(folder: Path) -> dict[str, str]:
    """Read the drafts of an entry, by task.

    Raises:
        SettingError: the entry has no drafts.
    """
    path = folder / FILE
    if not path.is_file():
        raise SettingError(f"it revises the drafts of {folder.name!r}, which has none")
    drafts: dict[str, str] = read_json(path)
    return drafts


def emptied(
    drafts: Mapping[str, str], environment: DialogueEnv, tokenize: Tokenize
) -> dict[str, str]:
    """Replace drafts by ones of the same form that say nothing and have no more tokens."""
    benchmark, tasks = environment.benchmark, environment.tasks
    return {
        key: cut(benchmark.null_draft(tasks[key], text), len(tokenize(text)), tokenize)[0]
        for key, text in drafts.items()
        if key in tasks
    }


def with_drafter(policies: Mapping[str, Policy], drafts: Mapping[str, str]) -> dict[str, Policy]:
    """Add the agent that says the draft of each task to the policies of a team."""
    drafter = ScriptedPolicy(lambda _, request, __: drafts.get(request.info["task"], ""), {})
    return {**policies, f"{DRAFTER}_0": drafter}
