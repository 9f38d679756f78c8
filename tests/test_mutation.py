"""The mutation check changes what it says it changes, and picks the tests that could notice."""

from __future__ import annotations

import subprocess
from pathlib import Path

import mutation
import named_mutants
import pytest
from mutants import Mutant, mutants_of
from places import ROOT

SOURCE = '''\
@decorated(retries=3)
def clipped(value: float | None = 1, low: int = 0) -> float:
    """Keep 1 or 2."""
    if not value or value <= low + 1:
        raise ValueError("at least 1" + str(low))
    return any(one > 0.5 for one in value) and value is not None


time.sleep(3)
'''


def test_operators_calls_and_numbers_are_changed_and_nothing_else() -> None:
    changes = {(mutant.line, mutant.old, mutant.new) for mutant in mutants_of(SOURCE)}
    assert changes == {
        (4, "not ", ""),
        (4, "or", "and"),
        (4, "<=", "<"),
        (4, "+", "-"),
        (4, "1", "2"),
        (6, "any", "all"),
        (6, ">", ">="),
        (6, "0.5", "2.0"),
        (6, "and", "or"),
        (6, "is not", "is"),
    }


def test_a_mutant_changes_its_place_alone() -> None:
    (mutant,) = (mutant for mutant in mutants_of(SOURCE) if mutant.old == "any")
    before, after = SOURCE.splitlines(), mutant.apply(SOURCE).splitlines()
    assert [place for place in range(6) if before[place] != after[place]] == [5]
    assert after[5] == "    return all(one > 0.5 for one in value) and value is not None"


def test_a_draw_is_a_function_of_its_seed_and_takes_a_line_once(project: Path) -> None:
    mutants = mutation.drawn(2, 0, project)
    assert mutants == mutation.drawn(2, 0, project)
    assert len({mutant.line for mutant in mutants}) == 2
    assert len(mutation.drawn(99, 0, project)) == 3


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of two modules in which one line is tested, one is not, and one has no effect."""
    files = {
        "learners/prices/price.py": (
            "def cost(tokens):\n    return 2 * tokens\n\n\n"
            "def bonus(tokens):\n    return 3 * tokens\n\n\n"
            "def total(tokens):\n    return tokens + 0\n"
        ),
        "learners/bill.py": "from laconic.learners.prices.price import cost, total\n",
        "tests/learners/prices/test_price.py": (
            "from laconic.learners.prices.price import cost\n\n\n"
            "def test_cost():\n    assert cost(3) == 6\n\n\n"
            "def test_that_fails_anyway():\n    assert cost(3) == 7\n"
        ),
        "tests/learners/test_bill.py": "from laconic.learners.bill import total\n",
        "tests/learners/test_other.py": "import math\n",
        "src/laconic/__init__.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "src/laconic/learners").symlink_to("../../learners")
    return tmp_path


def test_tests_that_import_a_module_come_nearest_first(project: Path) -> None:
    tests = mutation.tests_of("learners/prices/price.py", project)
    assert tests == ["tests/learners/prices/test_price.py", "tests/learners/test_bill.py"]


@pytest.mark.slow
def test_a_mutant_is_killed_by_a_test_that_passes_without_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutation, "tests_of", lambda file: ["tests/learners/prices/test_price.py"])
    file, broken = "learners/prices/price.py", []
    source = (project / file).read_text(encoding="utf-8")
    outcomes = {}
    for mutant in (Mutant(file, 2, 11, "2", "3"), Mutant(file, 6, 11, "3", "4")):
        row = mutation.judge(mutant, project, broken)
        outcomes[mutant.line] = (row.outcome, row.test)
        assert (project / file).read_text(encoding="utf-8") == source
    failing = "tests/learners/prices/test_price.py::test_that_fails_anyway"
    assert outcomes == {
        2: ("killed", "tests/learners/prices/test_price.py::test_cost"),
        6: ("survived", ""),
    }
    assert broken == [failing]


def test_links_and_files_that_are_tracked_are_copied(project: Path, tmp_path: Path) -> None:
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=project, check=True)
    (project / "untracked.py").write_text("", encoding="utf-8")
    copy = tmp_path / "copy"
    mutation.copy_tracked(copy, project)
    assert (copy / "src/laconic/learners").is_symlink()
    assert (copy / "learners/bill.py").exists() and not (copy / "untracked.py").exists()


@pytest.mark.parametrize("mutant", named_mutants.MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_named_mutant_is_found_by_its_text(mutant: named_mutants.NamedMutant) -> None:
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
    assert (ROOT / mutant.tests).exists() and mutant.new != mutant.old


@pytest.mark.slow
def test_the_tests_of_its_module_notice_every_named_mutant() -> None:
    assert [mutant.rule for mutant in named_mutants.survivors()] == []
