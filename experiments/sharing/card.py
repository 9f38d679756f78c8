"""The model card of a run's policies: what they are, their figures, how they are loaded.

Made of the run folder alone. Paths of this machine are shown by their last part. The metadata is
that of the hub (`huggingface_hub.ModelCardData`); nothing is sent or asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from omegaconf import OmegaConf

from laconic.experiments.reporting.records import Evaluation, Run
from laconic.experiments.reporting.runs import read_run
from laconic.experiments.reporting.single import COLUMNS, rows
from laconic.experiments.reporting.words import label
from laconic.experiments.running.run_folder import TEAM, write_atomically
from laconic.experiments.sharing.loading import loading, public
from laconic.learners.agents.base import Policy
from laconic.learners.agents.load import ONE

METRICS = ("accuracy", "score", "reward", "tokens_said", "tokens_read", "silence_rate")
"""Figures that are in the metadata too."""
PRIVATE = ("logger", "resume")
"""Settings of a run that are nobody else's."""


def write_card(folder: Path, policies: Mapping[str, Policy]) -> None:
    """Write `README.md` and `team.json` beside the policies, if any, that a training has left."""
    policy = folder / "policy"
    team = speakers(policies, policy)
    if any(team.values()):
        write_atomically(policy / TEAM, json.dumps(team, indent=2) + "\n")
        write_atomically(policy / "README.md", f"{model_card(read_run(folder), policy)}\n")


def speakers(policies: Mapping[str, Policy], folder: Path) -> dict[str, str | None]:
    """Agent -> the folder of its policy as `save_policies` names it; None for one not saved."""
    first: dict[int, str] = {}
    for agent, policy in policies.items():
        first.setdefault(id(policy), agent)
    places = {one: "." if len(first) == 1 else agent for one, agent in first.items()}

    def place(policy: Policy) -> str | None:
        found = places[id(policy)]
        return found if any((folder / found / one).is_file() for one in ONE) else None

    return {agent: place(policy) for agent, policy in policies.items()}


def model_card(
    run: Run, policy: Path, repository: str | None = None, license: str | None = None
) -> ModelCard:
    """The card of the policies in a folder that a run has trained.

    `repository` is their name on the hub, for the commands; without it they are named after their
    folder. Without a license that is left open.
    """
    config: dict[str, Any] = OmegaConf.to_container(OmegaConf.create(run.config))  # type: ignore[assignment]
    team: dict[str, str | None] = json.loads((policy / TEAM).read_text("utf-8"))
    name = repository or policy.resolve().parent.name
    data = _metadata(run, config, team, policy, name, license)
    parts = [
        _title(run, config, name),
        _figures(run, config),
        _training(run, config),
        loading(run, config, team, policy, repository),
        _limits(run, config),
        f"## Settings\n\n```yaml\n{_settings(config)}\n```",
    ]
    return ModelCard(f"---\n{data.to_yaml()}\n---\n\n" + "\n\n".join(parts))


def _settings(config: Mapping[str, Any]) -> str:
    kept = {name: value for name, value in config.items() if name not in PRIVATE}
    return public(OmegaConf.to_yaml(kept)).rstrip()


def _metadata(
    run: Run,
    config: Mapping[str, Any],
    team: Mapping[str, str | None],
    policy: Path,
    name: str,
    license: str | None,
) -> ModelCardData:
    adapters = any(policy.rglob("adapter_config.json"))
    source = str(config.get("env", {}).get("source", ""))
    bases = sorted(_bases(config, policy))
    return ModelCardData(
        base_model=bases[0] if len(bases) == 1 else bases or None,
        library_name="peft" if adapters else "transformers",
        pipeline_tag="text-generation",
        tags=["laconic", "multi-agent", "reinforcement-learning", *_methods(run.folder)],
        datasets=[source.removeprefix("hub:")] if source.startswith("hub:") else None,
        metrics=["accuracy"],
        license=license,
        model_name=name,
        eval_results=_results(run.after, config),
    )


def _methods(folder: Path) -> list[str]:
    """The learner that was chosen, where Hydra has noted it."""
    noted = folder / ".hydra" / "hydra.yaml"
    found = OmegaConf.load(noted) if noted.is_file() else OmegaConf.create()
    learner = OmegaConf.select(found, "hydra.runtime.choices.learner")
    return [str(learner)] if learner else []


