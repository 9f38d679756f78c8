"""The command `laconic`: `laconic train ...` is `python -m laconic.experiments.train ...`."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import laconic
from laconic.experiments.command_line import programs
from laconic.experiments.command_line.programs import Program
from laconic.experiments.command_line.surroundings import (
    find_memory_limit,
    preflight,
    replace_unprintable,
)

_OWN_CHOICES = re.compile(r"--config-[dp]|-c[dp]|\+{0,2}hydra\.searchpath")
"""Beginning of an argument that names a folder of configs, whose classes are the user's own."""
_PACKAGE = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?=[.,\]]|$)")
"""First part of a dotted name, which a list of trusted packages may hold alone."""


def main() -> None:
    """Run the program that the first argument names; without one, list them."""
    replace_unprintable()
    typed, *rest = sys.argv[1:] or ["--help"]
    name = typed.replace("_", "-")
    if typed in ("-h", "--help"):
        print(_usage())
    elif typed in ("-V", "--version"):
        print(f"laconic {laconic.__version__}")
    elif program := _find(name):
        if problem := preflight():
            sys.exit(f"error: {problem}")
        _look_here(rest)
        sys.argv = [f"laconic {name}", *program.settings, *rest]
        try:
            start(program)
        except (ImportError, MemoryError, OSError, RuntimeError) as error:
            if problem := find_memory_limit(error):
                sys.exit(f"error: {problem}")
            raise
    else:
        sys.exit(_unknown(typed))


def _look_here(arguments: Sequence[str]) -> None:
    """Let typed arguments name code of the working folder, as `python -m` does.

    The folder comes last on the path, so its files cannot hide an installed package. Without such
    an argument it stays off: a library may import what a downloaded file names, and the download
    may lie here.
    """
    here = str(Path.cwd())
    if here not in sys.path and any(map(_names_code, arguments)):
        sys.path.append(here)


def _names_code(argument: str) -> bool:
    """Return whether an argument names code that is not installed, or a folder of own choices."""
    key, _, value = argument.partition("=")
    if _OWN_CHOICES.match(key):
        return True
    if "_target_" not in argument and not key.endswith("trust"):
        return False
    packages = set(_PACKAGE.findall(value)) - {"__main__"}
    return any(find_spec(package) is None for package in packages)


def start(program: Program) -> None:
    """Run a program; its module and the slow libraries are imported once its config is right."""
    # What is imported stays; looking for garbage in it again and again takes a fifth of the time.
    gc.disable()
    try:
        if program.config is None:
            _imported(program.module).main()
            return
        from laconic.experiments.command_line import cli

        cli.program(program.config, several=program.several)(_loaded_late(program.module))()
    finally:
        gc.enable()


def _find(name: str) -> Program | None:
    try:
        return programs.find(name)
    except ValueError as error:
        sys.exit(f"error: {error}")


def _loaded_late(module: str) -> Callable[[Any], Any]:
    """Return the `main` of a program, whose module is imported at the first call."""

    def main(cfg: Any) -> Any:
        return _imported(module).main(cfg)

    # Hydra names a job after the module of its function.
    main.__module__ = module
    return main


def _imported(name: str) -> Any:
    """Import the module of a program; from here on, look for garbage in what is made later."""
    module = import_module(name)
    # Only before the first job of a sweep: later ones leave garbage, which must not be kept.
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return module


def _usage() -> str:
    purposes = {name: _purpose(name) for name in programs.names()}
    width = max(map(len, purposes))
    lines = "".join(f"  {name:{width}}  {purpose}\n" for name, purpose in purposes.items())
    return (
        f"usage: laconic <program> [settings]\n\n{lines}\n`laconic <program> --help` lists its"
        " settings, and `--help <key>` explains them; `laconic train env=gsm8k -m seed=0,1` is a"
        " sweep."
    )


def _purpose(name: str) -> str:
    try:
        program = programs.find(name)
    except ValueError as error:
        return f"({error})"
    return program.purpose if program else ""


def _unknown(name: str) -> str:
    close = get_close_matches(name.replace("_", "-"), programs.names(), n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    print(_usage(), file=sys.stderr)
    return f"\nerror: expected one of these programs; got {name!r}{hint}"


if __name__ == "__main__":
    main()
