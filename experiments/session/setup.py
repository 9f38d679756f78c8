"""Build environments, policies, learners and starts from a composed configuration."""

from __future__ import annotations

import copy
import inspect
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    are_progress_bars_disabled,
    enable_progress_bars,
)
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, open_dict
from pettingzoo import ParallelEnv
from transformers.utils.logging import disable_progress_bar

from laconic.envs.checks import whole
from laconic.envs.errors import SettingError, SourceError
from laconic.envs.task import Benchmark
from laconic.experiments.command_line.schema import known_settings
from laconic.experiments.command_line.targets import (
    check_environments,
    check_learner,
    names_taken,
    refuse_settings,
)
from laconic.experiments.session.splits import of_source, own_source, tasks_of
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.algorithms.base import Learner, as_learner
from laconic.learners.commands import command
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.engines.base import Engine
from laconic.learners.rollout.play import Start

Environments = list[ParallelEnv[str, Any, Any]]
SLOW_SECONDS, AGAIN_SECONDS = 3.0, 20.0
"""Seconds until a slow part is named, and until it is named again."""


def set_up_process(threads: int | None) -> None:
    """Set torch's number of threads (None: its default) and turn off progress bars of libraries.

    Downloads from the hub keep their bar, because they take long and have no other display.
    """
    hub_shows = not are_progress_bars_disabled()
    disable_progress_bar()
    if hub_shows:
        enable_progress_bars()
    if threads is not None:
        torch.set_num_threads(threads)


def make_team(cfg: DictConfig) -> Any:
    """Make the builder of a team's policies, which has `tokenize` and `policies(environment)`.

    A builder with `for_environment` chooses its weights by the name of the environment.
    """
    team = instantiate(cfg.agent, _convert_="all")
    choose = getattr(team, "for_environment", None)
    return team if choose is None else choose(str(cfg.env.get("name") or ""))


def make_engine(cfg: DictConfig) -> Engine:
    """Make the engine that samples the replies of a team; it is not open yet.

    Raises:
        SettingError: a setting is out of its range, or would change the sampling distribution.
    """
    node = cfg.get("engine") or {"_target_": "laconic.learners.engines.base.Engine"}
    for name in ("top_k", "top_p", "min_p"):
        if name in node:
            raise SettingError(
                f"engine.{name} must be left out: it removes tokens whose probability the loss"
                " counts, because replies in training are sampled from the whole distribution."
                " Set agent.sampling.temperature instead"
            )
    engine: Engine = instantiate(node, _convert_="all")
    return engine


@contextmanager
def playing_with(
    cfg: DictConfig,
    policies: Mapping[str, Any],
    folder: Path,
    processes: Processes = SINGLE_PROCESS,
) -> Iterator[Engine]:
    """Open the engine of a configuration, which samples with the present weights of the policies.

    A team without an `HFPolicy` needs no engine.
    """
    engine = make_engine(cfg)
    with engine:
        if any(isinstance(policy, HFPolicy) for policy in policies.values()):
            engine.open(policies, folder, processes)
            engine.sync()
        yield engine


def refuse_scripts(team: Any) -> None:
    """Refuse to train agents without weights.

    Raises:
        SettingError: the team follows a script.
    """
    if isinstance(team, ScriptedTeam):
        raise SettingError(
            "agent=scripted follows a script and has no weights to train; choose agent=tiny or"
            f" agent=hf; {command('evaluate', agent='scripted')} plays scripted agents"
        )


def make_environments(
    cfg: DictConfig, count: int, split: str, team: Any, **settings: Any
) -> Environments:
    """Make equal environments of one split of the task source, with budgets in tokens of `team`.

    An environment gets only those further settings that its constructor takes, so that
    `env._target_` can name any `ParallelEnv`.

    Raises:
        SourceError: the task source cannot be read.
        SettingError: `env._target_` makes no environments, or the same one several times.
    """
    further = {"split": split, "tokenize": team.tokenize, **settings}
    node, max_rounds = _without_cap(cfg)
    accepted = _accepted(node, further)
    try:
        # The first environment makes or reads the tasks; the others share them.
        with report_if_slow(
            f"making the {split} tasks of {cfg.env.get('name') or cfg.env._target_}"
        ):
            environments = list(_made(node, accepted, count))
    except InstantiationException as error:
        if isinstance(error.__cause__, SourceError):
            raise SourceError(of_source(error.__cause__)) from error.__cause__
        refuse_settings(node, error.__cause__)
        raise
    check_environments(environments, cfg.env._target_)
    for environment in environments if max_rounds else ():
        # Rollouts read it here, because a class of another package need not take the key.
        metadata = getattr(environment, "metadata", None) or {}
        environment.metadata = {**metadata, "max_rounds": max_rounds}
    return environments


