"""Train from Python with `laconic.train(...)` and `laconic.compose(...)`, and open runs with `Run`.

Configuration, checks and run folder are the same as on the command line: `laconic train env=math
train.steps=20` and `laconic.train(env="math", steps=20)` start the same training.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import lock, new_folder, programs
from laconic.experiments.command_line.arguments import expand_home
from laconic.experiments.command_line.mistakes import compose_keys, describe
from laconic.experiments.command_line.own_environments import offer_environments
from laconic.experiments.command_line.surroundings import preflight, replace_unprintable
from laconic.experiments.command_line.sweeping import check
from laconic.experiments.command_line.targets import finalize_config
from laconic.experiments.command_line.tree import CONF, allow_unlisted
from laconic.experiments.command_line.trust import GROUPS, check_settings
from laconic.experiments.run_folder.folder import read_rows
from laconic.experiments.run_folder.foreign import read_config
from laconic.experiments.run_folder.records import Transcript
from laconic.experiments.run_folder.runs import is_run, read_run
from laconic.experiments.session import setup
from laconic.experiments.session.evaluation import evaluation_starts, transcript
from laconic.experiments.session.splits import tasks_of
from laconic.learners.agents.first_encoding import panics_raised
from laconic.learners.commands import quoted
from laconic.learners.rollout.play import Start
from laconic.learners.rollout.play import play as play_episodes

if TYPE_CHECKING:
    from pandas import DataFrame


_SHELL = (
    (r"a new key is added with '(\+[^']+)'", r'a new key is given as text: "\1"'),
    (r"(?<![\w\"'])(\+[\w.@/]+=<value>)", r'"\1"'),
    (r"hydra\.run\.dir=<folder>( \(hydra\.sweep\.dir for a sweep\))?", "folder=<folder>"),
    (r"\bresume=true\b", "resume=True"),
    (r" \(LACONIC_TRACEBACK=1 shows where\)", ""),
)
"""Patterns of shell syntax in messages -> the Python syntax that replaces it."""


def train(*overrides: str, folder: str | Path | None = None, **settings: Any) -> Run:
    """Train a team, as `laconic train` does.

    Args:
        *overrides: settings as they are typed on the command line (`"env.reward.price=0.25"`).
        folder: run folder; None makes one below `outputs/`. One with a run in it needs
            `resume=True`.
        **settings: groups (`env="math"`), keys (`seed=1`; those of `train` without that name:
            `steps=20`), mappings (`env={"rounds": 3}`), and classes of your own (`learner=Mine`).

    Returns:
        The run, also if it was interrupted.

    Raises:
        SettingError: a setting does not exist or is out of its range.
    """
    if problem := preflight():
        raise SettingError(problem)
    for override in overrides:
        key, _, value = override.partition("=")
        if key == "resume" and value.lower() not in ("", "true", "false"):
            raise SettingError(
                f"resume takes true or false in Python; got {value!r}. To go on with the run there:"
                f" laconic.train(folder={value!r}, resume=True, ...)"
            )
    from laconic.experiments.train import main

    replace_unprintable()
    accepted = expand_home([*overrides, *spelled(settings)])
    path = Path(folder or f"outputs/{time.strftime('%Y-%m-%d/%H-%M-%S')}-{time.time_ns() % 10**6}")
    path = path.expanduser()
    with _errors_in_python(), _hydra_job("train", accepted, path.absolute()) as cfg:
        try:
            with panics_raised():
                main(cfg)
        except KeyboardInterrupt:
            print("interrupted")
    return Run(path.absolute(), trusted=True)


def compose(*overrides: str, program: str = "train", **settings: Any) -> DictConfig:
    """Compose the configuration of a program; `train` takes the same settings.

    Raises:
        SettingError: a setting does not exist.
    """
    accepted = expand_home([*overrides, *spelled(settings)])
    return _composed(program, accepted, whole=False)


@dataclass(frozen=True)
class Run:
    """A training read from its folder; `Run(path)` opens any run folder."""

    folder: Path
    """Run folder."""
    trusted: bool = False
    """True to let `play` build classes of other packages that the folder names."""

    def __post_init__(self) -> None:
        """Find the folder, and check that it holds a run.

        Raises:
            SettingError: it holds none.
        """
        object.__setattr__(self, "folder", Path(self.folder).expanduser())
        if not is_run(self.folder):
            raise SettingError(
                f"Run({str(self.folder)!r}): there is no run; expected the folder of a training,"
                " with config.yaml in it"
            )

    @property
    def state(self) -> str:
        """State of the run: `finished`, or a few words on its progress."""
        return read_run(Path(self.folder)).state

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of `metrics.jsonl`, one per step."""
        return read_rows(Path(self.folder) / "metrics.jsonl")

    def metrics(self) -> DataFrame:
        """Return the metrics as a table with one row per step.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError(
                "metrics() needs pandas: pip install pandas; or take .rows"
            ) from error
        return DataFrame(self.rows).set_index("step")

    @property
    def transcripts(self) -> list[Transcript]:
        """Recorded episodes of the evaluations, in the order of the steps."""
        return list(read_run(Path(self.folder)).transcripts)

    def report(self) -> Path:
        """Write the page of the run, print its figures, and return the path of the page.

        Raises:
            SettingError: no installed package has the program `report`.
        """
        program = programs.find("report")
        if program is None:
            raise SettingError("report() needs the program `report`; install laconic-marl again")
        written: Path = import_module(program.module).write_report(self.folder, Console())
        return written

    def play(
        self, task: str | None = None, *, seed: int = 0, split: str = "evaluation", **env: Any
    ) -> Transcript:
        """Play one episode greedily with the trained team; `print` shows it.

        Args:
            task: key of a task; None takes the first.
            seed: seed of the environment.
            split: part of the source, `evaluation` or `train`.
            **env: settings of the environment that replace those of the run.

        Raises:
            SettingError: the folder names a class of another package, and is not `trusted`.
        """
        plain = read_config(Path(self.folder))
        settings = {group: dict(plain.get(group) or {}) for group in GROUPS}
        settings["env"] = {
            name: value for name, value in settings["env"].items() if name not in env
        }
        for group in () if self.trusted else GROUPS:
            advice = "Run(folder, trusted=True) allows it"
            check_settings(settings[group], group, str(self.folder), say=advice)
        cfg = OmegaConf.create(settings)
        cfg.agent.model = str(self.folder)
        cfg.env.update(env)
        with _errors_in_python():
            team = setup.make_team(cfg)
            environments = setup.make_environments(cfg, 1, split, team)
        start = Start(seed, task) if task else evaluation_starts(environments, 1)[0]
        policies = team.policies(environments[0])
        (episode,) = play_episodes(environments, policies, [start], seed=seed, greedy=True)
        last = int(self.rows[-1]["step"]) if self.rows else 0
        return transcript(episode, tasks_of(environments[0]).get(episode.task), last)


def spelled(settings: Mapping[str, Any]) -> list[str]:
    """Convert Python settings to overrides of the command line.

    Raises:
        SettingError: an override cannot hold a value of this type.
    """
    overrides = []
    for name, value in settings.items():
        key = f"train.{name}" if name in _train_keys() else name
        if isinstance(value, Mapping):
            overrides += spelled({f"{key}.{inner}": setting for inner, setting in value.items()})
        elif callable(value) and hasattr(value, "__qualname__"):
            overrides.append(f"{key}._target_={value.__module__}.{value.__qualname__}")
        else:
            overrides.append(f"{key}={_text(key, value)}")
    return overrides


def _train_keys() -> frozenset[str]:
    return frozenset(map(str, OmegaConf.load(CONF / "train.yaml").train))


def _text(key: str, value: Any) -> str:
    """Write a value in the syntax of Hydra's command line."""
    if hasattr(value, "tolist"):
        # Numbers and arrays of numpy, tensors and columns of tables hold plain values.
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, str | Path):
        return quoted(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(_text(key, item) for item in value)}]"
    raise SettingError(
        f"{key} must be text, a number, a list, a mapping, a class or a function; got {value!r}"
    )