def _bases(config: Mapping[str, Any], policy: Path) -> set[str]:
    """The models on the hub that training began with; those in folders are not named."""
    agent = config.get("agent", {})
    members = [agent, *(agent.get("members") or {}).values()]
    named = {str(one["model"]) for one in members if isinstance(one, dict) and one.get("model")}
    for file in policy.rglob("adapter_config.json"):
        named.add(str(json.loads(file.read_text("utf-8")).get("base_model_name_or_path")))
    return {one for one in named if not one.startswith((".", "/", "~")) and not Path(one).exists()}


def _results(evaluation: Evaluation | None, config: Mapping[str, Any]) -> list[EvalResult] | None:
    """Figures of the last evaluation; generated tasks are not passed off as the original data."""
    if evaluation is None:
        return None
    environment, source = _environment(config), config.get("env", {}).get("source")
    kind = f"laconic-{environment}-generated" if source == "generated" else environment
    shown = "generated tasks" if source == "generated" else public(str(source))
    return [
        EvalResult(
            task_type="text-generation",
            dataset_type=kind,
            dataset_name=f"{environment} ({shown})" if source else environment,
            metric_type=name,
            metric_value=round(evaluation.intervals[name].mean, 6),
            metric_name=label(name),
        )
        for name in METRICS
        if name in evaluation.intervals
    ] or None


def _title(run: Run, config: Mapping[str, Any], name: str) -> str:
    pay = " and pay for every token they say" if _charged(run, config) else ""
    return (
        f"# {name}\n\nLanguage agents that solve `{_environment(config)}` together{pay},"
        f" trained with Laconic ({version('laconic')},"
        f" transformers {version('transformers')}); updates: {run.last_step}, {run.state}."
    )


def _charged(run: Run, config: Mapping[str, Any]) -> bool:
    """Whether tokens have cost anything; environments of others have rewards of their own."""
    reward = config.get("env", {}).get("reward")
    if not isinstance(reward, Mapping):
        return False
    _, prices = run.series("train/price")
    return bool(reward.get("price")) or any(prices)


def _environment(config: Mapping[str, Any]) -> str:
    env = config.get("env", {})
    return str(env.get("name") or env.get("_target_", "an environment"))


def _figures(run: Run, config: Mapping[str, Any]) -> str:
    """Before and after, with intervals; where there is nothing to show, that is said."""
    found = rows(run)
    if not found:
        return "## Figures\n\nThe run was never evaluated."
    played = next((one.episodes for one in (run.after, run.before) if one is not None), 0)
    lines = [f"| {' | '.join(row)} |" for row in (COLUMNS, ["---"] * len(COLUMNS), *found)]
    # Whether an environment of others keeps tasks apart is not known.
    apart = " that were not trained on" if "source" in config.get("env", {}) else ""
    return (
        f"## Figures\n\nGreedy play of {played} evaluation tasks{apart}, with"
        " 95 % intervals over tasks (Wilson for shares of episodes, bootstrap over episodes for the"
        " rest). One seed of training: where another would have ended is not in them.\n\n"
        + "\n".join(lines)
    )


def _training(run: Run, config: Mapping[str, Any]) -> str:
    given = [one for one in run.overrides or () if not one.lstrip("+").startswith(PRIVATE)]
    command = " ".join(["laconic train", *given])
    lines = [f"- command: `{public(command)}`", f"- seed: {run.seed}"]
    reward = config.get("env", {}).get("reward")
    if isinstance(reward, Mapping) and "price" in reward:
        _, prices = run.series("train/price")
        lines.append(
            f"- price: {reward['price']} for {reward.get('normalizer', '?')} tokens, charged to"
            f" {reward.get('charge', '?')}, {reward.get('when', '?')}"
            + (f"; {prices[-1]:.4g} in the last step" if prices else "")
        )
    lines += [f"- warning: {public(one)}" for one in run.warnings]
    return "## Training\n\n" + "\n".join(lines)


def _limits(run: Run, config: Mapping[str, Any]) -> str:
    source = config.get("env", {}).get("source")
    where = "problems of this source" if source else "this environment"
    alike = "in one team, with one topology, schedule and budget" if source else "in one team"
    few = " and for few words: what they leave out may matter to others"
    return (
        "## Limits\n\n"
        f"Trained and measured on {'generated problems' if source == 'generated' else where},"
        f" {alike}; elsewhere nothing is known. Agents were rewarded for what the environment"
        f" grades{',' + few if _charged(run, config) else ''}. They are no assistants, and were not"
        " made safe beyond what their base model was."
    )