def _made(node: DictConfig, settings: Mapping[str, Any], count: int) -> Iterator[Any]:
    """Make equal objects of a node; Hydra reads it once where their parts can be shared.

    Numbers, text, functions and frozen records are shared, lists and dicts are copied. Other parts
    may have a state, so each object gets its own.
    """
    if count:
        yield instantiate(node, _convert_="all", **settings)
    if count < 2:
        return
    make = instantiate(node, _partial_=True, _convert_="all", **settings)
    shared = not make.args and all(map(_can_be_shared, make.keywords.values()))
    for _ in range(count - 1):
        if not shared:
            yield instantiate(node, _convert_="all", **settings)
            continue
        yield make.func(
            **{
                name: copy.deepcopy(part) if isinstance(part, list | dict) else part
                for name, part in make.keywords.items()
            }
        )


def _can_be_shared(part: Any) -> bool:
    """Return whether several environments can hold a part, or copies of its lists and dicts."""
    if isinstance(part, list | tuple | dict):
        return all(map(_can_be_shared, part.values() if isinstance(part, dict) else part))
    plain = part is None or isinstance(part, bool | int | float | str)
    frozen = is_dataclass(part) and getattr(part, "__dataclass_params__").frozen  # noqa: B009
    return plain or bool(frozen) or inspect.isroutine(part)


