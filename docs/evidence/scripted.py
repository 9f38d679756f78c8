"""Draw what scripted teams do on `signal` and `commons`: make evidence-pictures.

scripted.py    writes docs/pictures/channel.png and commons.png
"""

from __future__ import annotations

import random
from typing import Any

from matplotlib.axes import Axes
from rows import HERE

from laconic import envs
from laconic.extras.report import look
from laconic.learners import Interval, ScriptedTeam, Start, play, wilson

PICTURES = HERE.parent / "pictures"
SPLIT: dict[str, Any] = {
    "information": "split",
    "topology": "star",
    "schedule": ["helper", "solver"],
}
RED, *OTHERS = COLORS = ("red", "blue", "green", "white")


def solved(codes: bool, tasks: int, **channel: object) -> int:
    """Count the tasks of `signal` that a team solves over a channel that loses messages.

    Args:
        codes: True if the informed helper is silent for red, False if it names every color.
        tasks: number of tasks.
        channel: settings of `env.channel`.
    """
    env = envs.make("signal", free=True, split="evaluation", tasks=tasks, channel=channel, **SPLIT)
    guess, count = random.Random(0), 0
    for seed, (key, task) in enumerate(env.tasks.items()):
        _, infos = env.reset(seed=seed, options={"task": key})
        word = "" if codes and task.answer == RED else task.answer
        relevant = task.relevant or ()
        informed = [a for a, i in infos.items() if any(relevant[fact] for fact in i["share"])]
        read = env.step(dict.fromkeys(informed, word))[0]["solver_0"]["text"]
        # A coding team takes unmarked silence for red; a mark rules red out.
        marked = guess.choice(OTHERS) if "could not" in read else RED
        silence = marked if codes else guess.choice(COLORS)
        answer = next((color for color in COLORS if color in read), silence)
        count += env.step({"solver_0": f"#### {answer}"})[4]["solver_0"]["solved"]
    return count


def channel(axes: Axes, tasks: int = 1000) -> None:
    """Draw tasks solved against the share of lost messages, over the closed forms as lines."""
    teams = (
        ("says every color, marked or not", False, True, 0.75),
        ("silence is red, unmarked", True, False, 0.75),
        ("silence is red, marked", True, True, 0.5),
    )
    for style, (name, codes, mark, fall) in zip(look.marks(3), teams, strict=True):
        for lose in (0.1, 0.3, 0.5, 0.7, 0.9):
            right = solved(codes, tasks, lose=lose, mark=mark)
            at = (
                Interval(lose, lose, lose, tasks),
                Interval(right / tasks, *wilson(right, tasks), tasks),
            )
            look.mark(axes, at, style, name if lose == 0.1 else "_")
        axes.plot([0, 1], [1, 1 - fall], color=style[0], linewidth=1)
    axes.set(xlabel="share of messages lost", ylabel="tasks solved", ylim=(0, 1.02))
    look.in_percent(axes.yaxis)
    axes.legend(loc="lower left")


def played(script: str) -> tuple[float, float]:
    """Return units a month and agent, and the gain, of a team on the commons with a script."""
    team = envs.make("commons", free=True, tasks=1)
    (episode,) = play([team], ScriptedTeam(script).policies(team), [Start(0)], seed=0)
    return episode.measures["gain"] / episode.measures["months"], episode.measures["gain"]


def commons(axes: Axes) -> None:
    """Draw the gain of constant harvests, and of three scripts."""
    constant = [played(f"constant:{units}")[1] for units in range(26)]
    axes.plot(range(26), constant, color=look.INK, linewidth=1, label="the same every month")
    for (color, marker), script in zip(look.marks(3), ("share", "endgame", "greedy"), strict=True):
        axes.plot(*played(script), marker, color=color, label=script)
    axes.set(xlabel="units a month, each", ylabel="gain of each, units", ylim=(0, 140))
    axes.legend(loc="upper right")


def main() -> None:
    """Draw both pictures."""
    (PICTURES / "channel.png").write_bytes(look.draw(6.4, 4.2, 1, channel))
    (PICTURES / "commons.png").write_bytes(look.draw(6.4, 4.0, 1, commons))


if __name__ == "__main__":
    main()
