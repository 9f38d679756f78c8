"""PettingZoo's own tests on every benchmark as text, and on every wrapper over it.

What its tests leave out (1.27.0), and what stands in for it:
- `parallel_api_test` does not look whether observations lie in their space; `api_test` does.
- `parallel_seed_test` plays one step; `seed_test` plays on (PettingZoo#1437, merged after 1.27.0),
  and so does our own `envs.contract.check_env`.
- `parallel_to_aec` drops `state_space`, which `state_test` needs; `turn_based` keeps it.
- `render_test` and `max_cycles_test` want constructors of their own making.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pettingzoo", minversion="1.27")

from pettingzoo.test import (  # noqa: E402
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)

from laconic import envs  # noqa: E402
from laconic.envs.wrappers import turn_based  # noqa: E402

# Any warning but these is an error: text is no array, and a mask of 0 and 1 no picture.
pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:(Observation|Action) space for each agent probably should"),
]
CLIENT = ("PettingZoo", "pettingzoo")
CYCLES = 60
NOTES = {
    "api_test": "warns that text is no array",
    "parallel_seed_test": "plays one step only (PettingZoo#1437); seed_test plays on",
    "state_test": "parallel_to_aec drops state_space; turn_based keeps it",
}


@pytest.fixture
def make(face: str, show: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a view of a benchmark."""
    return partial(show, face)


@pytest.fixture
def passes(face: str, record: Callable[..., None]) -> Callable[[str], None]:
    """Keeps that a check held."""
    is_text = face.startswith(("text", "FullTranscript"))
    notes = NOTES if is_text else {name: NOTES[name] for name in NOTES if name != "api_test"}
    return lambda check: record(face=face, check=check, outcome="passes", note=notes.get(check, ""))


def test_the_parallel_interface(make: Any, passes: Any, capsys: Any) -> None:
    parallel_api_test(make(), num_cycles=CYCLES)
    assert "Passed Parallel API test" in capsys.readouterr().out
    passes("parallel_api_test")


def test_the_turn_based_view(make: Any, passes: Any, capsys: Any) -> None:
    api_test(turn_based(make()), num_cycles=CYCLES)
    assert "Passed API test" in capsys.readouterr().out
    passes("api_test")


def test_seeds(make: Any, passes: Any) -> None:
    parallel_seed_test(make, num_cycles=CYCLES)
    passes("parallel_seed_test")
    seed_test(lambda: turn_based(make()), num_cycles=CYCLES)
    passes("seed_test")


def test_rendering(make: Any, passes: Any, capsys: Any) -> None:
    render_test(lambda render_mode=None: turn_based(make(render_mode=render_mode)))
    assert capsys.readouterr().out
    passes("render_test")


def test_the_state(make: Any, passes: Any) -> None:
    env = make()
    if not hasattr(env, "state_space"):
        pytest.skip("text has no state; wrappers that make arrays have one")
    state_test(turn_based(env), make(), num_cycles=CYCLES)
    passes("state_test")


@pytest.mark.parametrize("name", envs.names("benchmarks"))
def test_rounds_are_what_it_calls_cycles(name: str, record: Any) -> None:
    def parallel(max_cycles: int) -> Any:
        return envs.make(name, free=True, tasks=20, rounds=max_cycles)

    max_cycles_test(
        SimpleNamespace(
            parallel_env=parallel, env=lambda max_cycles: turn_based(parallel(max_cycles))
        )
    )
    record(face=f"text DialogueEnv {name}", check="max_cycles_test", outcome="passes")
