"""Prints how large the project is and how hard to change, one row each: `make measures`.

The figures are for comparing a tree with an earlier one. None has a bound: a bound at the present
value would pin how the code is cut.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from statistics import median

from places import ROOT
from update_path import SETTINGS, recorded

FLOORS = ("envs", "learners", "experiments", "extras")
FEATURES = {
    "boxnet": "envs/library/boxnet",
    "c3": "extras/methods/candidates.py",
    "edges": "extras/methods/edges.py",
    "gate": "extras/methods/gate",
    "sdpo": "extras/methods/sdpo.py",
}
"""Features, and where their own files begin; other product files with the word are touched."""
CENTRAL = (
    "experiments/command_line/trust.py",
    "experiments/command_line/targets.py",
    "experiments/command_line/defaults.py",
    "experiments/session/early.py",
    "experiments/session/checks.py",
)
"""Files with a list of what others declare, also those that are gone."""
TO_READ = {
    "an environment": ("docs/own_environment.md", "docs/games.md", "envs/worlds/base.py"),
    "a loss": ("docs/own_algorithm.md", "learners/training/objective.py"),
    "an engine": ("docs/engines.md", "learners/engines/base.py"),
}
"""What one reads before adding something: the pages that AGENTS.md names, and the contract."""


def files(*folders: str) -> list[Path]:
    """Return the Python files below folders, in a fixed order."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def lines(paths: Iterable[Path]) -> int:
    """Return the number of lines."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def code(paths: Iterable[Path]) -> int:
    """Return the number of lines with code: without docstrings, comments and empty lines."""
    return sum(len(_code(path.read_text("utf-8"))) for path in paths)


def _code(text: str) -> set[int]:
    plain = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    marked = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in plain | {tokenize.ENDMARKER}
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                marked -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return marked


def update_path() -> str:
    """Train for two steps; count the modules, lines and functions of the second update."""
    from laconic.experiments import train

    sink = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, recorded() as passed:
        sys.argv = ["train", *SETTINGS, "logger=none", f"hydra.run.dir={folder}/run"]
        with redirect_stdout(sink), redirect_stderr(sink):
            train.main()
    modules = {ROOT / name.lstrip("/") for name, _ in passed}
    return f"{len(modules)}, {lines(modules):,} ({len(passed)} functions)"


def settings() -> str:
    """Count the settings of a default run that are shown, and those that are taken beside them."""
    from laconic.experiments.command_line.tree import CONF, compose, declared, plain, record_of

    cfg = plain(compose("train", str(CONF), []))
    shown = sum(1 for _ in _leaves(cfg))
    return f"{shown} shown, {len(declared(cfg, record_of('train')))} declared"


def _leaves(node: object) -> Iterable[object]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name not in ("_target_", "_partial_"):
                yield from _leaves(value)
    else:
        yield node


def touched() -> str:
    """Count the product files outside its own that name a feature."""
    counts = {}
    for word, own in FEATURES.items():
        named = [
            path
            for path in files(*FLOORS)
            if re.search(rf"\b{word}\b", path.read_text("utf-8"))
            and not path.relative_to(ROOT).as_posix().startswith(own)
        ]
        counts[word] = len(named)
    listed = ", ".join(f"{word} {count}" for word, count in counts.items())
    return f"{median(counts.values()):g} ({listed})"


def central(commits: int = 200) -> str:
    """Return the part of the last commits to product code that touch a central list."""
    log = subprocess.run(
        ["git", "log", f"-{commits}", "--name-only", "--format=%x00", "--", *FLOORS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")[1:]
    hits = sum(any(name in CENTRAL for name in each.split()) for each in log)
    return f"{hits / max(len(log), 1):.0%} of {len(log)}"


def mutants() -> str:
    """Read the outcome of the last `make mutants`."""
    file = ROOT / "outputs" / "mutants" / "rows.jsonl"
    if not file.exists():
        return "not measured here (make mutants)"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return f"{sum(row['outcome'] == 'killed' for row in rows)} of {len(rows)}"


def main() -> None:
    """Print the rows."""
    product, core, tests = files(*FLOORS), files(*FLOORS[:3]), files("tests")
    ratio = code(tests) / code(product)
    read = {what: lines(ROOT / name for name in names) for what, names in TO_READ.items()}
    rows = {
        "modules, lines on the path of one learning update": update_path(),
        "settings of a default run": settings(),
        "product files outside its own that a feature touches (median)": touched(),
        "commits to product code that touch a central list": central(),
        "lines to read to add something": ", ".join(f"{k} {v}" for k, v in read.items()),
        "lines of tests, files": f"{lines(tests):,}, {len(tests)}",
        "test code per line of code": f"{ratio:.2f}",
        "mutants caught": mutants(),
        "lines of envs, learners and experiments (code)": f"{lines(core):,} ({code(core):,})",
    }
    for name, value in rows.items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
