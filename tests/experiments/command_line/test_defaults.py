"""What a warm start needs in an environment is its default there, and what is typed wins."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from places import CONF

from laconic import envs
from laconic.experiments.command_line.presets import PRESETS


def composed(*overrides):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", overrides=["experiment=warm_start", *overrides])


@pytest.mark.parametrize(
    ("name", "key", "value"), [(name, *item) for name in PRESETS for item in PRESETS[name].items()]
)
def test_a_preset_is_the_default_of_its_environment(name, key, value):
    assert name in envs.names()
    assert OmegaConf.select(composed(f"env={name}"), key) == value
    assert OmegaConf.select(composed(f"env={name}", f"{key}=7"), key) == 7


def test_other_environments_keep_the_common_defaults():
    cfg = composed("env=strategyqa")
    assert (cfg.env.tasks, cfg.train.steps, cfg.evaluation.tasks) == (200_000, 800, 100)
    assert (cfg.agent.shape.hidden, cfg.learner.collect.teacher.terse) == (128, 0.2)


def test_a_pretrained_model_keeps_its_own_teacher():
    teacher = composed("env=sports", "agent=smollm2").learner.collect.teacher
    assert (teacher.silent_informed, teacher.silent_uninformed) == (0.0, 0.6)


@pytest.mark.parametrize("name", [name for name in PRESETS if "env.tasks" in PRESETS[name]])
@pytest.mark.slow
def test_an_environment_has_as_many_tasks_as_its_preset_asks_for(name):
    cfg = composed(f"env={name}")
    generator = OmegaConf.to_container(cfg.env.generator, resolve=True)
    environment = envs.make(name, tasks=cfg.env.tasks, generator=generator)
    assert len(environment.tasks) == PRESETS[name]["env.tasks"]
