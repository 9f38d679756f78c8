"""Programs of the command `laconic`, and programs and configs of installed packages.

A package adds programs by entry points of the group `laconic.programs`, which name a `Program`, and
folders of configurations by entry points of the group `laconic.configs`, which name a package:

    [project.entry-points."laconic.programs"]
    my-program = "my_package.programs:MY_PROGRAM"

    [project.entry-points."laconic.configs"]
    my_package = "my_package.conf"
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from laconic.packages import load, refusal, registered

PROGRAM_GROUP, CONFIG_GROUP = "laconic.programs", "laconic.configs"


@dataclass(frozen=True, slots=True)
class Program:
    """A program of the command `laconic`."""

    purpose: str
    """Purpose in one line, for `laconic --help`."""
    module: str
    """Module with `main`, which takes the composed configuration, or nothing without `config`."""
    config: str | None = None
    """Name of the configuration, with `_` for `-`. None: the program reads its own arguments."""
    settings: tuple[str, ...] = ()
    """Overrides that precede typed ones."""
    several: bool = False
    """True if several processes can run it together (`accelerate launch`)."""
    check: str | None = None
    """`module:function` that checks the composed configuration before torch is imported."""
    record: str | None = None
    """Path of a record whose fields declare its settings that no class takes."""
    section: str | None = None
    """`module:function` that returns a `extras.report.single.Section` of a run folder, or None."""


_SESSION = "laconic.experiments.session"
SETTINGS_CHECK = f"{_SESSION}.early:check_config"
"""Function that checks the composed configuration of any program, before torch is imported."""
PROGRAMS = {
    "train": Program(
        "train a team on groups of episodes",
        "laconic.experiments.train",
        "train",
        several=True,
        check=f"{_SESSION}.checks:check_train",
        record=f"{_SESSION}.settings.TrainProgram",
    ),
    "evaluate": Program(
        "play every evaluation task once; report accuracy and tokens",
        "laconic.experiments.evaluate",
        "evaluate",
        several=True,
        check=f"{_SESSION}.checks:check_evaluate",
        record=f"{_SESSION}.settings.EvaluateProgram",
    ),
    "warm-start": Program(
        "imitate a scripted teacher, so that a policy knows the game",
        "laconic.experiments.train",
        "train",
        settings=("experiment=warm_start",),
        several=True,
        check=f"{_SESSION}.checks:check_train",
        record=f"{_SESSION}.settings.TrainProgram",
    ),
}
"""Programs of the core by name; a registered program cannot use such a name."""


def names() -> list[str]:
    """Return the names of all programs, the core's first."""
    return list(dict.fromkeys([*PROGRAMS, *registered(PROGRAM_GROUP)]))


def find(name: str) -> Program | None:
    """Return a program by its name; None if there is none.

    Raises:
        SettingError: a package registers it, and it cannot be imported or is no `Program`.
    """
    if name in PROGRAMS:
        return PROGRAMS[name]
    point = registered(PROGRAM_GROUP).get(name)
    return None if point is None else load(point, Program)


@functools.cache
def config_folders(beginning: str = "") -> tuple[Path, ...]:
    """Return the config folders that packages register.

    Args:
        beginning: beginning of the names of the packages.

    Raises:
        SettingError: a package cannot be found.
    """
    folders: list[Path] = []
    for name, point in registered(CONFIG_GROUP).items():
        if not point.value.startswith(beginning):
            continue
        try:
            spec = find_spec(point.value)
        except ImportError:
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise refusal(
                f"the entry point {name!r} of {CONFIG_GROUP} names the package {point.value!r},"
                " which cannot be found; repair or uninstall the package that registers it"
            )
        folders += (Path(place).resolve() for place in spec.submodule_search_locations)
    return tuple(folders)
