"""Checks that an environment keeps what learners rely on, for authors of environments.

    from laconic.envs.contract import check_env
    check_env(lambda: MyEnv())

Completes PettingZoo's own tests. A rule is a function that opens with its sentence; the first rule
that is broken raises `ContractError` with that sentence, the agent and what came. Here are the
rules of every `ParallelEnv`; `envs.contract.interface` has those about what it consists of and
returns, `envs.contract.text` those about text, tokens and tasks.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence

import numpy as np
from gymnasium.utils.env_checker import data_equivalence

from laconic.envs.contract.episodes import MAX_STEPS, Env, babble, difference, play, require
from laconic.envs.contract.interface import INTERFACE_RULES, misfit
from laconic.envs.contract.text import TEXT_RULES
from laconic.envs.dialogue.reward import PAY


def check_env(make: Callable[[], Env], *, episodes: int = 3, seed: int = 0) -> None:
    """Check every rule on fresh environments.

    Args:
        make: makes an environment; called many times.
        episodes: how many differently seeded episodes each rule is checked on.
        seed: of the first episode; the others follow.

    Raises:
        ContractError: a rule is broken.
    """
    for rule in RULES:
        rule(make, range(seed, seed + episodes))


def _names(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """Agents are called `<role>_<number>`."""
    for agent in make().possible_agents:
        require(re.fullmatch(r"\w+_\d+", agent) is not None, _names, agent, agent)


def _spaces(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """The spaces of an agent are the same objects at every call."""
    env = make()
    for agent in env.possible_agents:
        for space in (env.observation_space, env.action_space):
            require(space(agent) is space(agent), _spaces, "a new object", agent)


def _leaving(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """An agent leaves when it is terminated or truncated, not before, and never comes back."""
    for seed in seeds:
        for step in play(make(), seed, babble).steps:
            _, _, terminated, truncated, _ = step.returned
            staying = {agent for agent in step.alive if not (terminated[agent] or truncated[agent])}
            wrong = sorted(staying.symmetric_difference(step.left))
            require(not wrong, _leaving, f"agents {step.left}", ", ".join(wrong))


def _endings(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """Every episode ends, within `rounds` steps where the environment has that number."""
    for seed in seeds:
        env = make()
        steps = play(env, seed, babble).steps
        limit = getattr(env, "rounds", MAX_STEPS)
        ended = bool(steps) and not steps[-1].left
        require(ended and len(steps) <= limit, _endings, f"an episode of {len(steps)} steps so far")


def _observations(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """Every observation lies in its space, the first and the last one too."""
    for seed in seeds:
        env = make()
        for step in play(env, seed, babble):
            for agent, seen in step.observations.items():
                came = misfit(seen, env.observation_space(agent))
                require(not came, _observations, came, agent)


def _rewards(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """Rewards are finite numbers."""
    for seed in seeds:
        for step in play(make(), seed, babble).steps:
            for agent, reward in step.returned[1].items():
                is_number = isinstance(reward, int | float | np.number)
                require(is_number and math.isfinite(reward), _rewards, reward, agent)


def _pay(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """Infos that say `task_reward`, `billed` and `charged` say what was paid: see `Pay`.

    All infos of steps have the three keys, or none has any; then the environment counts as
    unpriced. They are finite numbers, a bill is at least 0, and the reward is what the task paid
    less the charge.
    """
    for seed in seeds:
        steps = play(make(), seed, babble).steps
        reported = any(key in info for step in steps for info in step.infos.values() for key in PAY)
        for step in steps if reported else ():
            for agent, info in step.infos.items():
                lacking = [key for key in PAY if key not in info]
                require(not lacking, _pay, f"an info without {', '.join(lacking)}", agent)
                values = [info[key] for key in PAY]
                came = ", ".join(f"{key}={info[key]!r}" for key in PAY)
                numbers = all(isinstance(one, int | float | np.number) for one in values)
                require(numbers and all(map(math.isfinite, values)), _pay, came, agent)
                require(info["billed"] >= 0, _pay, came, agent)
                reward = step.returned[1][agent]
                paid = info["task_reward"] - info["charged"]
                # Rewards of others may have been rounded to another precision.
                same = math.isclose(reward, paid, rel_tol=1e-6, abs_tol=1e-6)
                require(same, _pay, f"a reward of {reward!r}, {came}", agent)


def _replay(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """Equally seeded and acted episodes agree to the last step, in a used environment too."""
    used = make()
    for seed in seeds:
        apart = difference(play(make(), seed, babble), play(used, seed, babble))
        require(not apart, _replay, apart)


def _generators(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """Reset and step leave the process-wide generators of `random` and `numpy` alone."""
    env = make()
    for seed in seeds:
        before = random.getstate(), np.random.get_state()
        play(env, seed, babble)
        after = random.getstate(), np.random.get_state()
        for name, old, new in zip(("random", "numpy.random"), before, after, strict=True):
            require(data_equivalence(old, new, exact=True), _generators, f"a change of {name}")


def _options(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """Unknown options of a reset are ignored."""
    for seed in seeds:
        plain = make().reset(seed=seed)
        optioned = make().reset(seed=seed, options={"an option nobody knows": 1})
        require(data_equivalence(plain, optioned, exact=True), _options, "another start")


RULES: tuple[Callable[[Callable[[], Env], Sequence[int]], None], ...] = (
    *INTERFACE_RULES,
    _names,
    _spaces,
    _leaving,
    _endings,
    _observations,
    _rewards,
    _pay,
    _replay,
    _generators,
    _options,
    *TEXT_RULES,
)
"""All rules, in the order in which they are checked."""
