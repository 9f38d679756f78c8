"""`resume=<run folder>` spelled out: the overrides that the run was started with, and its folder.

The folder may come from a stranger, and overrides can name code, files and servers. What
`experiments.running.trust` does not take from a folder has to be typed. Settings of Hydra itself
are left out, because they only say how the run was launched.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser

from laconic.envs.errors import SettingError
from laconic.experiments.running.trust import is_override_taken
from laconic.learners import commands
from laconic.learners.commands import quoted
from laconic.learners.rollout.strange_files import read_yaml

_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "")
"""Values of `resume` that name no folder."""
_HYDRA = re.compile(r"[+~]*hydra(?!\.searchpath)[./@=]")
"""How overrides begin that are left out; what lies in a search path may be needed."""


def spell_out(arguments: Sequence[str], program: str) -> list[str]:
    """Return the arguments with those of the run in place of `resume=<run folder>`.

    A typed argument replaces the run's. Without such a folder nothing changes.

    Raises:
        SettingError: there is no such folder, it records no overrides or those of another program,
            it is of a sweep, or an override has to be typed.
    """
    folder = _named(arguments)
    if folder is None:
        return list(arguments)
    typed = [one for one in arguments if not one.startswith("resume=")]
    if {"-m", "--multirun"} & set(typed):
        raise SettingError(
            "resume=<run folder> goes on with one run; of a sweep, give the same command with"
            " resume=true hydra.sweep.dir=<its folder>"
        )
    keys = {_key(one) for one in typed}
    saved = [one for one in _recorded(folder, program) if _key(one) not in keys]
    if unsafe := to_type(saved):
        raise SettingError(
            f"{str(folder)!r} was started with settings that are not taken from a run folder,"
            " because they may name code, a file or a server; if you know what each of them does,"
            f" add to the command: {shlex.join(unsafe)}"
        )
    return [*saved, *typed, "resume=true", f"hydra.run.dir={quoted(folder.absolute())}"]


def to_type(overrides: Sequence[str]) -> list[str]:
    """Return the overrides that are not taken from a run folder."""
    return [one for one in overrides if not is_override_taken(one)]


def command(program: str, folder: Path, overrides: Sequence[str] = ()) -> str:
    """Return what is typed to go on with a run of these overrides."""
    others = [one for one in overrides if _key(one) != "resume" and not _HYDRA.match(one)]
    return commands.command(program, f"resume={quoted(folder)}", *to_type(others))


def _named(arguments: Sequence[str]) -> Path | None:
    """The folder that the last `resume=` names; None where it names none."""
    given = [one.removeprefix("resume=") for one in arguments if one.startswith("resume=")]
    text = given[-1].strip() if given else ""
    if text[:1] in ("'", '"'):
        text = str(OverridesParser.create().parse_override(f"resume={text}").value())
    return None if text.lower() in _WORDS else Path(text).expanduser()


def _recorded(folder: Path, program: str) -> list[str]:
    """Return the overrides of the run in a folder, without those of Hydra's own settings."""
    if not folder.is_dir():
        raise SettingError(f"resume={folder}: there is no such folder; expected that of a run")
    if (folder / "multirun.yaml").is_file():
        raise SettingError(
            f"resume={folder} is the folder of a sweep; name that of one of its runs, or give the"
            f" same command with resume=true hydra.sweep.dir={folder}"
        )
    path = folder / ".hydra" / "hydra.yaml"
    if not path.is_file():
        raise SettingError(
            f"resume={folder}: the folder does not say how its run was started (it has no"
            f" .hydra/hydra.yaml); give the same command with resume=true hydra.run.dir={folder}"
        )
    try:
        noted = read_yaml(path)["hydra"]
        wrote = noted["job"]["name"]
        both = [*noted["overrides"]["task"], *noted["overrides"]["hydra"]]
    except (LookupError, TypeError) as error:
        raise SettingError(f"{str(path)!r} is not what Hydra leaves in a run folder") from error
    if wrote != program:
        raise SettingError(
            f"resume={folder} is the folder of laconic {wrote}, not of laconic {program}; to play"
            f" what a run has trained: {commands.command('evaluate', run=folder)}"
        )
    texts = [str(one) for one in both]
    return [one for one in texts if _key(one) != "resume" and not _HYDRA.match(one)]


def _key(override: str) -> str:
    """What an override sets."""
    return override.partition("=")[0].lstrip("+~")
