"""Commands of the pages that need nothing from elsewhere really run, with small numbers."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from places import ROOT

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
SIZES = {
    "train": [
        "train.steps=1",
        "train.tasks_per_step=2",
        "train.group_size=2",
        "train.evaluate_every=null",
        "evaluation.tasks=4",
        "evaluation.transcripts=1",
    ],
    "evaluate": ["evaluation.tasks=2"],
    "compare": ["evaluation.tasks=2"],
}
"""What makes a command of a program short; others are not run."""
ELSEWHERE = (
    "placeholder",
    "Qwen/",
    "me/my-team",
    "my_package",
    "=warm/",
    "--c",
    "--info",
    "agent=api",
)
"""What a command needs that is not here, or what other tests run."""
NEEDS = ("hydra/", "outputs/", "logger=", "accelerate", "engine=")

pytestmark = pytest.mark.slow


@pytest.fixture
def runnable(commands):
    """The programs with the arguments of a page's commands, values of a sweep at their first."""

    def read(page: Path) -> set[tuple[str, ...]]:
        found = set()
        for one in commands(page):
            text = " ".join(one.words)
            if one.program in SIZES and not any(word in text for word in (*ELSEWHERE, *NEEDS)):
                parsed = OverridesParser.create().parse_overrides(one.parsed().overrides)
                given = [first(each) for each in parsed if "hydra." not in each.input_line]
                found.add((one.program, *given))
        return found

    return read


def first(override) -> str:
    if not override.is_sweep_override():
        return override.input_line
    return f"{override.get_key_element()}={next(iter(override.sweep_string_iterator()))}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(runnable, page, tmp_path, monkeypatch, capsys):
    found = sorted(runnable(page))
    if not found:
        pytest.skip("no command here runs by itself")
    monkeypatch.chdir(tmp_path)
    for number, (program, *arguments) in enumerate(found):
        # Of a key that is given twice the later value counts.
        own = [*SIZES[program], "threads=1", f"hydra.run.dir={tmp_path}/{number}"]
        monkeypatch.setattr(sys, "argv", [f"{program}.py", *arguments, *own])
        try:
            import_module(f"laconic.experiments.{program}").main()
        except SystemExit as end:
            assert not end.code, f"{program} {arguments}\n{capsys.readouterr().err}"
