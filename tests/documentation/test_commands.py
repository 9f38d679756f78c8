"""Every command of the pages and of messages runs for one step with two evaluation tasks.

What needs a GPU, a server, the hub, a package of its own or hours is composed alone, by
`test_pages.py`; the list of these commands, each with what it needs, is printed (`make commands`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from places import ROOT

from laconic.envs import names
from laconic.learners.commands import command as written

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
STEP = [
    "train.steps=1",
    "train.tasks_per_step=2",
    "train.group_size=2",
    "train.evaluate_every=null",
    "env.tasks=40",
    "evaluation.tasks=2",
    "evaluation.transcripts=1",
    "report=false",
]
PLAY = ["evaluation.tasks=2"]
SIZES = {
    "train": STEP,
    "warm_start": STEP,
    "evaluate": PLAY,
    "compare": PLAY,
    "demand": [*PLAY, "demand.points=3"],
    "measure_speed": [
        "train.tasks_per_step=2",
        "train.group_size=2",
        "measure.repetitions=1",
        "measure.episodes=4",
        "measure.answers=2",
    ],
}
"""Settings that make a command of a program short."""
NEEDS = {
    r"placeholder|=warm/|outputs/|multirun/|resume=": "a folder of an earlier command",
    r"agent=smollm2|experiment=pretrained(?!.*agent)": "`make smollm2`",
    r"Qwen/|experiment=recipes/|hub:|me/my-team": "the hub",
    r"agent=api|engine=|RemoteTeam": "a server",
    r"accelerate|fsdp": "several processes",
    r"logger=\[|hydra/|TextArena": "a package of its own",
    r"my_|--config-dir": "files of the user, which other tests write",
    r"--cfg|--info|--help": "nothing: it shows a configuration",
    r"^laconic (share|watch|report)": "a run, which other tests have",
}
"""Part of a command -> what it needs that is not here."""

pytestmark = pytest.mark.slow


def reason(command) -> str | None:
    """Return what a command needs that is not here; None where it runs."""
    # The run folder makes no difference.
    text = " ".join(word for word in command.words if not word.startswith("hydra.run.dir="))
    return next((why for part, why in NEEDS.items() if re.search(part, text)), None)


def first(override) -> str:
    if not override.is_sweep_override():
        return override.input_line
    return f"{override.get_key_element()}={next(iter(override.sweep_string_iterator()))}"


def runnable(commands) -> Iterator[tuple[str, ...]]:
    """Yield the programs with their arguments, the first value of each sweep."""
    for command in commands:
        if command.program in SIZES and reason(command) is None:
            overrides = OverridesParser.create().parse_overrides(command.parsed().overrides)
            arguments = [first(each) for each in overrides if "hydra." not in each.input_line]
            yield command.program, *arguments


def run(program, arguments, folder, sizes=()):
    """Run a command in a process of its own, as a user does."""
    completed = subprocess.run(
        [sys.executable, "-m", "laconic", program.replace("_", "-"), *arguments]
        # Of a key that is given twice the later value counts.
        + [*(sizes or SIZES[program]), "threads=1", f"hydra.run.dir={folder}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    output = completed.stdout[-500:] + completed.stderr[-2000:]
    assert completed.returncode == 0, f"{program} {arguments}\n{output}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(commands, page, tmp_path):
    programs = sorted(set(runnable(commands(page))))
    if not programs:
        pytest.skip("no command here runs by itself")
    for number, (program, *arguments) in enumerate(programs):
        run(program, arguments, tmp_path / str(number))


@pytest.mark.parametrize("name", names())
def test_the_commands_that_a_run_recommends_run(name, tmp_path):
    warm = tmp_path / "warm"
    for command in (
        written("warm-start", env=name, threads=1),
        written("train", env=name, **{"agent.model": warm}),
    ):
        _, program, *arguments = command.split()
        folder = warm if program == "warm-start" else tmp_path / "trained"
        run(program.replace("-", "_"), arguments, folder)


def test_what_is_composed_alone_is_listed(commands):
    ours = {each.text: reason(each) for page in PAGES for each in commands(page) if each.program}
    needy = {text: why for text, why in ours.items() if why}
    assert len(ours) > len(needy) > 0
    for text, why in sorted(needy.items(), key=lambda item: (item[1], item[0])):
        print(f"composed alone, needs {why}: {text}")
