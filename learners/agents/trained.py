"""Loading of policies from a run folder, at its last checkpoint or at that of a given step.

A run folder has `config.yaml`, `checkpoints/` and, once the run has ended, `policy/`. Config and
tokenizer of the policies come from `policy/`, or from the model that the run started with. The
weights come from a checkpoint (`learners.checkpoint`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laconic.envs.errors import SettingError

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

from laconic.learners.agents.folders import find_smollm2
from laconic.learners.agents.recipes import SHIPPED, shipped
from laconic.learners.untrusted_files import find_unsafe_path, read_yaml

MAX_RUNS = 100
"""Limit on the chain of runs without `policy/` that each started from the next."""


def run_folder(name: str) -> Path | None:
    """Return a name as the path of a run folder; None if it is not one."""
    folder = Path(name).expanduser()
    has_weights = (folder / "checkpoints").is_dir() or (folder / "policy").is_dir()
    return folder if has_weights and (folder / "config.yaml").is_file() else None


def policy_source(run: Path) -> str:
    """Return the name or folder that gives config and tokenizer of a run's policies.

    Raises:
        SettingError: the run has no `policy/`, and its config names no model that it started with.
    """
    for _ in range(MAX_RUNS):
        if (run / "policy").is_dir():
            if problem := find_unsafe_path(run / "policy"):
                raise SettingError(f"{str(run / 'policy')!r} is not loaded: {problem}")
            return str(run / "policy")
        model = _agent(run).get("model") or _default_model(run)
        if not isinstance(model, str):
            raise SettingError(
                f"agent.model={str(run)!r} is a run without policy/, and its config.yaml names no"
                " model; finish the run, which writes policy/: the same command with resume=true"
                f" hydra.run.dir={run}"
            )
        earlier = run_folder(model)
        if earlier is None:
            return model
        run = earlier
    raise SettingError(
        f"agent.model={str(run)!r} leads through more than {MAX_RUNS} runs without policy/, each"
        " started from the next; name a run that has policy/"
    )


def restore(run: Path, step: int | None, policies: Mapping[str, HFPolicy]) -> None:
    """Load the weights of a run's checkpoint into policies built from `policy_source`.

    Without a checkpoint, policies keep the weights of `policy/`. If the run has neither, they get
    the weights of the run that it started from.

    Args:
        run: run folder.
        step: step of the checkpoint (learner updates before it); None: the last checkpoint.
        policies: policy of each agent, in the order of the run.

    Raises:
        SettingError: the run has no checkpoint of that step, or it has another number of policies.
        CheckpointError: the checkpoint is damaged, or its policies have other weights.
    """
    from laconic.learners import checkpoint

    path = _find_checkpoint(run / "checkpoints", step)
    if path is None:
        earlier = run_folder(str(_agent(run).get("model")))
        if earlier is not None and not (run / "policy").is_dir():
            restore(earlier, _agent(run).get("step"), policies)
        return
    state = checkpoint.load(path)
    with checkpoint.restoring(path):
        trainers: list[Mapping[str, Any]] = state["learner"]["trainers"]
        distinct = list({id(policy): policy for policy in policies.values()}.values())
        if len(trainers) != len(distinct):
            raise SettingError(
                f"the checkpoint {str(path)!r} has {len(trainers)} policies, but this team has"
                f" {len(distinct)}; use the agent.sharing and env.team of the run"
            )
        for policy, trainer in zip(distinct, trainers, strict=True):
            policy.load_weights(trainer["model"])


def _agent(run: Path, group: str = "agent") -> dict[str, Any]:
    """Return the settings of a config group of a run; empty if there are none."""
    config = read_yaml(run / "config.yaml")
    settings = config.get(group) if isinstance(config, dict) else None
    return settings if isinstance(settings, dict) else {}


def _find_checkpoint(folder: Path, step: int | None) -> Path | None:
    """Return the checkpoint of a step; for None the last one, or None if there is no checkpoint."""
    from laconic.learners import checkpoint

    if step is None:
        return checkpoint.latest(folder)
    paths = {int(path.name[len("step_") :]): path for path in folder.glob("step_" + "[0-9]" * 8)}
    if step not in paths:
        raise SettingError(
            f"agent.step={step}, but {str(folder)!r} has checkpoints of the steps"
            f" {', '.join(map(str, sorted(paths))) or '(none)'}; name one of them"
        )
    return paths[step]


def _default_model(run: Path) -> str | None:
    """Return the default model of the agent of a run; None if it has none."""
    target = str(_agent(run).get("_target_"))
    if target == "laconic.learners.agents.tiny.TinyTeam":
        return str(shipped(str(_agent(run, "env").get("name"))) or SHIPPED)
    if target.startswith("laconic.learners.agents.smollm2"):
        return find_smollm2()
    return None
