"""What the judges share: the game that is learnt, how a policy is measured, and kept outcomes.

A judge is a program of other people that runs our environments. Each has a module here and a
virtual environment of its own; `make judges` makes these, runs the modules and writes
docs/judges.md. Where a client is missing its module skips. With `JUDGE_ROWS=<folder>` outcomes are
written there, one file for each module, for `table.py`.

A module has `CLIENT = (name, distribution)`, the name in the table and the distribution whose
version is shown.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from laconic import envs
from laconic.envs.wrappers import DiscreteMessages, FullTranscript, Menu, TokenArrays, vocabulary

BESIDE = ("gymnasium", "pettingzoo", "numpy", "torch")
"""Distributions whose versions are shown beside the client's."""

VIEWS: dict[str, Callable[[Any], Any]] = {
    "text DialogueEnv": lambda env: env,
    "FullTranscript": FullTranscript,
    "TokenArrays": lambda env: TokenArrays(env, observation_tokens=256, action_tokens=16),
    "DiscreteMessages": DiscreteMessages,
    "DiscreteMessages, mask in the observation": lambda env: DiscreteMessages(
        env, mask="observation"
    ),
}
"""View of an environment by its name in the table."""

SEEDS = (3, 4, 5)
"""Seeds of the trainings; the configurations were chosen with others."""

_rows: dict[str, list[dict[str, Any]]] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`face` is every view over every benchmark: those that a module names, or all."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", SEEDS)
    if "face" in metafunc.fixturenames:
        views = getattr(metafunc.module, "FACES", VIEWS)
        names = getattr(metafunc.module, "BENCHMARKS", envs.names("benchmarks"))
        metafunc.parametrize("face", [f"{view} {name}" for view in views for name in names])


@pytest.fixture(scope="session")
def show() -> Callable[..., Any]:
    """Shows a benchmark: `show("TokenArrays signal", tasks=20)`."""
    return _show


def _show(face: str, **settings: Any) -> Any:
    view, _, name = face.rpartition(" ")
    return VIEWS[view](
        envs.make(name, free=True, **{"tasks": 20, "information": "split", **settings})
    )


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Keep an outcome: `record(face=..., check=..., outcome=..., note="", **figures)`.

    `face` is a view and, as its last word, a benchmark (`DiscreteMessages signal`); `check` what
    was done; `outcome` begins with passes, trains, learns or refused; `note` says what had to be
    worked around, with the number of the client's issue. Rows that differ in their figures only
    (a seed and its results) are one line of the table and several of the list of figures.
    """

    def keep(*, face: str, check: str, outcome: str, note: str = "", **figures: Any) -> None:
        row = {"face": face, "check": check, "outcome": outcome, "note": note, "figures": figures}
        _keep(request.node, row)

    return keep


def _keep(node: Any, row: dict[str, Any]) -> None:
    client, distribution = getattr(node.module, "CLIENT", (node.path.stem, ""))
    # A judge with much to say has two modules, `test_<judge>.py` and `test_<judge>_<more>.py`.
    _rows.setdefault(node.path.stem.split("_")[1], []).append(
        {
            "client": client,
            "version": _version(distribution),
            "beside": {"python": platform.python_version()}
            | {name: _version(name) for name in BESIDE},
            **row,
            "test": f"{node.path.name}::{node.name.partition('[')[0]}",
        }
    )


def _version(distribution: str) -> str:
    try:
        return version(distribution) if distribution else ""
    except PackageNotFoundError:
        return ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Write a test that fails to the table too."""
    report = yield
    if report.failed and call.excinfo is not None:
        reason = (call.excinfo.exconly().splitlines() or [""])[0][:200]
        failed = {"face": item.name, "check": report.when, "outcome": f"failed: {reason}"}
        _keep(item, {**failed, "note": "", "figures": {}})
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was kept, one file for each judge; of its modules that did not run, rows stay."""
    folder = os.environ.get("JUDGE_ROWS")
    for judge, rows in _rows.items() if folder else ():
        path = Path(folder) / f"{judge}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        ran = {_module(row) for row in rows}
        earlier = json.loads(path.read_text()) if path.exists() else []
        rows = [row for row in earlier if _module(row) not in ran] + rows
        path.write_text(json.dumps(rows, indent=1))


def _module(row: Mapping[str, Any]) -> str:
    return row["test"].partition("::")[0]


SIGNAL: dict[str, Any] = {
    "information": "split",
    "schedule": ["helper", "solver"],
    "topology": "star",
}
"""Helpers hold the statements, one of them what matters; they speak first, then the solver."""
REWARD = {"price": 0.2, "normalizer": 10}
"""A statement has five tokens and costs its speaker 0.1; an answer is free and pays everybody 1."""
TRAIN, HELD_OUT = 1000, 500
"""Tasks to learn on, and to be measured on."""


@pytest.fixture(scope="session")
def make_signal() -> Callable[..., DiscreteMessages]:
    """Makes the numeric face of `signal` with a price: `make_signal(part="train", mask="info")`."""
    return numeric_signal


def numeric_signal(
    split: str = "train", channel: Mapping[str, Any] | None = None, **settings: Any
) -> DiscreteMessages:
    """Return the numeric face of `signal` with a price, over a channel that may lose messages.

    Both parts have the menu and the words of the training tasks, so a policy can change over.
    """
    count = TRAIN if split == "train" else HELD_OUT
    env = envs.make(
        "signal", free=True, split=split, tasks=count, reward=REWARD, channel=channel, **SIGNAL
    )
    menu, words = _known()
    return DiscreteMessages(env, menu=menu, words=words, **settings)


@cache
def _known() -> tuple[Menu, Any]:
    train = envs.make("signal", free=True, tasks=TRAIN, reward=REWARD, **SIGNAL)
    return Menu.of(train), vocabulary(train.tasks.values())


Act = Callable[[str, Any, Mapping[str, Any]], int]
"""Function from an agent's name, observation and info (with `action_mask`) to its action."""


