"""`env.max_rounds` reaches the rollout, also of an environment that does not take the key."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf
from pettingzoo import ParallelEnv

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.targets import finalize_config
from laconic.experiments.session.setup import make_environments
from laconic.learners.agents.scripted import ScriptedTeam


class Stranger(ParallelEnv):
    """Takes a word and nothing else."""

    metadata = {"name": "stranger_v0"}

    def __init__(self, word=""):
        self.word = word
        self.possible_agents = ["a_0"]

    def reset(self, seed=None, options=None):
        return {}, {}

    def step(self, actions):
        return {}, {}, {}, {}, {}


class Knowing(Stranger):
    """Has a use of its own for the number."""

    def __init__(self, max_rounds=3):
        super().__init__()
        self.limit = max_rounds


def made(target, **settings):
    cfg = OmegaConf.create({"env": {"_target_": target, **settings}})
    OmegaConf.set_struct(cfg, True)
    environment = make_environments(cfg, 1, "train", ScriptedTeam("silent"))[0]
    # The configuration is written into the run folder afterwards, as it is.
    assert OmegaConf.to_container(cfg.env) == {"_target_": target, **settings}
    return environment


def test_an_environment_that_does_not_take_the_cap_has_it_all_the_same():
    stranger = made(f"{__name__}.Stranger", word="hi", max_rounds=7)
    assert stranger.metadata == {"name": "stranger_v0", "max_rounds": 7}
    assert Stranger.metadata == {"name": "stranger_v0"}
    assert made(f"{__name__}.Stranger", max_rounds=None).metadata == {"name": "stranger_v0"}
    assert made(f"{__name__}.Stranger").metadata == {"name": "stranger_v0"}


def test_one_that_takes_it_is_given_it():
    assert made(f"{__name__}.Knowing", max_rounds=7).limit == 7


def test_ours_say_it_too():
    ours = made("laconic.envs.make", name="gsm8k", tasks=2, max_rounds=7)
    assert ours.metadata["max_rounds"] == 7
    assert envs.make("gsm8k", free=True, tasks=2).metadata["max_rounds"] == 1000


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
def test_a_cap_that_is_no_number_of_rounds_names_the_key(value):
    with pytest.raises(SettingError, match="env.max_rounds must be null or a whole number"):
        made(f"{__name__}.Stranger", max_rounds=value)
    with pytest.raises(SettingError, match="env.max_rounds"):
        envs.make("gsm8k", free=True, tasks=2, max_rounds=value)


def test_it_is_not_left_out_with_the_settings_of_another_class():
    cfg = OmegaConf.create(
        {"env": {"_target_": f"{__name__}.Stranger", "name": "gsm8k", "max_rounds": 1000}}
    )
    (note,) = finalize_config(cfg, [f"env._target_={__name__}.Stranger"])
    assert list(cfg.env) == ["_target_", "max_rounds"]
    assert "env.max_rounds" not in note
