"""MAGRPO's reward for two agents that write one program (arXiv 2508.04652), at most 4.

| level | points | condition |
|---|---|---|
| `auxiliary` | 0.4 | its reply defines a function `aux` with a `return` or `yield` of its own |
| `main` | 0.6 | its reply defines the requested function; else this is the last level |
| `syntax` | 0.5 | the program, with the prompt's code, parses; else this is the last level |
| `tests` | up to 1 | share of tests passed, in the sandbox (`envs.families.cooperation.testing`) |
| `calls` | 0.5 | main calls the auxiliary |
| `substance` | 1 | and is not a thin wrapper around it |
| `ignored` | -0.5 | but some call's value is ignored |

The last three are the cooperation bonus. It needs a test that passes and a function `aux` of the
auxiliary. If main does not call it, the other two levels are not graded, as in the authors' code.
`envs.families.cooperation.assemble` defines a function, and `envs.families.cooperation.calls` the
conditions of the bonus.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from laconic.envs import sandbox
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.cooperation import testing
from laconic.envs.families.cooperation.assemble import Work
from laconic.envs.families.cooperation.calls import calls_auxiliary, ignored, is_thin

LEVELS: Mapping[str, float] = MappingProxyType(
    dict(auxiliary=0.4, main=0.6, syntax=0.5, tests=1.0, calls=0.5, substance=1.0, ignored=-0.5)
)
"""Points of each level."""
MAX_REWARD = 4.0
"""Maximum points of a program: all levels, and no value ignored."""


@dataclass(frozen=True, slots=True)
class LevelPoints:
    """The points of a program, level by level."""

    points: Mapping[str, float]
    """Points of every level that was reached, by its name in `LEVELS`."""
    verdict: sandbox.Verdict | None = None
    """Verdict of the sandbox; None if nothing was run."""

    @property
    def total(self) -> float:
        """Return the reward, from 0 to 4."""
        return math.fsum(self.points.values())


def grade(work: Work, exam: Exam) -> LevelPoints:
    """Grade the work of two agents; a program is run only once it has passed the syntax."""
    has_auxiliary = work.auxiliary is not None and work.auxiliary.returns
    points = _points(auxiliary=has_auxiliary, main=work.main is not None)
    if work.main is None:
        return LevelPoints(points)
    points |= _points(syntax=work.is_python)
    if not work.is_python:
        return LevelPoints(points)
    verdict = testing.run(exam, work.code)
    passed = sum(verdict.results)
    points["tests"] = LEVELS["tests"] * passed / len(verdict.results)
    return LevelPoints(points | (_bonus(work) if passed else {}), verdict)


def _bonus(work: Work) -> dict[str, float]:
    calls = work.auxiliary is not None and work.main is not None and calls_auxiliary(work.main)
    if not calls or work.main is None or work.main.function is None:
        return _points(calls=False)
    main = work.main.function
    return _points(calls=True, substance=not is_thin(main), ignored=bool(ignored(main)))


def _points(**reached: bool) -> dict[str, float]:
    return {level: LEVELS[level] if holds else 0.0 for level, holds in reached.items()}
