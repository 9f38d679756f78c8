"""Show the episodes of a run in the terminal, during the run or after it.

    laconic watch outputs/mine

The left side lists the episodes of all evaluations. The right side shows the selected one: its
messages and their costs, in further tabs the texts that each agent read, and the training group of
about the same step. New episodes appear as the run writes them. It needs `textual`
(`pip install "laconic-marl[watch]"`).

    s     solved, unsolved or all        v     view of the next agent
    i     with silence                   /     search
    c     failed in silence              f     follow the newest episode
    [ ]   previous or next evaluation    g     training group; again: next color of its tokens
    q     quit                           Esc   all episodes
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from laconic.envs.errors import install
from laconic.experiments.command_line.arguments import Argument, read_arguments
from laconic.experiments.command_line.echo import echo_error

NEEDED = f"laconic watch needs the package textual; install it with: {install('watch')}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Watch the run that the command line names."""
    run = Argument("run folder; the run need not have started", Path, placed=True, needed=True)
    folder = read_arguments("watch", __doc__, arguments, {"run": run}).run
    if problem := _problem(folder):
        echo_error(f"error: {problem}")
        sys.exit(1)
    from laconic.extras.viewer.app import Viewer

    Viewer(folder.resolve()).run()


def _problem(folder: Path) -> str:
    """Return why a folder cannot be shown, in one line; empty if it can."""
    if find_spec("textual") is None:
        return NEEDED
    if not folder.is_dir():
        return f"expected a run folder, as `laconic train` names it; got {str(folder)!r}"
    runs = sorted(config.parent.name for config in folder.glob("*/config.yaml"))
    if runs and not (folder / "config.yaml").exists():
        return f"expected a run folder; {str(folder)!r} holds several, e.g. {folder / runs[0]}"
    if not sys.stdout.isatty():
        return "laconic watch needs a terminal; laconic report writes a page instead"
    return ""


if __name__ == "__main__":
    main()
