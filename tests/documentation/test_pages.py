"""What stands on the pages is so: their Python runs, and their commands can be composed."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hydra.core.config_store import ConfigStore
from places import ROOT

from laconic.envs.registry import GROUP

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "AGENTS.md"]
README = ROOT / "README.md"
MAKEFILES = (ROOT / "Makefile", ROOT / "docs" / "evidence" / "evidence.mk")
MOST_OVERRIDES = 5
FOLDERS = ("hydra.run.dir=", "hydra.sweep.dir=", "hydra.sweep.subdir=")
KINDS = ("python", "sh", "text", "yaml")
OTHERS = {
    "docker",
    "export",
    "git",
    "pytest",
    "source",
    "tensorboard",
    "vllm",
    "wandb",
    "mlflow",
    "trackio",
    "uv",
    "transformers",
}
"""Programs of others, which are not looked into."""
MOST_LINES = 400
MOST_WORDS = 40_000
WRITTEN = {f"docs/{name}.md" for name in ("judges", "graders", "parity", "gpu", "cards")}
"""Pages that programs write."""


def by_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [*PAGES, README], ids=by_name)
def test_the_python_of_a_page_runs_from_top_to_bottom(run_page, page):
    run_page(page)


def test_every_block_says_what_it_is_so_that_none_escapes(code_blocks):
    unknown = [
        (by_name(page), block.line, block.kind)
        for page in (*PAGES, README)
        for block in code_blocks(page)
        if block.kind not in KINDS
    ]
    assert unknown == [], f"kinds are {KINDS}; indented blocks have none"


@pytest.mark.usefixtures("composed_once")
@pytest.mark.parametrize("page", [*PAGES, README], ids=by_name)
def test_every_command_of_a_page_can_be_composed(
    commands, check_program, code_blocks, tmp_path, monkeypatch, page
):
    for block in code_blocks(page):
        if block.file:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.code)
    if (tmp_path / "pyproject.toml").exists():
        # As if the page's package was installed.
        package = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
        names = package["entry-points"][GROUP].items()
        points = [EntryPoint(name, value, GROUP) for name, value in names]
        monkeypatch.setattr("laconic.envs.registry.entry_points", lambda group: points)
        monkeypatch.syspath_prepend(tmp_path)
        # What it offers is gone again after this test.
        store = ConfigStore.instance().repo
        monkeypatch.setitem(store, "env", dict(store.get("env", {})))
    recipes = "\n".join(makefile.read_text() for makefile in MAKEFILES)
    targets = set(re.findall(r"^([\w-]+):", recipes, re.M))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for command in commands(page):
        name = command.words[0]
        if command.program:
            check_program(command, tmp_path)
        elif name == "make":
            assert command.words[1] in targets, command.text
        elif name == "pip":
            lists = re.findall(r"laconic\[([\w,]+)\]", command.text)
            assert set(",".join(lists).split(",")) <= {"", *extras["optional-dependencies"]}
        else:
            assert name in OTHERS, f"{command.text}: unknown program"


def test_no_command_of_a_page_needs_more_than_five_overrides(commands):
    ours = [each for page in (*PAGES, README) for each in commands(page) if each.program]
    long = [command.text for command in ours if len(counted(command)) > MOST_OVERRIDES]
    assert ours and long == [], "settings belong into conf/experiment/ or a target of make"


def test_a_page_is_short():
    lines = {by_name(page): len(page.read_text("utf-8").splitlines()) for page in (*PAGES, README)}
    assert {page: count for page, count in lines.items() if count > MOST_LINES} == {}


def test_all_pages_together_are_short():
    pages = {*PAGES, README} - {ROOT / name for name in WRITTEN}
    words = sum(count_words(page.read_text("utf-8")) for page in pages)
    assert 10_000 < words <= MOST_WORDS, "shorten a page: one place for a fact, links elsewhere"


def test_words_are_those_that_a_reader_sees():
    page = """# Two words
```sh
laconic train
```
<!-- settings: env/gsm8k --> <img src="a b">
| A cell | with `code=1` | – |
|---|---|---|
"""
    # "Two words", "A cell" and "with code=1".
    assert count_words(page) == 6


def count_words(page: str) -> int:
    """Return the number of words outside blocks of code; tables count, marks and HTML do not."""
    text = re.sub(r"^```.*?^```|<!--.*?-->|<[a-z/][^>]*>", " ", page, flags=re.M | re.S)
    return sum(1 for word in text.replace("|", " ").split() if re.search(r"\w", word))


def counted(command) -> list[str]:
    """Return the overrides of a command; those that name its folder do not count."""
    return [
        word
        for word in command.arguments
        if ("=" in word or word.startswith("~")) and not word.startswith(("-", *FOLDERS))
    ]


def test_overrides_are_counted_with_and_without_a_sign(command):
    words = (
        "laconic train -m '~env' +env.x=1 seed=0,1 --config-dir c hydra.run.dir=a hydra.sweep.dir=b"
    )
    assert counted(command(shlex.split(words))) == ["~env", "+env.x=1", "seed=0,1"]


def test_every_learner_says_where_it_differs_from_its_authors():
    table = (ROOT / "docs/learners.md").read_text("utf-8").split("## Where methods differ")[1]
    rows = [line.split("|")[1] for line in table.split("\n## ")[0].splitlines() if "|" in line]
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    folders = (ROOT / "conf/learner", ROOT / "extras/conf/learner")
    learners = {path.stem for folder in folders for path in folder.glob("*.yaml")}
    assert named == learners
