"""The scripts of a jury over all states, beside what theory says."""

from __future__ import annotations

from random import Random

import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.jury.rules import Jury, State
from laconic.envs.library.jury.scripts import NAMES
from laconic.envs.worlds.base import TeacherStyle, TurnView

AGENTS = ("solver_0", "helper_0", "helper_1", "helper_2")


def turn(world: Jury, state: State, agent: str) -> TurnView:
    return TurnView(agent, world.facts_for(state, agent), "", False)


def played(world: Jury, state: State, script) -> State:
    """Return the state after the scripts of all agents have talked and answered."""
    said = {
        agent: script(turn(world, state, agent), Random(0)) if agent != "solver_0" else ""
        for agent in state.eyes
    }
    state, gains = world.apply(state, {}, said, None)
    assert gains == {}
    act = script(turn(world, state, "solver_0"), Random(0)).removeprefix("> ")
    state, _ = world.apply(state, {"solver_0": act}, {}, None)
    return state


def over_all_states(world: Jury, name: str) -> tuple[float, float]:
    """Return accuracy and words of a script, weighted by the probability of every state."""
    right = words = 0.0
    script = world.script(name)
    for task in world.all_tasks(AGENTS):
        state, chance = task.details["state"], task.weight
        after = played(world, state, script)
        right += chance * world.score(after).value
        words += chance * sum(map(bool, after.spoke.values()))
    return right, words


@pytest.mark.parametrize(
    ("name", "accuracy", "words"),
    [
        ("oracle", 86.83, 2.0),
        ("threshold:0.05", 85.70, 1.0),
        ("threshold:0.1", 82.32, 0.5),
        ("expert", 85.70, 1.0),
        ("verbose", 84.19, 3.0),
        ("majority", 80.47, 3.0),
        ("mute", 71.67, 0.0),
    ],
)
def test_scripts_reach_what_theory_says(name: str, accuracy: float, words: float) -> None:
    measured = over_all_states(Jury(), name)
    assert (100 * measured[0], measured[1]) == pytest.approx((accuracy, words), abs=0.01)


def test_silence_at_a_price_above_all_others_is_best() -> None:
    assert over_all_states(Jury(), "threshold:0.3") == pytest.approx((0.71667, 0.0), abs=1e-5)


@pytest.mark.parametrize("name", ["threshold:", "threshold:-1", "threshold:nan", "threshold:dear"])
def test_a_price_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match="threshold:<price>"):
        Jury().script(name)


def test_an_unknown_script_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="agent.script"):
        Jury().script("loud")
    assert all(name.endswith(":") or callable(Jury().script(name)) for name in NAMES)


def test_a_teachers_solver_knows_how_often_its_helpers_are_silent() -> None:
    # Each dim helper is silent with .44 and a sharp one with .044: two silent ones say little, and
    # a sharp solver outweighs one that said red.
    script = Jury().teacher(TeacherStyle(terse=0.2, silent=0.22, best=1.0, frames=1))
    state = State(
        1,
        {"solver_0": 2, "helper_0": 0, "helper_1": 0, "helper_2": 0},
        {"solver_0": (1,), "helper_0": (0,), "helper_1": (1,), "helper_2": (1,)},
        1,
        {"helper_0": "red", "helper_1": "", "helper_2": ""},
    )
    assert script(turn(Jury(), state, "solver_0"), Random(0)) == "> blue"
    dim = State(1, {**state.eyes, "solver_0": 0}, state.looks, 1, state.spoke)
    assert script(turn(Jury(), dim, "solver_0"), Random(0)) == "> red"
    asked = State(1, state.eyes, state.looks)
    said = [script(turn(Jury(), asked, "helper_1"), Random(n)) for n in range(2000)]
    # Four standard errors.
    assert said.count("") / 2000 == pytest.approx(0.44, abs=0.045)
