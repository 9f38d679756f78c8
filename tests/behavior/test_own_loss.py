"""A user's loss in the training program: that of docs/own_algorithm.md, by Hydra and in Python."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

import laconic
from laconic.envs.errors import SettingError
from laconic.learners import LossOutputs

TARGET = "learner.objective._target_=my_package.dual_clip.DualClip"
LOSS = [TARGET, "+learner.objective.cap=2", "learner.microbatch_tokens=400"]
LORA = ["agent.sharing=lora", "agent.lora.rank=2"]


def padded(inputs, cap=3.0):
    """Forget the mask."""
    return LossOutputs(-(inputs.ratios * inputs.advantages).clamp(min=-cap).mean())


def plain(inputs, cap=3.0):
    """Clip as a function, without a class."""
    return LossOutputs(-inputs.mean((inputs.ratios * inputs.advantages).clamp(min=-cap)))


def test_its_run_has_its_name_and_metrics_and_is_resumed_when_the_loss_is_typed_again(
    run, small, my_package, tmp_path, timeless
):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    overrides = [*small, *LOSS, *LORA]
    outcome = run("train", *overrides, f"hydra.run.dir={whole}")
    assert outcome.code == 0, outcome.err
    # What a user meant and what was left of gspo's is said.
    assert "learner.objective.average" in outcome.err.partition("left out")[0]
    assert "kept as in the yaml files: learner.objective.epsilon" in outcome.err
    rows = timeless(whole / "metrics.jsonl")
    assert all(row["learner/loss/capped"] >= 0 for row in rows[1:])
    assert any(row["learner/grad_norm"] > 0 for row in rows[1:])
    name = "gspo+my_package.dual_clip.DualClip"
    assert f"by {name}, seed 0" in outcome.out
    assert OmegaConf.load(whole / "config.yaml").names.learner == name
    # A folder names a class, and does not get it called.
    assert run("train", *overrides, "train.steps=2", f"hydra.run.dir={parts}").code == 0
    refused = run("train", f"resume={parts}", "train.steps=4")
    assert refused.code == 1 and f"add to the command: {TARGET}" in refused.err
    assert len(timeless(parts / "metrics.jsonl")) == 3
    again = run("train", f"resume={parts}", "train.steps=4", TARGET)
    assert again.code == 0, again.err
    assert timeless(parts / "metrics.jsonl") == rows


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([f"learner.objective._target_={__name__}.padded"], "generated tokens alone"),
        ([TARGET, "+learner.objective.kap=2"], "mean 'learner.objective.cap'"),
        ([TARGET.replace("DualClip", "DualClap")], "DualClap"),
        (["learner.objective._target_=collections.OrderedDict"], "callable from LossInputs"),
    ],
)
def test_a_wrong_one_is_refused_before_anything_is_written(
    run, small, my_package, tmp_path, settings, words
):
    folder = tmp_path / "run"
    outcome = run("train", *small, *settings, f"hydra.run.dir={folder}")
    assert outcome.code == 1 and words in outcome.err, outcome.err
    assert not folder.exists()


def test_a_function_and_a_class_are_fitted_to_a_config_of_ours(my_package):
    from laconic.experiments.command_line.targets import finalize_config

    typed = [f"learner.objective._target_={__name__}.plain"]
    cfg = laconic.compose(*typed)
    finalize_config(cfg, typed)
    assert set(cfg.learner.objective) == {"_target_", "_partial_"}
    # An option of a package has our settings around its own, and no override that drops them.
    cfg = laconic.compose()
    cfg.learner.objective._target_ = "my_package.dual_clip.DualClip"
    notes = finalize_config(cfg, [])
    assert set(cfg.learner.objective) == {"_target_", "epsilon"}
    assert any("learner.objective.beta" in note for note in notes)
    # A mistake in its own settings is one.
    OmegaConf.update(cfg, "learner.objective.capp", 2, force_add=True)
    finalize_config(cfg, [])
    assert "capp" in cfg.learner.objective


def test_python_takes_the_class_or_the_function(small, my_package, tmp_path):
    from my_package.dual_clip import DualClip

    sizes = [*small, "train.steps=1", "learner=ippo"]
    folder = tmp_path / "class"
    made = laconic.train(*sizes, folder=folder, **{"learner.objective": DualClip})
    assert made.rows[-1]["learner/loss/capped"] >= 0
    made = laconic.train(
        *sizes, "++learner.objective.cap=2", folder=tmp_path / "f", **{"learner.objective": plain}
    )
    assert made.rows[-1]["learner/grad_norm"] > 0
    with pytest.raises(SettingError, match="a class or a function; got"):
        laconic.compose(**{"learner.objective": DualClip()})
