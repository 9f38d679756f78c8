"""Reads an environment over text, ours or someone else's, and fits messages to it.

An observation is a string, or a mapping with a string under `text`; `tokens_left`, where there is
one, says in its first entry what the next message may have. Of infos these keys are read where an
environment has them: `task`, `message`, `cut`, `informed`, `tokens_said`, `tokens_read`,
`tokens_thought`, `act`, `score`, `solved`, `answer`, `ended_by`, `task_reward`, `billed`; of
metadata `reward`, `when` and `max_reward` (`envs.dialogue.reward`).

PettingZoo leaves much open: spaces of text, what infos hold, whether a reward is a number or an
array of one. What has a single reading is read that way. The rest is refused with the agent's name
and what to do. Only environments with `metadata["thought_tokens"]` receive thoughts
(`envs.dialogue.thoughts`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Space, Text
from gymnasium.spaces.text import alphanumeric
from pettingzoo import ParallelEnv

from laconic.envs.contract.interface import are_dicts, describe
from laconic.envs.errors import SettingError

Env: TypeAlias = ParallelEnv[str, Any, Any]
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


def reset(env: Env, seed: int, options: Mapping[str, Any] | None) -> tuple[Any, Any]:
    """Reset an environment; return observations and infos, each a dict by agent.

    Raises:
        SettingError: `reset` has an older form: it takes no `seed` or `options`, or returns
            observations alone.
    """
    signature = inspect.signature(env.reset)
    try:
        signature.bind(seed=seed, options=options)
    except TypeError as error:
        raise SettingError(
            f"{type(env).__name__}.reset must take seed and options, as PettingZoo asks; it is"
            f" reset{signature}. Write reset(self, seed=None, options=None)"
        ) from error
    returned: Any = env.reset(seed=seed, options=options)
    if not are_dicts(returned, 2):
        raise SettingError(
            f"{type(env).__name__}.reset must return two dicts by agent, observations and infos;"
            f" it returned {describe(returned)}. Write return observations, infos"
        )
    return returned[0], returned[1]


def outcome_of(env: Env, returned: Any) -> tuple[Any, ...]:
    """Return the five dicts by agent that PettingZoo asks of a step.

    Raises:
        SettingError: the step returned something else, such as the four values of older versions.
    """
    if not are_dicts(returned, 5):
        raise SettingError(
            f"{type(env).__name__}.step must return five dicts by agent: observations, rewards,"
            f" terminations, truncations and infos; it returned {describe(returned)}"
        )
    return tuple(returned)


def reward_of(agent: str, rewards: Mapping[str, Any], name: str = "reward") -> float:
    """Return an agent's reward as a finite number; an array of one number is one.

    Raises:
        SettingError: the agent has no reward, or one that is no finite number, such as None. The
            message calls it by `name`.
    """
    reward = rewards.get(agent)
    try:
        value = float(np.asarray(reward, dtype=np.float64).item())
    except (TypeError, ValueError):
        value = math.nan
    if reward is None or not math.isfinite(value):
        raise SettingError(
            f"a {name} must be a finite number for each agent in each round, 0.0 for none;"
            f" agent {agent!r} was paid {short(reward) if agent in rewards else 'nothing'}"
        )
    return value


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
