"""A process that cannot run any program gives the reason in one line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest
from places import ROOT

from laconic.experiments.command_line.surroundings import preflight

OURS = "laconic.experiments.command_line.console"
PROGRAMS = [
    ["train", "env=gsm8k", "train.steps=1"],
    ["warm-start", "env=gsm8k"],
    ["evaluate", "evaluation.tasks=1"],
    ["report", "."],
]


def _started(arguments, folder, prepare=None, **environment):
    """Run `laconic <arguments>` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "laconic", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        preexec_fn=prepare,
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.mark.parametrize("arguments", PROGRAMS, ids=lambda arguments: arguments[0])
def test_a_deleted_folder_is_named_as_the_cause(tmp_path, arguments):
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = _started(arguments, gone, gone.rmdir)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: the working folder was deleted; change to one")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", PROGRAMS[:3], ids=lambda arguments: arguments[0])
def test_python_without_docstrings_is_named_as_the_cause(tmp_path, arguments):
    ended = _started(arguments, tmp_path, PYTHONOPTIMIZE="2")
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert "PYTHONOPTIMIZE=2" in ended.stderr and "agent.model" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_python_without_asserts_alone_is_no_problem(tmp_path):
    assert preflight() is None
    assert _started(["train", "--help"], tmp_path, PYTHONOPTIMIZE="1").returncode == 0


@pytest.mark.parametrize("gibibytes", [0.3, 0.5, 1.0])
def test_a_limit_on_memory_is_named_as_the_cause(tmp_path, gibibytes):
    limit = int(gibibytes * 2**30)
    ended = _started(
        PROGRAMS[2], tmp_path, lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    )
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert ended.stderr.startswith(f"error: this process may use {gibibytes} GiB of address space")


# A module of a program loads torch, so it starts once alone: the output is the same one.
@pytest.mark.parametrize(
    ("module", "environment"),
    [
        ("laconic", {"PYTHONIOENCODING": "ascii"}),
        ("laconic", {"PYTHONIOENCODING": "cp1252"}),
        ("laconic", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        ("laconic.experiments.evaluate", {"PYTHONIOENCODING": "ascii"}),
    ],
    ids=str,
)
def test_a_character_that_the_output_lacks_is_replaced(tmp_path, module, environment):
    program = ["evaluate"] if module == "laconic" else []
    # Hydra prints the configuration, and reads the escape in a yaml of the user.
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "mine.yaml").write_text('words: "a \\u2192 b"\n')
    ended = subprocess.run(
        [sys.executable, "-m", module, *program, "--cfg", "job", "-cd", ".", "agent=mine"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        capture_output=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert b"words: a ? b" in ended.stdout


CAUSES = """
import resource
from laconic.experiments.command_line.surroundings import find_memory_limit, preflight

library = ImportError("x.so: failed to map segment from shared object")
wrapped = RuntimeError("no tokenizer")
wrapped.__cause__ = library
causes = [MemoryError(), library, wrapped, OSError(12, "Cannot allocate memory")]
others = [ImportError("No module named 'x'"), OSError(2, "No such file"), RuntimeError("no")]
print([find_memory_limit(error) for error in causes].count(None))
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
print([find_memory_limit(error) for error in causes].count(None), preflight())
print([find_memory_limit(error) for error in others].count(None))
"""


def test_an_error_is_laid_to_memory_where_a_limit_can_have_caused_it():
    ended = subprocess.run(
        [sys.executable, "-c", CAUSES],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    # Without a limit memory causes no error; with one, all four of these and no other.
    assert ended.stdout.split("\n")[:3] == ["4", "0 None", "3"]


def _installed(folder, name, version, script):
    """Lay the record of an installed distribution into a folder."""
    record = folder / f"{name}-{version}.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (record / "entry_points.txt").write_text(f"[console_scripts]\nlaconic = {script}\n")


@pytest.mark.parametrize("arguments", PROGRAMS, ids=lambda arguments: arguments[0])
def test_another_project_of_our_import_name_is_named(tmp_path, arguments):
    _installed(tmp_path / "site", "laconic", "0.14.0", "laconic.cli:main")
    # A record that an earlier install of ours left must not hide the other project.
    _installed(tmp_path / "site/old", "laconic", "0.1.0", f"{OURS}:main")
    path = os.pathsep.join(map(str, [ROOT / "src", tmp_path / "site/old", tmp_path / "site"]))
    ended = _started(arguments, tmp_path, PYTHONPATH=path)
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert "got the other project 'laconic' 0.14.0 beside it: pip uninstall laconic" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize(
    ("name", "script"),
    [
        # An earlier install of ours, which had the name of the import.
        ("laconic", f"{OURS}:main"),
        # Names that only begin alike.
        ("laconic_marl", "laconic_marl:main"),
        ("laconic_tools", "laconic_tools:main"),
    ],
)
def test_only_another_project_of_the_very_name_is_a_problem(tmp_path, monkeypatch, name, script):
    _installed(tmp_path, name, "0.1.0", script)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert preflight() is None


def test_the_command_says_who_has_its_import(tmp_path):
    # The other project is found first, so that nothing below `laconic` is ours.
    (tmp_path / "laconic").mkdir()
    (tmp_path / "laconic" / "__init__.py").write_text("")
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    start = "import laconic_marl; laconic_marl.main()"
    ended = subprocess.run(
        [sys.executable, "-c", start, "train"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert f"another project's in {tmp_path / 'laconic' / '__init__.py'}: pip" in ended.stderr
