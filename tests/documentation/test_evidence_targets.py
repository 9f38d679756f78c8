"""What `make evidence-...` runs: recipes are run with a program that writes down its words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from places import ROOT

RECIPES = ROOT / "docs" / "evidence" / "evidence.mk"
PROGRAMS = {
    *("evidence-tables", "evidence-pictures", "evidence-recording", "evidence-reports"),
    *("evidence-three-minutes", "evidence-yardstick"),
    *("evidence-hindsight", "evidence-growth"),
}
"""Targets that run a Python program of `docs/evidence/`, no commands of ours."""
TARGETS = sorted(set(re.findall(r"^(evidence-[\w-]+):.*##", RECIPES.read_text(), re.M)) - PROGRAMS)
RECORDER = """#!/bin/sh
for word in "$@"; do printf '%s\\037' "$word"; done >> "$RECORDED"
echo >> "$RECORDED"
"""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a target; it returns the process and the words of our calls."""
    program, recorded = tmp_path / "bin" / "laconic", tmp_path / "recorded"
    for folder in ("bin", "model", "data/tldr", "data/gsm8k", "data/strategyqa"):
        (tmp_path / folder).mkdir(parents=True)
    program.write_text(RECORDER)
    program.chmod(0o755)
    (tmp_path / "model" / "config.json").touch()

    def call(
        target: str, **variables: object
    ) -> tuple[subprocess.CompletedProcess, list[list[str]]]:
        settings = {
            "BIN": program.parent,
            "SMOLLM2": tmp_path / "model",
            "EVIDENCE": "runs",
            "LACONIC_DATA": tmp_path / "data",
            "SEEDS": "1 2",
            **variables,
        }
        words = [f"{key}={value}" for key, value in settings.items()]
        # Recipes that make or copy folders do so in the test's own.
        makefile = ["-f", str(ROOT / "Makefile"), "-I", str(ROOT)]
        completed = subprocess.run(
            ["make", *makefile, "--assume-old=.venv/installed", *target.split(), *words],
            cwd=tmp_path,
            env={**os.environ, "RECORDED": str(recorded), "MAKEFLAGS": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        lines = recorded.read_text().splitlines() if recorded.exists() else []
        return completed, [line.split("\037")[:-1] for line in lines]

    return call


def run_folder(words: list[str]) -> str:
    return next(word.partition("=")[2] for word in words if word.startswith("hydra.run.dir="))


@pytest.mark.usefixtures("composed_once")
@pytest.mark.parametrize("target", TARGETS)
def test_every_run_of_a_target_can_be_composed_goes_on_and_uses_what_was_run_before(
    run, command, check_program, tmp_path, target
):
    completed, calls = run(target)
    assert completed.returncode == 0, completed.stderr
    assert calls
    earlier: set[str] = set()
    for words in calls:
        check_program(command(("laconic", *words)), tmp_path)
        folder, text = run_folder(words), " ".join(words)
        assert "resume=true" in words, f"{folder}: a second call would not go on"
        assert folder not in earlier
        for used in re.findall(r"runs/[\w/.-]+", text.replace(f"hydra.run.dir={folder}", "")):
            # A folder of copies is called as the runs that it copies, without their numbers.
            sources = {used.partition("/policy")[0], *copies_of(used, earlier)}
            assert not sources.isdisjoint(earlier), f"{folder} uses {used}, made by none"
        earlier.add(folder)


@pytest.mark.parametrize("target", ["evidence-strategyqa", "evidence-gsm8k-rows", "evidence-tldr"])
def test_without_rows_nothing_is_run_and_what_to_name_is_said(run, tmp_path, target):
    completed, calls = run(target, LACONIC_DATA=tmp_path / "nowhere")
    assert completed.returncode != 0
    assert calls == []
    assert "nowhere" in completed.stdout
    assert "LACONIC_DATA=<folder above" in completed.stdout


@pytest.mark.parametrize(("variables", "updates"), [({}, 45), ({"UPDATES": 20}, 20)])
def test_updates_may_be_named(run, variables, updates):
    *taught, _, last = run("evidence-harder", **variables)[1]
    assert run_folder(taught[-1]) == "runs/gsm8k_harder/silence"
    assert run_folder(last) == "runs/gsm8k_harder/from_silence/2"
    assert "agent.model=runs/gsm8k_harder/silence/policy" in last
    assert f"train.steps={updates}" in last


@pytest.mark.parametrize(
    ("variables", "taught", "updates"),
    [
        ({"FROM": "start", "UPDATES": 45}, ["first", "second", "start"], 45),
        ({}, ["apart"], 30),
    ],
)
def test_gsm8k_is_learned_from_a_start_in_three_parts_or_in_one(run, variables, taught, updates):
    calls = run("evidence-gsm8k", **variables)[1]
    runs = [f"from_{taught[-1]}/{seed}" for seed in (1, 2)]
    assert [run_folder(words) for words in calls] == [
        f"runs/gsm8k/{name}" for name in taught + runs
    ]
    for words in calls[len(taught) :]:
        assert f"agent.model=runs/gsm8k/{taught[-1]}/policy" in words
        assert f"train.steps={updates}" in words


def test_a_start_that_two_targets_share_is_taught_once_and_what_each_needs_is_there(run):
    folders = [run_folder(words) for words in run("evidence-gsm8k-rows evidence-harder")[1]]
    assert folders.count("runs/gsm8k_harder/silence") == 1
    assert "runs/gsm8k_harder/from_silence/1" in folders
    assert len(folders) == len(set(folders))


def test_controls_put_every_trained_seed_beside_its_start(run):
    *_, compared = run("evidence-strategyqa-controls", SEEDS="1 2 3")[1]
    text = " ".join(compared)
    for seed in (1, 2, 3):
        assert f"seed_{seed}: runs/strategyqa/{seed}" in text
    assert "compare.reference=seed_1" in compared
    # The start as it is, under a cap, and without each of three helpers.
    assert text.count("agent: {model: runs/strategyqa/bare/policy}") == 5
    for agent in ("helper_0", "helper_1", "helper_2"):
        assert f"silenced: [{agent}]" in text


def test_controls_take_other_forms_and_entries(run):
    *_, taught, compared = run("evidence-math-controls", FORMS="team,revise", ENTRIES="revise")[1]
    assert "train.layouts=[team,revise]" in taught
    assert "entry=[revise]" in compared


def test_controls_take_other_runs_by_name(run):
    *_, compared = run("evidence-math-controls", SEEDS="", ALSO="gspo: a/1, silence_2: b/2")[1]
    assert "compare.runs={gspo: a/1, silence_2: b/2}" in compared
    assert "compare.reference=gspo" in compared
    *_, compared = run("evidence-sports-controls", SEEDS="1", ALSO="seed_7: c/7")[1]
    assert "compare.runs={seed_1: runs/sports/1, seed_7: c/7}" in compared
    assert "compare.reference=seed_1" in compared


def copies_of(used: str, earlier: set[str]) -> set[str]:
    """Return the earlier runs called `<used>_<number>`."""
    return {folder for folder in earlier if re.fullmatch(rf"{re.escape(used)}_\d", folder)}
