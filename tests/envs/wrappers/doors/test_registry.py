"""Our environments by PettingZoo's `make`."""

from __future__ import annotations

import warnings

import pettingzoo
import pytest
from pettingzoo.test import api_test, parallel_api_test

from laconic import envs
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.errors import SettingError
from laconic.envs.wrappers.doors import registry


@pytest.mark.parametrize("name", envs.names())
def test_every_environment_is_registered_for_both_interfaces(name):
    for kind in ("parallel", "aec"):
        spec = pettingzoo.spec(kind, registry.identifier(name))
        assert (spec.namespace, spec.name, spec.version) == ("laconic", name, 0)


def test_settings_and_cycles_are_those_of_the_environment():
    made = pettingzoo.make("parallel", "laconic/signal-v0", max_cycles=3, information="split")
    assert isinstance(made, DialogueEnv)
    assert (made.rounds, made.information) == (3, "split")
    with pytest.raises(SettingError, match="env.rounds"):
        pettingzoo.make("parallel", "laconic/signal-v0", max_cycles=0)


@pytest.mark.filterwarnings("ignore:Observation")
@pytest.mark.filterwarnings("ignore:(Observation|Action) space")
def test_what_is_made_passes_pettingzoos_tests():
    parallel_api_test(pettingzoo.make("parallel", "laconic/signal-v0", tasks=20), num_cycles=10)
    api_test(pettingzoo.make("aec", "laconic/signal-v0", tasks=20), num_cycles=10)


def test_registering_again_overrides_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        registry.register_all()
