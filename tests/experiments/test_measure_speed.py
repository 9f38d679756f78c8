"""The benchmark runs on a small policy, and its arithmetic is right."""

from __future__ import annotations

import json

import pytest

from laconic.experiments.measure_speed import Sample, prompts_by_round, summarise
from laconic.learners.episode import Episode, Turn


def test_the_benchmark_measures_all_its_figures(run, policy_folder, tmp_path):
    outcome = run(
        "measure_speed",
        f"agent.model={policy_folder}",
        "agent.speech.max_reply_tokens=12",
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
    assert "HumanEval programs graded per second" in outcome.out


@pytest.mark.parametrize(
    ("learner", "said"),
    [("ippo", "got ActorCriticLearner"), ("magrpo", "one policy for the whole team")],
)
def test_a_step_whose_bare_calls_are_unknown_is_refused(run, policy_folder, learner, said):
    outcome = run(
        "measure_speed", f"agent.model={policy_folder}", f"learner={learner}", "env.tasks=4"
    )
    assert outcome.code == 1
    assert said in outcome.err


def test_ratios_are_taken_pair_by_pair():
    # Ratios 0.5, 1, 2: their median is 1, while the ratio of the medians would be 2 / 4 = 0.5.
    samples = [Sample(2.0, 4.0, 0.2), Sample(8.0, 8.0, 0.8), Sample(2.0, 1.0, 0.1)]
    figures = summarise(samples)
    assert figures["step_over_bare"] == 1.0
    assert figures["step_seconds"] == 2.0
    assert figures["bare_seconds"] == 4.0
    assert figures["environment_share"] == pytest.approx(0.1, rel=1e-12)


def test_the_bare_calls_get_the_prompts_of_each_round():
    turns = (
        Turn("a", 0, "x", (1, 2), (3,), (0.0,)),
        Turn("b", 0, "y", (4,), (5, 6), (0.0, 0.0)),
        Turn("a", 1, "z", (7,), (8,), (0.0,)),
    )
    episodes = [Episode("t", turns, {"a": (0.0, 0.0), "b": (0.0, 0.0)})]
    # The second prompt of `a` is all it read and said before.
    assert prompts_by_round(episodes) == [[[1, 2], [4]], [[1, 2, 3, 7]]]
