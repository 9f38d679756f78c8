"""Describe environments: tasks, scripts, a single agent, the shipped start, tokens and price.

    laconic card env=gsm8k
    laconic card gsm8k signal jury page=docs/cards.md

Every figure is played here, greedily and at the environment's own price, except the minutes of the
start, which its card records. The page has a column per environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.say import say
from laconic.experiments.python import compose
from laconic.experiments.reporting.card import plain
from laconic.experiments.reporting.records import Evaluation
from laconic.experiments.reporting.words import NOTHING, level, text_table
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.session import setup
from laconic.experiments.session.splits import tasks_of
from laconic.extras.benchmark.results import last_evaluations, scale_of, unplayed
from laconic.extras.benchmark.run import play_baselines
from laconic.learners.agents.recipes import CARD, shipped
from laconic.learners.commands import command
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
    write_atomically(path.absolute(), page(names, rows))
    say(f"written to {path}")


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
    played = tasks or (None if any(chance != 1 for chance in chances) else _TASKS)
    folder = root / f"{name}-{played or 'all'}"
    if unplayed(folder):
        say(f"{name}: scripts, a single agent and the start")
        if not play_baselines(folder, name, [f"evaluation.tasks={played or 'null'}"]):
            raise SettingError(f"env={name}: the scripts could not be played")
    found = last_evaluations(folder)
    reward = cfg.env.reward
    facts = {
        "tasks to train, to evaluate": f"{sizes[0]:,}, {sizes[1]:,}",
        "tasks played here": f"{found['silent'].episodes:,}",
        "price": f"{reward.price:g} per {reward.normalizer:g} tokens",
    }
    for entry, evaluation in found.items():
        facts[_NAMES.get(entry, f"{entry} script")] = _figures(evaluation)
    facts |= _scores(name, found)
    facts |= _floors(found["silent"].floors)
    if (weights := shipped(name)) and (minutes := read_json(weights / CARD).get("minutes")):
        facts["minutes of the start, one core"] = f"{float(minutes):.0f}"
    return facts


def _figures(evaluation: Evaluation) -> str:
    """Return the accuracy (or the score), the tokens and the reward of an evaluation."""
    goal = "accuracy" if "accuracy" in evaluation.intervals else "score"
    figures = evaluation.intervals
    tokens, reward = figures["tokens_said"].mean, figures["reward"].mean
    return f"{level(goal, figures[goal])}, {tokens:.1f} tokens, reward {reward:.3f}"


def _scores(name: str, found: Mapping[str, Evaluation]) -> dict[str, str]:
    """Return what scores 1, and the score of the start."""
    try:
        zero = scale_of(name, found, {})
    except SettingError:
        return {"best known": "earns no more than silence: no score"}
    facts = {"best known": f"{zero.best:.3f} ({zero.best_of})"}
    if team := found.get("team"):
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


def page(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the page of the cards."""
    typed = command("card", *names)
    lines = ["# Cards of environments", "", f"Written by `{typed}`; 95 % intervals over tasks.", ""]
    table = (("", *names), ["---"] * (len(names) + 1), *rows)
    lines += [f"| {' | '.join(map(plain, row))} |" for row in table]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
