"""The part of an answer that is free of charge: its plain statement, and no speech inside it."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.dialogue.environment import DialogueEnv
from laconic.envs.dialogue.reward import Reward
from laconic.envs.task import Task

FENCE = "```"


def charged(name: str, message: str, right: str = "#### 12345678901234") -> float:
    """Tokens that a first message of the answering agent is charged."""
    benchmark = envs.benchmark(name)
    env = DialogueEnv(
        benchmark,
        (Task("a", "?", ("s",), "1", answer_text=right),),
        team={benchmark.roles[0]: 1, "other": 1},
        answer=benchmark.roles[0],
        reward=Reward(price=1.0, normalizer=1.0),
        tokenize=list,
    )
    env.reset(seed=0)
    # Only the charge is looked at.
    env._score = lambda: envs.Score(0.0, False, "")
    return -env.step({env.possible_agents[0]: message})[1][env.possible_agents[0]]


@pytest.mark.parametrize(
    ("name", "plain", "message", "extra"),
    [
        # One character is one token. `#### 12` takes 7 of the 20 characters.
        ("gsm8k", "#### 12", r"\boxed{any words 12}", 20 - 7),
        ("strategyqa", "#### yes", "so the answer is yes", None),
        ("checkmate", "#### Qh7#", r"\boxed{Qh7#}", 12 - 9),
        # The words are not exempt, the number and its box are.
        ("math", r"\boxed{12}", r"\boxed{any words 12}", 10),
        ("math", r"\boxed{\frac{1}{2}}", r"\boxed{\frac{1}{2}} ok", 3),
        ("signal", "#### red", "#### red or so", 6),
    ],
)
def test_words_inside_an_answer_are_charged(name, plain, message, extra):
    assert charged(name, plain) == 0
    result = charged(name, message)
    assert result > 0 if extra is None else result == extra


@pytest.mark.parametrize(
    "speech", ["# hello coder", '"""hello coder"""', "'hello coder'", "    # and more"]
)
def test_a_comment_or_a_docstring_in_a_program_is_charged(speech):
    lines = ["def f(x):", f"    {speech}", "    return x"]
    short = "\n".join([f"{FENCE}python", lines[0], lines[2], FENCE])
    long = "\n".join([f"{FENCE}python", *lines, FENCE])
    assert charged("humaneval", short) == 0
    assert charged("humaneval", long) == len(long) - len(short)


@pytest.mark.parametrize(
    ("name", "right", "message"),
    [
        # 40 digits are room for 130 bits; free are as many as the right answer has.
        ("gsm8k", "#### 12", "#### 9876543210987654321098765432109876543210"),
        ("math", r"\boxed{12}", r"\boxed{9876543210987654321098765432109876543210}"),
        ("math", r"\boxed{x+1}", r"\boxed{a b c+d e f+g h+1^2+3 x y z}"),
    ],
)
def test_no_more_is_free_than_the_right_answer_takes(name, right, message):
    assert charged(name, right, right) == 0
    assert charged(name, message, right) == len(message) - len(right)


def test_agents_who_deal_what_they_know_in_boxes_pay_for_it():
    """Three vote, and each says all it knows inside a box."""
    env = envs.make(
        "gsm8k",
        free=True,
        tasks=20,
        generator={"level": 3},
        team={"solver": 3},
        answer="majority",
        information="split",
        reward={"price": 0.5, "normalizer": 50},
    )
    for key, task in env.tasks.items():
        env.reset(seed=0, options={"task": key})
        shares = {a: " ".join(task.statements[i] for i in env.shares[a]) for a in env.agents}
        words = {a: rf"\boxed{{{text} 0}}" for a, text in shares.items()}
        lengths = {a: len(env.tokenize(text)) for a, text in words.items()}
        paid = env.step(words)[1]
        for agent, reward in paid.items():
            # Of the whole box no more is free than `#### 0` takes, two tokens or three.
            assert reward <= -0.01 * (lengths[agent] - 5)


def test_an_answer_is_free_once_an_episode(start):
    # `#7` has two tokens at 0.05 each; with a majority the episode goes on after it.
    env = start(answer="majority", rounds=3, reward=Reward(price=0.5, normalizer=10))
    messages = {"solver_0": "#7", "helper_0": "a"}
    assert env.step(messages)[1]["solver_0"] == 0
    assert env.step(messages)[1]["solver_0"] == pytest.approx(-0.1)
