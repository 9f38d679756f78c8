"""Run a program under Hydra: read the command line, describe mistakes, end with an exit code.

`@program("train")` turns a function of the composed configuration into a Hydra program. Its configs
are in `conf/`, independent of the working folder. A mistake of the user is reported in one line
(`LACONIC_TRACEBACK=1` or `HYDRA_FULL_ERROR=1` shows the traceback). A fault of the program keeps
its traceback.

Exit codes: 0 done, 1 failed, 2 wrong command line, and 128 more than the number of the signal that
interrupted it: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP.
"""

from __future__ import annotations

import functools
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import lock, new_folder, sweeping
from laconic.experiments.command_line.arguments import check_style, expand_home
from laconic.experiments.command_line.echo import echo, echo_error
from laconic.experiments.command_line.interrupt import received
from laconic.experiments.command_line.meanings import asked_keys, describe_keys
from laconic.experiments.command_line.mistakes import (
    compose_keys,
    describe,
    describe_folder,
    existing_key,
)
from laconic.experiments.command_line.own_environments import offer_environments
from laconic.experiments.command_line.resuming import flags_of, spell_out
from laconic.experiments.command_line.surroundings import preflight, replace_unprintable
from laconic.experiments.command_line.targets import finalize_config
from laconic.experiments.command_line.tree import CONF, allow_unlisted, check_values, record_of
from laconic.learners.agents.first_encoding import panics_raised
from laconic.learners.commands import repeat_flags
from laconic.learners.distributed import launcher

_VALUED = {"--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn"}
_VALUED |= {"--config-dir", "-cd", "--experimental-rerun"}
"""Flags of Hydra that take a value."""
_HELP = {"--help", "-h"}
_INFO = {"--info", "-i"}
_TOPICS = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
"""Values of the flag `--info`."""
LAUNCH = Path(__file__).resolve().parents[1] / "launch"
"""Folder of accelerate's settings, in the package."""


def program(
    config_name: str, config_path: str | Path = CONF, *, several: bool = False
) -> Callable[[Callable[[DictConfig], Any]], Callable[..., Any]]:
    """Make `main(cfg)` a program with Hydra's command line.

    Args:
        config_name: name of the primary config, a YAML file in `config_path`.
        config_path: folder of the configs.
        several: True if several processes can run it together (`accelerate launch`).

    Returns:
        A decorator. Without arguments the decorated function reads the command line and exits;
        with a configuration it is the plain function.
    """

    def decorate(main: Callable[[DictConfig], Any]) -> Callable[..., Any]:
        @functools.wraps(main)
        def entry(cfg: DictConfig | None = None) -> Any:
            if cfg is not None:
                return main(cfg)
            return _run(main, config_name, str(config_path), several)

        return entry

    return decorate


def _run(
    main: Callable[[DictConfig], Any], config_name: str, config_path: str, several: bool
) -> None:
    """Run under Hydra; exit with a code unless the program succeeds."""
    replace_unprintable()
    received.clear()
    variables = ("LACONIC_TRACEBACK", "HYDRA_FULL_ERROR")
    with_traceback = any(os.environ.get(name) == "1" for name in variables)
    sweeping.forget(with_traceback)
    if problem := preflight():
        _say(f"error: {problem}")
        sys.exit(1)
    if launcher.started() > 1 and not several:
        _say("error: this program runs in one process; start it without accelerate launch")
        sys.exit(1)
    if several and launcher.left_alone():
        _say(
            "note: accelerate launch has started one process; without GPUs it starts several with"
            f" --config_file {shlex.quote(str(LAUNCH / 'cpu.yaml'))} (docs/scaling.md)"
        )
    if launcher.rank() > 0:
        # Only the main process prints, and only its Hydra writes into the run folder.
        sys.argv += ["hydra.output_subdir=null", "hydra/job_logging=none"]
        sys.stdout = open(os.devnull, "w", encoding="utf-8")

    def known_keys() -> set[str]:
        return compose_keys(config_name, config_path, sys.argv[1:])

    launch = hydra.main(version_base="1.3", config_path=config_path, config_name=config_name)
    try:
        typed = expand_home(sys.argv[1:])
        if not _HELP.isdisjoint(typed):
            typed = flags_last(typed)
            if keys := asked_keys(typed):
                offer_environments(typed, CONF)
                echo(describe_keys(config_name, config_path, typed, keys))
                return
            # First, because Hydra exits after its own text.
            echo(f"`laconic {config_name.replace('_', '-')} --help <key>` explains a setting.\n")
        flags = get_args_parser()._option_string_actions
        check_style(config_name, typed, flags, lambda key: existing_key(key, known_keys()))
        arguments = flags_last(spell_out(typed, config_name))
        offer_environments(arguments, CONF)
        sys.argv[1:] = allow_unlisted(arguments, config_name, config_path)
        with _errors_raised(), _settled_shown():
            launch(_job(main, with_traceback))()
    except KeyboardInterrupt:
        _report_failures()
        _say("interrupted")
        sys.exit(128 + (received[-1] if received else signal.SIGINT))
    except BrokenPipeError:
        # The reader of Hydra's output closed the pipe (`--help | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        failed = _report_failures()
        if with_traceback:
            raise
        message = describe_folder(error) or describe(error, known_keys)
        if message is None or failed:
            # The jobs of a sweep never raise, so its launcher or sweeper did.
            message = sweeping.describe_end(error)
        if message is None:
            raise
        _say(f"error: {message}")
        # Hydra raises a plain ValueError for flags that exclude each other.
        sys.exit(2 if isinstance(error, HydraException) or type(error) is ValueError else 1)
    finally:
        lock.release()
    if _report_failures():
        sys.exit(1)


