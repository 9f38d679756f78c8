import ast
import re
import tomllib
from pathlib import Path

import torch_names
import yaml

ROOT = Path(__file__).resolve().parents[2]


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
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert "torch>=2.6" in project["dependencies"]


def test_the_citation_names_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))

    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]


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
