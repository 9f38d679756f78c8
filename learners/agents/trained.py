"""Policies as a run left them: in its last checkpoint, or in that of a step.

A run folder has `config.yaml`, `checkpoints/` and, once it has ended, `policy/`. The form of the
policies (config and tokenizer) is that of `policy/`, or of the model that the run began with; their
weights are those of a checkpoint (`learners.checkpoint`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laconic.envs.errors import SettingError

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy
from laconic.learners.agents.folders import find_smollm2
from laconic.learners.untrusted_files import find_strange, read_yaml

MAX_RUNS = 100
"""Most runs that began with one another, each without policies of its own."""


def run_folder(name: str) -> Path | None:
    """Return the run folder of this name; None if it is no run folder."""
    folder = Path(name).expanduser()
    held = (folder / "checkpoints").is_dir() or (folder / "policy").is_dir()
    return folder if held and (folder / "config.yaml").is_file() else None


def form_of(run: Path) -> str:
    """Name or folder of what has the form of a run's policies.

    Raises:
        SettingError: the run was ended before it left any, and says no model that it began with.
    """
    for _ in range(MAX_RUNS):
        if (run / "policy").is_dir():
            if strange := find_strange(run / "policy"):
                raise SettingError(f"{str(run / 'policy')!r} is not loaded: {strange}")
            return str(run / "policy")
        began = _agent(run).get("model") or _usual(str(_agent(run).get("_target_")))
        if not isinstance(began, str):
            raise SettingError(
                f"agent.model={str(run)!r} is a run without policy/, whose config.yaml names no"
                " model; let it leave its policies: the same command, resume=true"
                f" hydra.run.dir={run}"
            )
        earlier = run_folder(began)
        if earlier is None:
            return began
        run = earlier
    raise SettingError(
        f"agent.model={str(run)!r}: more than {MAX_RUNS} runs without policy began with another"
    )


def restore(run: Path, step: int | None, policies: Mapping[str, HFPolicy]) -> None:
    """Put the weights of a checkpoint into policies of a run's form.

    Args:
        run: its folder.
        step: learner updates before the checkpoint; None takes the last. Where there is none, the
            policies are as the run left them or, before that, as one left them that it began with.
        policies: by agent, in the order in which the run had them.

    Raises:
        SettingError: there is no checkpoint of that step, or it is of another number of policies.
        CheckpointError: it is damaged, or of other policies.
    """
    from laconic.learners import checkpoint

    found = _at(run / "checkpoints", step)
    if found is None:
        earlier = run_folder(str(_agent(run).get("model")))
        if earlier is not None and not (run / "policy").is_dir():
            restore(earlier, _agent(run).get("step"), policies)
        return
    state = checkpoint.load(found)
    with checkpoint.restoring(found):
        saved: list[Mapping[str, Any]] = state["learner"]["trainers"]
        distinct = list({id(one): one for one in policies.values()}.values())
        if len(saved) != len(distinct):
            raise SettingError(
                f"the checkpoint {str(found)!r} is of {len(saved)} policies, and this team has"
                f" {len(distinct)}; take the agent.sharing and env.team of the run"
            )
        for policy, one in zip(distinct, saved, strict=True):
            policy.load_weights(one["model"])


def _agent(run: Path) -> dict[str, Any]:
    """Return the agent settings of a run."""
    config = read_yaml(run / "config.yaml")
    agent = config.get("agent") if isinstance(config, dict) else None
    return agent if isinstance(agent, dict) else {}


def _at(folder: Path, step: int | None) -> Path | None:
    from laconic.learners import checkpoint

    if step is None:
        return checkpoint.latest(folder)
    there = {int(one.name[len("step_") :]): one for one in folder.glob("step_" + "[0-9]" * 8)}
    if step not in there:
        raise SettingError(
            f"agent.step={step}, but {str(folder)!r} has the checkpoints of the steps"
            f" {', '.join(map(str, sorted(there))) or '(none)'}"
        )
    return there[step]


def _usual(target: str) -> str | None:
    """Return the default model of an agent's class; None without one."""
    if target == "laconic.learners.agents.tiny.TinyTeam":
        return str(Path(__file__).parent / "tiny")
    if target.startswith("laconic.learners.agents.smollm2"):
        return find_smollm2()
    return None
