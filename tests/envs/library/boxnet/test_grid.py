"""The grid of BoxNet: moves by hand and against recorded steps, and the greedy planner."""

from __future__ import annotations

import json
import re
from itertools import permutations
from random import Random

import pytest
from places import DATA

from laconic.envs.library.boxnet import BoxNet
from laconic.envs.library.boxnet.grid import Grid, tasks_in, things_in, write_plan

RECORDED = DATA / "boxnet_transitions.jsonl"
ROW = Grid(1, 3)


def test_cells_are_named_by_their_centers_in_row_order():
    grid = Grid(2, 3)
    assert grid.names == ("0.5_0.5", "0.5_1.5", "0.5_2.5", "1.5_0.5", "1.5_1.5", "1.5_2.5")
    # The second cell of the first row: left, right, and below.
    assert grid.neighbors[1] == (0, 2, 4)
    assert [grid.distance(0, cell) for cell in range(6)] == [0, 1, 2, 1, 2, 3]


def test_a_plan_is_read_as_it_is_written_and_the_last_task_of_an_arm_counts():
    tasks = {"arm_0": "move box_red target", "arm_12": "move box_blue 0.5 11.5"}
    assert write_plan(tasks) == "arm_0 move box_red target, arm_12 move box_blue 0.5 11.5"
    assert tasks_in(f"I think {write_plan(tasks)}. EXECUTE") == tasks
    assert tasks_in("arm_0: move box_red target; arm_0 move box_red 0.5 1.5") == {
        "arm_0": "move box_red 0.5 1.5"
    }
    assert tasks_in("arm_0 lifts box_red") == {}
    assert things_in("I see box_red, box_red and target_blue.") == (
        "box_red",
        "box_red",
        "target_blue",
    )


def test_moves_and_landings_by_hand():
    cells = (("box_red", "target_blue"), ("box_blue", "target_red", "box_blue"), ())
    assert ROW.doable(cells, 0) == ("move box_red 0.5 1.5",)
    assert ROW.doable((("box_red", "target_red"), (), ()), 0) == (
        "move box_red target",
        "move box_red 0.5 1.5",
    )
    after, refused = ROW.play(
        cells, {0: "move box_red 0.5 1.5", 1: "move box_blue 0.5 0.5"}, together=True
    )
    assert after == (("target_blue", "box_blue"), ("target_red", "box_blue", "box_red"), ())
    assert refused == ()
    after, refused = ROW.play(
        after, {0: "move box_blue target", 1: "move box_red target", 2: "move box_red target"}, True
    )
    assert after == ((), ("box_blue",), ()) and refused == (2,)


def test_moves_that_are_not_possible_change_nothing():
    cells = (("box_red",), ("target_red",), ())
    for task in ("move box_red target", "move box_red 0.5 2.5", "move box_red 0.5 0.5"):
        assert ROW.play(cells, {0: task}, together=True) == (cells, (0,))
    assert ROW.play(cells, {0: "move box_blue 0.5 1.5"}, together=False) == (cells, (0,))


def test_a_box_moves_twice_only_if_arms_move_one_after_another():
    cells = (("box_red",), (), ("target_red",))
    tasks = {0: "move box_red 0.5 1.5", 1: "move box_red 0.5 2.5", 2: "move box_red target"}
    # Together, the other arms have no box at the start of the step.
    assert ROW.play(cells, tasks, together=True) == (((), ("box_red",), ("target_red",)), (1, 2))
    assert ROW.play(cells, tasks, together=False) == (((), (), ()), ())


def test_pairs_have_the_least_sum_of_distances():
    cells = (("target_red", "box_red"), ("box_red",), ("target_red",))
    # 0 + 1; the other way it would be 2 + 1.
    assert sorted(ROW.match(cells)) == [(0, 0, 0, "box_red"), (1, 1, 2, "box_red")]
    assert ROW.match((("box_red", "box_red"), (), ("target_red",))) == [(2, 0, 2, "box_red")]


def test_the_greedy_planner_moves_the_farthest_box_to_the_emptier_neighbor():
    grid = Grid(2, 2)
    cells = (("box_red", "box_blue", "target_blue"), ("box_green",), ("target_green",), ())
    # Green is 2 away, by cell 0 with two boxes or cell 3 with none. Blue is at its target.
    assert grid.greedy((*cells[:3], ("target_red",))) == {
        0: "move box_red 1.5 0.5",
        1: "move box_green 1.5 1.5",
    }
    assert grid.greedy(cells) == {0: "move box_blue target", 1: "move box_green 1.5 1.5"}
    assert grid.greedy(((), (), (), ())) == {}