@pytest.fixture(scope="session")
def measure(make_signal: Callable[..., DiscreteMessages]) -> Callable[[Act], dict[str, float]]:
    """Plays every held-out task of `signal` once and measures a policy: `measure(act)`.

    Gives, as means: `return` of the team (over agents) in an episode, `solved`, `tokens` said,
    `spoke_informed` and `spoke_uninformed`, the shares of the turns of helpers with and without
    the statement that matters in which they spoke.
    """
    return lambda act: measured(act, make_signal("evaluation"))


def measured(act: Act, env: DiscreteMessages) -> dict[str, float]:
    """Return the means of `measure` over the tasks of an environment."""
    returns, solved, tokens = [], [], []
    spoke: dict[int, list[bool]] = {0: [], 1: []}
    for number in env.tasks:
        observations, infos = env.reset(seed=number, options={"task": number})
        total = 0.0
        while env.agents:
            actions = {
                agent: int(act(agent, observations[agent], infos[agent])) for agent in env.agents
            }
            for agent, action in actions.items():
                # A helper that may speak has more than silence on its menu.
                if agent.startswith("helper") and infos[agent]["action_mask"].sum() > 1:
                    spoke[infos[agent]["informed"]].append(action != 0)
            observations, rewards, _, _, infos = env.step(actions)
            total += fmean(rewards.values())
        returns.append(total)
        solved.append(max(info["solved"] for info in infos.values()))
        tokens.append(sum(info["tokens_said"] for info in infos.values()))
    return {
        "return": fmean(returns),
        "solved": fmean(solved),
        "tokens": fmean(tokens),
        "spoke_informed": fmean(spoke[1]),
        "spoke_uninformed": fmean(spoke[0]),
    }


@pytest.fixture
def random_act() -> Act:
    """Return a policy that draws from the menu."""
    draw = np.random.default_rng(0)
    return lambda agent, observation, info: int(draw.choice(np.flatnonzero(info["action_mask"])))


@pytest.fixture
def benchmarl_settings(tmp_path: Path) -> Callable[..., Any]:
    """Makes BenchMARL's default settings, with nothing logged or evaluated and some changes."""
    return lambda **changes: quiet_settings(tmp_path, **changes)


def quiet_settings(folder: Path, **changes: Any) -> Any:
    """BenchMARL's default settings with nothing logged or evaluated, and some changes."""
    from benchmarl.experiment import ExperimentConfig

    settings = ExperimentConfig.get_from_yaml()
    quiet = {"loggers": [], "create_json": False, "evaluation": False, "render": False}
    for name, value in {**quiet, "max_n_frames": None, "save_folder": folder, **changes}.items():
        setattr(settings, name, value)
    return settings
