"""Builds what every program needs from a composed configuration: environments, policies, starts."""

from __future__ import annotations

import copy
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

from laconic.envs.errors import SettingError, SourceError
from laconic.envs.task import Benchmark
from laconic.experiments.command_line.targets import (
    check_environments,
    check_learner,
    named_parameters,
    names_taken,
)
from laconic.experiments.session.checks import CAP, check_counts
from laconic.experiments.session.slow_parts import report_if_slow
from laconic.experiments.session.splits import of_source, own_source, tasks_of
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.agents.scripted import ScriptedPolicy, ScriptedTeam
from laconic.learners.algorithms.base import Learner, as_learner
from laconic.learners.commands import command
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.engines.base import Engine
from laconic.learners.rollout.play import Start

Environments = list[ParallelEnv[str, Any, Any]]


def set_up_process(threads: int | None) -> None:
    """Give torch its threads (None: its own choice) and keep the libraries' bars off our display.

    A download of the hub keeps its bar: it takes long, and nothing of ours is shown meanwhile.
    """
    hub_shows = not are_progress_bars_disabled()
    disable_progress_bar()
    if hub_shows:
        enable_progress_bars()
    if threads is not None:
        torch.set_num_threads(threads)


def make_team(cfg: DictConfig) -> Any:
    """The builder of a team's policies: it has `tokenize` and `policies(environment)`."""
    return instantiate(cfg.agent, _convert_="all")