def _composed(program: str, overrides: list[str], *, whole: bool) -> DictConfig:
    """Compose a configuration; `whole` adds the part of Hydra."""
    GlobalHydra.instance().clear()
    offer_environments(overrides, CONF)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            accepted = allow_unlisted(overrides, program)
            return hydra_compose(program, overrides=accepted, return_hydra_config=whole)
        except HydraException as error:
            message = describe(error, lambda: compose_keys(program, str(CONF), overrides))
            raise SettingError(in_python(message or str(error))) from error


def in_python(message: str) -> str:
    """Translate a message of the command line to Python.

    A new key becomes a text argument, the run folder `folder`, and true `True`.
    """
    for pattern, words in _SHELL:
        message = re.sub(pattern, words, message)
    return message


@contextmanager
def _errors_in_python() -> Iterator[None]:
    """Replace Hydra's errors by `SettingError`, with the messages translated to Python."""
    try:
        yield
    except HydraException as error:
        raise SettingError(in_python(describe(error) or str(error))) from error
    except SettingError as error:
        if (message := in_python(str(error))) == str(error):
            raise
        raise SettingError(message) from error


@contextmanager
def _hydra_job(program: str, overrides: list[str], folder: Path) -> Iterator[DictConfig]:
    """Compose, lock and prepare the run folder, and register the job with Hydra while it runs."""
    cfg = _composed(program, [*overrides, f"hydra.run.dir={quoted(folder)}"], whole=True)
    with open_dict(cfg):
        cfg.hydra.job.name, cfg.hydra.runtime.output_dir = program, str(folder)
        cfg.hydra.runtime.cwd = str(Path.cwd())
    before = HydraConfig.instance().cfg
    with initialize_config_dir(str(CONF), version_base="1.3"):
        check(cfg, program, overrides)
    new_folder.expect(folder)
    lock.hold(folder)
    try:
        HydraConfig.instance().set_config(cfg)
        _save_hydra(folder / ".hydra", cfg, overrides)
        with open_dict(cfg):
            del cfg["hydra"]
        # Without ours, it would look for presets in the folders of a caller's own Hydra.
        with initialize_config_dir(str(CONF), version_base="1.3"):
            notes = finalize_config(cfg, overrides)
        for note in notes:
            print(note)
        yield cfg
    except (SettingError, HydraException):
        lock.release(folder)
        new_folder.remove(folder)
        raise
    finally:
        HydraConfig.instance().cfg = before
        lock.release(folder)


def _save_hydra(folder: Path, cfg: DictConfig, overrides: list[str]) -> None:
    """Write the files that Hydra writes to a run folder; reports and resuming read them."""
    folder.mkdir(exist_ok=True)
    OmegaConf.save(OmegaConf.create(overrides), folder / "overrides.yaml")
    OmegaConf.save(OmegaConf.create({"hydra": cfg.hydra}), folder / "hydra.yaml")
