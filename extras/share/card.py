"""Write the model card of a run's policies: description, figures, and commands to load them.

A card uses only the run folder, and has the metadata of the hub (`huggingface_hub.ModelCard`).
Local paths are reduced to their last part. The text is the template `card.md`.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from omegaconf import OmegaConf

import laconic
from laconic.envs.dialogue.messages import printable
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.run_folder.folder import flatten, write_atomically
from laconic.experiments.run_folder.foreign import NAMES
from laconic.experiments.run_folder.records import Run
from laconic.experiments.statistics.words import label
from laconic.extras.report.single import COLUMNS, rows
from laconic.learners.agents.folders import ONE, places
from laconic.learners.interfaces import Policy
from laconic.learners.untrusted_files import read_json

METRICS = (
    *("accuracy", "spoke_if_informed", "score", "reward"),
    *("tokens_said", "tokens_read", "tokens_thought", "silence_rate"),
)
"""Metrics in the metadata."""
PRIVATE = ("callbacks", "logger", "resume")
"""Settings of a run that a card leaves out."""
NOT_OF_THE_POLICY = ("agent.model", "agent.optimizer", "agent.lora.base")
"""Settings of the agent that belong to its training."""
TEAM = "team.json"
"""File beside the policies with the folder of each agent's."""
ADAPTER = "adapter_config.json"
"""File of a policy that is an adapter; it names the base model."""
LOCAL = (".", "/", "~")
"""Beginnings of a model's name that is a local folder."""
_PATH = re.compile(r"(?<![\w.:/}>])(?:~|\.{1,2})?(?:/[\w.+-]+)+/?")


class Markdown(str):
    """Text that is already Markdown; the card escapes all other texts."""

    __slots__ = ()


def plain(value: object) -> Markdown:
    """Return a value as one line of markdown without HTML, links or emphasis."""
    if isinstance(value, Markdown):
        return value
    text = html.escape(" ".join(printable(str(value)).split("\n")), quote=False)
    return Markdown(re.sub(r"[\\`*\[\]|]", r"\\\g<0>", text))


def code(value: object) -> Markdown:
    """Return a value as inline code, which its content cannot end."""
    text = " ".join(printable(str(value)).split("\n"))
    ticks = "`" * (_longest_ticks(text) + 1)
    space = " " if "`" in (text[:1], text[-1:]) else ""
    return Markdown(f"{ticks}{space}{text}{space}{ticks}")


def cell(value: object) -> Markdown:
    """Return a value as inline code in a cell of a table."""
    return Markdown(code(value).replace("|", r"\|"))


def fenced(text: str, kind: str) -> Markdown:
    """Return a text as a block of code, which its content cannot end."""
    ticks = "`" * max(3, _longest_ticks(text) + 1)
    return Markdown(f"{ticks}{kind}\n{printable(text)}\n{ticks}")


def public(text: str) -> str:
    """Replace each local path in a text by its last part in angle brackets."""
    homeless = text.replace(str(Path.home()), "~")
    return _PATH.sub(lambda path: f"<{Path(path[0]).name}>", homeless)


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


_CARD = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    # Applied to every value, so no line of the template can forget it.
    finalize=plain,
    undefined=StrictUndefined,
    trim_blocks=True,
)
_FILTERS = (plain, code, cell, fenced)
_CARD.filters |= {filter.__name__: filter for filter in _FILTERS} | {"markdown": Markdown}
_TEMPLATE = _CARD.get_template("card.md")


def write_card(run: Run, policies: Mapping[str, Policy]) -> None:
    """Write `README.md` and `team.json` beside the policies that a training saved, if any."""
    policy = run.folder / "policy"
    team = saved_places(policies, policy)
    if any(team.values()):
        write_atomically(policy / TEAM, json.dumps(team, indent=2) + "\n")
        write_atomically(policy / "README.md", f"{model_card(run, policy)}\n")


def saved_places(policies: Mapping[str, Policy], folder: Path) -> dict[str, str | None]:
    """Return `places`, with None for a policy that was not saved."""
    return {
        agent: place if any((folder / place / name).is_file() for name in ONE) else None
        for agent, place in places(policies).items()
    }


def model_card(
    run: Run, policy: Path, repository: str | None = None, license: str | None = None
) -> ModelCard:
    """Return the card of the policies in a folder that a run trained.

    Args:
        run: the run.
        policy: folder of the policies.
        repository: name of the repository on the hub, for the commands; None takes the folder's.
        license: name of the license on the hub; None for none.
    """
    team: dict[str, str | None] = read_json(policy / TEAM)
    name = repository or policy.resolve().parent.name
    typed = [text for text in run.overrides or () if not text.lstrip("+").startswith(PRIVATE)]
    settings = {key: value for key, value in run.settings.items() if key not in (*PRIVATE, NAMES)}
    evaluation, figures = run.after or run.before, rows(run)
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
        versions=[laconic.__version__, f"transformers {version('transformers')}"],
        rows=[COLUMNS, ["---"] * len(COLUMNS), *figures] if figures else [],
        played=evaluation.episodes if evaluation else 0,
        command=public(" ".join(["laconic train", *typed])),
        warnings=[public(warning) for warning in run.warnings],
        team=team,
        alone=set(team.values()) == {"."},
        **_loading(policy, repository or policy.name, team),
        evaluation=evaluation_command(run, repository or policy.name),
        silences=_silence_words(run),
        settings=public(OmegaConf.to_yaml(settings)).rstrip(),
    )
    return ModelCard(text)


