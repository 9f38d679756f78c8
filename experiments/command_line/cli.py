"""How every program starts: Hydra's command line, short words for mistakes, an orderly way out.

`@program("train")` makes a function of the composed configuration a Hydra program whose choices
lie in `conf/`, from any working folder. What a user did wrong is said in one message without a
traceback (`LACONIC_TRACEBACK=1` or `HYDRA_FULL_ERROR=1` brings it back); a fault of the program
keeps its own.

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
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import sweeping
from laconic.experiments.command_line.mistakes import (
    compose_keys,
    describe,
    describe_folder,
)
from laconic.experiments.command_line.own_environments import offer_environments
from laconic.experiments.command_line.programs import CONFIG_GROUP, config_folders
from laconic.experiments.command_line.resuming import spell_out
from laconic.experiments.command_line.say import complain
from laconic.experiments.command_line.surroundings import find_problem
from laconic.experiments.command_line.targets import settle
from laconic.experiments.running import lock, new_folder
from laconic.experiments.running.interrupt import received
from laconic.learners.distributed import launcher

CONF = Path(__file__).resolve().parents[2] / "conf"
"""Folder of the choices, beside the package both in a clone and when installed."""
_VALUED = {"--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn"}
_VALUED |= {"--config-dir", "-cd", "--experimental-rerun"}
"""Flags of Hydra that a value follows."""
_INFO = {"--info", "-i"}
_TOPICS = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
"""What the flag `--info` may show."""
LAUNCH = Path(__file__).resolve().parents[1] / "launch"
"""Folder of accelerate's settings, in the package."""


class RegisteredFolders(SearchPathPlugin):
    """Adds folders of configurations that packages register, after that of the program."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folders."""
        for folder in config_folders():
            search_path.append(CONFIG_GROUP, f"file://{folder}")


Plugins.instance().register(RegisteredFolders)


def program(
    config_name: str, config_path: str | Path = CONF, *, several: bool = False
) -> Callable[[Callable[[DictConfig], Any]], Callable[..., Any]]:
    """Make `main(cfg)` a program with Hydra's command line.

    Args:
        config_name: the primary config, a yaml in `config_path`.
        config_path: folder of the choices.
        several: whether it can be run by several processes together (`accelerate launch`).

    Returns:
        A decorator. The decorated function reads the command line and exits when called without
        arguments, and is the plain function when called with a configuration.
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
    """Run under Hydra; every way out but success is an exit with a code."""
    received.clear()
    asked = ("LACONIC_TRACEBACK", "HYDRA_FULL_ERROR")
    with_traceback = any(os.environ.get(name) == "1" for name in asked)
    sweeping.forget(with_traceback)
    if problem := find_problem():
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
        # The main process leaves what Hydra writes into a run folder, and it alone speaks.
        sys.argv += ["hydra.output_subdir=null", "hydra/job_logging=none"]
        sys.stdout = open(os.devnull, "w")
    launch = hydra.main(version_base="1.3", config_path=config_path, config_name=config_name)
    try:
        sys.argv[1:] = flags_last(spell_out(sys.argv[1:], config_name))
        offer_environments(sys.argv[1:], CONF)
        with _errors_raised():
            launch(_job(main, with_traceback))()
    except KeyboardInterrupt:
        _tell_failures()
        _say("interrupted")
        sys.exit(128 + (received[-1] if received else signal.SIGINT))
    except BrokenPipeError:
        # Whoever read what Hydra prints (`--help | head`) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        failed = _tell_failures()
        if with_traceback:
            raise
        message = describe_folder(error) or describe(
            error, lambda: compose_keys(config_name, config_path, sys.argv[1:])
        )
        if message is None or failed:
            # No job raises in a sweep; this is its launcher or its sweeper.
            message = sweeping.end_of(error)
        if message is None:
            raise
        _say(f"error: {message}")
        # A plain ValueError is Hydra's own, of flags that exclude each other.
        sys.exit(2 if isinstance(error, HydraException) or type(error) is ValueError else 1)
    finally:
        lock.release()
    if _tell_failures():
        sys.exit(1)


def flags_last(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with Hydra's flags after the overrides, because it reads no others."""
    overrides: list[str] = []
    flags: list[str] = []
    rest = iter(arguments)
    for one in rest:
        if not one.startswith("-"):
            overrides.append(one)
            continue
        flags.append(one)
        if one in _VALUED and (value := next(rest, None)) is not None:
            flags.append(value)
    # What `--info` shows may be named after it, and then it is no override.
    topics = [one for one in overrides if one in _TOPICS] if _INFO & set(flags) else []
    for topic in topics[:1]:
        overrides.remove(topic)
        flags.insert(next(i for i, one in enumerate(flags) if one in _INFO) + 1, topic)
    return overrides + flags


