"""Train learners on a named set of environments, and report them.

    laconic benchmark learner=gspo,grpo seeds=0
    laconic benchmark benchmark=core learner=grpo name=wide learner.objective.epsilon_high=0.4
    laconic benchmark report outputs/benchmark/mini_v1 theirs.json

Settings of learner, optimizer, logger, threads and hydra are passed to `laconic train`, as is
`--config-dir`; the set fixes all others. `name` is the method's name in the table, needed where
settings of a learner are typed. Launchers work (`hydra/launcher=joblib`). The same command goes on
where it was stopped: finished runs stay, others resume.

`report` writes table.md, benchmark.html, benchmark.png, results.json (marl-eval's layout) and
benchmark.json, which others can add to their tables. It is called at the end as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import MissingConfigException
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import lock
from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.echo import echo
from laconic.experiments.command_line.mistakes import compose_keys, describe
from laconic.experiments.command_line.own_environments import offer_environments
from laconic.experiments.command_line.targets import finalize_config
from laconic.experiments.command_line.tree import CONF, allow_unlisted
from laconic.experiments.session.early import check_config
from laconic.experiments.statistics.words import count
from laconic.extras.benchmark.sets import METHOD, NAME, Set, check_starts, load

ARGUMENTS = {
    "benchmark": Argument("name of a set (mini, core), or a yaml of your own", default="mini"),
    "learner": Argument("learners, separated by commas", default="gspo"),
    "name": Argument("name of a single learner in the table; default: that of the learner"),
    "seeds": Argument("seeds, separated by commas; default: those of the set"),
    "folder": Argument("folder of the benchmark; default: outputs/benchmark/<set>", Path),
}
_FIXED = ("env", "agent", "train", "evaluation", "seed", "experiment", "engine", "resume")
"""Beginnings of the keys that a set fixes."""
_PASSED = ("learner", "optimizer", "logger", "threads", "hydra")
_CONFIGS = ("--config-dir", "-cd")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark of the command line, or report one."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["report"]:
        from laconic.extras.benchmark import report

        report.main(words[1:])
        return
    own, passed, flags = split(words)
    options = read_arguments("benchmark", __doc__, own, ARGUMENTS)
    try:
        suite = load(options.benchmark)
        learners = options.learner.split(",")
        names = methods(learners, options.name, passed)
        seeds = seeds_of(options.seeds) or [*suite.seeds]
        check_starts(suite)
        composed = dict(zip(names, check_methods(suite, learners, passed, flags), strict=True))
        # They import torch, which a mistake need not wait for.
        from laconic.extras.benchmark import report, results, run

        folder = (options.folder or Path("outputs/benchmark") / suite.title).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        lock.hold(folder)
        plan = run.write_plan(folder, suite, composed, [*passed, *flags], seeds)
    except (OSError, ValueError) as error:
        refuse(error)
    failure = run.run_baselines(folder, suite)
    try:
        # A set without a score is refused before it trains.
        results.collect(folder)
        by_method = dict(zip(names, learners, strict=True))
        failure |= run.run_all(folder, suite, by_method, passed, flags, seeds)
        report.write(folder, [], Console())
    except SettingError as error:
        refuse(error)
    echo(f"{count(len(plan['methods']), 'method')} in {folder}")
    if failure:
        echo("not all runs are finished (table.md lists them); the same command goes on with them")
        sys.exit(1)


def split(words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the words of this program, the settings of trainings, and the flags of configs."""
    own, passed, flags = [], list[str](), list[str]()
    rest = iter(words)
    for word in rest:
        key = word.partition("=")[0].lstrip("+~")
        if key in _CONFIGS:
            flags += [word] if "=" in word else [word, next(rest, "")]
        elif key not in ARGUMENTS and key.replace("/", ".").split(".")[0] in _PASSED:
            passed.append(word)
        elif "=" in word and not word.startswith("-") and key.partition(".")[0] in _FIXED:
            refuse(
                f"the set fixes {key}, so that results compare; got {word!r}. Write a set of your"
                " own (benchmark=my_set.yaml) to change it"
            )
        else:
            own.append(word)
    return own, passed, flags


