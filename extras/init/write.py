"""Write a folder with a package of your own that trains, and its test, to change from there.

    laconic init world my_game
    laconic init env my_env
    laconic init method my_method

`world` writes the rules of a game that is played by acts (docs/games.md), `env` an environment with
rounds, tokens and prices of its own (docs/own_environment.md), and `method` a loss with its yaml
(docs/own_algorithm.md).
"""

from __future__ import annotations

import keyword
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from laconic.envs import names
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.echo import echo, echo_error
from laconic.experiments.command_line.programs import config_folders
from laconic.learners.commands import command

TEMPLATES = Path(__file__).parent / "templates"
"""Folder of each kind; `my_name` and `MyName` stand for the user's, and `.txt` ends all names."""
KINDS = ("world", "env", "method")
ARGUMENTS = {
    "kind": Argument("world, env or method", placed=True, needed=True),
    "name": Argument("name of its folder and module: a-z, 0-9 and _", placed=True, needed=True),
}
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write what the command line asks for, and print the next commands."""
    options = read_arguments("init", __doc__, arguments, ARGUMENTS)
    if options.kind not in KINDS:
        refuse(
            f"expected laconic init {', '.join(KINDS[:-1])} or {KINDS[-1]}; got {options.kind!r}"
        )
    try:
        files = write(options.kind, options.name, Path())
    except (SettingError, OSError) as error:
        echo_error(f"error: {error}")
        sys.exit(1)
    name, kind = options.name, options.kind
    echo(f"written to {name}: {', '.join(files)}")
    if kind == "method":
        train = command("train", "--config-dir", f"{name}_conf", learner=name)
    else:
        target = "make" if kind == "world" else class_of(name)
        train = command("train", "~env", f"+env._target_={name}.{target}")
    installed = f"{'learner' if kind == 'method' else 'env'}={name}"
    echo(f"next:\n  cd {name}\n  python -m pytest\n  {train}")
    echo(f"  pip install -e .   # then {installed} is enough, in every folder")


def write(kind: str, name: str, parent: Path) -> list[str]:
    """Write the package of a kind to a new folder of its name; return the paths of its files.

    Raises:
        SettingError: the name is none, or is taken.
    """
    check_name(kind, name, parent)
    sources = sorted(path for path in (TEMPLATES / kind).rglob("*.txt"))
    written = []
    # Whoever finds the folder finds all of it.
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=parent) as temporary:
        for source in sources:
            place = _filled(source.relative_to(TEMPLATES / kind).with_suffix("").as_posix(), name)
            path = Path(temporary, name, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled(source.read_text("utf-8"), name), "utf-8")
            written.append(place)
        shutil.move(Path(temporary, name), parent)
    return written


def check_name(kind: str, name: str, parent: Path) -> None:
    """Refuse a name that is no module's, or that something else has.

    Raises:
        SettingError: says which name is expected, or what has it.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        plain = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
        hint = f"; try {plain}" if _NAME.fullmatch(plain) and plain != name else ""
        raise SettingError(
            "expected a name of a-z, 0-9 and _ that begins with a letter and is no word of Python;"
            f" got {name!r}{hint}"
        )
    if (parent / name).exists() or (parent / name).is_symlink():
        raise SettingError(
            f"{str(parent / name)!r} exists, and nothing is overwritten; take another name, or"
            " another folder"
        )
    if kind != "method" and name in names():
        raise SettingError(f"env={name} exists; take another name")
    folders = [Path(__file__).resolve().parents[2] / "conf", *config_folders()]
    if kind == "method" and any(
        (folder / "learner" / f"{name}.yaml").exists() for folder in folders
    ):
        raise SettingError(f"learner={name} exists; take another name")
    # Its module would hide the other one, or be hidden.
    if find_spec(name) is not None:
        raise SettingError(f"Python has a module {name!r}; take another name")


def class_of(name: str) -> str:
    """Return the name of a class: `my_game` is `MyGame`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _filled(text: str, name: str) -> str:
    return text.replace("my_name", name).replace("MyName", class_of(name))


if __name__ == "__main__":
    main()