def base_model(adapter: Path) -> str:
    """Return the base model that `adapter_config.json` names; empty if none."""
    return str(read_json(adapter).get("base_model_name_or_path") or "")


def evaluation_command(run: Run, name: str) -> str:
    """Return the command that evaluates the policies again, with `name` as `agent.model`."""
    typed = list(run.overrides or ())
    agent = [text for text in typed if _is_of(text, "agent")]
    overrides = [*_environment(run.group("env"), typed), *agent]
    sharing = run.group("agent").get("sharing", "shared")
    if sharing != "shared" and f"agent.sharing={sharing}" not in overrides:
        overrides.append(f"agent.sharing={sharing}")
    if run.after is not None and run.after.episodes:
        overrides.append(f"evaluation.tasks={run.after.episodes}")
    return shlex.join(["laconic", "evaluate", *map(public, overrides), f"agent.model={name}"])


def _metadata(run: Run, policy: Path, name: str, license: str | None) -> ModelCardData:
    source = str(run.group("env").get("source", ""))
    learner = run.name("learner")
    bases = sorted(_bases(run, policy))
    judged = run.after is None or "accuracy" in run.after.intervals
    return ModelCardData(
        base_model=bases[0] if len(bases) == 1 else bases or None,
        library_name="peft" if any(policy.rglob(ADAPTER)) else "transformers",
        pipeline_tag="text-generation",
        tags=["laconic", "multi-agent", "reinforcement-learning", *filter(None, [learner])],
        datasets=[source.removeprefix("hub:")] if source.startswith("hub:") else None,
        metrics=["accuracy" if judged else "score"],
        license=license,
        model_name=name,
        eval_results=_results(run),
    )


def _results(run: Run) -> list[EvalResult] | None:
    """Return the figures of the last evaluation; generated tasks do not claim the benchmark."""
    figures = run.after.intervals if run.after else {}
    environment = run.environment or "an environment"
    source = run.group("env").get("source")
    generated = source == "generated"
    tasks = "generated tasks" if generated else public(str(source))
    return [
        EvalResult(
            task_type="text-generation",
            dataset_type=f"laconic-{environment}-generated" if generated else environment,
            dataset_name=f"{environment} ({tasks})" if source else environment,
            metric_type=name,
            metric_value=round(figures[name].mean, 6),
            metric_name=label(name),
        )
        for name in METRICS
        if name in figures
    ] or None


def _members(run: Run) -> list[Mapping[str, Any]]:
    """Return the settings of the agent, and of each member of a mixed team."""
    agent = run.group("agent")
    members = (agent.get("members") or {}).values()
    return [agent, *(member for member in members if isinstance(member, dict))]


def _bases(run: Run, policy: Path) -> set[str]:
    """Return the models on the hub that training started from."""
    models = {str(member["model"]) for member in _members(run) if member.get("model")}
    models |= {base_model(file) for file in policy.rglob(ADAPTER)}
    return {name for name in models if not name.startswith(LOCAL) and not Path(name).exists()}


def _loading(policy: Path, name: str, team: Mapping[str, str | None]) -> dict[str, str]:
    """Return the arguments that load the first saved policy, and the base of an adapter."""
    folder = next((place for place in team.values() if place is not None), ".")
    adapter = policy / folder / ADAPTER
    base = base_model(adapter) if adapter.is_file() else ""
    subfolder = "" if folder == "." else f", subfolder={json.dumps(folder)}"
    public_base = f"<{Path(base).name}>" if base.startswith(LOCAL) else base
    quoted = json.dumps(public_base) if base else ""
    return {"policy": json.dumps(name) + subfolder, "base": quoted}


def _silence_words(run: Run) -> list[str]:
    nodes = [member.get("sampling") or {} for member in _members(run)]
    return sorted({str(node["silence"]) for node in nodes if "silence" in node}) or ["<silence>"]


def _environment(env: Mapping[str, Any], typed: Sequence[str]) -> list[str]:
    """Return the overrides that turn the named environment into that of the run.

    They come from the run's settings, because teams and experiments may also set some.
    """
    file = CONF / "env" / f"{env.get('name')}.yaml"
    if not file.is_file():
        return [text for text in typed if _is_of(text, "env")]
    usual, own = flatten(_with_base(file), "env"), flatten(dict(env), "env")
    overrides = [f"env={env['name']}"]
    for key in dict.fromkeys((*usual, *own)):
        if key not in own:
            overrides.append(f"~{key}")
        elif key not in usual:
            overrides.append(f"+{key}={_as_override(own[key])}")
        elif usual[key] != own[key]:
            overrides.append(f"{key}={_as_override(own[key])}")
    return overrides


def _with_base(path: Path) -> dict[str, Any]:
    """Read a YAML file merged with those that it inherits (`base/dialogue@_here_`)."""
    settings = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(path)))
    names = [name for name in settings.pop("defaults", ()) if name != "_self_"]
    parents = [_with_base(path.parent / f"{name.removesuffix('@_here_')}.yaml") for name in names]
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.merge(*parents, settings)))


def _as_override(value: Any) -> str:
    """Return a value in the grammar of overrides."""
    if isinstance(value, list):
        return f"[{','.join(map(_as_override, value))}]"
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return value if re.fullmatch(r"[\w./:-]+", str(value)) else json.dumps(value)


def _is_of(override: str, group: str) -> bool:
    key = override.lstrip("+~").partition("=")[0]
    return key.startswith(group) and not key.startswith(NOT_OF_THE_POLICY)
