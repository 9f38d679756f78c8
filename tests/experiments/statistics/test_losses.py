"""What a run lost against its evaluation before training, paired by task."""

from __future__ import annotations

import json
from pathlib import Path

from laconic.experiments.run_folder.records import Run
from laconic.experiments.run_folder.runs import read_run
from laconic.experiments.statistics.losses import losses, new_losses

TASKS = 100


def evaluation(step: int, solved: int, spoken: int, tasks: str = "same") -> dict:
    """Return an evaluation in which the first tasks are solved, with two informed turns each."""

    def figure(mean: float, half: float) -> dict[str, float]:
        return {"mean": mean, "low": mean - half, "high": mean + half, "count": TASKS}

    def outcome(of: int, count: float = 1.0) -> dict[str, list[float]]:
        return {
            "sums": [count * (place < of) for place in range(TASKS)],
            "counts": [count] * TASKS,
        }

    accuracy = figure(solved / TASKS, 0.1)
    return {
        "step": step,
        "episodes": TASKS,
        "tasks": tasks,
        "intervals": {
            "accuracy": accuracy,
            "score": accuracy,
            "spoke_if_informed": figure(spoken / TASKS, 0.1),
        },
        "outcomes": {"accuracy": outcome(solved), "spoke_if_informed": outcome(spoken, 2.0)},
    }


def run(folder: Path, *evaluations: dict) -> Run:
    folder.mkdir(exist_ok=True)
    rows = "".join(json.dumps(each) + "\n" for each in evaluations)
    (folder / "evaluations.jsonl").write_text(rows)
    (folder / "metrics.jsonl").write_text("".join(f'{{"step": {n}}}\n' for n in range(3)))
    return read_run(folder)


def told(folder: Path, *evaluations: dict) -> list[str]:
    record = run(folder, *evaluations)
    return [*losses(record, record.after)]


def test_informed_silence_is_a_loss_by_itself(tmp_path) -> None:
    # 85 of 100 tasks; paired, 15 fell from 1 to 0: -0.15 with a half-width of about 0.07.
    assert told(tmp_path, evaluation(0, 80, 100), evaluation(2, 80, 85)) == ["spoke_if_informed"]
    record = run(tmp_path, evaluation(0, 80, 100), evaluation(2, 80, 85))
    (words,) = losses(record, record.after).values()
    assert words.startswith("spoke with something useful went from 100.0 %")
    assert "env.reward.price" in words


def test_accuracy_is_compared_with_step_0_by_task(tmp_path) -> None:
    # 10 tasks less of 100 lie within the intervals of both, and outside 0 where tasks are paired.
    assert told(tmp_path, evaluation(0, 80, 100), evaluation(2, 70, 100)) == ["accuracy"]
    other = evaluation(2, 70, 100, tasks="others")
    assert told(tmp_path, evaluation(0, 80, 100), other) == []


def test_small_losses_are_none(tmp_path) -> None:
    assert told(tmp_path, evaluation(0, 100, 100), evaluation(2, 100, 97)) == []
    assert told(tmp_path, evaluation(0, 100, 100), evaluation(2, 99, 99)) == []
    assert told(tmp_path, evaluation(0, 50, 50), evaluation(2, 90, 90)) == []
    assert told(tmp_path, evaluation(0, 50, 50)) == []


def test_a_loss_that_lasts_is_told_once(tmp_path) -> None:
    start, lost = evaluation(0, 80, 100), evaluation(1, 40, 100)
    assert len(new_losses(run(tmp_path, start, lost))) == 1
    both = evaluation(2, 40, 50)
    (words,) = new_losses(run(tmp_path, start, lost, both))
    assert words.startswith("spoke with something useful")
    assert new_losses(run(tmp_path, start, lost, {**lost, "step": 2})) == []
