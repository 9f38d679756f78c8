"""PettingZoo's own tests, and ours, on every environment."""

from __future__ import annotations

import pytest
from pettingzoo.test import (
    api_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)
from pettingzoo.utils import parallel_to_aec

from laconic import envs
from laconic.envs.contract import check_env

# The test of the turn-based interface expects arrays; text is none. Any other warning is an error.
pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:(Observation|Action) space for each agent probably should"),
]

SETTINGS = {
    "full": {"information": "full"},
    "split": {"information": "split"},
    "turns": {"information": "split", "schedule": ["helper", "solver"], "topology": "star"},
    "vote": {"information": "split", "answer": "majority", "rounds": 3, "topology": "ring"},
    "caps": {"budget": {"message": 8, "agent": 12, "round": 20, "episode": 30}, "rounds": 4},
    "alone": {"team": {"solver": 1}, "rounds": 1, "reward": {"price": 0.5, "charge": "team"}},
}


# What is the same dialogue whatever the benchmark is tried on one of them.
OF_ANY = ("full", "split")
WORLDS = {
    "acts": {},
    "caps": {"budget": SETTINGS["caps"]["budget"], "topology": "ring"},
}
CASES = [
    (name, kind)
    for name in envs.names("benchmarks")
    for kind in SETTINGS
    if name == "gsm8k" or kind in OF_ANY
] + [(name, kind) for name in envs.names("worlds") for kind in WORLDS]


@pytest.fixture(params=CASES, ids="-".join)
def make(request):
    """Makes every environment there is, under some kinds of settings."""
    name, kind = request.param

    def build(**settings):
        chosen = WORLDS if name in envs.names("worlds") else SETTINGS
        return envs.make(name, free=True, tasks=20, **chosen[kind], **settings)

    return build


def test_the_parallel_interface_passes(make):
    parallel_api_test(make(), num_cycles=1000)


def test_the_parallel_interface_follows_its_seed(make):
    parallel_seed_test(make)


def test_the_turn_based_view_passes(make, capsys):
    api_test(parallel_to_aec(make()))
    assert "Passed API test" in capsys.readouterr().out


def test_the_turn_based_view_follows_its_seed(make):
    seed_test(lambda: parallel_to_aec(make()))


def test_every_render_mode_works(make, capsys):
    render_test(lambda render_mode=None: parallel_to_aec(make(render_mode=render_mode)))
    assert make().possible_agents[0] in capsys.readouterr().out


@pytest.mark.parametrize(
    "make",
    [
        # By default `test_every_benchmark.py` plays the others with the settings of their yaml,
        # and `tests/envs/worlds/test_environment.py` the variants of worlds.
        case if case[0] == "gsm8k" else pytest.param(case, marks=pytest.mark.slow)
        for case in CASES
    ],
    ids="-".join,
    indirect=True,
)
def test_our_own_contract_holds(make):
    check_env(make)
