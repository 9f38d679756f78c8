"""The wheel has one name, and gets on with whatever else is called envs, learners or experiments.

The wheel is built from a copy of the repository and installed into a fresh virtual environment that
finds the dependencies among the tester's packages.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from places import ROOT

PARTS = ("envs", "learners", "experiments", "extras", "conf")
LEFT = (".git", ".venv*", "build", "outputs", "multirun", "site", "*.egg-info", "__pycache__")
USE = """
from laconic import envs as ours
env = ours.make("gsm8k", tasks=2)
env.reset(seed=0)
print("played", ours.__name__)
"""


def call(*command, cwd, code=0):
    """Run a command outside of any clone; returns its output."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    ended = subprocess.run(
        [str(override) for override in command],
        cwd=cwd,
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def write(folder, files):
    """Make files with their folders."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Copy the repository, so that build output stays out of the working tree."""
    folder = tmp_path_factory.mktemp("clone") / "laconic"
    shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*LEFT))
    return folder


@pytest.fixture(scope="module")
def wheel(clone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    flags = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    call(sys.executable, "-m", "pip", "wheel", *flags, "-w", folder, clone, cwd=folder)
    (path,) = folder.glob("laconic_marl-*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Return the interpreter of an environment with only the wheel installed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    result = folder / "bin" / "python"
    (site(folder) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install(result, wheel)
    return result


def site(environment):
    (path,) = Path(environment).glob("lib/python*/site-packages")
    return path


def install(python, wheel):
    flags = ["--no-deps", "--no-index", "--quiet", "--force-reinstall"]
    pip = [sys.executable, "-m", "pip", "--python", python]
    call(*pip, "install", *flags, wheel, cwd=wheel.parent)


@pytest.mark.slow
def test_the_wheel_holds_one_name_and_every_file_of_the_package(wheel, clone):
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.partition("/")[0] for name in names}
    ours = {"laconic", "laconic_marl.py"}
    assert {name for name in tops if not name.endswith(".dist-info")} == ours
    held = [
        path.relative_to(clone).as_posix()
        for part in PARTS
        for path in (clone / part).rglob("*")
        if path.is_file()
    ]
    # How the shipped policy was made is told in the repository.
    paths = {
        f"envs/library/gsm8k/policy/{file}" for file in ("RECIPE.md", "recipe.yaml", "log.jsonl")
    }
    assert {file for file in held if f"laconic/{file}" not in names} <= paths
    assert "laconic/py.typed" in names and "laconic/__main__.py" in names
    kinds = {Path(file).suffix for file in held}
    assert {".py", ".yaml", ".jinja", ".safetensors", ".json"} <= kinds
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


@pytest.mark.slow
def test_a_project_that_is_laid_out_like_pymarl_imports_both(python, tmp_path):
    main = f"import envs, learners\nassert envs.MINE and learners.MINE\n{USE}"
    packages = ("envs", "learners", "runners")
    mine = {f"src/{package}/__init__.py": "MINE = True\n" for package in packages}
    write(tmp_path, {**mine, "src/main.py": main})
    assert call(python, "main.py", cwd=tmp_path / "src") == "played laconic.envs\n"


@pytest.mark.slow
def test_the_programs_run_beside_folders_of_the_same_names(python, tmp_path):
    files = {
        "experiments/train.py": "raise SystemExit('theirs')\n",
        "conf/train.yaml": "theirs: true\n",
        "learners/notes.py": "",
        "use.py": f"import learners.notes\n{USE}",
    }
    write(tmp_path, files)
    for command in (["-m", "laconic"], ["-m", "laconic.experiments.train"]):
        program = ["train"] if command[-1] == "laconic" else []
        output = call(python, *command, *program, "--cfg", "job", cwd=tmp_path)
        assert "laconic.envs.make" in output and "theirs" not in output
    laconic = python.parent / "laconic"
    assert "tasks_per_step" in call(laconic, "train", "--cfg", "job", cwd=tmp_path)
    assert call(python, "-m", "experiments.train", cwd=tmp_path, code=1) == "theirs\n"
    assert call(python, "use.py", cwd=tmp_path) == "played laconic.envs\n"


@pytest.mark.slow
def test_a_package_called_envs_is_installed_before_or_after_ours(python, wheel, tmp_path):
    folder = write(site(python.parents[1]), {"envs/__init__.py": "MINE = True\n"})
    script = f"import envs\nassert envs.MINE\n{USE}"
    try:
        assert call(python, "-c", script, cwd=tmp_path) == "played laconic.envs\n"
        install(python, wheel)
        assert call(python, "-c", script, cwd=tmp_path) == "played laconic.envs\n"
    finally:
        shutil.rmtree(folder / "envs")


@pytest.mark.slow
def test_the_cells_of_a_notebook_run_beside_folders_of_the_same_names(python, tmp_path):
    # Without nbclient the cells are run one after the other by python, in the notebook's folder.
    cells = ["import envs", USE, "print(env.possible_agents[0], envs.MINE)"]
    notebook = {"cells": [{"cell_type": "code", "source": source} for source in cells]}
    files = {"notebook.ipynb": json.dumps(notebook), "envs/__init__.py": "MINE = True\n"}
    write(tmp_path, files)
    read = json.loads((tmp_path / "notebook.ipynb").read_text())["cells"]
    script = "\n".join(cell["source"] for cell in read if cell["cell_type"] == "code")
    output = call(python, "-c", script, cwd=tmp_path)
    assert re.fullmatch(r"played laconic\.envs\n\w+_\d+ True\n", output)


@pytest.mark.parametrize("part", PARTS)
def test_the_root_of_a_clone_says_what_to_import(part):
    output = call(sys.executable, "-c", f"import {part}", cwd=ROOT, code=1)
    last = output.splitlines()[-1]
    assert last.startswith(f"ImportError: this folder is imported as laconic.{part}: write ")


def test_a_program_by_its_former_module_says_what_to_call():
    output = call(sys.executable, "-m", "experiments.train", cwd=ROOT, code=1)
    assert "run `laconic train`" in output.splitlines()[-1]