def bottleneck(grid, cells):
    """Return the fewest steps: one more than the distance that some box has to go at least."""
    farthest = 0
    for color in {thing.partition("_")[2] for things in cells for thing in things}:
        boxes, targets = (
            [
                cell
                for cell, things in enumerate(cells)
                for _ in range(things.count(f"{kind}_{color}"))
            ]
            for kind in ("box", "target")
        )
        orders = permutations(targets)
        farthest = max(farthest, min(max(map(grid.distance, boxes, order)) for order in orders))
    return farthest + 1


SIZES = [
    # Steps of an independent program over 500 grids, and one more than the largest distance of its
    # pairs, both means. The pairs have the least sum, so single grids may need fewer steps.
    (2, 2, 5.78, 2.78),
    (2, 4, 5.28, 4.06),
    (4, 4, 5.48, 5.03),
    (4, 8, 7.54, 7.44),
]


@pytest.mark.parametrize(("rows", "columns", "mean", "bound"), SIZES)
def test_greedy_plans_solve_every_grid_in_about_the_steps_of_another_program(
    rows, columns, mean, bound
):
    world, steps, bounds = BoxNet(rows=rows, columns=columns), [], []
    grid = world.grid
    for task in world.generate(0, 500):
        cells = task.details["cells"]
        bounds.append(1 + max(distance for distance, *_ in grid.match(cells)))
        least, count = bottleneck(grid, cells), 0
        while any(cells) and count < 40:
            cells, refused = grid.play(cells, grid.greedy(cells), together=True)
            assert refused == ()
            count += 1
        assert not any(cells) and count >= least
        steps.append(count)
    for values, expected in ((steps, mean), (bounds, bound)):
        average = sum(values) / 500
        spread = (sum((value - average) ** 2 for value in values) / 499) ** 0.5
        # Three standard errors of a difference of two means.
        assert abs(average - expected) < 3 * spread * (2 / 500) ** 0.5


def test_grids_have_one_to_three_boxes_of_each_color_and_as_many_targets():
    counts = set()
    for task in BoxNet().generate(0, 200):
        things = [thing for cell in task.details["cells"] for thing in cell]
        for color in ("blue", "red", "green", "purple", "orange"):
            boxes = things.count(f"box_{color}")
            assert boxes == things.count(f"target_{color}")
            counts.add(boxes)
    assert counts == {1, 2, 3}


@pytest.mark.skipif(not RECORDED.is_file(), reason="no recorded steps; LACONIC_DATA names them")
def test_recorded_steps_come_out_as_they_were():
    rows = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    legal = 0
    for row in rows:
        grid = Grid(row["rows"], row["columns"])
        assert tuple(row["before"]) == grid.names
        cells = tuple(map(tuple, row["before"].values()))
        tasks = {}
        for agent, move in row["plan"].items():
            box, end = re.fullmatch(r"move\((\w+), (.*)\)", move).groups()
            numbers = re.findall(r"\d+\.5", end)
            target = "target" if end == box.replace("box", "target") else end
            name = "_".join(re.findall(r"\d+\.5", agent))
            tasks[grid.names.index(name)] = f"move {box} {' '.join(numbers) or target}"
        for together in (False, True):
            after, refused = grid.play(cells, tasks, together)
            recorded = [tuple(things) for things in row["after"].values()]
            feedback = "".join(
                f"Your assigned task for {grid.names[cell]} is not in the doable action list; "
                for cell in refused
            )
            assert feedback == row["feedback"]
            if together:
                assert [sorted(things) for things in after] == [sorted(t) for t in recorded]
            else:
                assert list(after) == recorded
        legal += not refused
    assert (len(rows), legal) == (320, 141)


def test_greedy_plans_of_random_grids_are_always_possible():
    random = Random(0)
    things = [f"{kind}_{color}" for kind in ("box", "target") for color in ("red", "blue")]
    for _ in range(300):
        grid = Grid(random.randint(1, 3), random.randint(1, 3))
        cells = tuple(tuple(random.choices(things, k=random.randint(0, 2))) for _ in grid.names)
        plan = grid.greedy(cells)
        assert all(task in grid.doable(cells, cell) for cell, task in plan.items())
