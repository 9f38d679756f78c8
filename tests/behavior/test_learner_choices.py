"""Every shipped method runs with the default settings, and bad combinations fail at the start."""

from __future__ import annotations

import pytest

METHODS = ("magrpo", "mc_grpo", "sdpo")
"""Methods that share a group or weights, or make advantages, in a way of their own."""
LIKE_OTHERS = (
    *("agent_gspo", "dr_grpo", "dr_mas", "grpo", "gspo_token", "rae", "reinforce"),
    *("reinforce_plus_plus", "rloo"),
)
"""Methods made of parts that other tests run: trainings run `gspo`, and updates run all."""
VOTERS = ["experiment=rlccf", "~env.team.helper"]
ALONE = ["~env.team.helper", "env.information=full", "env.topology=none", "env.schedule=all"]


def test_policies_learn_from_their_vote(run, small, tmp_path, rows):
    folder = tmp_path / "run"
    outcome = run("train", *small, *VOTERS, "train.steps=2", f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    assert "agent.sharing=separate, as the learner asks" in outcome.err
    last = rows(folder / "metrics.jsonl")[-1]
    # Two tasks, two episodes and three agents who answer once.
    assert last["learner/sequences"] == 12.0 and last["learner/reference_kl"] >= 0.0
    assert {"train/agreement", "train/answer_entropy", "train/voter_accuracy"} <= last.keys()
    assert 1.0 <= last["train/effective_voters"] <= 3.0
    assert {path.name for path in (folder / "policy").glob("solver_*")} == {
        *("solver_0", "solver_1", "solver_2")
    }


@pytest.mark.parametrize(
    "method", [*METHODS, *(pytest.param(method, marks=pytest.mark.slow) for method in LIKE_OTHERS)]
)
def test_a_method_is_one_choice(run, small, tmp_path, rows, method):
    folder = tmp_path / "run"
    overrides = [*small, f"learner={method}", "train.steps=1", "train.evaluate_every=null"]
    outcome = run("train", *overrides, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    last = rows(folder / "metrics.jsonl")[-1]
    # Two tasks, two episodes and four agents who speak once: mc_grpo plays a third episode, which
    # it leaves out again.
    assert last["learner/sequences"] == 16.0 and last["learner/skipped_steps"] == 0.0
    assert ("learner/clip_fraction" in last) == (
        method not in ("magrpo", "rae", "reinforce", "rloo")
    )


def test_edges_are_learned_beside_a_method_and_alone(run, small, tmp_path, rows):
    settings = ["learner/topology=edges", "env.topology=complete", "learner.topology.updates=1"]
    cases = {name: [f"learner={name}"] for name in ("gspo", "c3", "ippo")}
    cases["alone"] = ["agent.frozen=true"]
    for name, more in cases.items():
        folder = tmp_path / name
        outcome = run("train", *small, *settings, *more, f"hydra.run.dir={folder}")
        assert outcome.code == 0, outcome.err
        last = rows(folder / "metrics.jsonl")[-1]
        assert ("learner/steps" in last) == (name != "alone")
        assert last["learner/edge_training_tokens"] > 0
        # The last evaluation was played under the graph that the run names.
        override = (folder / "topology.txt").read_text("utf-8").strip()
        assert override in outcome.out.replace("\n", "")
        again = tmp_path / f"{name}_again"
        weights = [] if name == "alone" else [f"agent.model={folder}/policy"]
        evaluation = [each for each in small if each.startswith(("env.", "agent.", "evaluation."))]
        settings_again = [*evaluation, *weights, override, f"hydra.run.dir={again}"]
        assert run("evaluate", *settings_again).code == 0
        (row,) = rows(again / "metrics.jsonl")
        assert row["eval/tokens_read"] == last["eval/tokens_read"]


BAD = [
    (["learner=mc_grpo", "train.group_size=3"], ["median", "odd", "got 4 episodes", "group_size"]),
    (
        ["learner/advantages=group", "learner.advantages.center=median"],
        ["median", "odd", "got 2 episodes", "train.group_size"],
    ),
    (["learner=magrpo", *ALONE], ["single agent 'solver_0'", "env.team", "learner=grpo"]),
    (["learner=magrpo", "agent.sharing=shared"], ["helper_0", "share", "agent.sharing=separate"]),
    (
        ["learner=reinforce", "learner.advantages.scale=std"],
        ["learner.advantages.center=none needs learner.advantages.scale=none"],
    ),
    (
        ["learner.advantages.leave_out_pivot=true"],
        ["leave_out_pivot needs learner.advantages.center=median"],
    ),
    (["learner=magrpo", "learner.unit=episode"], ["set learner.unit to 'reply'", "round"]),
    pytest.param(
        ["learner=rae", "learner.advantages.decay=1"],
        ["advantages.decay", "below 1; got 1"],
        marks=pytest.mark.slow,
    ),
    (["learner=rlccf"], ["got rounds=2, information=split", "experiment=rlccf ~env.team.helper"]),
    ([*VOTERS, "agent.sharing=shared"], ["got agent.sharing=shared", "agree on any answer"]),
    ([*VOTERS, "learner.sharing=shared"], ["learner.sharing=shared", "set agent.sharing=separate"]),
    ([*VOTERS, "env.team.solver=1"], ["1 policies of 1 agents", "several agents in env.team"]),
    ([*VOTERS, "env.reward.when=solved"], ["set env.reward.when=always"]),
    ([*VOTERS, "learner/collect=contrast"], ["(DynamicSampling)", "learner/collect=null"]),
    ([*VOTERS, "learner/price=accuracy_floor"], ["set learner/price=pass_rate"]),
    (["learner=mc_grpo", "learner.collect.episodes=0"], ["collect.episodes", "got 0"]),
    (["learner=sdpo", "learner.unit=episode"], ["learner.unit must be 'reply'", "got 'episode'"]),
    (["learner=sdpo", "learner.follow_up=outcome"], ["env.information=split", "next_round"]),
    (["learner=dr_grpo", "learner.objective.normalizer=0"], ["objective.normalizer", "got 0"]),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=lambda values: " ".join(values[:2]))
def test_a_combination_that_cannot_work_fails_at_the_start_and_says_what_to_change(
    run, small, tmp_path, arguments, words
):
    outcome = run("train", *small, *arguments, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code in (1, 2)
    assert all(word in outcome.message for word in words), outcome.err
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_magrpo_may_share_a_policy_if_it_is_told_to(run, small, tmp_path):
    overrides = [*small, "learner=magrpo", "learner.sharing=shared", "train.steps=1"]
    assert run("train", *overrides, f"hydra.run.dir={tmp_path}/run").code == 0
    assert (tmp_path / "run" / "policy" / "model.safetensors").exists()


@pytest.mark.slow
def test_an_averages_run_is_resumed_as_if_it_had_never_stopped(run, small, tmp_path, timeless):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    overrides = [*small, "learner=rae", "train.evaluate_every=null"]
    assert run("train", *overrides, f"hydra.run.dir={whole}").code == 0
    assert run("train", *overrides, "train.steps=2", f"hydra.run.dir={parts}").code == 0
    again = run("train", *overrides, "resume=true", f"hydra.run.dir={parts}")
    assert again.code == 0, again.err
    steps = [timeless(part / "metrics.jsonl") for part in (whole, parts)]
    assert steps[0][1:3] == [
        {k: v for k, v in row.items() if k[:5] != "eval/"} for row in steps[1][1:3]
    ]
    assert steps[0][3:] == steps[1][3:]
