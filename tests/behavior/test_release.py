import ast
import re
import tomllib
from pathlib import Path

import pytest
import torch_names
import yaml
from places import ROOT

from laconic.envs.errors import DISTRIBUTION, install

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
_NAMED = re.compile(r"(?<![\w./-])(laconic[\w-]*)\\?\[([a-z][\w,]*)\\?\]")
"""A distribution with extras, as a shell, a table or an expression of a test spells it."""
_INSTALLED = re.compile(
    r"(?:pip|uv|conda)\b[^\n`]* (?:install|download|add) [^\n`]*?(?<![\w./-])(laconic[\w-]*)"
)
"""A distribution in a command that installs."""


def test_every_name_of_torch_in_use_was_looked_up_in_the_oldest_torch() -> None:
    # The list was checked against the wheel of torch 2.6.0. It lacks `torch.optim.Muon` alone, and
    # learners/training/optimizers.py asks for it first. After a check, write the list anew:
    # tests/support/torch_names.py > tests/support/torch_names.txt
    names = (ROOT / "tests/support/torch_names.txt").read_text("utf-8").split()

    assert torch_names.used_names() == set(names)
    assert len(names) > 100


def test_names_are_found_through_aliases() -> None:
    code = "import torch.distributed as dist\nfrom torch import nn\nnn.Linear, dist.all_reduce"

    assert torch_names.names_of(ast.parse(code)) == {
        "torch.distributed",
        "torch.nn",
        "torch.nn.Linear",
        "torch.distributed.all_reduce",
    }


def test_torch_has_no_upper_bound_in_the_package() -> None:
    assert "torch>=2.6" in PROJECT["dependencies"]


def test_every_installer_brings_what_the_wheel_of_torch_needs() -> None:
    # PyPI's torch for Linux loads the libraries of CUDA when it is imported, also without a GPU.
    # uv was once told that torch does not need them, so that `uv sync` left them out.
    uv = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["uv"]

    replaced = {"dependency-metadata", "override-dependencies", "exclude-dependencies"} & {*uv}
    assert replaced == set()


def test_the_first_commands_of_the_readme_set_up_a_fresh_machine() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (block,) = re.findall(r"## First run\n.*?```sh\n(.*?)```", readme, re.S)
    commands = [line.partition("#")[0].split() for line in block.splitlines()]
    makefile = (ROOT / "Makefile").read_text("utf-8")

    assert commands == [["make", "train"], ["make", "test"]]
    assert all(re.search(rf"^{name}: \.venv/installed ", makefile, re.M) for _, name in commands)


def test_the_citation_names_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))

    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]


def test_the_page_for_coding_agents_is_short_and_names_what_exists() -> None:
    text = (ROOT / "AGENTS.md").read_text("utf-8")
    makefile = "".join(
        (ROOT / file).read_text("utf-8") for file in ("Makefile", "docs/evidence/evidence.mk")
    )
    paths = [name for name in re.findall(r"`([\w./<>]+/[\w.<>]*)`", text) if "<" not in name]
    targets = re.findall(r"`?\bmake ([a-z]+-?[a-z]*)(?:`| *#)", text)

    assert len(text.splitlines()) <= 60
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.M)] == []
    assert len(paths) >= 15 and len(targets) >= 5


def files() -> list[Path]:
    """Return the files in which a person or a program reads the name of the distribution."""
    parts = ("conf", "docs", "envs", "experiments", "extras", "learners", "src/laconic", "tests")
    kinds = {".py", ".yaml", ".md", ".mk", ".ipynb"}
    below = [path for part in parts for path in sorted((ROOT / part).rglob("*"))]
    top = [path for path in sorted(ROOT.iterdir()) if path.is_file() and path.suffix != ".lock"]
    return [*top, *(path for path in below if path.suffix in kinds and path != Path(__file__))]


def test_every_place_that_names_the_distribution_names_ours() -> None:
    # The index has another project called `laconic`, which a command with that name installs.
    found, installed = [], []
    for path in files():
        text = path.read_text("utf-8")
        found += [(path.name, *match.groups()) for match in _NAMED.finditer(text)]
        installed += [(path.name, name) for name in _INSTALLED.findall(text)]
    assert PROJECT["name"] == DISTRIBUTION == "laconic-marl"
    assert [place for place in found if place[1] != DISTRIBUTION] == []
    assert [place for place in found if not {*place[2].split(",")} <= {*EXTRAS}] == []
    assert [place for place in installed if place[1] != DISTRIBUTION] == []
    assert len(found) > 40 and len(installed) > 30


def test_every_extra_that_a_message_names_exists() -> None:
    named = [
        (path.name, node.args[0].value)
        for path in files()
        if path.suffix == ".py" and not path.is_relative_to(ROOT / "tests")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "install"
        if isinstance(node.args[0], ast.Constant)
    ]
    assert [place for place in named if place[1] not in EXTRAS] == []
    assert {name for _, name in named} >= {"api", "chess", "engines", "hub", "lora", "math"}
    assert install("lora") == "pip install 'laconic-marl[lora]'"


def test_the_version_is_that_of_our_distribution() -> None:
    # `importlib.metadata` knows distributions, and another one has the name of the import.
    asked = [
        (path.name, ast.unparse(node))
        for path in files()
        if path.suffix == ".py"
        # Parsing all files and writing out all their calls took 8 seconds.
        and re.search(r"\b(version|distributions?|requires)\(", path.read_text("utf-8"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", None))
        in ("version", "distribution", "distributions", "requires")
        and "'laconic" in ast.unparse(node)
    ]
    assert asked == [("surroundings.py", "distributions(name='laconic')")]


def test_the_command_is_found_under_the_name_of_the_distribution() -> None:
    module, _, function = PROJECT["scripts"]["laconic"].partition(":")
    assert module == DISTRIBUTION.replace("-", "_") and function == "main"
    source = (ROOT / "src" / f"{module}.py").read_text("utf-8")
    assert {*re.findall(r"laconic-\w+", source)} == {DISTRIBUTION}


@pytest.mark.parametrize(
    ("line", "distribution"),
    [
        ("pip install laconic", "laconic"),
        ("pip install -U 'laconic[lora]'", "laconic"),
        ("python -m pip download --no-deps laconic", "laconic"),
        ("uv add laconic-rl", "laconic-rl"),
        ("conda install -c here laconic", "laconic"),
        ("uv pip install 'laconic-marl[all]'", DISTRIBUTION),
        ("pip install -e .", None),
        ("pip uninstall laconic", None),
    ],
)
def test_a_command_that_installs_a_stranger_is_noticed(line, distribution) -> None:
    assert _INSTALLED.findall(line) == ([distribution] if distribution else [])