def make_engine(cfg: DictConfig) -> Engine:
    """Who samples the replies of a team, not opened yet.

    Raises:
        SettingError: a setting is out of its range, or one that no engine has in training.
    """
    node = cfg.get("engine") or {"_target_": "laconic.learners.engines.base.Engine"}
    for name in ("top_k", "top_p", "min_p"):
        if name in node:
            raise SettingError(
                f"engine.{name} would leave out tokens whose probability the loss counts: replies"
                " that are trained on are drawn from the whole distribution. Leave it out, and set"
                " agent.sampling.temperature"
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
    """While it lasts the engine of a configuration samples for some policies as they are now.

    A team without weights of ours plays by itself.
    """
    engine = make_engine(cfg)
    with engine:
        if any(isinstance(one, HFPolicy) for one in policies.values()):
            engine.open(policies, folder, processes)
            engine.sync()
        yield engine


def refuse_scripts(team: Any) -> None:
    """Stop a training whose agents have nothing to train.

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
    """Equal environments of one split of the task source, with budgets in the tokens of `team`.

    Settings beyond the configuration reach only those environments whose constructor has them, so
    that any `ParallelEnv` can be named in `env._target_`.

    Raises:
        SourceError: the task source cannot be read.
        SettingError: `env._target_` makes no environments, or the same one several times.
    """
    wanted = {"split": split, "tokenize": team.tokenize, **settings}
    node, max_rounds = _without_cap(cfg)
    accepted = _accepted(node, wanted)
    try:
        # The first one makes the tasks, or reads them; the others take the same.
        with report_if_slow(
            f"making the {split} tasks of {cfg.env.get('name') or cfg.env._target_}"
        ):
            made = [instantiate(node, _convert_="all", **accepted) for _ in range(count)]
    except InstantiationException as error:
        if isinstance(error.__cause__, SourceError):
            raise SourceError(of_source(error.__cause__)) from error.__cause__
        raise
    check_environments(made, cfg.env._target_)
    for environment in made if max_rounds else ():
        # For the rollouts: an environment of others need not know the key.
        metadata = getattr(environment, "metadata", None) or {}
        environment.metadata = {**metadata, "max_rounds": max_rounds}
    return made


def _without_cap(cfg: DictConfig) -> tuple[DictConfig, int | None]:
    """The node of the environment without `max_rounds`, unless its class takes that by name."""
    check_counts(cfg, {CAP: 1}, optional=(CAP,))
    max_rounds = cfg.env.get("max_rounds")
    if "max_rounds" not in cfg.env or "max_rounds" in named_parameters(str(cfg.env._target_)):
        return cfg.env, max_rounds
    # The parent stays: other settings may refer to what is outside of the node.
    node = copy.copy(cfg.env)
    with open_dict(node):
        del node["max_rounds"]
    return node, max_rounds


def make_evaluation(cfg: DictConfig, split: str, team: Any, **settings: Any) -> Environments:
    """Environments for one evaluation: no more than it has tasks, and at most a batch of them."""
    tasks = cfg.evaluation.tasks
    settings |= {} if tasks is None else {"tasks": tasks}
    settings |= own_source(cfg)
    first = make_environments(cfg, 1, split, team, **settings)
    # Not every environment can be told how many tasks to have.
    needed = len(task_keys(first[0])[:tasks]) or tasks or cfg.evaluation.batch
    return first + make_environments(
        cfg, min(cfg.evaluation.batch, needed) - 1, split, team, **settings
    )


def make_learner(
    cfg: DictConfig, policies: Mapping[str, Any], processes: Processes = SINGLE_PROCESS
) -> Learner:
    """The algorithm that `cfg.learner` names, called with the policies and `cfg.optimizer`.

    Where several processes train, it is given them as `processes`.

    Raises:
        SettingError: what was made is no learner; or several processes train, and it, or how it
            plays, is made for one.
    """
    # Made once in vain, so that what an optimiser refuses is said of its own key.
    instantiate(cfg.optimizer, [torch.zeros(1)], _partial_=False, _convert_="all")
    optimizer = instantiate(cfg.optimizer, _partial_=True, _convert_="all")
    # The order in which sequences enter the minibatches follows the seed of the run.
    seeded = {} if "seed" in cfg.learner else _accepted(cfg.learner, {"seed": cfg.get("seed", 0)})
    if processes.count == 1:
        alone = instantiate(
            cfg.learner, policies, optimizer, _partial_=False, _convert_="all", **seeded
        )
        check_learner(alone, cfg.learner._target_)
        return as_learner(alone)
    if not _accepted(cfg.learner, {"processes": processes}):
        raise SettingError(
            f"{cfg.learner._target_} takes no argument `processes`, so it learns in one process"
            " alone; start it without accelerate launch (docs/scaling.md says what it would need)"
        )
    make = instantiate(cfg.learner, _partial_=True, _convert_="all", **seeded)
    made = make(policies, optimizer, processes=processes)
    check_learner(made, cfg.learner._target_)
    learner = as_learner(made)
    refuse_lone_collector(learner, processes.count)
    return learner


def refuse_lone_collector(learner: Learner, count: int) -> None:
    """Stop several processes whose collector remembers what it played, each its own.

    Raises:
        SettingError: it does (swarm sharing, for one).
    """
    if learner.collector.state_dict():
        name = learner.collector.kind
        raise SettingError(
            f"learner.collect ({name}) remembers what it has seen and plays in one process; got"
            f" {count} processes. Start the run without accelerate launch; of a swarm, start one"
            " run more instead, with a name of its own"
        )


def task_keys(environment: ParallelEnv[str, Any, Any]) -> tuple[str, ...]:
    """The tasks an environment knows by name; empty where it draws its own."""
    tasks = getattr(environment, "tasks", None)
    return tuple(tasks) if isinstance(tasks, Mapping) else ()


def tell_conditions(environment: ParallelEnv[str, Any, Any]) -> None:
    """Print under which conditions an environment grades answers, where it has any."""
    benchmark = getattr(environment, "benchmark", None)
    if isinstance(benchmark, Benchmark) and (conditions := benchmark.conditions()):
        told = ", ".join(f"{name}={value}" for name, value in conditions.items())
        print(f"conditions: {told}")


def draw_starts(keys: tuple[str, ...], count: int, seed: int, step: int) -> list[Start]:
    """Starts of one training step, a function of the run's seed and the step alone.

    Tasks are drawn without repetition within a step; without keys the environment draws its own.

    Raises:
        SettingError: there are fewer tasks than starts.
    """
    generator = np.random.default_rng((seed, step))
    seeds = [int(each) for each in generator.integers(2**31, size=count)]
    if not keys:
        return [Start(each) for each in seeds]
    if count > len(keys):
        raise SettingError(
            f"train.tasks_per_step={count} is more than the {len(keys)} tasks of the source;"
            " lower it, or raise env.tasks"
        )
    chosen = generator.choice(len(keys), size=count, replace=False)
    return [Start(each, keys[index]) for each, index in zip(seeds, chosen, strict=True)]


def sampling_seed(seed: int, step: int, rank: int = 0) -> int:
    """Return the seed of everything that one process samples in one step."""
    return rank_seed(seed * 1_000_003 + step, rank) if rank else seed * 1_000_003 + step


def rank_seed(seed: int, rank: int) -> int:
    """Return the seed of one process's share of a play; the main process has the play's own."""
    return int(np.random.default_rng((seed, rank)).integers(2**62)) if rank else seed


def show_scripts(policies: Mapping[str, Any], environment: ParallelEnv[str, Any, Any]) -> None:
    """Let the scripted members of a team look at the tasks of another part, too.

    Raises:
        SettingError: the two parts have a task key in common.
    """
    for policy in {id(one): one for one in policies.values()}.values():
        if isinstance(policy, ScriptedPolicy):
            policy.know(tasks_of(environment))


def price_of(environment: ParallelEnv[str, Any, Any]) -> float | None:
    """The price of an environment's reward; None where it has no price that could be set."""
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
    """The settings that the class of a node takes."""
    taken = names_taken(str(node.get("_target_")))
    return {name: value for name, value in settings.items() if taken is None or name in taken}