def flags_last(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with Hydra's flags after the overrides, where Hydra reads them."""
    overrides: list[str] = []
    flags: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            overrides.append(argument)
            continue
        flags.append(argument)
        if argument in _VALUED and (value := next(rest, None)) is not None:
            flags.append(value)
    # The topic of `--info` is optional, so it looks like an override.
    topics = [text for text in overrides if text in _TOPICS] if _INFO & set(flags) else []
    for topic in topics[:1]:
        overrides.remove(topic)
        flags.insert(next(i for i, flag in enumerate(flags) if flag in _INFO) + 1, topic)
    return overrides + flags


def _job(main: Callable[[DictConfig], Any], with_traceback: bool) -> Callable[[DictConfig], Any]:
    """Return the function that Hydra calls, once per job of a sweep."""

    # A launcher pickles this function by value, with all its globals. `_play` is pickled by
    # name, so its globals are those of this module in every process.
    @functools.wraps(main)
    def job(cfg: DictConfig) -> Any:
        return _play(main, cfg, with_traceback)

    return job


def _play(main: Callable[[DictConfig], Any], cfg: DictConfig, with_traceback: bool) -> Any:
    """Run one job; in a sweep, record its failure and let the other jobs run."""
    # A launcher may start this job in a process of its own.
    replace_unprintable()
    repeat_flags(flags_of(HydraConfig.get()))
    sweep = HydraConfig.get().mode == RunMode.MULTIRUN
    overrides = HydraConfig.get().overrides.task
    folder = Path(HydraConfig.get().runtime.output_dir)
    if sweep:
        sweeping.remember(HydraConfig.get())
    # Raises if another process holds the folder, before this job writes there.
    locked = launcher.rank() == 0 and lock.hold(folder)
    try:
        sweeping.unmark(folder)
        _check_resume(cfg, sweep)
        _check_processes(sweep)
        if sweep:
            # A single run was checked before its folder was made.
            sweeping.check(cfg, str(HydraConfig.get().job.config_name), overrides)
        notes = finalize_config(cfg, overrides)
        check_values(cfg, record_of(str(HydraConfig.get().job.config_name)))
        for note in notes if launcher.rank() == 0 else ():
            _say(note)
        with panics_raised():
            result = main(cfg)
    except Exception as error:
        message = None if with_traceback else describe(error)
        if message is None or sweep or not _removed(folder):
            with suppress(OSError):
                sweeping.mark(folder, message or "".join(traceback.format_exception(error)))
        if sweep:
            if message is None:
                traceback.print_exception(error)
            _say(f"error: job {' '.join(overrides)} failed: {message or repr(error)}")
            return None
        if message is not None:
            _say(f"error: {message}")
            raise SystemExit(1) from error
        raise
    finally:
        if locked:
            lock.release(folder)
    if received:
        # After Ctrl-C a sweep must not start the next job.
        raise KeyboardInterrupt
    return sweeping.sweeper_value(result) if sweep else result


def _removed(folder: Path) -> bool:
    """Remove the folder of a run that has no rows yet; return whether it is gone."""
    lock.release(folder)
    return launcher.rank() == 0 and new_folder.remove(folder)


def _report_failures() -> bool:
    """Print the failed jobs of a sweep; return whether there are any."""
    failures = sweeping.failures()
    if failures:
        lines = "".join(f"\n  {failure}" for failure in failures)
        _say(f"error: {len(failures)} of the jobs failed (see {sweeping.ERROR}):{lines}")
    return bool(failures)


def _check_resume(cfg: DictConfig, sweep: bool) -> None:
    """Refuse to resume a run in a folder named after the present time, which is a new folder."""
    part = "sweep" if sweep else "run"
    text = OmegaConf.to_yaml(getattr(HydraConfig.get(), part), resolve=False)
    if cfg.get("resume") and "${now:" in text:
        raise SettingError(
            f"resume=true needs the folder of the {part} to continue; pass"
            f" hydra.{part}.dir=<folder>"
            + ("; resume=<folder> needs no other setting" if part == "run" else "")
        )


def _check_processes(sweep: bool) -> None:
    """Refuse a sweep in several processes, which run one training together."""
    if sweep and launcher.started() > 1:
        raise SettingError(
            "-m sweeps in one process; got several. Start each run of the sweep with its own"
            " accelerate launch, or the sweep without (docs/scaling.md)"
        )


@contextmanager
def _errors_raised() -> Iterator[None]:
    """Make Hydra raise its errors instead of printing them."""
    before = os.environ.get("HYDRA_FULL_ERROR")
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = before


@contextmanager
def _settled_shown() -> Iterator[None]:
    """Make `--cfg job` and `--help` show what a run applies, not only what Hydra composed."""
    # Hydra 1.3 has no callback between composing and printing.
    composed = Hydra.get_sanitized_cfg

    def settled(app: Hydra, cfg: DictConfig, cfg_type: str) -> DictConfig:
        overrides = list(cfg.hydra.overrides.task)
        shown = composed(app, cfg, cfg_type)
        try:
            if cfg_type == "job":
                finalize_config(shown, overrides)
        except Exception as error:
            # The keys of agent=hf are of use before there is a model.
            if (message := describe(error)) is None:
                raise
            _say(f"note: these settings do not run: {message}")
        return shown

    Hydra.get_sanitized_cfg = settled  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Hydra.get_sanitized_cfg = composed  # type: ignore[method-assign]


def _say(message: str) -> None:
    who = f"process {launcher.rank()}: " if launcher.rank() else ""
    echo_error(f"{who}{message}")
