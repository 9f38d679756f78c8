"""Read command lines: home folders for all programs, `key=value` for those without a config.

Programs with a config are read by Hydra. The others take the same style, so that `folder=x` means
the same everywhere. What has a place may be typed without its key: `laconic report outputs/mine`.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from laconic.experiments.command_line.echo import echo, echo_error

_HOME = re.compile(r"""((?:^|[=\[,{(:])\s*["']?)(~[\w.-]*)(?=/)""")
"""A home folder, `~` or `~name`, at the beginning of a value; behind it is the rest of a path."""
_SETTING = re.compile(r"(\w+)=(.*)", re.DOTALL)
_FLAG = re.compile(r"--?([a-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_FOLDERS = {"train": "resume", "evaluate": "run", "compare": "compare.runs", "demand": "runs"}
"""Program with a config -> the key under which it takes the folder of a run."""
_BARE = re.compile(r"[\w./][^=]*/")
"""A path that stands alone; a deleted group begins with `~`."""
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Argument:
    """What a program reads from its command line under one key."""

    help: str
    """Explanation for `--help`."""
    kind: Callable[[str], Any] = str
    """Type of the value: `str`, `Path`, `int`, `float` or `bool`."""
    default: Any = None
    """Value if nothing is typed."""
    placed: bool = False
    """True if the value may be typed without its key, in the order of the arguments."""
    needed: bool = False
    """True if it has to be typed."""
    many: bool = False
    """True if it takes all values without a key."""


def expand_home(arguments: Iterable[str]) -> list[str]:
    """Return arguments with the home folder where a value begins with `~/`.

    A shell does so for `folder=~/x`, but neither within quotes nor behind a key with dots.
    """
    return [
        _HOME.sub(lambda home: home[1] + os.path.expanduser(home[2]), argument)
        for argument in arguments
    ]


def expand_settings(cfg: DictConfig) -> None:
    """Put the home folder into the values of a configuration that begin with `~/`, in place."""
    for key, value in _texts(OmegaConf.to_container(cfg, resolve=False), ""):
        if value.startswith("~") and "/" in value:
            OmegaConf.update(cfg, key, os.path.expanduser(value))


def read_arguments(
    program: str,
    about: str | None,
    arguments: Sequence[str] | None,
    parameters: Mapping[str, Argument],
) -> SimpleNamespace:
    """Read the command line of a program; a mistake ends it with one line and exit code 2.

    Args:
        program: name of the program.
        about: text for `--help`.
        arguments: words of the command line; None takes those of the process.
        parameters: key -> what it holds, those with a place in their order.
    """
    words = expand_home(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"} & {*words}:
        echo(_help(program, about, parameters))
        sys.exit(0)
    try:
        return SimpleNamespace(**_values(program, words, parameters))
    except ValueError as error:
        refuse(error)


def check_style(
    program: str,
    arguments: Sequence[str],
    flags: Collection[str],
    key_of: Callable[[str], str] = str,
) -> None:
    """Refuse flags and bare folders on the command line of a program with a config.

    Args:
        program: name of the program's config.
        arguments: words of the command line.
        flags: flags of Hydra, which may be shortened.
        key_of: returns the key of the configuration that the name of another flag means.

    Raises:
        HydraException: names what to type instead.
    """
    names = [word.partition("=")[0] for word in arguments]
    known = {name for name in names if any(flag.startswith(name) for flag in flags)}
    strange = [name for name in names if name.startswith("--") and name not in known]
    key = _FOLDERS.get(program)
    words = list(arguments)
    if strange:
        words = _in_one_style(arguments, kept=known, key_of=key_of)
    bare = [word for word in words if "=" not in word and _BARE.match(word)]
    if key and bare and not known - {"--run", "-r", "-m", "--multirun"}:
        value = f"[{bare[0]}]" if key.endswith(".runs") else bare[0]
        words = [f"{key}={value}" if word == bare[0] else word for word in words]
        words = [word for word in words if word != "--run"]
        strange = strange or bare
    if strange:
        typed = shlex.join(["laconic", program.replace("_", "-"), *words])
        raise HydraException(f"expected settings as key=value; got {strange[0]!r}: type {typed}")


def refuse(error: object) -> NoReturn:
    """End the program for a mistake on its command line."""
    echo_error(f"error: {error}")
    sys.exit(2)


def _values(
    program: str, words: Sequence[str], parameters: Mapping[str, Argument]
) -> dict[str, Any]:
    typed: dict[str, list[str]] = {}
    switches = {key for key, each in parameters.items() if each.kind is bool}
    for word in words:
        if word.startswith("-") and len(word) > 1:
            raise ValueError(
                f"expected settings as key=value; got {word!r}: type"
                f" {shlex.join(['laconic', program, *_in_one_style(words, switches)])}"
            )
        key, value = _assigned(word, parameters)
        if not key:
            free = [name for name, each in parameters.items() if each.placed]
            free = [name for name in free if parameters[name].many or name not in typed]
            if not free:
                raise ValueError(f"expected {_usage(program, parameters)}; got {word!r} as well")
            key = free[0]
        elif key in typed and not parameters[key].many:
            raise ValueError(f"expected one {key}; got {typed[key][0]!r} and {value!r}")
        typed.setdefault(key, []).append(value)
    if missing := [key for key, each in parameters.items() if each.needed and key not in typed]:
        raise ValueError(f"expected {_usage(program, parameters)}; got no {missing[0]}")
    values = {key: [_value(key, text, parameters[key]) for text in typed[key]] for key in typed}
    return {
        key: (values[key] if each.many else values[key][0]) if key in values else each.default
        for key, each in parameters.items()
    }


def _assigned(word: str, parameters: Mapping[str, Argument]) -> tuple[str, str]:
    """Return the key and the value of a word; the key is empty for a word that has none."""
    match = _SETTING.fullmatch(word)
    if match and match[1] in parameters:
        return match[1], match[2]
    # The folder of a sweep's job is called `seed=1`.
    if match and not Path(word).exists():
        close = get_close_matches(match[1], parameters, n=1)
        hint = f"; did you mean {close[0]}=?" if close else ""
        raise ValueError(f"expected one of {', '.join(parameters)}; got {word!r}{hint}")
    return "", word


def _value(key: str, text: str, argument: Argument) -> Any:
    if argument.kind is bool:
        if text.lower() not in _TRUTHS:
            raise ValueError(f"expected {key}=true or {key}=false; got {key}={text}")
        return _TRUTHS[text.lower()]
    try:
        return argument.kind(text)
    except ValueError as error:
        number = "a whole number" if argument.kind is int else "a number"
        raise ValueError(f"expected {key}=<{number}>; got {key}={text}") from error


def _in_one_style(
    words: Sequence[str],
    switches: Collection[str] = (),
    kept: Collection[str] = (),
    key_of: Callable[[str], str] = str,
) -> list[str]:
    """Write `--folder x` as `folder=x` and, for `switches`, `--public` as `public=true`."""
    written: list[str] = []
    rest = iter(words)
    for word in rest:
        match = _FLAG.fullmatch(word)
        key = match[1].replace("-", "_") if match else ""
        if not match or word.partition("=")[0] in kept:
            written.append(word)
        elif key in switches:
            written.append(f"{key}=true")
        else:
            value = match[2] if match[2] is not None else next(rest, f"<{key}>")
            written.append(f"{key_of(key)}={value}")
    return written


def _usage(program: str, parameters: Mapping[str, Argument]) -> str:
    words = [
        name if each.needed else f"[{name}]"
        for key, each in parameters.items()
        for name in (f"<{key}>" if each.placed else f"{key}=<...>",)
    ]
    return " ".join(["laconic", program, *words])


def _help(program: str, about: str | None, parameters: Mapping[str, Argument]) -> str:
    width = max(map(len, parameters))
    lines = [f"  {key:{width}}  {each.help}" for key, each in parameters.items()]
    return "\n".join(
        ["usage: " + _usage(program, parameters), "", (about or "").strip(), "", *lines]
    )


def _texts(node: Any, prefix: str) -> list[tuple[str, str]]:
    """Return dotted key and text of each text in a container."""
    if isinstance(node, str):
        return [(prefix, node)]
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(node, dict | list):
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
    inner = ((f"{prefix}.{key}" if prefix else str(key), value) for key, value in pairs)
    return [found for key, value in inner for found in _texts(value, key)]
