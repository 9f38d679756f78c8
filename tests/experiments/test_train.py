"""Settings of a training and their effects."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from omegaconf import open_dict
from transformers import AutoModelForCausalLM

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.tree import CONF, allow_unlisted
from laconic.experiments.session.setup import draw_starts
from laconic.experiments.train import main
from laconic.extras.report import doctor
from laconic.learners.prices.schedule import checked_share


@pytest.fixture(scope="module")
def warned(run, small, tmp_path_factory):
    """Run a training with warnings but no report, and resume it with a report."""
    folder = tmp_path_factory.mktemp("warned") / "run"
    arguments = [*small, "learner.minibatches=1", f"hydra.run.dir={folder}"]
    first = run("train", *arguments)
    assert first.code == 0, first.err
    reports = list(folder.glob("report*"))
    again = run("train", *arguments, "resume=true", "report=true")
    assert again.code == 0, again.err
    return folder, first, reports


def test_without_a_report_no_picture_is_drawn_and_a_resumed_run_may_ask_for_one(warned):
    folder, first, reports = warned
    assert "report:" not in first.out and reports == []
    assert (folder / "report.html").is_file()


def test_output_that_is_no_terminal_gets_plain_lines_and_nothing_on_the_error_stream(
    processes, small, tmp_path
):
    arguments = [*small, "train.steps=1", "report=true", f"hydra.run.dir={tmp_path}/run"]
    outcome = processes.run("train", *arguments)
    assert outcome.code == 0
    what, where, limits, price, first, last, *table, report = outcome.out.splitlines()
    assert what.startswith("trains tiny (") and " on gsm8k by gspo, seed 0: 1 step of 2 " in what
    assert where == f"written to {tmp_path}/run"
    assert table[0].startswith("gsm8k · gspo · seed 0: finished")
    # Without a terminal there are 80 columns.
    assert table[2].strip() == "before"
    assert table[3].split() == ["metric", "training", "after", "change"]
    # The replies of these tests are shorter than the messages that the environment would take.
    assert limits.startswith("limits: replies end after ")
    # The tests' learner charges in full, whatever is solved.
    assert price.startswith("An episode says ") and "for its own, and earns " in price
    assert first.startswith("step 0/1  accuracy ") and last.startswith("step 1/1  accuracy ")
    assert report.startswith("report: ")
    assert "\x1b" not in outcome.out
    assert outcome.err == ""


def test_equal_seeds_give_equal_runs_and_another_seed_another_one(
    processes, trained, small, tmp_path, timeless
):
    again, other = tmp_path / "again", tmp_path / "other"
    assert processes.run("train", *small, f"hydra.run.dir={again}").code == 0
    other_seed = [*small, "seed=1", "train.steps=1"]
    assert processes.run("train", *other_seed, f"hydra.run.dir={other}").code == 0
    for name in ("metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl"):
        assert timeless(again / name) == timeless(trained[0] / name)
    assert (again / "policy" / "model.safetensors").read_bytes() == (
        trained[0] / "policy" / "model.safetensors"
    ).read_bytes()
    before, last = timeless(other / "metrics.jsonl")
    # The evaluation before training plays the same tasks greedily with the same weights.
    assert before == timeless(trained[0] / "metrics.jsonl")[0]
    first = timeless(trained[0] / "metrics.jsonl")[1]
    # The shorter run is evaluated after it.
    assert {name: last.get(name) for name in first} != first


def test_the_program_returns_the_score_of_the_last_evaluation(small, tmp_path, rows):
    overrides = [*small, "train.steps=1", "logger=none"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=allow_unlisted(overrides), return_hydra_config=True)
    with open_dict(cfg):
        cfg.hydra.runtime.output_dir = str(tmp_path)
        HydraConfig.instance().set_config(cfg)
        del cfg["hydra"]
    result = main(cfg)
    assert isinstance(result, float)
    assert result == rows(tmp_path / "metrics.jsonl")[-1]["eval/score"]
    assert not list(tmp_path.glob("events.*"))


def test_without_steps_there_is_one_evaluation_and_an_unchanged_policy(
    run, small, policy_folder, tmp_path, rows
):
    outcome = run("train", *small, "train.steps=0", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0
    assert [row["step"] for row in rows(tmp_path / "run" / "metrics.jsonl")] == [0]
    weights = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "policy").state_dict()
    before = AutoModelForCausalLM.from_pretrained(policy_folder).state_dict()
    assert all(torch.equal(before[name], weights[name]) for name in before)


RISING = [
    *("learner/price=target_tokens", "learner.price.tokens=1"),
    *("learner.price.proportional_gain=0", "learner.price.integral_gain=0.02"),
]


@pytest.fixture(scope="module")
def dearer(run, small, tmp_path_factory):
    """Run a training whose price rises, because the team says more than the token aimed at."""
    folder = tmp_path_factory.mktemp("dearer") / "run"
    assert run("train", *small, *RISING, f"hydra.run.dir={folder}").code == 0
    return folder


def test_a_rising_price_is_asked_in_training_and_the_whole_one_in_every_evaluation(dearer, rows):
    folder = dearer
    metrics = rows(folder / "metrics.jsonl")
    first, *later = [row["train/price"] for row in metrics[1:]]
    assert first == 0.0 < later[0] < later[1] < later[2]
    assert metrics[1]["train/reward"] == metrics[1]["train/score"]
    evaluated = [row for row in metrics if "eval/reward" in row]
    assert len(evaluated) > 2
    per_token = [
        (row["eval/score"] - row["eval/reward"]) / row["eval/tokens_said"] for row in evaluated
    ]
    assert per_token == pytest.approx([per_token[0]] * len(evaluated)) and per_token[0] > 0


@pytest.mark.slow
@pytest.mark.parametrize("share", [-1, math.nan, math.inf, None, "0.3", torch.tensor(0.5)])
def test_a_schedule_that_returns_no_share_is_named(share):
    def price(value):
        return SimpleNamespace(share=lambda _: value)

    with pytest.raises(
        SettingError, match=r"learner\.price \(SimpleNamespace\) must return .* 3 ch"
    ):
        checked_share(price(share), 3)
    for taken in (0, 0.25, np.float32(0.25), 4.0):
        assert checked_share(price(taken), 3) == float(taken)


def test_a_rising_price_continues_in_a_resumed_run(run, small, dearer, tmp_path, rows):
    metrics = rows(dearer / "metrics.jsonl")
    again = [*small, *RISING, f"hydra.run.dir={tmp_path / 'again'}"]
    assert run("train", *again, "train.steps=2").code == 0
    assert run("train", *again, "resume=true").code == 0
    resumed = rows(tmp_path / "again" / "metrics.jsonl")
    assert [row.get("eval/reward") for row in resumed] == [
        row.get("eval/reward") for row in metrics
    ]


@pytest.mark.parametrize("step", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_rising_price_is_asked_in_an_evaluation_of_a_checkpoint(
    run, small, dearer, tmp_path, rows, step
):
    played = run(
        "evaluate",
        "agent=hf",
        f"agent.model={dearer}",
        f"agent.step={step}",
        *[text for text in small if text.startswith(("agent.sampling", "env.", "evaluation."))],
        "env.instructions=brief",
        "agent.sampling.explain_silence=false",
        "env.budget.message=48",
        "env.budget.episode=192",
        f"hydra.run.dir={tmp_path}/evaluation",
    )
    assert played.code == 0, played.err
    [row] = rows(tmp_path / "evaluation" / "metrics.jsonl")
    expected = rows(dearer / "metrics.jsonl")[step]["eval/reward"]
    assert row["eval/reward"] == pytest.approx(expected, abs=1e-9)


def test_agents_with_weights_of_their_own_are_saved_apart_and_found_again(
    run, small, tmp_path, rows
):
    folder = tmp_path / "run"
    settings = [*small, "agent.sharing=separate", "train.steps=1"]
    assert run("train", *settings, f"hydra.run.dir={folder}").code == 0
    agents = ["helper_0", "helper_1", "helper_2", "solver_0"]
    folders = sorted(path.name for path in (folder / "policy").iterdir() if path.is_dir())
    assert folders == agents
    weights = {(folder / "policy" / agent / "model.safetensors").read_bytes() for agent in agents}
    assert len(weights) == 4
    played = run(
        "evaluate",
        f"agent.model={folder / 'policy'}",
        "agent.sharing=separate",
        "agent.sampling.max_reply_tokens=6",
        "env.tasks=20",
        "evaluation.tasks=4",
        "threads=1",
        f"hydra.run.dir={tmp_path}/evaluation",
    )
    assert played.code == 0, played.err
    (row,) = rows(tmp_path / "evaluation" / "metrics.jsonl")
    last = rows(folder / "metrics.jsonl")[-1]
    assert {name: last[name] for name in row if name != "step"} == {
        name: value for name, value in row.items() if name != "step"
    }


def test_warnings_reach_the_status_the_report_and_the_screen(warned):
    folder, first, _ = warned
    (warning,) = json.loads((folder / "status.json").read_text())["warnings"]
    assert warning.startswith("step 3: every importance ratio of the last 3 updates is 1")
    assert warning in (folder / "report.html").read_text() and warning in first.out


def test_the_doctor_says_what_the_run_warned_of_and_nothing_else_is_added(warned, capsys):
    folder, _, _ = warned
    with pytest.raises(SystemExit) as stopped:
        doctor.main([str(folder)])
    text = capsys.readouterr().out
    (warning,) = json.loads((folder / "status.json").read_text())["warnings"]
    assert stopped.value.code == 1
    assert f"wrong: {warning}. Now learner.minibatches=1." in text and text.count("wrong:") == 1
    assert "the run warned" not in text


def test_a_price_that_is_far_too_high_ends_in_clear_warnings(run, tmp_path):
    sizes = ("train.steps=4", "train.tasks_per_step=2", "train.group_size=4")
    fast = ("optimizer.lr=1e-3", "env.tasks=40", "evaluation.tasks=16", "threads=1", "report=false")
    price = ("env.reward.price=10", "env.reward.normalizer=50", "learner/price=fixed")
    outcome = run("train", *sizes, *fast, *price, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    # A solved task pays 1, and 5 tokens cost 1.
    (before,) = [line for line in lines if line.startswith("An episode says 7")]
    assert "earns 1.00" in before and "until 5 tokens are enough" in before
    warnings = json.loads((tmp_path / "run" / "status.json").read_text())["warnings"]
    for beginning in (
        "accuracy went from 100.0 %",
        "spoke with something useful went from 100.0 %",
    ):
        (warning,) = [each for each in warnings if each.startswith(beginning)]
        assert "env.reward.price" in warning and warning in lines


def test_an_environment_of_the_users_own_is_trained_on(run, small, outside, tmp_path, rows):
    folder = tmp_path / "run"
    arguments = ["--config-dir", f"{outside}/conf", "env=echo", f"hydra.run.dir={folder}"]
    arguments += [text for text in small if not text.startswith("env.")]
    outcome = run("train", *arguments, "train.steps=2")
    assert outcome.code == 0, outcome.err
    metrics = rows(folder / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [0, 1, 2]
    # It has no price, says nothing of what is solved, and counts no tokens.
    names = {name.partition("/")[2] for row in metrics for name in row}
    assert names.isdisjoint({"price", "accuracy", "tokens_said", "tokens_read"})
    # Two agents are called in two rounds; 2 tasks of 2 episodes have a sequence for each agent.
    assert all(row["train/rounds"] == 2.0 for row in metrics[1:])
    assert all(row["learner/sequences"] == 8.0 for row in metrics[1:])
    assert all(0.0 <= row["train/reward"] <= 2.0 for row in metrics[1:])
    transcripts = rows(folder / "transcripts.jsonl")
    assert [turn["agent"] for turn in transcripts[0]["messages"]] == ["left_0", "right_0"] * 2
    assert rows(folder / "evaluations.jsonl")[0]["episodes"] == 4


def test_an_environment_is_named_without_a_yaml_too(run, small, outside, tmp_path, rows):
    arguments = [text for text in small if not text.startswith(("env.", "evaluation.tasks"))]
    outcome = run(
        "train",
        "~env",
        "+env._target_=my_parts.Echo",
        *arguments,
        "train.steps=1",
        "evaluation.tasks=3",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err
    assert rows(tmp_path / "run" / "evaluations.jsonl")[0]["episodes"] == 3


def test_a_learner_that_can_only_update_trains_without_checkpoints_and_says_so(
    run, small, outside, tmp_path, rows
):
    folder = tmp_path / "run"
    command = ["train", "--config-dir", f"{outside}/conf", "learner=bare"]
    command += [text for text in small if not text.startswith("learner")]
    outcome = run(*command, "train.steps=2", f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    metrics = rows(folder / "metrics.jsonl")
    assert metrics[1]["learner/groups"] == 2.0 and metrics[1]["learner/bonus"] == 0.5
    unresumable, skipped = json.loads((folder / "status.json").read_text())["warnings"]
    assert "Bare has no state_dict and load_state_dict" in unresumable
    # It says at both steps that two optimizer steps were skipped; the warning comes once.
    assert skipped.startswith("step 1: 2 optimizer steps were skipped")
    assert not (folder / "checkpoints").exists()
    assert AutoModelForCausalLM.from_pretrained(folder / "policy")
    before = (folder / "metrics.jsonl").read_bytes()
    again = run(*command, "train.steps=3", f"hydra.run.dir={folder}", "resume=true")
    assert again.code == 1
    assert "cannot be resumed: its learner Bare has no state_dict" in again.message
    assert (folder / "metrics.jsonl").read_bytes() == before


def test_starts_are_drawn_without_repetition_from_seed_and_step_alone():
    keys = tuple("abcdef")
    starts = draw_starts(keys, 6, seed=3, step=5)
    assert {start.task for start in starts} == set(keys)
    assert starts == draw_starts(keys, 6, seed=3, step=5)
    assert starts != draw_starts(keys, 6, seed=3, step=6)
    assert starts != draw_starts(keys, 6, seed=4, step=5)
    assert [start.task for start in draw_starts((), 2, seed=0, step=0)] == [None, None]
