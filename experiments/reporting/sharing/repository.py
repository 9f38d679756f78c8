"""The folder that is sent to the hub: a run's policies, fit for a machine that is not this one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from huggingface_hub import HfApi

from laconic.envs.errors import SettingError
from laconic.experiments.reporting.runs import read_run
from laconic.experiments.reporting.sharing.card import ADAPTER, LOCAL, model_card
from laconic.experiments.running.run_folder import TEAM, write_atomically
from laconic.learners.rollout.strange_files import find_strange, read_json


def assemble(
    run: Path, folder: Path, name: str | None, *, base: str | None, license: str | None
) -> None:
    """Put the policies of a run and their card into a new folder; the run's files stay as they are.

    Args:
        run: a run folder.
        folder: a new folder.
        name: of the repository on the hub; None where there is none yet.
        base: name on the hub of the base of adapters; None takes the recorded one.
        license: as the hub names it; None leaves it open.

    Raises:
        SettingError: the run has no policies, the folder exists, a link leads out of the policies,
            or the base of adapters is recorded as a folder of this machine.
    """
    policy = run / "policy"
    if not (policy / TEAM).is_file():
        raise SettingError(
            f"{str(run)!r} has no policies with a {TEAM}; a training leaves them when it ends"
            " (resume=true goes on with one that was killed)"
        )
    if folder.exists():
        raise SettingError(f"{str(folder)!r} exists already; name a new folder")
    if strange := find_strange(policy):
        raise SettingError(
            f"{str(policy)!r} is not shared: {strange}, and what it leads to would be sent; remove"
            " it, or put the file itself in its place"
        )
    bases = {path: _base(path, base) for path in policy.rglob(ADAPTER)}
    shutil.copytree(policy, folder, symlinks=True)
    for path, named in bases.items():
        settings = read_json(path) | {"base_model_name_or_path": named}
        target = folder / path.relative_to(policy)
        write_atomically(target, json.dumps(settings, indent=2, sort_keys=True) + "\n")
        # That of peft names the folder; there is one card for all.
        target.with_name("README.md").unlink(missing_ok=True)
    card = model_card(read_run(run), folder, name or folder.name, license)
    write_atomically(folder / "README.md", str(card) + "\n")


def push(folder: Path, name: str, *, private: bool, message: str) -> str:
    """Send a folder to the repository `<owner>/<name>` of the hub, made when it is not there.

    Only a new repository is made `private`. Returns the address of the commit.
    """
    hub = HfApi()
    made = hub.create_repo(name, private=private, exist_ok=True)
    sent = hub.upload_folder(repo_id=made.repo_id, folder_path=folder, commit_message=message)
    return str(sent.commit_url)


def _base(path: Path, base: str | None) -> str:
    recorded = base or read_json(path).get("base_model_name_or_path")
    if not recorded or (base is None and recorded.startswith(LOCAL)):
        raise SettingError(
            f"the adapters belong to the base model {recorded!r}, which nobody else has; pass"
            " --base <its name on the hub>"
        )
    return str(recorded)
