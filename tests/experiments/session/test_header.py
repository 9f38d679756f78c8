"""What a training says at its start: what it is, and whether its weights know the world."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from places import CONF

from laconic.experiments.session.header import header, unseen


def cfg_of(*overrides):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", overrides=list(overrides))


def test_the_header_names_what_is_trained_on_what_and_where_it_is_written():
    cfg = cfg_of("env=math", "learner=rloo", "seed=3", "train.steps=7")
    choices = {"env": "math", "agent": "tiny", "learner": "rloo"}
    assert header(cfg, choices, Path("/runs/one")) == [
        "trains tiny on math by rloo, seed 3: 7 steps of 16 tasks x 8 episodes",
        "written to /runs/one",
    ]
    cfg.env._target_, cfg.agent.model = "my_package.World", "some/model"
    assert header(cfg, choices, Path("x"))[0].startswith(
        "trains tiny (some/model) on my_package.World by rloo"
    )


def test_the_shipped_weights_know_one_world_and_for_others_a_command_makes_some():
    assert unseen(cfg_of()) == ""
    said = unseen(cfg_of("env=math"))
    assert "never saw math (they were made on gsm8k)" in said
    assert (
        "laconic warm-start env=math threads=1 hydra.run.dir=warm/math (20 to 35 minutes on one"
        " core), then laconic train env=math agent.model=warm/math"
    ) in said
    assert "nobody has measured" in unseen(cfg_of("env=mbpp"))


def test_of_large_models_and_worlds_of_others_nothing_is_said():
    assert unseen(cfg_of("env=math", "agent=hf", "agent.model=x")) == ""
    cfg = cfg_of("env=math")
    del cfg.env.name
    assert unseen(cfg) == ""


@pytest.mark.parametrize("inside", ["", "policy"])
def test_a_trained_run_knows_its_world_and_that_of_the_weights_it_began_with(tmp_path, inside):
    warm, run = tmp_path / "warm", tmp_path / "run"
    for path, told in (
        (warm / "recipe.yaml", {"env": {"name": "math"}}),
        (run / "config.yaml", {"env": {"name": "sports"}, "agent": {"model": str(warm)}}),
    ):
        path.parent.mkdir()
        OmegaConf.save(OmegaConf.create(told), path)
    said = {world: unseen(cfg_of(f"env={world}", f"agent.model={run / inside}")) for world in
            ("math", "sports", "tldr")}  # fmt: skip
    assert said["math"] == said["sports"] == "" and "made on math and sports" in said["tldr"]
    (run / "config.yaml").write_text("- no mapping")
    assert unseen(cfg_of("env=tldr", f"agent.model={run}")) == ""


def test_fresh_weights_that_learn_from_reward_alone_are_told_of():
    said = unseen(cfg_of("experiment=warm_start", "learner=gspo", "env=math"))
    assert "fresh weights" in said and "laconic warm-start env=math" in said
    assert unseen(cfg_of("experiment=warm_start", "env=math")) == ""
    taught = cfg_of("experiment=warm_start", "learner=gspo", "agent.model=warm/math")
    assert unseen(taught) == ""
