"""Read a set of a benchmark: environments with fixed tasks, budget, price, seeds and starts.

    laconic benchmark benchmark=mini
    laconic benchmark benchmark=my_set.yaml

The shipped sets are in `extras/benchmark/sets`. Results compare only within one version of a set,
so a set that has results is never changed: it gets another version.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from laconic.envs.errors import SettingError
from laconic.learners.agents.recipes import shipped
from laconic.learners.commands import quoted
from laconic.learners.untrusted_files import read_yaml

FOLDER = Path(__file__).with_name("sets")
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
"""Names of sets and methods: they become folders, keys of marl-eval (in lower case) and pages."""
_FIXED = ("env.", "train.", "evaluation.")
METHOD = ("learner", "optimizer")
"""Config groups that make a method, which a set leaves free."""
_STEPS = "train.steps"


@dataclass(frozen=True, slots=True)
class Part:
    """One environment of a set."""

    start: str
    """SHA-256 of the weights from which every run starts."""
    settings: Mapping[str, Any]
    """Settings of all runs by key: price, tasks and budget."""
    minutes: float
    """Minutes of a run on one core."""
    frontier: str | None = None
    """Frontier whose best reward a team can reach; None: no such frontier is known."""

    @property
    def steps(self) -> int:
        """Number of updates of a run."""
        return int(self.settings[_STEPS])


@dataclass(frozen=True, slots=True)
class Set:
    """A named set of environments."""

    name: str
    """Name."""
    version: int
    """Version, which changes with anything else."""
    seeds: tuple[int, ...]
    """Seeds of every method."""
    evaluations: int
    """Number of evaluations of a run after the first, at equal distances."""
    environments: Mapping[str, Part]
    """Environment -> what is fixed there."""

    @property
    def title(self) -> str:
        """Name with version, such as `mini_v1`."""
        return f"{self.name}_v{self.version}"

    def steps(self, environment: str) -> list[int]:
        """Return the updates after which a run is evaluated; the first is 0."""
        every = self.environments[environment].steps // self.evaluations
        return [every * number for number in range(self.evaluations + 1)]

    def overrides(self, environment: str, *groups: str) -> list[str]:
        """Return what is fixed in an environment as overrides, of all groups or of some."""
        pairs = self.environments[environment].settings.items()
        return [f"{key}={quoted(x)}" for key, x in pairs if not groups or key.startswith(groups)]

    def budget(self) -> dict[str, Any]:
        """Return what results have to agree on, as JSON: not the seeds, nor the time."""
        parts = {
            name: {"start": part.start, "settings": dict(part.settings), "frontier": part.frontier}
            for name, part in self.environments.items()
        }
        return {"evaluations": self.evaluations, "environments": parts}

    def as_json(self) -> dict[str, Any]:
        """Return the set as JSON, which `read` takes."""
        return {**asdict(self), "seeds": list(self.seeds)}


def load(name: str) -> Set:
    """Read a shipped set by its name, or a set of one's own by the path of its yaml.

    Raises:
        SettingError: there is no such set, or it is not whole.
    """
    path = Path(name).expanduser() if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if not path.is_file():
        names = ", ".join(sorted(each.stem for each in FOLDER.glob("*.yaml")))
        raise SettingError(f"benchmark must be one of {names}, or a yaml; got {name!r}")
    return read(read_yaml(path), str(path))


def frontier_of(environment: str) -> str | None:
    """Return the frontier that a shipped set takes as the best team of an environment, if any."""
    sets = (load(path.stem) for path in sorted(FOLDER.glob("*.yaml")))
    parts = (suite.environments.get(environment) for suite in sets)
    return next((part.frontier for part in parts if part and part.frontier), None)


def read(data: Any, origin: str) -> Set:
    """Check the content of a set.

    Raises:
        SettingError: a value is missing or of another type.
    """
    try:
        parts = {
            str(name): Part(
                str(part["start"]),
                dict(part["settings"]),
                float(part["minutes"]),
                part.get("frontier"),
            )
            for name, part in data["environments"].items()
        }
        suite = Set(
            str(data["name"]),
            int(data["version"]),
            tuple(map(int, data["seeds"])),
            int(data["evaluations"]),
            parts,
        )
        uneven = [name for name, part in parts.items() if part.steps % suite.evaluations]
        keys = {str(key) for part in parts.values() for key in part.settings}
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise SettingError(
            f"{origin}: expected a set with name, version, seeds, evaluations and environments, as"
            f" in {FOLDER / 'mini.yaml'}; got {type(error).__name__}: {str(error)[:100]}"
        ) from error
    if wrong := sorted(key[:60] for key in keys if not key.startswith(_FIXED)):
        raise SettingError(
            f"{origin}: settings must be of env, train or evaluation; got {wrong[:5]}"
        )
    if not all(map(NAME.fullmatch, (suite.name, *parts))) or not parts or not suite.seeds:
        raise SettingError(f"{origin}: names must match {NAME.pattern}; one environment at least")
    if uneven or suite.evaluations < 1:
        raise SettingError(
            f"{origin}: evaluations ({suite.evaluations}) must divide train.steps; not so in"
            f" {', '.join(uneven)}"
        )
    return suite


def check_starts(suite: Set) -> None:
    """Refuse shipped weights other than those of the set.

    Raises:
        SettingError: an environment has other weights, or none.
    """
    for name, part in suite.environments.items():
        folder = shipped(name)
        path = folder / "model.safetensors" if folder else None
        received = hashlib.sha256(path.read_bytes()).hexdigest() if path else "no shipped weights"
        if received != part.start:
            raise SettingError(
                f"env={name}: {suite.title} starts from weights of SHA-256 {part.start[:12]}...;"
                f" got {received[:18]}. Install the version of laconic-marl that the set is of, or"
                " write a set of another version"
            )
