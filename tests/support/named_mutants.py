"""Changes of single lines that no test noticed once; each has a test now.

    python tests/support/named_mutants.py

Each is found by its text, so it stays the same change while its file grows. The program applies one
after the other to a copy of the tracked files and lists those that no test of their module notices.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mutation import ROOT, SECONDS, copy_tracked, run_tests


@dataclass(frozen=True, slots=True)
class NamedMutant:
    """One change, and the test file that has to notice it."""

    rule: str
    """The rule that it breaks."""
    file: str
    """The changed file."""
    old: str
    """Text that occurs in it once."""
    new: str
    """Text in its place."""
    tests: str
    """The test file."""


_SPREAD = "spread > EQUAL * max(1.0, *distances)"
MUTANTS = (
    NamedMutant(
        "the best candidate of AT-GRPO pays for its words",
        "extras/methods/candidates.py",
        " - sum(credits.cost[agent][self.round :])",
        "",
        "tests/extras/methods/test_candidates.py",
    ),
    NamedMutant(
        "the return of an episode starts with the episode",
        "learners/training/sequences.py",
        "start = turns[last].round if by_reply else 0",
        "start = turns[last].round if by_reply else turns[0].round",
        "tests/learners/training/test_sequences.py",
    ),
    NamedMutant(
        "episodes of others do not scale an update",
        "learners/algorithms/group.py",
        "                    if group.own\n",
        "",
        "tests/learners/algorithms/test_group.py",
    ),
    NamedMutant(
        "center=messages leaves silence as it is",
        "extras/methods/sdpo.py",
        '(self._center == "messages" and reply.silent)',
        "False",
        "tests/extras/methods/test_sdpo.py",
    ),
    NamedMutant(
        "center=messages centers what is said",
        "extras/methods/sdpo.py",
        '(self._center == "messages" and reply.silent)',
        'self._center == "messages"',
        "tests/extras/methods/test_sdpo.py",
    ),
    NamedMutant(
        "an episode passes once at most",
        "learners/advantages/credit.py",
        "return min(max(team_parts(episode).task / episode.max_reward, 0.0), 1.0)",
        "return max(team_parts(episode).task / episode.max_reward, 0.0)",
        "tests/learners/advantages/test_credit.py",
    ),
    NamedMutant(
        "an episode passes where nothing says whether it was solved",
        "learners/advantages/credit.py",
        "if episode.solved is None or not episode.common:",
        "if not episode.common:",
        "tests/learners/advantages/test_credit.py",
    ),
    NamedMutant(
        "leaving one out keeps the standard deviation",
        "learners/advantages/group.py",
        "scale *= (len(returns) - 1) / len(returns)",
        "scale = (len(returns) - 1) / len(returns)",
        "tests/learners/advantages/test_group.py",
    ),
    NamedMutant(
        "a deviation of rounding alone is none",
        "learners/advantages/group.py",
        _SPREAD,
        "spread > 0",
        "tests/learners/advantages/test_group.py",
    ),
    NamedMutant(
        "the contrast of a swarm's group pays for its words",
        "extras/swarm/swarm.py",
        "sum(task) - sum(credits.cost[agent])",
        "sum(task)",
        "tests/extras/swarm/test_swarm.py",
    ),
    NamedMutant(
        "smoothing weighs the past",
        "learners/prices/schedule.py",
        "self.smoothing * past + (1 - self.smoothing) * now",
        "self.smoothing * now + (1 - self.smoothing) * past",
        "tests/learners/prices/test_schedule.py",
    ),
    NamedMutant(
        "the price is a power of the pass rate",
        "learners/prices/schedule.py",
        "float(rate**self.power)",
        "float(rate)",
        "tests/learners/prices/test_schedule.py",
    ),
    NamedMutant(
        "before the first update the pass rate counts as one half",
        "learners/prices/schedule.py",
        "START_RATE if self._rate is None else self._rate",
        "1.0 if self._rate is None else self._rate",
        "tests/learners/prices/test_schedule.py",
    ),
    NamedMutant(
        "an unknown pass rate charges in full",
        "learners/prices/schedule.py",
        'metrics.get("pass_rate", 1.0)',
        'metrics.get("pass_rate", 0.0)',
        "tests/learners/prices/test_schedule.py",
    ),
    NamedMutant(
        "the totals of silence run over updates",
        "learners/advantages/group.py",
        "SMOOTHING * past[0] + (1 - SMOOTHING) * better",
        "better",
        "tests/learners/advantages/test_group_balance.py",
    ),
    NamedMutant(
        "free words leave silence as it is",
        "learners/algorithms/group.py",
        "self._balance if charged else None",
        "self._balance",
        "tests/learners/algorithms/test_group_steps.py",
    ),
    NamedMutant(
        "the largest mismatch of an update is the largest of its steps",
        "learners/training/objective.py",
        '    "mismatch_max": max,\n',
        "",
        "tests/learners/training/test_objective_tokens.py",
    ),
)


def survivors(root: Path = ROOT) -> Iterator[NamedMutant]:
    """Yield the changes that the tests of their module do not notice."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary)
        copy_tracked(copy, root)
        files = sorted({mutant.tests for mutant in MUTANTS})
        # A test that fails anyway would count as one that notices.
        if (outcome := run_tests(files, copy, 10 * SECONDS)) != ("survived", ""):
            raise SystemExit(f"tests fail without any mutant; mend them first: {outcome}")
        for mutant in MUTANTS:
            path = copy / mutant.file
            source = path.read_text(encoding="utf-8")
            path.write_text(source.replace(mutant.old, mutant.new), encoding="utf-8")
            outcome, _ = run_tests([mutant.tests], copy, SECONDS)
            path.write_text(source, encoding="utf-8")
            if outcome != "killed":
                yield mutant


if __name__ == "__main__":
    found = False
    for one in survivors():
        found = True
        print(f"no test of {one.tests} notices that {one.rule!r} is broken", flush=True)
    sys.exit(found)
