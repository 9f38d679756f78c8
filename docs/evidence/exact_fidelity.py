"""Measure how many plays credits need to rank messages of jury (docs/results/fidelity.md).

A helper with some eyes saw a color, and could say either color or nothing. The true value of a
message is the team's expected T - C given what the helper knows: a sum over all that it does not
know. A play draws that by its chance: the hidden color, the other helpers' eyes, sights and
messages, and the solver's. Other helpers speak as the teacher of the shipped start does, and the
solver gives its best answer to such helpers. Fidelity is Spearman's correlation of the mean of some
measurements with the true values of the three messages, as in C3 (arXiv 2603.06859).

`own` and `team` are returns in plays of any task. `group` compares own returns within a task, in
reward units, and `group_std` in standard deviations, as in GRPO. `c3` also keeps the messages of
others. `silence` and `shapley` are differences to replays.
"""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from laconic.envs.library.jury.rules import Jury, State
from laconic.envs.library.jury.scripts import SHYNESS
from laconic.envs.library.jury.theory import EYES, sight
from laconic.envs.worlds.base import TeacherStyle, TurnView
from laconic.extras.analysis.fidelity import ALTERNATIVES, spearman
from laconic.learners.advantages.group import Advantages, Key
from laconic.learners.rollout.collectors.counterfactual import differences, shares

TABLE = Path(__file__).with_suffix(".csv")
SILENT = 0.22
"""Silence of the teacher with fair eyes (`conf`: `learner.collect.teacher.silent_uninformed`)."""
PLAYS = tuple(2**power for power in range(14))
"""Plays of each message, replays included."""
REPEATS = 200
"""Measurements of each cell."""
CREDITS = ("own", "team", "group", "group_std", "silence", "shapley", "c3")
GROUPS = {"group": Advantages(scale="none"), "group_std": Advantages()}
HELPERS = ("helper_1", "helper_2", "helper_3")
Array = NDArray[np.float64]


def outcomes() -> Array:
    """Return (colors, eyes, sights, words, words, words): what the solver's answer earns.

    The first three are the hidden color and the solver's view; the words are those of the helpers,
    0 for silence.
    """
    world = Jury()
    words = ("", *world.names)
    solver = world.teacher(TeacherStyle(terse=0.0, silent=SILENT, best=1.0, frames=1))
    draw, random = np.random.default_rng(0), Random(0)
    earned = np.zeros((2, len(EYES), 2, 3, 3, 3))
    for color, eyes, seen, *said in product(range(2), range(len(EYES)), range(2), *[range(3)] * 3):
        agents = ("solver_0", *HELPERS)
        state = State(color, dict.fromkeys(agents, eyes), dict.fromkeys(agents, (seen,)))
        spoke = {name: words[word] for name, word in zip(HELPERS, said, strict=True) if word}
        state, _ = world.apply(state, {}, spoke, draw)
        line = solver(TurnView("solver_0", world.facts_for(state, "solver_0"), "", False), random)
        _, gains = world.apply(state, {"solver_0": line.removeprefix("> ")}, {}, draw)
        earned[color, eyes, seen, *said] = gains["solver_0"]
    return earned


def spoken() -> Array:
    """Return (colors, words): chance of a helper's message given the hidden color."""
    table = np.zeros((2, 3))
    for right, shy in zip(EYES, SHYNESS, strict=True):
        speaks = 1 - min(SILENT * shy, 1.0)
        table[:, 1:] += sight(2, right) * speaks / len(EYES)
        table[:, 0] += (1 - speaks) / len(EYES)
    return table


def credits(earned: Array, price: float) -> dict[str, tuple[Array, Array]]:
    """Return measurements and their plays, by credit, both (states of the rest, author's words).

    A state of the rest is a row of `np.ndindex(2, 3, 2, 3, 3)`: the hidden color, the solver's eyes
    and sight, and the words of two helpers.
    """
    rest = list(np.ndindex(2, len(EYES), 2, 3, 3))
    values = np.zeros((len(rest), 3))
    measured = {
        name: (np.zeros_like(values), np.ones_like(values))
        for name in CREDITS
        if name not in GROUPS
    }
    draw = np.random.default_rng(0)
    for row, (color, eyes, seen, *others) in enumerate(rest):
        for word in range(3):
            said = dict(zip(HELPERS, (word, *others), strict=True))
            speakers = [name for name in HELPERS if said[name]]

            def value(
                speaking: frozenset[str],
                said: dict[str, int] = said,
                earned: Array = earned[color, eyes, seen],
            ) -> float:
                words = [said[name] if name in speaking else 0 for name in HELPERS]
                return float(earned[tuple(words)] - price * len(speaking))

            values[row, word] = value(frozenset(speakers))
            task = values[row, word] + price * len(speakers)
            measured["own"][0][row, word] = task - price * bool(word)
            measured["team"][0][row, word] = values[row, word]
            for name, weights in (
                ("silence", differences(speakers, draw)),
                ("shapley", shares(speakers, draw, samples=4)),
            ):
                sets = weights.get("helper_1", {})
                measured[name][0][row, word] = sum(w * value(each) for each, w in sets.items())
                # The play is the value of the set of all speakers.
                measured[name][1][row, word] = len({*sets, frozenset(speakers)})
        keys = [Key("context", "helper_1")] * 3
        measured["c3"][0][row] = ALTERNATIVES(list(values[row]), keys)
    return measured


