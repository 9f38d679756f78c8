"""The command `laconic`: `laconic train ...` is `python -m laconic.experiments.train ...`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from laconic.experiments.command_line.surroundings import find_memory_limit, find_problem

PROGRAMS = {
    "train": "train a team on groups of episodes",
    "evaluate": "play every evaluation task once and say how well, in how many words",
    "compare": "put a team beside single agents, votes, debates and scripts",
    "demand": "say what each word is worth, and how many a team would buy at each price",
    "watch": "look at episodes in the terminal, also of a run that goes on",
    "explain": "show how the advantages of a training group came about",
    "report": "make the page of a run or of a sweep: curves, figures, transcripts",
    "warm-start": "imitate a scripted teacher, so that a policy knows the game",
    "share": "send a trained team to a hub, or write its folder",
    "measure-speed": "measure the cost of the environment and of a training step",
}
"""What each program does, by its name on the command line."""
PLAIN = {
    "explain": "reporting.explain",
    "report": "report",
    "share": "share",
    "watch": "watch",
}
"""Programs without a configuration, and the modules that they run."""
ALIASES = {"warm-start": ("train", "experiment=warm_start")}
"""Those that are another program with a setting."""


def main() -> None:
    """Run the program that the first argument names; without one, list them."""
    typed, *rest = sys.argv[1:] or ["--help"]
    name = typed.replace("_", "-")
    if typed in ("-h", "--help"):
        print(_usage())
    elif typed in ("-V", "--version"):
        print(f"laconic {version('laconic')}")
    elif name in PROGRAMS:
        if problem := find_problem():
            sys.exit(f"error: {problem}")
        _look_here()
        program, *settings = ALIASES.get(name, (name,))
        sys.argv = [f"laconic {name}", *settings, *rest]
        try:
            start(program)
        except (ImportError, MemoryError, OSError, RuntimeError) as error:
            if problem := find_memory_limit(error):
                sys.exit(f"error: {problem}")
            raise
    else:
        sys.exit(_unknown(typed))


def _look_here() -> None:
    """Let a configuration name modules of the present folder, as `python -m` does.

    It comes last on the path, so that nothing that is installed can be hidden by what lies there.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def start(name: str) -> None:
    """Run a program; a mistyped configuration is answered before the slow libraries are loaded."""
    if name in PLAIN:
        import_module(f"laconic.experiments.{PLAIN[name]}").main()
        return
    module = name.replace("-", "_")
    from laconic.experiments.command_line.cli import program

    program(module, several=name == "train")(_loaded_late(module))()


def _loaded_late(module: str) -> Callable[[Any], Any]:
    """The `main` of a program, whose module is imported at the first call."""

    def main(cfg: Any) -> Any:
        return import_module(f"laconic.experiments.{module}").main(cfg)

    # Hydra names a job after the module of its function.
    main.__module__ = f"laconic.experiments.{module}"
    return main


def _usage() -> str:
    width = max(map(len, PROGRAMS))
    lines = "".join(f"  {name:{width}}  {purpose}\n" for name, purpose in PROGRAMS.items())
    return (
        f"usage: laconic <program> [settings]\n\n{lines}\n`laconic <program> --help` lists its"
        " settings; `laconic train env=gsm8k -m seed=0,1` is a sweep."
    )


def _unknown(name: str) -> str:
    near = get_close_matches(name.replace("_", "-"), PROGRAMS, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    print(_usage(), file=sys.stderr)
    return f"\nerror: expected one of these programs; got {name!r}{meant}"


if __name__ == "__main__":
    main()
