"""The part of a model card that says how policies are loaded, by stock libraries and by ours."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf

from laconic.experiments.command_line.cli import CONF
from laconic.experiments.reporting.records import Run
from laconic.experiments.running.run_folder import flatten

LEFT_OUT = ("agent.model", "agent.optimizer", "agent.lora.base")
"""Settings of a training that are not those of its policies."""
_PATH = re.compile(r"(?<![\w.:/}>])(?:~|\.{1,2})?(?:/[\w.+-]+)+/?")


def public(text: str) -> str:
    """A text in which every path of this machine is its last part, in angle brackets."""
    homeless = text.replace(str(Path.home()), "~")
    return _PATH.sub(lambda found: f"<{Path(found[0]).name}>", homeless)


def loading(
    run: Run,
    config: Mapping[str, Any],
    team: Mapping[str, str | None],
    policy: Path,
    repository: str | None,
) -> str:
    """How they are loaded, who speaks with which, and how an agent says nothing.

    Args:
        run: what trained them.
        config: its settings.
        team: agent -> folder of its policy; None for one that is not here.
        policy: the folder they lie in.
        repository: their name on the hub; None names the folder.
    """
    name = repository or policy.name
    folder = next((one for one in team.values() if one is not None), ".")
    adapter = (policy / folder / "adapter_config.json").is_file()
    code = _adapter(policy / folder, name, folder) if adapter else _model(name, folder)
    return (
        f"## Loading\n\n{_speakers(team)}\n\n```python\n{code}\n```\n\nAs a team, with the figures"
        f" above:\n\n```sh\n{evaluation(run, config, name)}\n```\n\n{_silence(config)}"
    )


def evaluation(run: Run, config: Mapping[str, Any], name: str) -> str:
    """The command that measures the policies again.

    Args:
        run: what trained them.
        config: its settings.
        name: what `agent.model` is to be.
    """
    given = list(run.overrides or ())
    kept = [*_environment(config, given), *(one for one in given if _is_of(one, "agent"))]
    sharing = (config.get("agent") or {}).get("sharing", "shared")
    if sharing != "shared" and f"agent.sharing={sharing}" not in kept:
        kept.append(f"agent.sharing={sharing}")
    if run.after is not None and run.after.episodes:
        kept.append(f"evaluation.tasks={run.after.episodes}")
    shown = map(public, kept)
    return shlex.join(["laconic", "evaluate", *shown, f"agent.model={name}"])


def _environment(config: Mapping[str, Any], given: Sequence[str]) -> list[str]:
    """The overrides that make the run's environment of the one its name stands for.

    They are read from its settings, because learners and experiments may set some of them too.
    """
    env = config.get("env") or {}
    plain = CONF / "env" / f"{env.get('name')}.yaml"
    if not plain.is_file():
        return [one for one in given if _is_of(one, "env")]
    usual = flatten(_with_base(plain), "env")
    own = flatten(dict(env), "env")
    made = [f"env={env['name']}"]
    for key in dict.fromkeys((*usual, *own)):
        if key not in own:
            made.append(f"~{key}")
        elif key not in usual:
            made.append(f"+{key}={_written(own[key])}")
        elif usual[key] != own[key] and (not _follows(usual[key]) or _is_set(key, given)):
            made.append(f"{key}={_written(own[key])}")
    return made


def _follows(value: Any) -> bool:
    """Whether a setting follows another one, which the team brings along."""
    return str(value).startswith("${")


def _is_set(key: str, given: Sequence[str]) -> bool:
    return any(one.lstrip("+").startswith(f"{key}=") for one in given)


def _with_base(path: Path) -> dict[str, Any]:
    """A yaml with what it inherits in its own place (`base/dialogue@_here_`)."""
    said = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(path)))
    parents = [one.removesuffix("@_here_") for one in said.pop("defaults", ()) if one != "_self_"]
    inherited = [_with_base(path.parent / f"{parent}.yaml") for parent in parents]
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.merge(*inherited, said)))


def _written(value: Any) -> str:
    """A value in the grammar of overrides."""
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return value if re.fullmatch(r"[\w./:-]+", str(value)) else json.dumps(value)


def _is_of(override: str, group: str) -> bool:
    key = override.lstrip("+~").partition("=")[0]
    return key.startswith(group) and not key.startswith(LEFT_OUT)


def _model(name: str, folder: str) -> str:
    place = "" if folder == "." else f', subfolder="{folder}"'
    return (
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        f'model = AutoModelForCausalLM.from_pretrained("{name}"{place})\n'
        f'tokenizer = AutoTokenizer.from_pretrained("{name}"{place})'
    )


def _adapter(path: Path, name: str, folder: str) -> str:
    base = json.loads((path / "adapter_config.json").read_text("utf-8"))
    named = str(base.get("base_model_name_or_path"))
    shown = f"<{Path(named).name}>" if named.startswith((".", "/", "~")) else named
    place = "" if folder == "." else f', subfolder="{folder}"'
    return (
        "from peft import PeftModel\n"
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        f'base = AutoModelForCausalLM.from_pretrained("{shown}")\n'
        f'model = PeftModel.from_pretrained(base, "{name}"{place})\n'
        f'tokenizer = AutoTokenizer.from_pretrained("{name}"{place})'
    )


def _speakers(team: Mapping[str, str | None]) -> str:
    where = {".": "here", None: "not here: frozen, or without weights"}
    if set(team.values()) == {"."}:
        return f"One policy speaks for {', '.join(team)}."
    rows = [f"| `{one}` | {where.get(at) or f'`{at}/`'} |" for one, at in team.items()]
    return "\n".join(["| agent | policy |", "|---|---|", *rows])


def _silence(config: Mapping[str, Any]) -> str:
    agent = config.get("agent") or {}
    members = [one for one in (agent.get("members") or {}).values() if isinstance(one, dict)]
    speeches = [one.get("speech") or {} for one in (agent, *members)]
    spoken = {str(one["silence"]) for one in speeches if "silence" in one} or {"<silence>"}
    words = " or ".join(f"`{one}`" for one in sorted(spoken))
    form = (config.get("env") or {}).get("instructions")
    read = f" They read first observations of the form `{form}`." if form else ""
    return (
        f"A reply that begins with {words} says nothing, and is published to nobody. What an agent"
        " reads is the user's turn, what it says the assistant's, in the tokenizer's chat template"
        f" if it has one.{read}"
    )
