"""Sentences of `laconic doctor` on runs made for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from laconic.extras.report import doctor

LEARNER = """
learner:
  price: {_target_: laconic.learners.prices.schedule.PassRate, power: 2}
  objective: {importance_sampling_level: sequence}
env: {reward: {price: 2}}
"""
CONFIG = LEARNER + "train: {steps: 12}\nagent: {sampling: {max_reply_tokens: 24}}\n"
HEALTHY = {
    "train/accuracy": 0.5,
    "train/silence_rate": 0.25,
    "train/entropy": 0.4,
    "train/reward": 0.4,
    "train/billed": 0.2,
    "train/task_reward": 0.5,
    "train/price": 0.5,
    "train/truncated_replies": 0.0,
    "learner/groups_without_contrast": 0.25,
    "learner/moved_fraction": 0.7,
    "learner/steps": 4.0,
    "learner/grad_norm": 0.5,
}


def interval(mean: float, low: float, high: float, count: int = 64) -> dict[str, float]:
    return {"mean": mean, "low": low, "high": high, "count": count}


def evaluation(step: int, accuracy: dict[str, float]) -> dict:
    return {"step": step, "episodes": 64, "intervals": {"accuracy": accuracy, "score": accuracy}}


TELLING = (
    evaluation(0, interval(0.5, 0.48, 0.52)),
    evaluation(12, interval(0.8, 0.78, 0.82)),
)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run of twelve updates, of which `wrong` replaces figures from a step on."""

    def write(
        wrong: dict | None = None,
        since: int = 1,
        upto: int = 12,
        evaluations: Sequence[dict] = TELLING,
        status: dict | None = None,
    ) -> Path:
        folder = tmp_path / "run"
        (folder / ".hydra").mkdir(parents=True, exist_ok=True)
        rows = [
            {"step": step, **HEALTHY, **((wrong or {}) if since <= step <= upto else {})}
            for step in range(1, 13)
        ]
        for name, lines in (("metrics", rows), ("evaluations", evaluations), ("transcripts", [])):
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
        (folder / "config.yaml").write_text(CONFIG)
        (folder / "status.json").write_text(json.dumps(status or {"state": "finished"}))
        return folder

    return write


