"""Describe environments: tasks, scripts, a single agent, the shipped start, tokens and price.

    laconic card env=gsm8k
    laconic card gsm8k signal jury page=docs/cards.md

Every figure is played here, greedily and at the environment's own price, except the minutes of the
start, which its card records. The page has a table for each environment, which the site shows on
the environment's page too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from pettingzoo import ParallelEnv
from pettingzoo.test import parallel_api_test
from rich.console import Console

from laconic.envs.contract import check_env
from laconic.envs.errors import ContractError, SettingError
from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.echo import echo
from laconic.experiments.python import compose
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.run_folder.records import Evaluation
from laconic.experiments.session import setup
from laconic.experiments.session.evaluation import evaluation_starts
from laconic.experiments.session.splits import tasks_of
from laconic.experiments.statistics.words import NOTHING, level, text_table
from laconic.extras.benchmark.exploits import ATTACKS, attack
from laconic.extras.benchmark.results import last_evaluations, reached, scale_of, unplayed
from laconic.extras.benchmark.run import play_baselines
from laconic.extras.benchmark.sets import frontier_of
from laconic.extras.share.card import plain
from laconic.learners.agents.recipes import CARD, shipped
from laconic.learners.commands import command
from laconic.learners.metrics import intervals
from laconic.learners.untrusted_files import read_json

ARGUMENTS = {
    "env": Argument("names of environments", placed=True, needed=True, many=True),
    "tasks": Argument("evaluation tasks; default: 200, or all where that is exact", int),
    "folder": Argument("folder of the games", Path, default=Path("outputs/card")),
    "page": Argument("file to write; default: card.md in the folder", Path),
}  # fmt: skip
_TASKS = 200
_NAMES = {"team": "shipped start", "single": "single agent, same weights"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, print and write the cards of the environments on the command line."""
    options = read_arguments("card", __doc__, arguments, ARGUMENTS)
    names = [name for typed in options.env for name in typed.split(",")]
    try:
        columns = {name: card(name, options.tasks, options.folder.absolute()) for name in names}
    except (OSError, SettingError) as error:
        refuse(error)
    facts = list(dict.fromkeys(fact for column in columns.values() for fact in column))
    rows = [(fact, *(column.get(fact, NOTHING) for column in columns.values())) for fact in facts]
    Console().print(text_table("environments", ("", *names), rows, whole="first"))
    path = options.page or options.folder / "card.md"
    write_atomically(path.absolute(), page(columns))
    echo(f"written to {path}")


def card(name: str, tasks: int | None, root: Path) -> dict[str, str]:
    """Play the baselines of an environment and return its facts.

    Raises:
        SettingError: there is no such environment, or its scripts cannot be played.
    """
    cfg = compose(f"env={name}", program="compare")
    team = setup.make_team(cfg)
    parts = [setup.make_environments(cfg, 1, split, team)[0] for split in ("train", "evaluation")]
    sizes = [len(setup.task_keys(part)) for part in parts]
    # An evaluation of all tasks is exact where each has its probability.
    chances = [task.weight for task in tasks_of(parts[1]).values()]
    limit = tasks or (None if any(chance != 1 for chance in chances) else _TASKS)
    folder = root / f"{name}-{limit or 'all'}"
    if unplayed(folder):
        echo(f"{name}: scripts, a single agent and the start")
        if not play_baselines(folder, name, [f"evaluation.tasks={limit or 'null'}"]):
            raise SettingError(f"env={name}: the scripts could not be played")
    evaluations = last_evaluations(folder)
    reward = cfg.env.reward
    facts = {
        "tasks to train, to evaluate": f"{sizes[0]:,}, {sizes[1]:,}",
        "tasks played here": f"{evaluations['silent'].episodes:,}",
        "price": f"{reward.price:g} per {reward.normalizer:g} tokens",
    }
    for entry, evaluation in evaluations.items():
        facts[_NAMES.get(entry, f"{entry} script")] = _figures(evaluation)
    facts |= _scores(name, evaluations, reached(evaluations["silent"], reward, frontier_of(name)))
    facts |= _floors(evaluations["silent"].floors)
    facts["best attack"] = _attacked(parts[1], limit)
    facts["rules"] = _checked(lambda: setup.make_environments(cfg, 1, "evaluation", team)[0])
    if (weights := shipped(name)) and (minutes := read_json(weights / CARD).get("minutes")):
        facts["minutes of the start, one core"] = f"{float(minutes):.0f}"
    return facts


def _figures(evaluation: Evaluation) -> str:
    """Return the accuracy (or the score), the tokens and the reward of an evaluation."""
    goal = "accuracy" if "accuracy" in evaluation.intervals else "score"
    figures = evaluation.intervals
    tokens, reward = figures["tokens_spent"].mean, figures["reward"].mean
    return f"{level(goal, figures[goal])}, {tokens:.1f} tokens, reward {reward:.3f}"


def _scores(
    name: str, evaluations: Mapping[str, Evaluation], further: Mapping[str, float]
) -> dict[str, str]:
    """Return what scores 1, and the score of the start."""
    try:
        zero = scale_of(name, evaluations, further)
    except SettingError:
        return {"best known": "earns no more than silence: no score"}
    facts = {"best known": f"{zero.best:.3f} ({zero.best_of})"}
    if team := evaluations.get("team"):
        score = zero.normalized(team.intervals["reward"].mean)
        facts["normalized score of the start"] = f"{score:.2f}"
    return facts


def _floors(floors: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, str]:
    """Return the fewest tokens for all that a frontier solves."""
    ends = {name: corners[-1] for name, corners in floors.items() if corners}
    words = [
        f"{name}: {tokens:.1f} for {100 * solved:.0f} %" for name, (tokens, solved) in ends.items()
    ]
    return {"fewest tokens, by frontier": "; ".join(words)} if words else {}


def _attacked(env: ParallelEnv[str, Any, Any], tasks: int | None) -> str:
    """Return the attack that solves most, whatever it costs, and what it earns."""
    starts, best = evaluation_starts([env], tasks), (-math.inf, -math.inf, NOTHING)
    for name in ATTACKS:
        figures = intervals(attack([env], starts, name))
        goal = "accuracy" if "accuracy" in figures else "score"
        reward = figures["reward"].mean
        text = f"{name}: {level(goal, figures[goal])}, reward {reward:.3f}"
        best = max(best, (figures["score"].mean, reward, text))
    return best[2]


def _checked(make: Callable[[], ParallelEnv[str, Any, Any]]) -> str:
    """Return which checks of environments hold, or the first rule that is broken."""
    try:
        check_env(make)
        with redirect_stdout(StringIO()):
            parallel_api_test(make())
    except (ContractError, AssertionError) as error:
        return f"broken: {str(error).splitlines()[0][:80]}"
    return "check_env, parallel_api_test"


def page(cards: Mapping[str, Mapping[str, str]]) -> str:
    """Return the page of the cards, a table for each environment."""
    line = command("card", *cards)
    lines = ["# Cards of environments", "", f"Written by `{line}`; 95 % intervals over tasks."]
    for name, facts in cards.items():
        lines += ["", f"## {name}", "", "| fact | value |", "|---|---|"]
        lines += [f"| {fact} | {plain(value)} |" for fact, value in facts.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
