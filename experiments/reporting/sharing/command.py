"""The command on a model card that measures its policies again, on any machine."""

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


def evaluation(run: Run, name: str) -> str:
    """The command that measures the policies again; `name` is what `agent.model` is to be."""
    given = list(run.overrides or ())
    kept = [*_environment(run.group("env"), given), *(one for one in given if _is_of(one, "agent"))]
    sharing = run.group("agent").get("sharing", "shared")
    if sharing != "shared" and f"agent.sharing={sharing}" not in kept:
        kept.append(f"agent.sharing={sharing}")
    if run.after is not None and run.after.episodes:
        kept.append(f"evaluation.tasks={run.after.episodes}")
    shown = map(public, kept)
    return shlex.join(["laconic", "evaluate", *shown, f"agent.model={name}"])


def _environment(env: Mapping[str, Any], given: Sequence[str]) -> list[str]:
    """The overrides that make the run's environment of the one its name stands for.

    They are read from its settings, because learners and experiments may set some of them too.
    """
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
