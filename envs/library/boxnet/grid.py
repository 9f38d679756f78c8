"""A grid of boxes and targets: moves, plans in words, and a greedy planner.

A cell is named by its center, row first: `0.5_1.5` is the second cell of the first row. A task is
an act without its mark: `move box_red 0.5 1.5`, or `move box_red target`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

COLORS = ("blue", "red", "green", "purple", "orange")
KINDS = ("box", "target")
TARGET = "target"
"""Destination of a box that is put onto a target of its color."""
Cells = tuple[tuple[str, ...], ...]
"""Things in each cell (`box_red`, `target_red`), in row order."""
Tasks = Mapping[str, str]
"""Agent -> task."""

_TASK = re.compile(r"(arm_\d+):? (move box_[a-z]+ (?:target|\d+\.5 \d+\.5))")
_THING = re.compile(r"\b(?:box|target)_[a-z]+")


def tasks_in(text: str) -> dict[str, str]:
    """Read the tasks of a plan; the last one counts if an arm has several."""
    return dict(_TASK.findall(text))


def write_plan(tasks: Tasks) -> str:
    """Write a plan: `arm_0 move box_red target, arm_3 move box_blue 0.5 1.5`."""
    return ", ".join(f"{arm} {task}" for arm, task in tasks.items())


def things_in(text: str) -> tuple[str, ...]:
    """Return the boxes and targets that a text names, in its order."""
    return tuple(_THING.findall(text))


def boxes_in(cells: Cells) -> int:
    """Count the boxes of a grid."""
    return sum(thing.startswith("box") for cell in cells for thing in cell)


@dataclass(frozen=True)
class Grid:
    """A grid of cells, each with its arm: `arm_0` in the first cell of the first row."""

    rows: int
    """Number of rows."""
    columns: int
    """Number of cells in a row."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each cell, in row order."""
        spots = ((i // self.columns, i % self.columns) for i in range(self.rows * self.columns))
        return tuple(f"{row}.5_{column}.5" for row, column in spots)

    @cached_property
    def neighbors(self) -> tuple[tuple[int, ...], ...]:
        """Cells at distance 1 of each cell."""
        cells = range(len(self.names))
        return tuple(tuple(n for n in cells if self.distance(cell, n) == 1) for cell in cells)

    def distance(self, cell: int, other: int) -> int:
        """Return the number of moves between two cells (Manhattan distance)."""
        (row, column), (row_2, column_2) = (divmod(i, self.columns) for i in (cell, other))
        return abs(row - row_2) + abs(column - column_2)

    def task(self, box: str, cell: int | None) -> str:
        """Write a task that moves a box to a cell, or onto a target (None)."""
        return f"move {box} {TARGET if cell is None else self.names[cell].replace('_', ' ')}"

    def tasks_from(self, cell: int, boxes: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the tasks of a cell's arm: to a neighbor or a target, for boxes of these kinds."""
        kinds = [f"box_{color}" for color in COLORS] if boxes is None else dict.fromkeys(boxes)
        ends = (None, *self.neighbors[cell])
        return tuple(self.task(box, end) for box in kinds for end in ends)

    def doable(self, cells: Cells, cell: int) -> tuple[str, ...]:
        """Return the tasks that a cell's arm can carry out now."""
        boxes = [thing for thing in cells[cell] if thing.startswith("box")]
        return tuple(
            task
            for task in self.tasks_from(cell, boxes)
            if not task.endswith(TARGET) or target_of(task.split()[1]) in cells[cell]
        )

    def play(
        self, cells: Cells, tasks: Mapping[int, str], together: bool
    ) -> tuple[Cells, tuple[int, ...]]:
        """Carry out one step.

        Args:
            cells: the grid before the step.
            tasks: cell -> task of its arm, in row order.
            together: check every task against the grid before the step. Otherwise one is carried
                out after the other, and a box may travel several cells.

        Returns:
            The grid after the step, and the cells whose task was refused.
        """
        now, refused = [list(things) for things in cells], []
        for cell, task in tasks.items():
            present = cells if together else tuple(map(tuple, now))
            if task not in self.doable(present, cell):
                refused.append(cell)
                continue
            _, box, end = task.split(maxsplit=2)
            now[cell].remove(box)
            if end == TARGET:
                now[cell].remove(target_of(box))
            else:
                now[self.names.index(end.replace(" ", "_"))].append(box)
        return tuple(map(tuple, now)), tuple(refused)

    def match(self, cells: Cells) -> list[tuple[int, int, int, str]]:
        """Pair boxes with targets, for each color with the least sum of distances.

        Returns:
            Distance, cell of the box, cell of the target, and box of each pair.
        """
        pairs = []
        for color in COLORS:
            boxes, targets = (
                [
                    cell
                    for cell, things in enumerate(cells)
                    for x in things
                    if x == f"{kind}_{color}"
                ]
                for kind in KINDS
            )
            count = min(len(boxes), len(targets))
            least = min(permutations(targets, count), key=_total(self.distance, boxes))
            pairs += [
                (self.distance(box, target), box, target, f"box_{color}")
                for box, target in zip(boxes, least, strict=False)
            ]
        return pairs

    def greedy(self, cells: Cells) -> dict[int, str]:
        """Plan a step: the farthest boxes first, one move a cell, to the less crowded neighbor.

        Returns:
            Cell -> task, in row order.
        """
        crowd = [sum(thing.startswith("box") for thing in things) for things in cells]
        plan: dict[int, str] = {}
        for distance, cell, target, box in sorted(self.match(cells), key=lambda pair: -pair[0]):
            if cell in plan:
                continue
            end = None
            if distance:
                closer = [n for n in self.neighbors[cell] if self.distance(n, target) < distance]
                end = min(closer, key=lambda n: crowd[n])
            plan[cell] = self.task(box, end)
        return dict(sorted(plan.items()))


def target_of(box: str) -> str:
    """Return the target of a box's color."""
    return box.replace("box", TARGET, 1)


def _total(
    distance: Callable[[int, int], int], boxes: Sequence[int]
) -> Callable[[tuple[int, ...]], int]:
    """Return the sum of distances from boxes to targets, as a function of the targets."""
    return lambda targets: sum(map(distance, boxes, targets))