def examine(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the exit code and the printed text."""
    try:
        doctor.main([str(folder)])
    except SystemExit as stop:
        assert isinstance(stop.code, int)
        return stop.code, capsys.readouterr().out
    return 0, capsys.readouterr().out


def test_a_healthy_run_is_told_with_the_figures_that_were_looked_at(make, capsys) -> None:
    code, text = examine(make(), capsys)
    assert code == 0
    assert "nothing is wrong" in text and "12 updates recorded" in text
    for kind in ("wrong:", "earlier:", "note:"):
        assert kind not in text
    for figure in (
        "groups without contrast 25%",
        "replies stopped by their limit 0%",
        "charged share of the price 25%",
        "share of ratios that are not 1 70%",
        "entropy 0.4 nats a token (at the start 0.4)",
    ):
        assert f"  {figure}\n" in text


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"learner/groups_without_contrast": 1.0}, "nothing to compare"),
        ({"train/truncated_replies": 1.0}, "100% of the replies were stopped"),
        ({"learner/moved_fraction": 0.0}, "every importance ratio of the last 3 updates is 1"),
        ({"learner/ratio_min": 0.5, "learner/ratio_max": 30.0}, "(30 on average)"),
        ({"learner/changed_weights": 0.01}, "changed only 1% of the weights"),
        ({"learner/mismatch_kl": 0.5}, "0.5 nats a token apart"),
        ({"learner/approx_kl": 2.0}, "by 2 nats a token"),
        ({"train/silent_if_uninformed": 0.0}, "kept silent in 0.0% of their turns"),
    ],
)
def test_what_is_wrong_is_said_with_its_figure(make, capsys, figures, words) -> None:
    code, text = examine(make(figures), capsys)
    assert code == 1 and "nothing is wrong" not in text
    (sentence,) = [line for line in text.splitlines() if line.startswith("wrong: ")]
    assert words in sentence


@pytest.mark.parametrize(("since", "code"), [(1, 1), (2, 0)])
def test_a_short_run_that_had_nothing_to_compare_learned_nothing(make, capsys, since, code) -> None:
    folder = make({"learner/groups_without_contrast": 1.0}, since=since)
    rows = (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text("".join(rows[:2]))
    found, text = examine(folder, capsys)
    assert found == code
    assert ("in the last 2 updates all episodes" in text) == bool(code)


def test_silence_and_entropy_collapse_are_told_from_the_step_on(make, capsys) -> None:
    # From step 7 on: full windows of the new figures end at step 11.
    fallen = {"train/silence_rate": 1.0, "train/accuracy": 0.2, "train/entropy": 0.01}
    code, text = examine(make(fallen, since=7), capsys)
    assert code == 1
    assert "wrong: silence collapse at step 11" in text and "down from 50%" in text
    # The mean of the last five is 0.01 from step 11 on, 2 % of the 0.4 at the start.
    assert "wrong: entropy collapse at step 11" in text and "2% of that at the start" in text


def test_a_price_that_the_pass_rate_cannot_pay_is_told_by_the_evaluations(make, capsys) -> None:
    before = evaluation(0, interval(0.8, 0.78, 0.82))
    after = evaluation(12, interval(0.5, 0.48, 0.52))
    for each, tokens in ((before, 80.0), (after, 25.0)):
        each["intervals"]["tokens_said"] = interval(tokens, tokens, tokens)
    code, text = examine(make(evaluations=(before, after)), capsys)
    assert code == 1
    assert "wrong: accuracy went from 80.0 % [78.0, 82.0] to 50.0 % [48.0, 52.0], while" in text
    assert "from 80 to 25 at a price of 0.5: the price is above what the pass rate can pay" in text
    assert "Now env.reward.price=2, learner.price.power=2." in text


def test_what_an_episode_costs_is_among_the_figures(make, capsys) -> None:
    folder = make()
    stakes = {"pass_rate": 0.8, "agent_charge": 1.28, "team_charge": 2.56, "agent_earns": 0.8}
    figures = {**stakes, "accuracy": 0.8, "billed": 1.0, "task_reward": 0.8, "tokens_said": 50.0}
    start = {"eval/agent_charge": 0.9, "eval/silence_earns": 0.25}
    rows = [{"step": 0, **start}, *({"step": step, **HEALTHY} for step in range(1, 12))]
    rows += [{"step": 12, **HEALTHY, **{f"eval/{name}": x for name, x in figures.items()}}]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, text = examine(folder, capsys)
    # A quarter of the price is in force. The words of all cost 2.56 in full, and 1.6384 at the
    # square of 0.8. They bring 0.8 - 0.25 = 0.55, and 50 x 0.55 / 1.6384 = 16.8.
    assert "  An episode says 50 tokens: an agent is charged 0.32 for its own now and 1.28" in text
    assert "earns 0.25. At a pass rate of 80% the words of all are charged 1.64" in text
    assert "until 17 tokens are enough" in text


def test_a_setting_that_is_named_comes_with_its_value(make, capsys) -> None:
    _, text = examine(make({"train/truncated_replies": 1.0}), capsys)
    assert "Now agent.sampling.max_reply_tokens=24." in text


def test_what_has_passed_is_no_fault(make, capsys) -> None:
    code, text = examine(make({"learner/skipped_steps": 1.0}, upto=5), capsys)
    # The rule needs one row without skipped steps; those rows say nothing about them.
    assert code == 1
    folder = make({"learner/moved_fraction": 0.0}, upto=5)
    code, text = examine(folder, capsys)
    assert code == 0 and "nothing is wrong" in text
    assert "earlier: step 3: every importance ratio" in text


def test_figures_that_are_not_finite_are_counted(make, capsys) -> None:
    code, text = examine(make({"learner/loss": None}, since=4, upto=6), capsys)
    assert code == 1
    assert "learner/loss was not finite in 3 of 12 rows, first at step 4" in text


def test_an_evaluation_that_cannot_tell_says_how_many_episodes_would(make, capsys) -> None:
    # Half-widths 0.06 and 0.08 add as squares to 0.1. It shrinks to 0.05 with 4 times as many
    # episodes: 64 x 4 = 256.
    small = (
        evaluation(0, interval(0.5, 0.44, 0.56)),
        evaluation(12, interval(0.52, 0.44, 0.6)),
    )
    code, text = examine(make(evaluations=small), capsys)
    assert code == 0
    assert "note: accuracy went from 50.0 % [44.0, 56.0] to 52.0 % [44.0, 60.0]" in text
    assert "a change of less than 10.0%" in text and "About 256 episodes" in text


def test_a_team_that_became_worse_for_another_reason_is_told(make, capsys) -> None:
    worse = (
        evaluation(0, interval(0.8, 0.78, 0.82)),
        evaluation(12, interval(0.5, 0.48, 0.52)),
    )
    code, text = examine(make(evaluations=worse), capsys)
    assert code == 1 and "worse than before training. Try a lower optimizer.lr" in text


def test_episodes_that_repeat_each_other_are_counted(make, capsys) -> None:
    folder = make({"learner/groups_without_contrast": 1.0})

    def episode(message: str) -> dict:
        return {"turns": [{"agent": "a_0", "round": 0, "message": message}]}

    # Three of the four are alike: two of the three after the first repeat another one.
    group = {"step": 1, "episodes": [episode(x) for x in ("six", "six", "six", "ten")]}
    (folder / "groups.jsonl").write_text(json.dumps(group) + "\n")
    assert "67% of the episodes after the first repeat" in examine(folder, capsys)[1]


def test_warnings_of_other_parts_are_passed_on_without_control_characters(make, capsys) -> None:
    status = {"state": "finished", "warnings": ["the tracker\u001b[2J is gone"]}
    code, text = examine(make(status=status), capsys)
    assert code == 0 and "note: the run warned: the tracker[2J is gone" in text


def test_a_damaged_folder_is_judged_by_what_is_left(make, capsys) -> None:
    folder = make()
    (folder / "config.yaml").write_text("a: &x 1\nlearner: *x\n")
    (folder / "groups.jsonl").symlink_to("/etc/passwd")
    (folder / "evaluations.jsonl").unlink()
    code, text = examine(folder, capsys)
    assert code == 0 and "missing: evaluations.jsonl is missing" in text
    (folder / "metrics.jsonl").write_text("")
    code, text = examine(folder, capsys)
    assert code == 1 and "no update yet" in text


def test_a_killed_run_is_continued(make, capsys) -> None:
    folder = make(status={"state": "running"})
    # A process that wrote the folder and holds no lock is gone.
    (folder / "provenance.json").write_text(json.dumps([{"format": 1}]))
    code, text = examine(folder, capsys)
    assert code == 1
    assert "wrong: the run was killed (step 12 of 12)" in text
    assert f"laconic train resume={folder} continues it" in text


def test_another_folder_is_refused(tmp_path, capsys) -> None:
    code, text = examine(tmp_path / "none", capsys)
    assert (code, text) == (2, "")
