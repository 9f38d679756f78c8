"""The rules of a jury and its scripts, over all states and in played episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest

from laconic import envs
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.jury.rules import Jury, State
from laconic.envs.library.jury.theory import EYES
from laconic.envs.task import Task
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.play import Start, play

AGENTS = ("solver_0", "helper_0", "helper_1", "helper_2")


def states(world: Jury) -> Iterator[tuple[State, float]]:
    """Yield every state of one look with its probability."""
    for color in range(world.colors):
        for each in product(product(range(3), range(world.colors)), repeat=len(AGENTS)):
            chance = 1 / world.colors
            for eyes, seen in each:
                rate = EYES[eyes]
                chance *= (rate if seen == color else (1 - rate) / (world.colors - 1)) / 3
            eyes, looks = zip(*each, strict=True)
            state = State(
                color,
                dict(zip(AGENTS, eyes, strict=True)),
                {agent: (seen,) for agent, seen in zip(AGENTS, looks, strict=True)},
            )
            yield state, chance


def test_the_answer_may_pay_its_probability() -> None:
    # The solver is dim and saw blue, one helper is sharp and saw red: .45 x .9 against .55 x .1.
    state = State(1, {"solver_0": 0, "helper_0": 2}, {"solver_0": (1,), "helper_0": (0,)}, 1)
    for paid, gain in (("answer", 0.0), ("expected", 0.405 / 0.46)):
        world = Jury(paid=paid)
        after, gains = world.apply(state, {"solver_0": "red"}, {}, None)
        assert gains == pytest.approx({"solver_0": gain, "helper_0": gain})
        assert world.score(after).value == 0.0
        assert world.graded == (paid == "expected")


def test_the_mean_of_both_ways_to_pay_is_equal() -> None:
    sums = {}
    for paid in ("answer", "expected"):
        world, sums[paid] = Jury(paid=paid), 0.0
        for color in range(2):
            for each in product(product(range(3), range(2)), repeat=2):
                chance = 0.5
                for eyes, seen in each:
                    chance *= (EYES[eyes] if seen == color else 1 - EYES[eyes]) / 3
                eyes = dict(zip(AGENTS[:2], (eyes for eyes, _ in each), strict=True))
                looks = dict(zip(AGENTS[:2], ((seen,) for _, seen in each), strict=True))
                state = State(color, eyes, looks, 1)
                _, gains = world.apply(state, {"solver_0": "red"}, {}, None)
                sums[paid] += chance * gains["solver_0"]
    assert sums["answer"] == pytest.approx(0.5)
    assert sums["expected"] == pytest.approx(0.5)


def test_eyes_and_sights_are_drawn_by_their_rates() -> None:
    world, right, count = Jury(colors=4), [0, 0, 0], [0, 0, 0]
    for number in range(4000):
        state = world.start(Task("t", f"jury {number}", (), ""), AGENTS, None)
        for agent in AGENTS:
            count[state.eyes[agent]] += 1
            right[state.eyes[agent]] += state.looks[agent] == (state.color,)
    for eyes, rate in enumerate(EYES):
        # Four standard errors.
        assert count[eyes] / 16000 == pytest.approx(1 / 3, abs=0.015)
        assert right[eyes] / count[eyes] == pytest.approx(rate, abs=0.03)


def test_an_agent_reads_its_eyes_once_and_each_look() -> None:
    world = Jury(looks=2)
    state = State(0, {"solver_0": 2}, {"solver_0": (0, 1)})
    assert world.observe(state, "solver_0") == "Your eyes are sharp. You saw red."
    after, _ = world.apply(state, {}, {"solver_0": ""}, None)
    assert world.observe(after, "solver_0") == "You saw blue."
    assert world.facts_for(after, "solver_0")["seen_red"] == 1
    after, _ = world.apply(after, {}, {"solver_0": ""}, None)
    assert world.observe(after, "solver_0") == "Answer now."
    assert world.legal_acts(after, "solver_0") == ("red", "blue")
    hidden = Jury(told=False).observe(state, "solver_0")
    assert hidden == "You saw red."


def test_helpers_talk_once_and_only_the_solver_answers() -> None:
    world = Jury(looks=2)
    state = world.start(Task("t", "jury 1", (), ""), AGENTS, None)
    talking = []
    for _ in range(world.rounds):
        talking.append([agent for agent in AGENTS if world.may_talk(state, agent)])
        acting = [agent for agent in AGENTS if world.legal_acts(state, agent)]
        assert acting == (["solver_0"] if state.round == 2 else [])
        state, _ = world.apply(state, {}, dict.fromkeys(AGENTS, ""), None)
    assert talking == [[], [*AGENTS[1:]], []]


@pytest.mark.parametrize("team", [{"helper": 3}, {"solver": 2, "helper": 1}])
def test_a_team_has_one_solver(team: dict[str, int]) -> None:
    with pytest.raises(SettingError, match="needs one solver; got env.team with"):
        envs.make("jury", team=team, tasks=1)


def test_no_answer_is_wrong() -> None:
    world = Jury()
    state = world.start(Task("t", "jury 1", (), ""), AGENTS, None)
    for _ in range(2):
        state, gains = world.apply(state, {}, dict.fromkeys(AGENTS, ""), None)
    assert gains == {}
    assert (world.score(state).value, world.score(state).answer) == (0.0, "")


@pytest.mark.parametrize(
    ("setting", "value"), [("colors", 1), ("colors", 6), ("looks", 0), ("paid", "often")]
)
def test_a_setting_out_of_its_range_is_refused_by_its_key(setting: str, value: object) -> None:
    with pytest.raises((SettingError, UnknownNameError), match=rf"env\.{setting}"):
        Jury(**{setting: value})


@pytest.mark.parametrize(("name", "least"), [("oracle", 0.75), ("mute", 0.5)])
def test_a_played_episode_pays_what_the_state_says(name: str, least: float) -> None:
    env = envs.make("jury", tasks=100)
    episodes = play(
        [env], ScriptedTeam(name).policies(env), [Start(0, key) for key in env.tasks], seed=0
    )
    assert sum(bool(each.solved) for each in episodes) / 100 >= least
    for each in episodes:
        words = sum(each.tokens_said.values())
        assert sum(map(sum, each.bills.values())) == pytest.approx(words * 0.06)
        for agent, rewards in each.task_rewards.items():
            assert sum(rewards) == pytest.approx(float(bool(each.solved))), agent


@pytest.mark.parametrize("colors", [2, 3])
def test_all_tasks_are_the_states_with_their_probabilities(colors: int) -> None:
    world = Jury(colors=colors)
    agents = AGENTS if colors == 2 else AGENTS[:2]
    listed = {repr(task.details["state"]): task.weight for task in world.all_tasks(agents)}
    expected: dict[str, float] = {}
    for state, chance in states(world):
        kept = ({agent: part[agent] for agent in agents} for part in (state.eyes, state.looks))
        name = repr(State(state.color, *kept))
        expected[name] = expected.get(name, 0.0) + chance
    assert listed == pytest.approx(expected)
    questions = [task.question for task in world.all_tasks(agents)]
    assert len(set(questions)) == len(questions) == colors * (3 * colors) ** len(agents)


def test_states_that_are_too_many_are_drawn() -> None:
    assert Jury(looks=3).all_tasks(AGENTS) == Jury(looks=40).all_tasks(AGENTS) == ()
    assert len(envs.make("jury", split="evaluation", looks=3).tasks) == 4096
    assert len(envs.make("jury", split="evaluation", tasks=9).tasks) == 9
    assert len(envs.make("jury").tasks) == 4096
    alone = envs.make("jury", split="evaluation", looks=3, team={"solver": 1}).tasks
    assert len(alone) == 2 * 3 * 2**3


def test_a_listed_task_is_drawn_by_its_probability() -> None:
    env = envs.make("jury", split="evaluation", team={"solver": 1})
    drawn = Counter(bool(env.reset(seed=seed)) and env.task.key for seed in range(3000))
    for key, task in env.tasks.items():
        # Four standard errors.
        margin = 4 * (task.weight * (1 - task.weight) / 3000) ** 0.5
        assert drawn[key] / 3000 == pytest.approx(task.weight, abs=margin)


def test_a_listed_task_is_played_from_its_state() -> None:
    env = envs.make("jury", split="evaluation")
    for key in list(env.tasks)[::97]:
        env.reset(options={"task": key})
        assert env.world_state == env.tasks[key].details["state"]


@pytest.mark.parametrize(
    ("settings", "best"),
    [
        # At 0.12 for two words the sharp speak: 85.70 % in one word of 0.06.
        ({}, 0.8570 - 0.06),
        ({"reward": {"price": 0.0}}, 0.8683),
        ({"reward": {"price": 0.0, "round_price": 0.1}}, 0.8683 - 0.2),
        ({"reward": {"price": 0.6}}, 0.7167),
        ({"team": {"solver": 1}}, 0.7167),
        ({"team": {"solver": 1}, "looks": 3}, (0.57475 + 0.784 + 0.972) / 3),
        ({"looks": 2}, None),
        ({"told": False}, None),
        ({"topology": "none"}, None),
        ({"channel": {"lose": 0.5}}, None),
        ({"reward": {"charge": "team"}}, None),
        ({"reward": {"when": "solved"}}, None),
        ({"reward": {"read_price": 0.1}}, None),
    ],
)
def test_the_best_reward_is_that_of_the_theory(settings: dict, best: float | None) -> None:
    assert envs.make("jury", tasks=1, **settings).best_reward == (
        None if best is None else pytest.approx(best, abs=6e-5)
    )