def fidelity(earned: Array, price: float, plays: int, repeats: int, seed: int) -> dict[str, Array]:
    """Return (contexts, repeats) fidelities by credit; contexts are the eyes with a red sight.

    The other color is the same by symmetry.
    """
    generator = np.random.default_rng(seed)
    measured, said = credits(earned, price), spoken()
    shape = (2, len(EYES), 2, 3, 3)
    found = {name: np.zeros((len(EYES), repeats)) for name in CREDITS}
    for context, right in enumerate(EYES):
        chances = np.zeros(shape)
        for color, eyes, seen, one, two in np.ndindex(*shape):
            view = sight(2, EYES[eyes])[color, seen] / len(EYES)
            chances[color, eyes, seen, one, two] = (
                sight(2, right)[color, 0] * view * said[color, one] * said[color, two]
            )
        flat = chances.ravel() / chances.sum()
        # The expected T - C: what other helpers pay is the same whatever the author says.
        truth = flat @ measured["own"][0]
        for repeat in range(repeats):
            rows = generator.choice(len(flat), size=plays, p=flat)
            for name in CREDITS:
                table, cost = measured[name if name in measured else "own"]
                if name in GROUPS:
                    # Every episode of a group draws the messages of others again.
                    returns = _again(table, rows, said, shape, generator)
                    means = _compared(GROUPS[name], returns)
                elif name == "c3":
                    means = list(table[rows].mean(axis=0))
                else:
                    means = [
                        _mean(table[each, word], cost[each, word], plays)
                        for word in range(3)
                        for each in (generator.choice(len(flat), size=plays, p=flat),)
                    ]
                found[name][context, repeat] = spearman(means, list(truth)) or 0.0
    return found


def _mean(values: Array, cost: Array, plays: int) -> float:
    """Return the mean of as many measurements as the plays allow, at least one."""
    count = max(1, int((np.cumsum(cost) <= plays).sum()))
    return float(values[:count].mean())


def _again(
    own: Array,
    rows: NDArray[np.int64],
    said: Array,
    shape: tuple[int, ...],
    generator: np.random.Generator,
) -> Array:
    """Return (plays, words) returns in the tasks of some plays, with others' messages anew."""
    color, eyes, seen, *_ = np.unravel_index(rows, shape)
    returns = np.zeros((len(rows), 3))
    for word in range(3):
        heard = [
            (generator.random((len(rows), 1)) > said[color].cumsum(axis=1)).sum(axis=1)
            for _ in range(2)
        ]
        returns[:, word] = own[np.ravel_multi_index((color, eyes, seen, *heard), shape), word]
    return returns


def _compared(estimator: Advantages, returns: Array) -> list[float]:
    """Return the mean advantage of each word, in groups of one episode of each."""
    keys = [Key("context", "helper_1")] * 3
    distinct, index = np.unique(returns, axis=0, return_inverse=True)
    advantages = np.array([estimator(list(row), keys) for row in distinct])
    return [float(each) for each in advantages[index.ravel()].mean(axis=0)]


def main() -> None:
    """Write the table: mean fidelity by price, credit and plays, for each kind of eyes."""
    earned = outcomes()
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("price of a word", "credit", "plays", "mean", "dim", "fair", "sharp"))
        for price in (0.0, 0.06):
            for plays in PLAYS:
                found = fidelity(earned, price, plays, REPEATS, seed=plays)
                for name, each in found.items():
                    figures = (each.mean(), *each.mean(axis=1))
                    lines.writerow((price, name, plays, *(f"{x:.3f}" for x in figures)))


if __name__ == "__main__":
    main()
