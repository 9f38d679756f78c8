"""Start the command `laconic`, or say that its import belongs to another project.

On the package index `laconic` is another project. Where that one is found first, nothing of ours
below `laconic` can be imported, so this stands beside it, under the name of our distribution.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the program that the first argument names."""
    if find_spec("laconic.experiments") is None:
        import laconic

        sys.exit(
            "error: expected the import `laconic` to be that of laconic-marl; got another project's"
            f" in {laconic.__file__}: pip uninstall laconic, then install laconic-marl again"
        )
    from laconic.experiments.command_line.console import main as start

    start()
