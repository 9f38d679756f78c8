"""Messages reach the terminal without control characters."""

from __future__ import annotations

import ast
import json

import pytest
from omegaconf import OmegaConf
from places import ROOT

from laconic.experiments.command_line.echo import echo, echo_error
from laconic.extras.report import write as report
from laconic.extras.share import share

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08\u202e"
"""The title of the terminal, a cleared screen, a color, an overwritten line, reversed text."""


def _is_harmless(text):
    return not any(char in text for char in EVIL if char not in "]0;owned[2J31m")


def test_messages_have_no_control_characters(capsys):
    echo(f"a{EVIL}b\nc\td")
    echo_error(f"a{EVIL}b")
    written = capsys.readouterr()
    assert _is_harmless(written.out + written.err)
    assert written.out.startswith("a\ufffd]0;owned\ufffd\ufffd[2J") and "b\nc\td" in written.out
    assert written.err.endswith("b\n")


def test_a_report_prints_names_of_intervals_as_text(tmp_path, capsys):
    folder = tmp_path / "run"
    folder.mkdir()
    interval = {"mean": 0.5, "low": 0.4, "high": 0.6, "count": 3}
    rows = [
        {"step": step, "episodes": 3, "intervals": {f"x{EVIL}": interval, "accuracy": interval}}
        for step in (0, 4)
    ]
    (folder / "evaluations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "status.json").write_text(json.dumps({"state": EVIL, "warnings": [f"w{EVIL}"]}))
    (folder / "error.txt").write_text(f"e{EVIL}\n")
    (folder / "config.yaml").write_text("env: {name: gsm8k}\n")
    report.main([str(folder)])
    printed = capsys.readouterr().out
    assert "x" in printed and _is_harmless(printed)


def test_errors_about_a_folder_are_text(run, tmp_path, capsys):
    folder = tmp_path / f"run{EVIL}"
    (folder / ".hydra").mkdir(parents=True)
    overrides = {"task": [f"+a={EVIL}", "engine=vllm"], "hydra": []}
    noted = {"hydra": {"job": {"name": "train"}, "overrides": overrides}}
    OmegaConf.save(OmegaConf.create(noted), folder / ".hydra" / "hydra.yaml")
    outcomes = [run("train", f"resume={folder}"), run("evaluate", f"run={folder}")]
    arguments = [f"compare.runs=['{folder}']", "entry=[]", f"hydra.run.dir={tmp_path / 'out'}"]
    outcomes += [run("compare", *arguments), run("train", f"resume={folder}x")]
    for outcome in outcomes:
        assert outcome.code != 0 and outcome.err.startswith("error: ")
        assert _is_harmless(outcome.out + outcome.err)
    for program in (share.main, report.main):
        arguments = [str(folder), "folder=x"] if program is share.main else [f"{folder}x"]
        with pytest.raises(SystemExit):
            program(arguments)
        assert _is_harmless(capsys.readouterr().err.replace("\r", "\n"))


def test_errors_of_programs_are_said_by_these_functions_alone():
    prints = []
    files = (file for floor in ("experiments", "extras") for file in (ROOT / floor).rglob("*.py"))
    for path in sorted(files):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id == "print" and path.name != "echo.py":
                    prints += [path.name for keyword in node.keywords if keyword.arg == "file"]
    # The list of programs, which holds nothing that anybody typed.
    assert prints == ["console.py"]
