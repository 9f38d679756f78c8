"""Shows the episodes of a run in the terminal, while it goes on or after it.

    laconic watch outputs/mine

On the left the episodes of all evaluations, on the right the one under the cursor: what was said,
what each message cost, and in further tabs what each agent read, its prompt first. New episodes
appear as the run writes them. Keys: s solved, unsolved or all; i with silence; c collapsed, which
failed because nobody spoke who should have; [ and ] the evaluation before and after; v the next
agent's view; / search; f follow the newest; Escape all episodes; q quit. It needs `textual`
(`pip install "laconic[watch]"`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from laconic.experiments.command_line.say import complain

NEEDED = "laconic watch needs the package textual; install it with: pip install 'laconic[watch]'"


def main(arguments: Sequence[str] | None = None) -> None:
    """Watch the run that the command line names."""
    parser = argparse.ArgumentParser(prog="laconic watch", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", type=Path, help="a run folder, which need not have begun")
    folder = parser.parse_args(arguments).run
    if problem := _problem(folder):
        complain(f"error: {problem}")
        sys.exit(1)
    from laconic.extras.viewer.app import Viewer

    Viewer(folder.resolve()).run()


def _problem(folder: Path) -> str:
    """Why a folder cannot be shown here, in one line; empty if it can."""
    if find_spec("textual") is None:
        return NEEDED
    if not folder.is_dir():
        return f"expected a run folder, as `laconic train` names it; got {str(folder)!r}"
    runs = sorted(one.parent.name for one in folder.glob("*/config.yaml"))
    if runs and not (folder / "config.yaml").exists():
        return f"{str(folder)!r} holds runs, not a run; name one of them, e.g. {folder / runs[0]}"
    if not sys.stdout.isatty():
        return "laconic watch needs a terminal; `laconic report` writes a page instead"
    return ""


if __name__ == "__main__":
    main()
