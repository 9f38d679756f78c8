"""Replace `resume=<run folder>` by the overrides that the run was started with, and its folder.

The folder may come from a stranger, and overrides can name code, files and servers. The user has to
type those that `experiments.command_line.trust` does not take from a folder. Settings of Hydra
itself are dropped, because they only describe how the run was launched.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.gone import GONE
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.command_line.trust import to_type
from laconic.learners import commands
from laconic.learners.commands import quoted
from laconic.learners.untrusted_files import read_json, read_yaml

_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "")
"""Values of `resume` that name no folder."""
_FOLDER_FLAGS = ("--config-dir", "-cd", "--config-path", "-cp")
_NAMES_CONFIGS = re.compile(r"-cp|--config-p")
_HYDRA = re.compile(r"[+~]*hydra(?!\.searchpath)[./@=]")
"""Beginning of the overrides that are dropped; a search path may hold configs of the run."""


def spell_out(arguments: Sequence[str], program: str) -> list[str]:
    """Return the arguments with those of the run in place of `resume=<run folder>`.

    A typed argument replaces the run's. Without `resume=<folder>` the arguments stay.

    Raises:
        SettingError: there is no such folder, it records no overrides or those of another program,
            it is of a sweep, or an override is gone or has to be typed.
    """
    folder = _resumed_folder(arguments)
    if folder is None:
        return list(arguments)
    typed = [text for text in arguments if not text.startswith("resume=")]
    if {"-m", "--multirun"} & set(typed):
        raise SettingError(
            "resume=<run folder> continues one run; to continue a sweep, give the same command with"
            " resume=true hydra.sweep.dir=<its folder>"
        )
    keys = {_key(text) for text in typed}
    saved = [text for text in _recorded(folder, program) if _key(text) not in keys]
    if gone := {GONE[name]: text for text in saved for name in _names(text) if name in GONE}:
        raise SettingError(
            f"{str(folder)!r} was started with {', '.join(gone.values())}, which is gone:"
            f" {'; '.join(gone)}"
        )
    unsafe = to_type(saved, program, typed)
    if not any(text.partition("=")[0] in _FOLDER_FLAGS for text in typed):
        # Its configurations may name code, as an override may.
        unsafe = [*_recorded_flags(folder), *unsafe]
    if unsafe:
        raise SettingError(
            f"{str(folder)!r} was started with settings that are not taken from a run folder,"
            " because they may name code, a file or a server; if you know what each of them does,"
            f" add to the command: {shlex.join(unsafe)}"
        )
    return [*saved, *typed, "resume=true", f"hydra.run.dir={quoted(folder.absolute())}"]


def flags_of(hydra: Any) -> list[str]:
    """Return the flags that named folders of configurations, from Hydra's own settings of a run.

    A run that was started without them finds none of the user's own options.
    """
    here = Path(str(hydra.runtime.cwd))
    return _flags_from(hydra.runtime.config_sources, here)


def _recorded_flags(folder: Path) -> list[str]:
    """Return the flags of the run in a folder; none where it records no sources.

    Another installation, such as the one before an upgrade, had its own configs elsewhere. They are
    no setting of the run unless its command named them.
    """
    runtime = read_yaml(folder / ".hydra" / "hydra.yaml")["hydra"].get("runtime") or {}
    sources = runtime.get("config_sources") or []
    if not all(isinstance(source, Mapping) for source in sources):
        return []
    if (words := _recorded_words(folder)) and not any(map(_NAMES_CONFIGS.match, words)):
        sources = [source for source in sources if source.get("provider") != "main"]
    return _flags_from(sources, Path(str(runtime.get("cwd") or "/")))


def _recorded_words(folder: Path) -> list[str]:
    """Return the words of the commands that wrote a folder; empty if it does not record them."""
    try:
        entries = read_json(folder / "provenance.json")
        return [word for entry in entries for word in shlex.split(entry["command"])]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def _flags_from(sources: Iterable[Any], here: Path) -> list[str]:
    flags: list[str] = []
    for source in sources:
        provider, path = source.get("provider"), Path(str(source.get("path")))
        if provider == "command-line":
            flags += [
                "--config-dir",
                str(path.relative_to(here) if path.is_relative_to(here) else path),
            ]
        elif provider == "main" and path.resolve() != CONF:
            # Hydra reads a relative path from the folder of the program.
            flags += ["--config-path", str(path)]
    return flags


def command(program: str, folder: Path, overrides: Sequence[str] = ()) -> str:
    """Return the command that continues a run of these overrides."""
    kept = _of_the_run(overrides)
    typed = to_type(kept, program, kept)
    config = HydraConfig.get().job.config_name if HydraConfig.initialized() else program
    named = [] if config == program else ["--config-name", str(config)]
    return commands.command(program, *named, f"resume={quoted(folder)}", *typed)


def _resumed_folder(arguments: Sequence[str]) -> Path | None:
    """Return the folder that the last `resume=` names; None if it names none."""
    values = [text.removeprefix("resume=") for text in arguments if text.startswith("resume=")]
    text = values[-1].strip() if values else ""
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
        hydra = read_yaml(path)["hydra"]
        writer = hydra["job"]["name"]
        overrides = [*hydra["overrides"]["task"], *hydra["overrides"]["hydra"]]
    except (LookupError, TypeError) as error:
        raise SettingError(f"{str(path)!r} is not what Hydra leaves in a run folder") from error
    if writer != program:
        raise SettingError(
            f"resume={folder} is the folder of laconic {writer}, not of laconic {program}; to play"
            f" what a run has trained: {commands.command('evaluate', run=folder)}"
        )
    return _of_the_run([str(text) for text in overrides])


def _of_the_run(overrides: Sequence[str]) -> list[str]:
    """Return the overrides without `resume` and Hydra's own settings."""
    return [text for text in overrides if _key(text) != "resume" and not _HYDRA.match(text)]


def _names(override: str) -> tuple[str, str]:
    """Return the key that an override sets, and the option that it would choose of a group."""
    key, _, value = override.partition("=")
    return key.lstrip("+~"), f"{key.lstrip('+~')}/{value}"


def _key(override: str) -> str:
    """Return the key that an override sets."""
    return override.partition("=")[0].lstrip("+~")
