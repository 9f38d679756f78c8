"""Environments by PettingZoo's `make`."""

from __future__ import annotations

import warnings

import pettingzoo
import pytest
from pettingzoo.test import api_test, parallel_api_test

from laconic import envs
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.errors import SettingError
from laconic.envs.wrappers import registry


@pytest.mark.parametrize("name", envs.names())
def test_every_environment_is_registered_for_both_interfaces(name):
    for kind in ("parallel", "aec"):
        spec = pettingzoo.spec(kind, registry.identifier(name))
        assert (spec.namespace, spec.name) == (registry.NAMESPACE, name) == ("laconic", name)
        assert f"{name}_v{spec.version}" == envs.make(name, free=True, tasks=1).metadata["name"]


def test_settings_and_cycles_are_those_of_the_environment():
    env = pettingzoo.make("parallel", "laconic/signal-v0", max_cycles=3, information="split")
    assert isinstance(env, DialogueEnv)
    assert (env.rounds, env.information) == (3, "split")
    with pytest.raises(SettingError, match="env.rounds"):
        pettingzoo.make("parallel", "laconic/signal-v0", max_cycles=0)


@pytest.mark.filterwarnings("ignore:Observation")
@pytest.mark.filterwarnings("ignore:(Observation|Action) space")
@pytest.mark.parametrize("cycles", [None, 3])
@pytest.mark.parametrize("name", envs.names())
def test_what_is_made_passes_pettingzoos_tests(name, cycles):
    settings = {"tasks": 5, "max_cycles": cycles}
    parallel_api_test(pettingzoo.make("parallel", f"laconic/{name}-v0", **settings), num_cycles=10)
    api_test(pettingzoo.make("aec", f"laconic/{name}-v0", **settings), num_cycles=10)


def rounds_of(env):
    """Play a silent episode; return the flags of each round."""
    env.reset(seed=0)
    flags = []
    while env.agents:
        _, _, terminations, truncations, _ = env.step(dict.fromkeys(env.agents, ""))
        flags.append((set(terminations.values()), set(truncations.values())))
    return flags


@pytest.mark.parametrize("cycles", [1, 4])
def test_a_world_is_truncated_after_so_many_rounds(cycles):
    settings = {"tasks": 2, "max_cycles": cycles}
    env = pettingzoo.make("parallel", "laconic/commons-v0", **settings)
    going_on, last = ({False}, {False}), ({False}, {True})
    for _ in range(2):
        assert rounds_of(env) == [going_on] * (cycles - 1) + [last]


def test_a_world_that_ends_before_is_terminated():
    # A silent team takes nothing; two months without talk are two rounds.
    settings = {"tasks": 2, "months": 2, "language": "none", "max_cycles": 2}
    env = pettingzoo.make("parallel", "laconic/commons-v0", **settings)
    assert rounds_of(env)[-1] == ({True}, {False})
    with pytest.raises(SettingError, match="max_cycles must be a whole number of at least 1"):
        pettingzoo.make("parallel", "laconic/commons-v0", max_cycles=0)


def test_registering_again_overrides_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        registry.register_all()
