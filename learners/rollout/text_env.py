"""What is taken from an environment over text and given to it, ours or that of others.

PettingZoo leaves much open: spaces of text, what infos hold, whether a reward is a number or an
array of one. What can be understood in one way only is understood; the rest is refused with the
agent's name and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Space, Text
from gymnasium.spaces.text import alphanumeric
from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError

_ADVICE = "wrap the environment in one that does (docs/bring_your_own.md)"


def text_of(agent: str, observation: Any) -> str:
    """The text of an observation: a string, or a mapping with a string under `text`.

    Raises:
        SettingError: it is neither.
    """
    found = observation.get("text") if isinstance(observation, Mapping) else observation
    if isinstance(found, str):
        return str(found)
    came = (
        f"a mapping with the keys {sorted(map(str, observation))}"
        if isinstance(observation, Mapping) and "text" not in observation
        else f"{type(observation).__name__} {_short(observation)}"
    )
    raise SettingError(
        f"an observation must be a string or a mapping with a string under 'text'; agent {agent!r}"
        f" was shown {came}; {_ADVICE}"
    )


def speech_space(env: ParallelEnv[str, Any, Any], agent: str) -> Space[Any] | None:
    """The action space of an agent; None where the environment does not tell.

    Raises:
        SettingError: it is one of gymnasium's and not of text.
    """
    try:
        space: Space[Any] = env.action_space(agent)
    except (AttributeError, KeyError):
        return None
    ours = type(space).__module__.startswith("gymnasium.spaces")
    if ours and not isinstance(space, Text):
        raise SettingError(
            f"an action must be a text; that of agent {agent!r} is one of {space}; {_ADVICE}"
        )
    return space


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


def unspeakable(spaces: Mapping[str, Space[Any] | None], actions: Mapping[str, str]) -> str:
    """Which of some actions lie outside their spaces, as a sentence; empty for none."""
    outside = {
        agent: action
        for agent, action in actions.items()
        if (space := spaces[agent]) is not None and action not in space
    }
    said = [
        f"agent {agent!r} said {_short(action)}, which is not in its action space"
        f" {_short(spaces[agent])}"
        for agent, action in outside.items()
    ]
    if not all(outside.values()):
        said.append("agents may be silent, so it has to hold the empty text: Text(min_length=0)")
    if any(outside.values()):
        said.append("it has to hold what is said in a language, blanks too: Text(charset=...)")
    return "; ".join(said)


def number_of(agent: str, reward: Any) -> float:
    """A reward as a number: one, an array of one, or None for 0.

    Raises:
        SettingError: it is something else.
    """
    try:
        return 0.0 if reward is None else float(np.asarray(reward, dtype=np.float64).item())
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"a reward must be a number; agent {agent!r} was paid {_short(reward)}"
        ) from error


def known(info: Mapping[str, Any] | None) -> dict[str, Any]:
    """What an info says; a key with None says nothing."""
    return {key: value for key, value in (info or {}).items() if value is not None}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
