"""What is lost on the way: closed forms of scripted teams, and what stays as it was."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test
from scipy.stats import binomtest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.dialogue.channel import Channel, Transmission
from laconic.envs.dialogue.messages import SILENT_ROUND, Message
from laconic.envs.errors import SettingError, UnknownNameError

SPLIT: Mapping[str, Any] = {
    "information": "split",
    "topology": "star",
    "schedule": ["helper", "solver"],
}
COLORS = ("red", "blue", "green", "white")
EPISODES = 600


def signal(tasks: int = EPISODES, **channel: Any):
    return envs.make("signal", free=True, split="evaluation", tasks=tasks, channel=channel, **SPLIT)


def play(env, seed: int, key: str, codes: bool, guess: random.Random) -> Mapping[str, Any]:
    """Play an episode of a team that says the color; one that codes is silent for red."""
    _, infos = env.reset(seed=seed, options={"task": key})
    task = env.tasks[key]
    word = "" if codes and task.answer == "red" else task.answer
    messages = {
        agent: word if any(task.relevant[i] for i in info["share"]) else ""
        for agent, info in infos.items()
    }
    observations, *_ = env.step(messages)
    text = observations["solver_0"]["text"]
    answer = next((colour for colour in COLORS if colour in text), None)
    if answer is None:
        # Who codes takes silence for red; what could not be heard was another colour.
        lost = "could not be heard" in text
        answer = "red" if codes and not lost else guess.choice(COLORS[1:] if codes else COLORS)
    *_, infos = env.step({"solver_0": f"#### {answer}"})
    return infos["solver_0"]


def outcomes(codes: bool, **channel: Any) -> list[Mapping[str, Any]]:
    env, guess = signal(**channel), random.Random(0)
    return [play(env, seed, key, codes, guess) for seed, key in enumerate(env.tasks)]


def solved(codes: bool, **channel: Any) -> int:
    return sum(info["solved"] for info in outcomes(codes, **channel))


@pytest.mark.parametrize(
    "lose", [0.3, *(pytest.param(value, marks=pytest.mark.slow) for value in (0.0, 0.1, 0.5))]
)
@pytest.mark.parametrize(
    ("codes", "mark", "falls"),
    # A lost colour is guessed among four; taken for red; or, marked, guessed among the other three.
    [(False, False, 0.75), (False, True, 0.75), (True, False, 0.75), (True, True, 0.5)],
)
def test_scripted_teams_lose_what_the_closed_forms_say(codes, mark, falls, lose):
    result = binomtest(solved(codes, lose=lose, mark=mark), EPISODES)
    interval = result.proportion_ci(0.999, method="wilson")
    assert interval.low <= 1 - falls * lose <= interval.high


def test_reliance_on_silence_is_exact():
    assert solved(False, mark=True, probe=True) == EPISODES
    red = sum(task.answer == "red" for task in signal().tasks.values())
    # A fourth of the tasks is coded by silence, and the decoder without it is never right there.
    assert solved(True, mark=True, probe=True) == EPISODES - red
    assert abs(red / EPISODES - 1 / 4) < 0.06


def test_a_perfect_channel_changes_nothing_and_measures_nothing():
    plain = envs.make("signal", free=True, split="evaluation", tasks=9, **SPLIT)
    for env in (plain, signal(9, lose=0.0, mark=True)):
        infos = play(env, 3, next(iter(env.tasks)), False, random.Random(0))
        assert infos["measures"].keys() == {"facts_told", "stated", "strict"}
        assert env.render() is None


@pytest.mark.parametrize("lose", [0.0, 0.3, 1.0])
def test_tasks_and_deals_are_those_of_any_other_channel(lose):
    env, plain = signal(50, lose=lose), signal(50)
    for seed in (5, None, None):
        _, infos = env.reset(seed=seed)
        _, infos = plain.reset(seed=seed)
        assert {a: (i["task"], i["share"]) for a, i in infos.items()} == {
            a: (i["task"], i["share"]) for a, i in infos.items()
        }


def test_losses_do_not_depend_on_what_is_said_and_grow_with_the_rate():
    def heard(lose: float, words: str) -> list[bool]:
        env, results = signal(20, lose=lose), []
        for seed in range(40):
            env.reset(seed=seed)
            observations, *_ = env.step(dict.fromkeys(env.agents, words))
            results += [f"helper_{n}: " in observations["solver_0"]["text"] for n in range(3)]
        return results

    some, more = heard(0.3, "red"), heard(0.6, "red")
    assert some == heard(0.3, "a much longer message of many words")
    assert 0 < sum(more) < sum(some) < 120
    assert all(low or not high for low, high in zip(some, more, strict=True))


def test_a_lost_message_is_charged_and_uses_up_the_budget():
    channel = {"lose": 1.0, "mark": True}
    price = {"price": 1.0, "normalizer": 10}
    env = envs.make(
        "signal", free=True, tasks=5, channel=channel, reward=price, budget={"episode": 2}, **SPLIT
    )
    env.reset(seed=0)
    observations, rewards, terminations, _, infos = env.step({"helper_1": "so it is"})
    assert rewards["helper_1"] == pytest.approx(-0.2) and infos["helper_1"]["tokens_said"] == 2
    assert all(terminations.values()) and infos["solver_0"]["measures"] == {
        "stated": 0.0,
        "strict": 0.0,
        "lost_rate": 1.0,
        "facts_told": 0.0,
    }


def test_an_answer_is_never_lost():
    env = signal(5, lose=1.0)
    env.reset(seed=0)
    env.step({})
    *_, infos = env.step({"solver_0": f"#### {env.task.answer}"})
    assert infos["solver_0"]["solved"]


HEARS = {"a_0": ("b_0", "c_0"), "b_0": ("c_0",), "c_0": ()}


class Talk:
    """A channel between agents of no environment."""

    possible_agents = list(HEARS)

    def __init__(self, **settings: Any) -> None:
        self.channel = Transmission(Channel(**settings))
        self.channel.start(self, np.random.default_rng(0))  # type: ignore[arg-type]

    def deliver(self, messages: list[Message], hears: Any, silent: Any) -> dict[str, str]:
        self.latest = {message.agent: message for message in messages}
        self.heard, self.silent = hears, silent
        return self.channel.deliver(dict.fromkeys(hears, ""))


def said(**words: str) -> list[Message]:
    return [Message(f"{name}_0", 0, text, 1) for name, text in words.items()]


def test_a_loss_is_marked_or_reads_as_silence():
    messages = said(a="", b="yes", c="no")
    marked = Talk(lose=1.0, mark=True).deliver(messages, HEARS, ())
    assert marked["a_0"] == "b_0 could not be heard.\nc_0 could not be heard."
    assert marked["c_0"] == SILENT_ROUND
    assert set(Talk(lose=1.0).deliver(messages, HEARS, ()).values()) == {SILENT_ROUND}


def test_the_probe_marks_silence_that_was_chosen_and_no_other():
    result = Talk(mark=True, probe=True).deliver(said(b="", c=""), HEARS, {"b_0"})
    assert result["a_0"] == "b_0 could not be heard." and result["b_0"] == SILENT_ROUND


def test_a_message_is_lost_to_each_listener_by_itself_or_to_all():
    both = {"a_0": ("c_0",), "b_0": ("c_0",), "c_0": ()}

    def alike(per: str) -> float:
        sent = Talk(lose=0.5, per=per)
        rounds = [[Message("c_0", number, "x", 1)] for number in range(400)]
        read = [sent.deliver(text, both, ()) for text in rounds]
        assert sent.channel.measures()["lost_rate"] == pytest.approx(0.5, abs=0.1)
        return sum(pair["a_0"] == pair["b_0"] for pair in read) / 400

    assert alike("message") == 1.0
    assert alike("listener") == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("per", ["message", "listener"])
def test_losses_are_those_of_an_array_over_rounds_speakers_and_listeners(per):
    # Reading backwards and a second time changes nothing. 30 rounds take more than one block.
    rounds, agents = 30, list(HEARS)
    stream = np.random.default_rng(0).spawn(1)[0]
    draws = stream.random((rounds, len(agents), len(agents) if per == "listener" else 1))
    expected = np.broadcast_to(draws < 0.4, (rounds, len(agents), len(agents)))
    sent = Talk(lose=0.4, per=per).channel
    for number in [*range(rounds), *reversed(range(rounds))]:
        lost = [
            [sent.loses(Message(speaker, number, "x", 1), listener) for listener in agents]
            for speaker in agents
        ]
        assert lost == expected[number].tolist()


def test_who_was_silent_by_order_or_without_budget_has_not_chosen_it():
    env = envs.make(
        "signal",
        free=True,
        tasks=5,
        channel={"mark": True, "probe": True},
        rounds=4,
        budget={"agent": 1},
        **SPLIT,
    )
    env.reset(seed=0)
    observations, *_ = env.step({"helper_0": "red"})
    text = observations["solver_0"]["text"].splitlines()
    assert text == ["helper_0: red", *(f"helper_{n} could not be heard." for n in (1, 2))]
    observations, *_ = env.step({"solver_0": "what"})
    assert observations["helper_0"]["text"] == "solver_0: what"
    observations, *_ = env.step({})
    # helper_0 has spent its token; the solver was not in turn.
    assert "helper_0" not in observations["solver_0"]["text"]
    assert observations["helper_1"]["text"] == SILENT_ROUND


@pytest.mark.parametrize("channel", [{"lose": 0.4, "mark": True}, {"mark": True, "probe": True}])
def test_a_lossy_environment_keeps_every_contract(channel):
    def make():
        return envs.make(
            "signal", free=True, tasks=20, channel=channel, rounds=4, topology=["ring", "none"]
        )

    check_env(make)
    parallel_api_test(make(), num_cycles=50)
    parallel_seed_test(make)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"lose": 1.5}, SettingError),
        ({"lose": True}, SettingError),
        ({"mark": 1}, SettingError),
        ({"per": "word"}, UnknownNameError),
        ({"probe": "yes"}, SettingError),
        ({"probe": True}, SettingError),
    ],
)
def test_settings_out_of_range_are_refused(settings, error):
    with pytest.raises(error, match=r"env\.channel\."):
        Channel(**settings)


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(UnknownNameError, match=r"env\.channel"):
        signal(5, loose=0.1)
