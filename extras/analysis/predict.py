"""Predict what teams of voters reach from evaluations of one agent, beside what they reached.

    laconic predict outputs/one_24 outputs/one_48 outputs/team

The folders hold evaluations of the same policy on the same kind of tasks, in any order. What each
one is for follows from its settings:

    one agent   a single agent answers, at a cap on messages (env.budget.message). It gives the
                accuracy p; several caps give the exponent beta, and several plays of each task
                (evaluation.samples) the correlation rho of errors
    relay       the same with env.information=split and two agents. Its bias over that of an agent
                that reads the whole task, at the same cap, is the fidelity gamma of a message
    team        several agents answer and the most common answer counts, or env.information=full and
                the votes go up a tree, each agent speaking once

Printed are the measures, and of each team the predicted and the measured accuracy. Its folder gets
`prediction.json`. Intervals are 95 %: Wilson's of the measured accuracy, and bootstrap over tasks.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.arguments import Argument, read_arguments
from laconic.experiments.command_line.echo import echo, echo_error
from laconic.experiments.run_folder.folder import strict, write_atomically
from laconic.experiments.run_folder.runs import find_runs, is_run
from laconic.experiments.statistics.words import NOTHING, level, text_table
from laconic.extras.analysis.prediction import Played, Prediction, interval, predict, read

FILE = "prediction.json"
ARGUMENTS = {
    "runs": Argument(
        "folders of evaluations, or of sweeps", Path, placed=True, needed=True, many=True
    ),
    "shared": Argument("probability that votes are shared; default: measured", float),
}


def show(evaluations: Sequence[Played], predictions: Sequence[Prediction]) -> None:
    """Print what was measured of one agent, and the teams with their predictions."""
    console = Console()
    single = [played for played in evaluations if played.shape is None]
    heads = ("one agent", "cap", "tokens said", "accuracy", "same errors")
    rows = [
        (
            played.folder.name,
            _number(played.cap),
            f"{played.tokens_said:.1f}",
            level("accuracy", played.accuracy),
            NOTHING if math.isnan(played.shared[0]) else level("ρ", interval(played.shared)),
        )
        for played in single
    ]
    console.print(text_table("measured, 95 % intervals", heads, rows, whole="others"))
    columns = ("team", "votes", "γ", "predicted", "measured", "inside")
    teams = [
        (
            Path(team.folder).name,
            " x ".join([str(team.fan_in)] * team.depth),
            f"{team.fidelity.mean:.2f}",
            level("accuracy", team.predicted),
            level("accuracy", team.measured),
            "yes" if team.inside else "no",
        )
        for team in predictions
    ]
    console.print(text_table("teams", columns, teams, whole="others"))
    for verdict in dict.fromkeys(team.verdict for team in predictions):
        echo(verdict)


def _number(value: int | None) -> str:
    return NOTHING if value is None else str(value)


def list_evaluations(names: Sequence[Path]) -> list[Path]:
    """Return the folders of evaluations that these folders are or hold.

    Raises:
        SettingError: one of them is none and holds none.
    """
    listed: list[Path] = []
    for name in names:
        below = [name] if is_run(name) else find_runs(name) if name.is_dir() else []
        if not below:
            raise SettingError(
                f"expected folders that laconic evaluate wrote; {str(name)!r} holds none"
            )
        listed += below
    return listed


def main(arguments: Sequence[str] | None = None) -> None:
    """Predict the teams in the folders that the command line names."""
    options = read_arguments("predict", __doc__, arguments, ARGUMENTS)
    try:
        evaluations = [read(folder) for folder in list_evaluations(options.runs)]
        predictions = predict(evaluations, options.shared)
        for team in predictions:
            row = {**strict(asdict(team)), "inside": team.inside}
            write_atomically(Path(team.folder) / FILE, json.dumps(row, indent=2) + "\n")
    except (SettingError, OSError) as error:
        echo_error(f"error: {error}")
        sys.exit(1)
    show(evaluations, predictions)
    echo(f"{FILE} written into the folder of each team")


if __name__ == "__main__":
    main()
