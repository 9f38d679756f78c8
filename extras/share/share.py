"""Put the policies of a run on the hub, with a model card of its figures.

    laconic share outputs/mine me/my-team
    laconic share outputs/mine folder=shared

A new repository is private unless `public=true` is given. Log in once before (`hf auth login`), or
set HF_TOKEN. A team has one repository: a policy that all agents share is at its top, and each of
several policies is in a folder named after its agent. `folder=` writes the files locally and sends
nothing.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from huggingface_hub import HfApi
from huggingface_hub.errors import HFValidationError, HTTPError  # type: ignore[attr-defined]

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.echo import echo, echo_error
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.run_folder.runs import read_run
from laconic.extras.share.card import ADAPTER, LOCAL, TEAM, base_model, model_card
from laconic.learners.untrusted_files import find_unsafe_path, read_json

ARGUMENTS = {
    "run": Argument("a run folder", Path, placed=True, needed=True),
    "repository": Argument("name on the hub, <owner>/<name>", placed=True),
    "folder": Argument("write the files here and send nothing", Path),
    "public": Argument("true makes a new repository public", bool, False),
    "base": Argument("name on the hub of the adapters' base model"),
    "license": Argument("license, with its name on the hub, e.g. apache-2.0"),
    "message": Argument("message of the commit"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Share the run that the command line names."""
    options = read_arguments("share", __doc__, arguments, ARGUMENTS)
    if (options.repository is None) == (options.folder is None):
        refuse("expected a repository (<owner>/<name>) or folder=<new folder>, and not both")
    try:
        echo(share(options))
    except (SettingError, OSError, HTTPError, HFValidationError) as error:
        echo_error(f"error: {error}")
        sys.exit(1)


def share(options: SimpleNamespace) -> str:
    """Write the folder or send it; return a line with its address."""
    settings = {"base": options.base, "license": options.license}
    if options.folder is not None:
        assemble(options.run, options.folder, None, **settings)
        return f"folder: {options.folder}"
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside) / "repository"
        assemble(options.run, folder, options.repository, **settings)
        message = options.message or f"Policies of {options.run.resolve().name}"
        address = push(folder, options.repository, private=not options.public, message=message)
    return f"sent: {address}"


def assemble(
    run: Path, folder: Path, name: str | None, *, base: str | None, license: str | None
) -> None:
    """Copy the policies of a run and their card to a new folder.

    Args:
        run: a run folder.
        folder: a new folder.
        name: name of the repository on the hub; None if there is none yet.
        base: name on the hub of the adapters' base model; None takes the recorded one.
        license: name of the license on the hub; None for none.

    Raises:
        SettingError: the run has no policies, the folder exists, a link leads out of the policies,
            or the base of adapters is recorded as a folder of this machine.
    """
    policy = run / "policy"
    if not (policy / TEAM).is_file():
        raise SettingError(
            f"{str(run)!r} has no policies with a {TEAM}; a training writes them when it ends"
            " (resume=true continues one that was killed)"
        )
    if folder.exists():
        raise SettingError(f"{str(folder)!r} exists already; name a new folder")
    if strange := find_unsafe_path(policy):
        raise SettingError(
            f"{str(policy)!r} is not shared: {strange}, and its target would be sent; remove it, or"
            " replace it by the file itself"
        )
    bases = {path: _public_base(path, base) for path in policy.rglob(ADAPTER)}
    shutil.copytree(policy, folder, symlinks=True)
    for path, model in bases.items():
        settings = read_json(path) | {"base_model_name_or_path": model}
        target = folder / path.relative_to(policy)
        write_atomically(target, json.dumps(settings, indent=2, sort_keys=True) + "\n")
        # The card of peft names the folder of the base; one card serves all policies.
        target.with_name("README.md").unlink(missing_ok=True)
    card = model_card(read_run(run), folder, name or folder.name, license)
    write_atomically(folder / "README.md", str(card) + "\n")


def push(folder: Path, name: str, *, private: bool, message: str) -> str:
    """Send a folder to the repository `<owner>/<name>`; return the address of the commit.

    A repository that does not exist is created, `private` or not.
    """
    hub = HfApi()
    repository = hub.create_repo(name, private=private, exist_ok=True).repo_id
    commit = hub.upload_folder(repo_id=repository, folder_path=folder, commit_message=message)
    return str(commit.commit_url)


def _public_base(adapter: Path, base: str | None) -> str:
    """Return the name on the hub of an adapter's base model."""
    recorded = base or base_model(adapter)
    if base is None and (not recorded or recorded.startswith(LOCAL)):
        raise SettingError(
            f"the adapters belong to the base model {recorded!r}, which is not on the hub; pass"
            " base=<its name on the hub>"
        )
    return recorded


if __name__ == "__main__":
    main()
