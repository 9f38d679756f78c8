"""Puts the policies of a run on the hub, with a model card of its figures.

    laconic share outputs/mine me/my-team
    laconic share outputs/mine --folder shared

A repository is made as private unless `--public` is given. It needs `hf auth login` once before, or
HF_TOKEN. Whatever the team, there is one repository: a policy that all agents share lies in it, of
several each lies in a folder named after its agent. `--folder` writes what would be sent and sends
nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub.errors import HFValidationError, HTTPError  # type: ignore[attr-defined]

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.say import complain, say
from laconic.experiments.reporting.sharing.repository import assemble, push


def main(arguments: Sequence[str] | None = None) -> None:
    """Share the run that the command line names."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if (given.repository is None) == (given.folder is None):
        parser.error("expected a repository (<owner>/<name>) or --folder, and not both")
    try:
        say(share(given))
    except (SettingError, OSError, HTTPError, HFValidationError) as error:
        complain(f"error: {error}")
        sys.exit(1)


def share(given: argparse.Namespace) -> str:
    """Write the folder or send it; returns a line that says where it is now."""
    settings = {"base": given.base, "license": given.license}
    if given.folder is not None:
        assemble(given.run, given.folder, None, **settings)
        return f"folder: {given.folder}"
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside) / "repository"
        assemble(given.run, folder, given.repository, **settings)
        message = given.message or f"Policies of {given.run.resolve().name}"
        sent = push(folder, given.repository, private=not given.public, message=message)
    return f"sent: {sent}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="laconic share", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("repository", nargs="?", help="name on the hub, <owner>/<name>")
    parser.add_argument("--folder", type=Path, help="write what would be sent here instead")
    parser.add_argument("--public", action="store_true", help="let others see a new repository")
    parser.add_argument("--base", help="name on the hub of the adapters' base model")
    parser.add_argument("--license", help="as the hub names it, e.g. apache-2.0")
    parser.add_argument("--message", help="of the commit")
    return parser


if __name__ == "__main__":
    main()