@contextmanager
def report_if_slow(part: str, first: float = SLOW_SECONDS) -> Iterator[None]:
    """Print the name of the part and its seconds after `first`, then every `AGAIN_SECONDS`.

    Args:
        part: name of the work in the context, such as `making tasks`.
        first: seconds until it is printed for the first time.
    """
    ended, began = threading.Event(), time.monotonic()

    def report() -> None:
        wait = first
        while not ended.wait(wait):
            print(f"{part}: {time.monotonic() - began:.0f} s", flush=True)
            wait = AGAIN_SECONDS

    threading.Thread(target=report, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _without_cap(cfg: DictConfig) -> tuple[DictConfig, int | None]:
    """Return the environment's node without `max_rounds`, unless its class takes it by name."""
    max_rounds = whole("env.max_rounds", cfg.env.get("max_rounds"), 1, optional=True)
    if "max_rounds" not in cfg.env or "max_rounds" in known_settings(str(cfg.env._target_)):
        return cfg.env, max_rounds
    # A shallow copy keeps the parent, because settings may refer to keys outside the node.
    node = copy.copy(cfg.env)
    with open_dict(node):
        del node["max_rounds"]
    return node, max_rounds


def make_evaluation(cfg: DictConfig, split: str, team: Any, **settings: Any) -> Environments:
    """Make the environments of one evaluation: one per task, but at most a batch of them."""
    tasks = cfg.evaluation.tasks
    settings |= {} if tasks is None else {"tasks": tasks}
    settings |= own_source(cfg)
    first = make_environments(cfg, 1, split, team, **settings)
    # Some environments do not take a number of tasks.
    needed = len(task_keys(first[0])[:tasks]) or tasks or cfg.evaluation.batch
    return first + make_environments(
        cfg, min(cfg.evaluation.batch, needed) - 1, split, team, **settings
    )


def make_learner(
    cfg: DictConfig, policies: Mapping[str, Any], processes: Processes = SINGLE_PROCESS
) -> Learner:
    """Make the algorithm of `cfg.learner` from the policies and `cfg.optimizer`.

    Several processes are passed to it as `processes`.

    Raises:
        SettingError: the object is no learner; or several processes train, and the learner or its
            collector supports one only.
    """
    # Build once to attribute optimizer errors to the right key.
    instantiate(cfg.optimizer, [torch.zeros(1)], _partial_=False, _convert_="all")
    optimizer = instantiate(cfg.optimizer, _partial_=True, _convert_="all")
    # The order in which sequences enter the minibatches follows the seed of the run.
    seeded = {} if "seed" in cfg.learner else _accepted(cfg.learner, {"seed": cfg.get("seed", 0)})
    if processes.count == 1:
        algorithm = instantiate(
            cfg.learner, policies, optimizer, _partial_=False, _convert_="all", **seeded
        )
        check_learner(algorithm, cfg.learner._target_)
        return as_learner(algorithm)
    if not _accepted(cfg.learner, {"processes": processes}):
        raise SettingError(
            f"{cfg.learner._target_} takes no argument `processes`, so it trains in one process"
            " only; start it without accelerate launch (docs/scaling.md lists the requirements)"
        )
    make = instantiate(cfg.learner, _partial_=True, _convert_="all", **seeded)
    algorithm = make(policies, optimizer, processes=processes)
    check_learner(algorithm, cfg.learner._target_)
    learner = as_learner(algorithm)
    refuse_lone_collector(learner, processes.count)
    return learner


def refuse_lone_collector(learner: Learner, count: int) -> None:
    """Refuse several processes with a collector that has a state, because each would have its own.

    Raises:
        SettingError: the collector has a state (swarm sharing, for example).
    """
    if learner.collector.state_dict():
        name = learner.collector.kind
        raise SettingError(
            f"learner.collect ({name}) remembers episodes and plays in one process; got"
            f" {count} processes. Start the run without accelerate launch. For a swarm, start"
            " another run with a name of its own"
        )


def task_keys(environment: ParallelEnv[str, Any, Any]) -> tuple[str, ...]:
    """List the keys of an environment's tasks; empty if it draws tasks by itself."""
    tasks = getattr(environment, "tasks", None)
    return tuple(tasks) if isinstance(tasks, Mapping) else ()


def print_conditions(environment: ParallelEnv[str, Any, Any]) -> None:
    """Print the conditions under which an environment grades answers, if it has any."""
    benchmark = getattr(environment, "benchmark", None)
    if isinstance(benchmark, Benchmark) and (conditions := benchmark.conditions()):
        words = ", ".join(f"{name}={value}" for name, value in conditions.items())
        print(f"conditions: {words}")


def draw_starts(
    keys: tuple[str, ...], count: int, seed: int, step: int, price_share: float = 1.0
) -> list[Start]:
    """Draw the starts of one training step, which depend on the run's seed and the step only.

    Tasks are drawn without replacement; without keys the environment draws them itself.

    Raises:
        SettingError: there are fewer tasks than starts.
    """
    generator = np.random.default_rng((seed, step))
    seeds = [int(each) for each in generator.integers(2**31, size=count)]
    if not keys:
        return [Start(each, price_share=price_share) for each in seeds]
    if count > len(keys):
        raise SettingError(
            f"train.tasks_per_step={count} is more than the {len(keys)} tasks of the source;"
            " lower it, or raise env.tasks"
        )
    chosen = generator.choice(len(keys), size=count, replace=False)
    return [
        Start(each, keys[index], price_share=price_share)
        for each, index in zip(seeds, chosen, strict=True)
    ]


def sampling_seed(seed: int, step: int, rank: int = 0) -> int:
    """Return the sampling seed of one process in one step."""
    return rank_seed(seed * 1_000_003 + step, rank) if rank else seed * 1_000_003 + step


def rank_seed(seed: int, rank: int) -> int:
    """Return the seed of one process; the main process has `seed` itself."""
    return int(np.random.default_rng((seed, rank)).integers(2**62)) if rank else seed


def show_scripts(policies: Mapping[str, Any], environment: ParallelEnv[str, Any, Any]) -> None:
    """Let the scripted members of a team also see the tasks of another split.

    Raises:
        SettingError: the two splits share a task key.
    """
    for policy in {id(policy): policy for policy in policies.values()}.values():
        if hasattr(policy, "know"):
            policy.know(tasks_of(environment))


def hidden_metrics(
    environment: ParallelEnv[str, Any, Any], policies: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the metrics that a progress line leaves out: those of thoughts where none are asked.

    Models without thoughts, in an environment without a cap on them, still write behind their
    silence word now and then. That is charged as a thought, but no user would know it as one.
    """
    capped = getattr(getattr(environment, "budget", None), "thought", None) is not None
    plain = all(isinstance(each, HFPolicy) and not each.thinks for each in policies.values())
    return ("tokens_spent",) if plain and not capped else ()


def price_of(environment: ParallelEnv[str, Any, Any]) -> float | None:
    """Return the price of an environment's reward; None if it has no price that can be set."""
    reward = getattr(environment, "reward", None)
    if is_dataclass(reward) and hasattr(reward, "price"):
        return float(reward.price)
    return None


def set_price(environments: Environments, price: float) -> None:
    """Give environments with a priced reward another price; equal rewards are checked once."""
    before: Any = None
    after: Any = None
    for environment in environments:
        if price_of(environment) in (None, price):
            continue
        reward = environment.reward  # type: ignore[attr-defined]
        if reward != before:
            before, after = reward, replace(reward, price=price)
        environment.reward = after  # type: ignore[attr-defined]


def _accepted(node: DictConfig, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the settings that the class of a node takes."""
    names = names_taken(str(node.get("_target_")))
    return {name: value for name, value in settings.items() if names is None or name in names}
