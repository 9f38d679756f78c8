"""The model card of a run's policies: what they are, their figures, how they are loaded.

Made of the run folder alone. Paths of this machine are shown by their last part. The metadata is
that of the hub (`huggingface_hub.ModelCardData`); nothing is sent or asked. The text is
the template `card.md` beside those of reports.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from omegaconf import OmegaConf

from laconic.envs.dialogue.transcript import printable
from laconic.experiments.reporting.page import TEMPLATES
from laconic.experiments.reporting.records import Run
from laconic.experiments.reporting.sharing.command import evaluation, public
from laconic.experiments.reporting.single import COLUMNS, rows
from laconic.experiments.reporting.words import label
from laconic.experiments.running.run_folder import TEAM, write_atomically
from laconic.learners.agents.base import Policy
from laconic.learners.agents.folders import ONE, folder_name
from laconic.learners.rollout.strange_files import read_json

METRICS = (
    "accuracy",
    "score",
    "reward",
    "tokens_said",
    "tokens_read",
    "tokens_thought",
    "silence_rate",
)
"""Figures that are in the metadata too."""
PRIVATE = ("logger", "resume")
"""Settings of a run that are nobody else's."""
ADAPTER = "adapter_config.json"
"""Of a policy that is an adapter: its form, and what it is an adapter of."""
LOCAL = (".", "/", "~")
"""What the name of a model that lies in a folder of this machine begins with."""


class Markdown(str):
    """A text that is markdown already; all others on a card are shown letter by letter."""

    __slots__ = ()


def plain(value: object) -> Markdown:
    """Return a value as markdown that shows it as it is, in one line, without HTML or links."""
    if isinstance(value, Markdown):
        return value
    text = html.escape(" ".join(printable(str(value)).split("\n")), quote=False)
    return Markdown(re.sub(r"[\\`*\[\]|]", r"\\\g<0>", text))


def code(value: object) -> Markdown:
    """Return a value as code within a line; whatever it holds cannot end the code."""
    text = " ".join(printable(str(value)).split("\n"))
    marks = "`" * (_longest_run(text) + 1)
    space = " " if "`" in (text[:1], text[-1:]) else ""
    return Markdown(f"{marks}{space}{text}{space}{marks}")


def cell(value: object) -> Markdown:
    """Return a value as code within a cell of a table."""
    return Markdown(code(value).replace("|", r"\|"))


def fenced(text: str, kind: str) -> Markdown:
    """Return a text as a block of code; whatever it holds cannot end the block."""
    marks = "`" * max(3, _longest_run(text) + 1)
    return Markdown(f"{marks}{kind}\n{printable(text)}\n{marks}")


def _longest_run(text: str) -> int:
    """Return the length of the longest run of back ticks."""
    return max(map(len, re.findall("`+", text)), default=0)


_CARD = Environment(
    loader=FileSystemLoader(TEMPLATES),
    # Applied to every value, so that no line of the template can forget it.
    finalize=plain,
    undefined=StrictUndefined,
    trim_blocks=True,
)
_CARD.filters |= {
    "plain": plain,
    "code": code,
    "cell": cell,
    "fenced": fenced,
    "markdown": Markdown,
}
_TEMPLATE = _CARD.get_template("card.md")


def write_card(run: Run, policies: Mapping[str, Policy]) -> None:
    """Write `README.md` and `team.json` beside the policies, if any, that a training has left."""
    policy = run.folder / "policy"
    team = speakers(policies, policy)
    if any(team.values()):
        write_atomically(policy / TEAM, json.dumps(team, indent=2) + "\n")
        write_atomically(policy / "README.md", f"{model_card(run, policy)}\n")


def places(policies: Mapping[str, Policy]) -> dict[str, str]:
    """Return agent -> folder of its policy: "." for a whole team's, else the first agent's."""
    first: dict[int, str] = {}
    for agent, policy in policies.items():
        first.setdefault(id(policy), folder_name(agent))
    alone = len(first) == 1
    return {agent: "." if alone else first[id(policy)] for agent, policy in policies.items()}


def speakers(policies: Mapping[str, Policy], folder: Path) -> dict[str, str | None]:
    """Agent -> the folder of its policy; None for one not saved."""
    return {
        agent: place if any((folder / place / one).is_file() for one in ONE) else None
        for agent, place in places(policies).items()
    }


