"""`resume=<run folder>` spelled out: the overrides that the run was started with, and its folder.

The folder may come from somebody else, and overrides can name code to run and servers to call.
Those that do are not taken from it; whoever goes on types them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError

SECRETS = ("base_url", "api_key_env")
"""Settings by which a folder could have a key of this machine sent to a server of its choice."""
_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "")
"""Values of `resume` that name no folder."""
_TO_TYPE = re.compile(rf"_target_|\$\{{|hydra\.searchpath|{'|'.join(SECRETS)}")


def spell_out(arguments: Sequence[str], program: str) -> list[str]:
    """The arguments of a program with those of the run in place of `resume=<run folder>`.

    An argument that is typed takes the place of the run's; without such a folder nothing changes.

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
    if unsafe := [one for one in saved if _TO_TYPE.search(one)]:
        raise SettingError(
            f"{str(folder)!r} would run code or call a server that is not of this package's own"
            f" choices; if that is meant, add to the command: {shlex.join(unsafe)}"
        )
    chosen = [one for one in saved if not one.lstrip("+~").startswith("hydra")]
    return [*chosen, *typed, "resume=true", f"hydra.run.dir={quoted(folder.absolute())}"]


def command(program: str, folder: Path, overrides: Sequence[str] = ()) -> str:
    """What is typed to go on with a run of these overrides."""
    to_type = [one for one in overrides if _TO_TYPE.search(one) and _key(one) != "resume"]
    return f"laconic {program} {shlex.join([f'resume={quoted(folder)}', *to_type])}"


def quoted(value: object) -> str:
    """A text as a value of Hydra's command line."""
    text = str(value)
    if re.fullmatch(r"[\w./-]+", text):
        return text
    return "'" + text.replace("\\'", "\\\\'").replace("'", "\\'") + "'"


def _named(arguments: Sequence[str]) -> Path | None:
    """The folder that the last `resume=` names; None where it names none."""
    given = [one.removeprefix("resume=") for one in arguments if one.startswith("resume=")]
    text = given[-1].strip() if given else ""
    if text[:1] in ("'", '"'):
        text = str(OverridesParser.create().parse_override(f"resume={text}").value())
    return None if text.lower() in _WORDS else Path(text).expanduser()


def _recorded(folder: Path, program: str) -> list[str]:
    """The overrides of the run in a folder, those of Hydra's own settings too."""
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
    found = OmegaConf.load(path)
    wrote = OmegaConf.select(found, "hydra.job.name")
    if wrote != program:
        raise SettingError(
            f"resume={folder} is the folder of laconic {wrote}, not of laconic {program}; to play"
            " what a run has trained: laconic evaluate run=<folder>"
        )
    overrides: Any = OmegaConf.to_container(OmegaConf.select(found, "hydra.overrides"))
    both = [*overrides["task"], *overrides["hydra"]]
    return [str(one) for one in both if _key(str(one)) != "resume"]


def _key(override: str) -> str:
    """What an override sets."""
    return override.partition("=")[0].lstrip("+~")
