"""What stands on the pages is so: their Python runs, and their commands can be composed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from omegaconf import OmegaConf
from places import ROOT

from laconic.experiments.command_line.cli import CONF
from laconic.experiments.command_line.console import ALIASES

PAGES = sorted((ROOT / "docs").rglob("*.md"))
README = ROOT / "README.md"
KINDS = ("python", "sh", "text", "yaml")
OTHERS = {"git", "source", "tensorboard", "vllm", "wandb", "mlflow", "trackio", "transformers"}
"""Programs of others, which are not looked into."""


def by_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [*PAGES, README], ids=by_name)
def test_the_python_of_a_page_runs_from_top_to_bottom(run_page, page):
    run_page(page)


@pytest.mark.parametrize("page", [*PAGES, README], ids=by_name)
def test_every_block_says_what_it_is_so_that_none_escapes(code_blocks, page):
    unknown = [(one.line, one.kind) for one in code_blocks(page) if one.kind not in KINDS]
    assert unknown == [], f"kinds are {KINDS}; indented blocks have none"


@pytest.mark.usefixtures("composed_once")
@pytest.mark.parametrize("page", [*PAGES, README], ids=by_name)
def test_every_command_of_a_page_can_be_composed(commands, code_blocks, tmp_path, page):
    for block in code_blocks(page):
        if block.file:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.code)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for command in commands(page):
        name = command.words[0]
        if command.program:
            check_program(command, tmp_path)
        elif name == "make":
            assert command.words[1] in targets, command.text
        elif name == "pip":
            wanted = re.findall(r"laconic\[([\w,]+)\]", command.text)
            assert set(",".join(wanted).split(",")) <= {"", *extras["optional-dependencies"]}
        else:
            assert name in OTHERS, f"{command.text}: unknown program"


def check_program(command, folder):
    """Compose every value that a command names."""
    program, *settings = ALIASES.get(command.program.replace("_", "-"), (command.program,))
    if not (CONF / f"{program}.yaml").exists():
        assert (ROOT / "experiments" / f"{program}.py").exists(), command.text
        return
    parsed = command.parsed()
    searched = parsed.config_dir and f"hydra.searchpath=[file://{folder / parsed.config_dir}]"
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        for overrides in variants(parsed.overrides):
            cfg = compose(program, [*settings, *overrides, *([searched] if searched else [])])
            missing = OmegaConf.missing_keys(cfg)
            assert not missing, f"{command.text}: needs {missing}"


def variants(written: list[str]) -> Iterator[list[str]]:
    """The overrides of a sweep's jobs: each choice of a group once, beside the first of all others.

    Plain values compose alike, so the first stands for all. Choices of launchers and sweepers are
    left out, because their packages are not needed here.
    """
    parsed = [
        one
        for one in OverridesParser.create().parse_overrides(written)
        if not one.key_or_group.startswith(("hydra/", "hydra."))
    ]
    choices = [list(values(one))[: None if is_group(one) else 1] for one in parsed]
    yield [every[0] for every in choices]
    for place, every in enumerate(choices):
        for value in every[1:]:
            yield [value if at == place else other[0] for at, other in enumerate(choices)]


def is_group(override: Override) -> bool:
    return (CONF / override.key_or_group.partition("@")[0]).is_dir()


def values(override: Override) -> Iterator[str]:
    if not override.is_sweep_override():
        yield override.input_line
    elif isinstance(override.value(), IntervalSweep):
        yield f"{override.get_key_element()}={override.value().start}"
    else:
        for value in override.sweep_string_iterator():
            yield f"{override.get_key_element()}={value}"