def model_card(
    run: Run, policy: Path, repository: str | None = None, license: str | None = None
) -> ModelCard:
    """The card of the policies in a folder that a run has trained.

    `repository` is their name on the hub, for the commands; without it they are named after their
    folder. Without a license that is left open.
    """
    team: dict[str, str | None] = read_json(policy / TEAM)
    name = repository or policy.resolve().parent.name
    given = [one for one in run.overrides or () if not one.lstrip("+").startswith(PRIVATE)]
    kept = {name: value for name, value in run.settings.items() if name not in PRIVATE}
    measured, found = run.after or run.before, rows(run)
    env, (_, prices) = run.group("env"), run.series("train/price")
    reward = env["reward"] if isinstance(env.get("reward"), Mapping) else {}
    text = _TEMPLATE.render(
        data=Markdown(_metadata(run, policy, name, license).to_yaml()),
        name=name,
        run=run,
        env=env,
        reward=reward,
        prices=prices,
        charged=reward and (reward.get("price") or any(prices)),
        versions=[version("laconic"), f"transformers {version('transformers')}"],
        rows=[COLUMNS, ["---"] * len(COLUMNS), *found] if found else [],
        played=measured.episodes if measured else 0,
        command=public(" ".join(["laconic train", *given])),
        warnings=[public(one) for one in run.warnings],
        team=team,
        alone=set(team.values()) == {"."},
        **_loaded(policy, repository or policy.name, team),
        evaluation=evaluation(run, repository or policy.name),
        silences=_silences(run),
        settings=public(OmegaConf.to_yaml(kept)).rstrip(),
    )
    return ModelCard(text)


def _metadata(run: Run, policy: Path, name: str, license: str | None) -> ModelCardData:
    source = str(run.group("env").get("source", ""))
    learner = [run.choices["learner"]] if "learner" in run.choices else []
    bases = sorted(_bases(run, policy))
    return ModelCardData(
        base_model=bases[0] if len(bases) == 1 else bases or None,
        library_name="peft" if any(policy.rglob(ADAPTER)) else "transformers",
        pipeline_tag="text-generation",
        tags=["laconic", "multi-agent", "reinforcement-learning", *learner],
        datasets=[source.removeprefix("hub:")] if source.startswith("hub:") else None,
        metrics=["accuracy"],
        license=license,
        model_name=name,
        eval_results=_results(run),
    )


def _members(run: Run) -> list[Mapping[str, Any]]:
    """The settings of the agent, and of each member where it is a mixed team."""
    agent = run.group("agent")
    members = (agent.get("members") or {}).values()
    return [agent, *(one for one in members if isinstance(one, dict))]


def _bases(run: Run, policy: Path) -> set[str]:
    """The models on the hub that training began with; those in folders are not named."""
    named = {str(one["model"]) for one in _members(run) if one.get("model")}
    named |= {_base(file) for file in policy.rglob(ADAPTER)}
    return {one for one in named if not one.startswith(LOCAL) and not Path(one).exists()}


def _base(adapter: Path) -> str:
    return str(read_json(adapter).get("base_model_name_or_path"))


def _results(run: Run) -> list[EvalResult] | None:
    """Figures of the last evaluation; generated tasks are not passed off as the original data."""
    measured = run.after.intervals if run.after else {}
    environment = run.environment or "an environment"
    source = run.group("env").get("source")
    generated = source == "generated"
    shown = "generated tasks" if generated else public(str(source))
    return [
        EvalResult(
            task_type="text-generation",
            dataset_type=f"laconic-{environment}-generated" if generated else environment,
            dataset_name=f"{environment} ({shown})" if source else environment,
            metric_type=name,
            metric_value=round(measured[name].mean, 6),
            metric_name=label(name),
        )
        for name in METRICS
        if name in measured
    ] or None


def _loaded(policy: Path, name: str, team: Mapping[str, str | None]) -> dict[str, str]:
    """What loads the first policy that is there, and the base of an adapter."""
    folder = next((one for one in team.values() if one is not None), ".")
    adapter = policy / folder / ADAPTER
    base = _base(adapter) if adapter.is_file() else ""
    subfolder = "" if folder == "." else f", subfolder={json.dumps(folder)}"
    shown = f"<{Path(base).name}>" if base.startswith(LOCAL) else base
    return {"policy": json.dumps(name) + subfolder, "base": json.dumps(shown) if base else ""}


def _silences(run: Run) -> list[str]:
    """Return the silence words of the team's members."""
    speeches = [one.get("speech") or {} for one in _members(run)]
    return sorted({str(one["silence"]) for one in speeches if "silence" in one}) or ["<silence>"]
