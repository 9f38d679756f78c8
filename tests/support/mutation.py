"""Changes one line at a time and reports which changes no test notices.

    python tests/support/mutation.py <folder> [mutants] [seed]

Mutants (60 unless said otherwise) are drawn with the seed (0) over the code in `SCOPE`. Each is
applied to a copy of the tracked files, where those default tests run that import its module
directly or through one more import, nearest first, up to the first failure and for two minutes at
most. A test that fails without the mutant too is left out. Rows are appended to
<folder>/rows.jsonl, so a check that was stopped goes on where it was; <folder>/table.md is written
after every mutant. A mutant whose tests did not end in time counts as a survivor.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
SCOPE = (
    "learners/advantages/*.py",
    "learners/rollout/**/*.py",
    "learners/training/*.py",
    "learners/algorithms/*.py",
    "learners/prices/*.py",
    "extras/swarm/*.py",
    "envs/dialogue/*.py",
    # The graders.
    "envs/library/math/grading/*.py",
    "envs/families/writing/grading.py",
    "envs/families/writing/measures.py",
    "envs/families/yes_no/answers.py",
    "envs/library/gsm8k/numbers.py",
    "envs/families/coding/base.py",
    "envs/families/coding/exam.py",
    "envs/families/coding/extract.py",
    "envs/families/cooperation/*.py",
    "envs/library/checkmate/play.py",
    "envs/library/checkmate/notation.py",
)
SECONDS = 120
"""Time of the tests of one mutant."""


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one mutant."""

    mutant: Mutant
    """The change."""
    before: str
    """The line as it was."""
    outcome: str
    """`killed`, `survived`, `out of time` or `untested`."""
    test: str
    """The first test that failed; empty without one."""
    seconds: float
    """Time that its tests took."""


def drawn(count: int, seed: int, root: Path = ROOT) -> list[Mutant]:
    """Draw mutants over `SCOPE`, no two of one line."""
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for pattern in SCOPE:
        for path in sorted(root.glob(pattern)):
            file = path.relative_to(root).as_posix()
            for mutant in mutants_of(path.read_text(encoding="utf-8"), file):
                by_line.setdefault((file, mutant.line), []).append(mutant)
    generator = random.Random(seed)
    places = generator.sample(sorted(by_line), min(count, len(by_line)))
    return [generator.choice(by_line[place]) for place in places]


# Which tests


@cache
def imported(path: Path, root: Path = ROOT) -> frozenset[Path]:
    """Return the files of this project that a file imports, its folders' conftest among them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    files = {file for name in names for file in _files(name, root)}
    if path.name.startswith("test_"):
        above = [parent / "conftest.py" for parent in path.parents if parent.is_relative_to(root)]
        files |= {conftest for conftest in above if conftest.exists()}
    return frozenset(files - {path})


def _files(name: str, root: Path) -> Iterator[Path]:
    first, _, rest = name.partition(".")
    place = root / rest.replace(".", "/") if first == "laconic" else root / "tests/support" / name
    if rest or first != "laconic":
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.exists():
                yield file


def tests_of(file: str, root: Path = ROOT) -> list[str]:
    """Return the test files that import a module, or something that imports it; nearest first.

    Nearest are tests named after the module, then those that import it directly.
    """
    target = root / file
    ranked: list[tuple[int, str]] = []
    for test in sorted((root / "tests").rglob("test_*.py")):
        direct = imported(test, root)
        stem = test.stem.removeprefix("test_")
        if target in direct:
            rank = 0 if stem.startswith(target.stem) else 1
        elif any(target in imported(module, root) for module in direct):
            mirrored = test.parent == root / "tests" / Path(file).parent
            rank = 2 if mirrored else 3
        else:
            continue
        ranked.append((rank, test.relative_to(root).as_posix()))
    return [test for _, test in sorted(ranked)]


# Running


def copy_tracked(target: Path, root: Path = ROOT) -> None:
    """Copy the files that git tracks, links as links."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name, follow_symlinks=False)


def run_tests(tests: Sequence[str], copy: Path, seconds: float) -> tuple[str, str]:
    """Run tests on the copy up to the first failure.

    Returns:
        `killed`, `survived` or `out of time`, and the test that failed; no test where pytest
        itself could not start, for example because the code cannot be imported.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy / "src"),
        # A file that is changed twice within a second would be read from its compiled form.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
    process = subprocess.Popen(
        [*command, *tests],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return "out of time", ""
    if process.returncode in (0, 5):
        return "survived", ""
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    return "killed", failed[1] if failed else ""


def judge(mutant: Mutant, copy: Path, broken: list[str]) -> Row:
    """Apply a mutant to the copy, run its tests, and restore the file."""
    started, path = time.perf_counter(), copy / mutant.file
    source, tests = path.read_text(encoding="utf-8"), tests_of(mutant.file)
    outcome, test = ("survived", "") if tests else ("untested", "")
    while tests:
        left = SECONDS - (time.perf_counter() - started)
        skipped = [f"--deselect={name}" for name in broken]
        path.write_text(mutant.apply(source), encoding="utf-8")
        try:
            outcome, test = run_tests([*tests, *skipped], copy, max(left, 1.0))
        finally:
            path.write_text(source, encoding="utf-8")
        if outcome != "killed" or not test or run_tests([test], copy, SECONDS)[0] != "killed":
            break
        if test in broken:
            raise SystemExit(f"{test} fails without any mutant; mend it first")
        broken.append(test)
    before = source.splitlines()[mutant.line - 1].strip()
    return Row(mutant, before, outcome, test, round(time.perf_counter() - started, 1))


def table(rows: Sequence[Row]) -> str:
    """Write the counts, the survivors, and those that were killed."""
    killed = sum(row.outcome == "killed" for row in rows)
    lines = [
        f"{killed} of {len(rows)} mutants were killed ({killed / max(len(rows), 1):.0%}).",
        "",
        "| outcome | place | line | change | first test that failed | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row.outcome == "killed", row.mutant)):
        code = row.before.replace("|", "\\|")
        old, new = row.mutant.old.strip(), row.mutant.new.strip() or "nothing"
        place = f"{row.mutant.file}:{row.mutant.line}"
        cells = (row.outcome, place, f"`{code}`", f"`{old}` to `{new}`", row.test, row.seconds)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def read_rows(file: Path) -> list[Row]:
    """Read the rows so far."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [
        Row(**{**values, "mutant": Mutant(**values["mutant"])}) for values in map(json.loads, lines)
    ]


def main(folder: Path, count: int = 60, seed: int = 0) -> None:
    """Judge the drawn mutants that have no row yet.

    Raises:
        SystemExit: the folder has rows of other mutants.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mutants, rows = drawn(count, seed), read_rows(folder / "rows.jsonl")
    judged = {row.mutant for row in rows}
    if judged - set(mutants):
        raise SystemExit(f"{folder} has mutants of another draw or of other code; name another one")
    with tempfile.TemporaryDirectory() as temporary:
        copy, broken = Path(temporary), []
        copy_tracked(copy)
        for mutant in mutants:
            if mutant in judged:
                continue
            rows.append(judge(mutant, copy, broken))
            with (folder / "rows.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(rows[-1])) + "\n")
            (folder / "table.md").write_text(table(rows), encoding="utf-8")
            print(f"{len(rows)} of {len(mutants)}: {rows[-1].outcome}, {mutant}", flush=True)
    print(table(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(int(text) for text in sys.argv[2:4]))