def _job(main: Callable[[DictConfig], Any], with_traceback: bool) -> Callable[[DictConfig], Any]:
    """The task Hydra runs, once or once per job of a sweep."""

    # A launcher pickles this function by value, and with it all globals that it names; those of
    # `_play` stay those of this module, in whichever process it runs.
    @functools.wraps(main)
    def job(cfg: DictConfig) -> Any:
        return _play(main, cfg, with_traceback)

    return job


def _play(main: Callable[[DictConfig], Any], cfg: DictConfig, with_traceback: bool) -> Any:
    """Run one job; in a sweep its failure is written down, and the other jobs go on."""
    sweep = HydraConfig.get().mode == RunMode.MULTIRUN
    overrides = HydraConfig.get().overrides.task
    folder = Path(HydraConfig.get().runtime.output_dir)
    if sweep:
        sweeping.remember(HydraConfig.get())
    # Where another process is at work nothing is written, not even that this job failed.
    taken = launcher.rank() == 0 and lock.hold(folder)
    try:
        sweeping.unmark(folder)
        _check_resume(cfg, sweep)
        _check_processes(sweep)
        if sweep:
            # A run by itself was checked before it had a folder.
            sweeping.check(cfg, str(HydraConfig.get().job.config_name), overrides)
        notes = settle(cfg, overrides)
        for note in notes if launcher.rank() == 0 else ():
            _say(note)
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
        if taken:
            lock.release(folder)
    if received:
        # Ctrl-C has ended this job in good order; a sweep must not go on with its next one.
        raise KeyboardInterrupt
    return sweeping.objective(result) if sweep else result


def _removed(folder: Path) -> bool:
    """Remove the folder of a run that has no rows yet; return whether it is gone."""
    lock.release(folder)
    return launcher.rank() == 0 and new_folder.remove(folder)


def _tell_failures() -> bool:
    """Say which jobs of a sweep failed; whether there are any."""
    failed = sweeping.failures()
    if failed:
        lines = "".join(f"\n  {one}" for one in failed)
        _say(f"error: {len(failed)} of the jobs failed ({sweeping.ERROR} tells more):{lines}")
    return bool(failed)


def _check_resume(cfg: DictConfig, sweep: bool) -> None:
    """A folder named after the present time cannot hold the run that is to be resumed."""
    part = "sweep" if sweep else "run"
    written = OmegaConf.to_yaml(getattr(HydraConfig.get(), part), resolve=False)
    if cfg.get("resume") and "${now:" in written:
        raise SettingError(
            f"resume=true needs the folder of the {part} to go on with; pass"
            f" hydra.{part}.dir=<folder>"
            + ("; resume=<folder> needs no other setting" if part == "run" else "")
        )


def _check_processes(sweep: bool) -> None:
    """Several processes play one run together; a sweep has one after the other."""
    if sweep and launcher.started() > 1:
        raise SettingError(
            "-m sweeps in one process, and several run here; start each run of the sweep with its"
            " own accelerate launch, or the sweep without (docs/scaling.md)"
        )


@contextmanager
def _errors_raised() -> Iterator[None]:
    """Have Hydra raise what it would otherwise print in its own way."""
    before = os.environ.get("HYDRA_FULL_ERROR")
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = before


def _say(message: str) -> None:
    who = f"process {launcher.rank()}: " if launcher.rank() else ""
    complain(f"{who}{message}")
