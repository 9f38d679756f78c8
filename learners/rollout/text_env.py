"""What is read of an environment over text, ours or those of others, and what it will take.

An observation is a string, or a mapping with a string under `text`; `tokens_left`, where there is
one, says in its first entry what the next message may have. Of infos these keys are read where an
environment has them: `task`, `message`, `cut`, `informed`, `tokens_said`, `tokens_read`,
`tokens_thought`, `act`, `score`, `solved`, `answer`.

PettingZoo leaves much open: spaces of text, what infos hold, whether a reward is a number or an
array of one. What can be understood in one way only is understood; the rest is refused with the
agent's name and what to do. Thoughts go to environments with `metadata["thought_tokens"]` alone
(`envs.dialogue.thoughts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Space, Text
from gymnasium.spaces.text import alphanumeric
from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError

ADVICE = "wrap the environment in one that does (docs/bring_your_own.md)"


def fit_to_space(space: Space[Any] | None, message: str) -> str:
    """As much of a message as a space of texts holds: its characters, up to its longest length.

    Letters and digits alone are what gymnasium takes where nobody chose; such a space is held to
    mean its length.
    """
    if not isinstance(space, Text) or message in space:
        return message
    if space.character_set != alphanumeric:
        message = "".join(filter(space.character_set.__contains__, message))
    return message[: space.max_length]


def number_of(agent: str, reward: Any) -> float:
    """A reward as a number: one, an array of one, or None for 0; else a `SettingError`."""
    try:
        return 0.0 if reward is None else float(np.asarray(reward, dtype=np.float64).item())
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"a reward must be a number; agent {agent!r} was paid {short(reward)}"
        ) from error


def known(info: Mapping[str, Any] | None) -> dict[str, Any]:
    """What an info says; a key with None says nothing."""
    return {key: value for key, value in (info or {}).items() if value is not None}


def speech_space(env: ParallelEnv[str, Any, Any], agent: str) -> Space[Any] | None:
    """The action space of an agent, None where the environment does not tell; one of texts."""
    try:
        space: Space[Any] = env.action_space(agent)
    except (AttributeError, KeyError):
        return None
    ours = type(space).__module__.startswith("gymnasium.spaces")
    if ours and not isinstance(space, Text):
        raise SettingError(
            f"an action must be a text; that of agent {agent!r} is one of {space}; {ADVICE}"
        )
    return space


def unspeakable(spaces: Mapping[str, Space[Any] | None], actions: Mapping[str, str]) -> str:
    """Which of some actions lie outside their spaces, as a sentence; empty for none."""
    outside = {
        agent: action
        for agent, action in actions.items()
        if (space := spaces[agent]) is not None and action not in space
    }
    said = [
        f"agent {agent!r} said {short(action)}, which is not in its action space"
        f" {short(spaces[agent])}"
        for agent, action in outside.items()
    ]
    if not all(outside.values()):
        said.append("agents may be silent, so it has to hold the empty text: Text(min_length=0)")
    if any(outside.values()):
        said.append("it has to hold what is said in a language, blanks too: Text(charset=...)")
    return "; ".join(said)


def short(value: Any) -> str:
    """A value in at most 60 characters, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def measures(told: object) -> dict[str, float]:
    """What an environment says it measured; other shapes are left out."""
    numbers = told.items() if isinstance(told, Mapping) else ()
    return {str(name): float(value) for name, value in numbers if isinstance(value, int | float)}