def methods(learners: Sequence[str], name: str | None, passed: Sequence[str]) -> list[str]:
    """Return the names of methods.

    Raises:
        SettingError: a name is missing, or cannot be one.
    """
    changed = [word for word in passed if word.lstrip("+~").startswith(METHOD)]
    if (changed and not name) or (name and len(learners) > 1):
        raise SettingError(
            "a method with settings of its own is run by itself: expected one learner and"
            f" name=<name>; got learner={','.join(learners)} name={name or ''} {' '.join(changed)}"
        )
    names = [name] if name else list(learners)
    if wrong := [each for each in names if not NAME.fullmatch(each)]:
        raise SettingError(f"a name must match {NAME.pattern}; got {wrong[0]!r}: type name=<name>")
    return names


def seeds_of(text: str | None) -> list[int]:
    """Return the seeds of the command line, each once.

    Raises:
        SettingError: one of them is no seed.
    """
    words = text.split(",") if text else []
    if wrong := [word for word in words if not (word.isascii() and word.isdecimal())]:
        raise SettingError(f"seeds must be whole numbers from 0, as in seeds=0,1; got {wrong[0]!r}")
    return sorted(set(map(int, words)))


def check_methods(
    suite: Set, learners: Sequence[str], passed: Sequence[str], flags: Sequence[str]
) -> list[str]:
    """Check a training of every learner and environment, and build it, as `laconic train` does.

    Returns:
        For every learner, a hash of the settings that make the method.

    Raises:
        SettingError: says what `laconic train` would, of the first mistake.
    """
    more = [word for word in passed if not word.startswith("hydra")]
    hashes, trainings = [], []
    for learner in learners:
        parts = {}
        for name in suite.environments:
            words = [f"env={name}", f"learner={learner}", *suite.overrides(name), *more]
            with _explained(words, flags):
                training, parts[name] = _composed(words, flags)
            trainings.append((words, training))
        hashes.append(hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest())
    # Only now, because they import torch. Parts that need it are known by building them.
    from laconic.experiments.run_folder.folder import RunFolder
    from laconic.experiments.session import preparation, setup

    setup.set_up_process(1)
    for words, training in trainings:
        with _explained(words, flags), TemporaryDirectory() as place:
            preparation.build(training, RunFolder(place), setup.make_team(training))
    return hashes


def _composed(words: Sequence[str], flags: Sequence[str]) -> tuple[DictConfig, list[Any]]:
    """Return the checked configuration of a training, and the part that makes the method."""
    parts = [part for flag in flags for part in flag.split("=", 1)]
    folders = [f"file://{Path(part).absolute()}" for part in parts if part not in _CONFIGS]
    GlobalHydra.instance().clear()
    offer_environments(words, CONF)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        typed = allow_unlisted([*flags, *words])[len(flags) :]
        cfg = compose("train", [*typed, *(f"hydra.searchpath=[{each}]" for each in folders)])
        plain = OmegaConf.to_container(cfg)
        finalize_config(cfg, typed)
        check_config("train", cfg, typed)
    return cfg, [plain[key] for key in METHOD] if isinstance(plain, dict) else []


@contextmanager
def _explained(words: Sequence[str], flags: Sequence[str]) -> Iterator[None]:
    """Turn a mistake of the user into the line that `laconic train` prints.

    Raises:
        SettingError: has that line.
    """
    try:
        yield
    except Exception as error:
        message = describe(error, lambda: compose_keys("train", str(CONF), [*flags, *words]))
        if message is None:
            raise
        if os.environ.get("LACONIC_TRACEBACK") == "1":
            traceback.print_exc()
        if isinstance(error, MissingConfigException) and not flags:
            message += "; a yaml of your own needs --config-dir <folder>"
        raise SettingError(f"{words[1]} {words[0]}: {message}") from error


if __name__ == "__main__":
    main()
