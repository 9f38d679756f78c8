"""Costs are measured on a small policy, and the arithmetic is right."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from transformers import LlamaConfig, LlamaForCausalLM

from laconic import envs
from laconic.experiments.python import compose
from laconic.experiments.session.setup import make_environments, make_team
from laconic.extras.speed.bare_calls import Sample, StepTimer
from laconic.extras.speed.measure_speed import GRADINGS, graded_per_second, rewritten, summarize


def test_all_figures_are_measured(run, policy_folder, tmp_path):
    outcome = run(
        "measure_speed",
        f"agent.model={policy_folder}",
        "agent.sampling.max_reply_tokens=12",
        "env.tasks=20",
        "train.tasks_per_step=2",
        "train.group_size=2",
        "measure.repetitions=2",
        "measure.episodes=20",
        "measure.answers=3",
        "threads=1",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err
    figures = json.loads((tmp_path / "run" / "speed.json").read_text())
    assert figures["repetitions"] == 2
    assert figures["env_steps_per_second"] > 0
    assert 0 < figures["environment_share"] < 1
    assert figures["step_over_bare_low"] <= figures["step_over_bare"]
    assert figures["step_over_bare"] <= figures["step_over_bare_high"]
    assert figures["programs_per_second"] > 0
    assert figures["sampled_tokens_per_second"] > 0 and figures["trained_tokens_per_second"] > 0
    for part in ("gigabytes_beyond_model", "bare_gigabytes_beyond_model"):
        assert 0 <= figures[part] < figures["peak_gigabytes"]
    assert "HumanEval programs graded per second" in outcome.out


@pytest.mark.slow
def test_memory_without_a_warm_up_is_not_known(run, policy_folder, tmp_path):
    # A first step loads libraries and makes the optimizer's moments.
    outcome = run(
        *("measure_speed", f"agent.model={policy_folder}", "env.tasks=4", "measure.warm_up=false"),
        *("train.tasks_per_step=1", "train.group_size=2", "measure.repetitions=1"),
        *("measure.episodes=2", "measure.answers=1", f"hydra.run.dir={tmp_path}/run"),
    )
    assert outcome.code == 0, outcome.err
    text = (tmp_path / "run" / "speed.json").read_text()
    assert json.loads(text)["gigabytes_beyond_model"] is None and "NaN" not in text


def test_replies_go_on_to_their_limit_where_ends_are_ignored(run, policy_folder, tmp_path):
    lengths = {}
    for ignored in (False, True):
        cfg = compose(
            f"agent.model={policy_folder}",
            "agent.sampling.max_reply_tokens=12",
            "env.tasks=20",
            "env.budget.episode=1000",
            "train.tasks_per_step=2",
            "train.group_size=2",
            f"measure.ignore_ends={ignored}",
            program="measure_speed",
        )
        team = make_team(cfg)
        timer = StepTimer(cfg, team, make_environments(cfg, 4, "train", team))
        groups, sample = timer.step(0)
        turns = [turn for group in groups for each in group.episodes for turn in each.turns]
        lengths[ignored] = [len(turn.reply_ids) for turn in turns]
        assert timer.measure(1).bare > 0 and sample.sampled > 0
    assert {*lengths[True]} == {12} != {*lengths[False]}


@pytest.mark.parametrize(("tied", "trained"), [(True, True), (False, True), (False, False)])
def test_operations_are_those_of_weights_that_multiply(tied, trained):
    config = LlamaConfig(
        vocab_size=50,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        tie_word_embeddings=tied,
    )
    model = LlamaForCausalLM(config).requires_grad_(trained)
    # Queries and outputs 2 x 64, keys and values 2 x 32, three matrices of 128, three norms of 8,
    # and the head of 400.
    weights = 128 + 64 + 384 + 24 + 400
    timer = object.__new__(StepTimer)
    timer._policy = SimpleNamespace(model=model)
    assert timer.token_operations == (6 if trained else 4) * weights


@pytest.mark.parametrize(("warm_up", "expected"), [("true", [0, 1, 2]), ("false", [1, 2])])
def test_a_warm_up_precedes_the_measurement_unless_turned_off(
    run, policy_folder, tmp_path, monkeypatch, warm_up, expected
):
    measured = []

    def measure(self, repetition):
        measured.append(repetition)
        return Sample(1.0, 2.0, 0.1)

    monkeypatch.setattr(StepTimer, "measure", measure)
    outcome = run(
        "measure_speed",
        f"agent.model={policy_folder}",
        "env.tasks=20",
        "train.tasks_per_step=1",
        "train.group_size=2",
        "measure.repetitions=2",
        f"measure.warm_up={warm_up}",
        "measure.episodes=2",
        "measure.answers=1",
        "threads=1",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err
    assert measured == expected
    assert json.loads((tmp_path / "run" / "speed.json").read_text())["repetitions"] == 2


def test_ratios_are_taken_pair_by_pair():
    # Ratios 0.5, 1, 2: their median is 1, while the ratio of the medians would be 2 / 4 = 0.5.
    samples = [
        Sample(2.0, 4.0, 0.2, 9.0, 50.0),
        Sample(8.0, 8.0, 0.8, 3.0, 40.0),
        Sample(2.0, 1.0, 0.1, 5.0, 60.0),
    ]
    figures = summarize(samples)
    assert figures["step_over_bare"] == 1.0
    assert figures["step_seconds"] == 2.0
    assert figures["bare_seconds"] == 4.0
    assert figures["sampled_tokens_per_second"] == 5.0
    assert figures["trained_tokens_per_second"] == 50.0
    assert figures["environment_share"] == pytest.approx(0.1, rel=1e-12)


def test_right_answers_are_graded_and_those_of_math_are_rewritten_first():
    assert graded_per_second(GRADINGS["math_answers_per_second"], 3) > 0
    task = replace(envs.benchmark("math").generate(0, 1)[0], answer=r"2\sqrt{3}")
    assert rewritten(task) == r"\boxed{0+2\sqrt{3}}"
    # A plain fraction takes no algebra, and an interval is no sum.
    for answer in (r"-\frac{1}{2}", r"(0,\infty)", "7"):
        changed = replace(task, answer=answer)
        assert rewritten(changed) == changed.answer_text


@pytest.mark.slow
def test_several_environments_are_measured_in_one_table(run, tmp_path):
    outcome = run(
        "measure_speed",
        "measure.environments=[signal,tldr]",
        "train.tasks_per_step=1",
        "train.group_size=2",
        "measure.repetitions=1",
        "measure.warm_up=false",
        "measure.episodes=20",
        "measure.answers=3",
        "threads=1",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err
    figures = json.loads((tmp_path / "run" / "speed.json").read_text())
    assert list(figures) == ["signal", "tldr"]
    assert figures["tldr"] == json.loads((tmp_path / "run" / "tldr" / "speed.json").read_text())
    table = outcome.out[outcome.out.index("environments") :]
    assert all(f"{measured['env_steps_per_second']:,.0f}" in table for measured in figures.values())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["measure.environments=[signal,maths]"], "unknown measure.environments 'maths'"),
        (["measure.environments=all", "measure.conversations=8"], "leave one of them null"),
    ],
)
def test_environments_that_cannot_be_measured_are_refused(run, tmp_path, settings, message):
    outcome = run("measure_speed", *settings, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code != 0 and message in outcome.err
