"""Splitting an action into thought and message, and putting the two together."""

from __future__ import annotations

import random

import pytest

from laconic.envs.dialogue.messages import join_thought, split_thought


@pytest.mark.parametrize(
    ("action", "thought", "message"),
    [
        ("", "", ""),
        ("plain words", "", "plain words"),
        ("<think>a b</think>c", "a b", "c"),
        ("<think>\na b\n</think>\n\nc d ", "\na b\n", "c d "),
        # A thought alone is silence, an empty one is none.
        ("<think>a b</think>", "a b", ""),
        ("<think></think>c", "", "c"),
        # Who never closes it says nothing.
        ("<think>a b", "a b", ""),
        ("<think>", "", ""),
        # The first end counts, and what follows it is speech.
        ("<think>a<think>b</think>c</think>d", "a<think>b", "c</think>d"),
        # Not at the very beginning it is speech.
        (" <think>a</think>b", "", " <think>a</think>b"),
        ("b<think>a</think>", "", "b<think>a</think>"),
        ("</think>b", "", "</think>b"),
        ("<thinking>a</think>b", "", "<thinking>a</think>b"),
    ],
)
def test_an_action_is_split_at_the_markers_of_its_beginning(action, thought, message):
    assert split_thought(action) == (thought, message)


PARTS = (
    "<think>",
    "</think>",
    "<",
    ">",
    "/",
    "</",
    "think",
    "</thi",
    "nk>",
    " ",
    "\n",
    "a",
    "#### 7",
)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_two_spell_a_joined_action_is_taken_apart_again(seed):
    generator = random.Random(seed)
    for _ in range(300):
        thought, message = (
            "".join(generator.choices(PARTS, k=generator.randint(0, 8))) for _ in range(2)
        )
        message = message.lstrip()
        result = split_thought(join_thought(thought, message))
        assert result == (thought.replace("</think>", "</ think>"), message)
        assert "</think>" not in result[0]


@pytest.mark.parametrize("seed", range(5))
def test_every_character_of_an_action_is_thought_said_or_a_marker(seed):
    generator = random.Random(seed)
    for _ in range(300):
        action = "".join(generator.choices(PARTS, k=generator.randint(0, 10)))
        thought, message = split_thought(action)
        if action.startswith("<think>"):
            rest = action.removeprefix("<think>" + thought)
            assert rest in ("", "</think>") or rest.removeprefix("</think>").lstrip() == message
        else:
            assert (thought, message) == ("", action)


def test_a_message_without_a_thought_is_its_own_action():
    for words in ("", "seven", "a <think>b</think>", "</think>"):
        assert join_thought("", words) == words
