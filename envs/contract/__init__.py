"""Check that an environment keeps the rules that learners rely on.

    from laconic.envs.contract import check_env
    check_env(lambda: MyEnv())

The check completes PettingZoo's own tests. A rule is a function whose docstring begins with the
rule. The first broken rule raises `ContractError` with that sentence, the agent and the observed
value. Rollouts quote the public ones, where a broken rule would change what is learned. This module
has the rules of every `ParallelEnv`; `envs.contract.text` has those about text, tokens and tasks.
"""

from __future__ import annotations

import inspect
import math
import random
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from gymnasium.utils.env_checker import data_equivalence

from laconic.envs.contract.episodes import (
    MAX_STEPS,
    Env,
    Maker,
    Rule,
    are_dicts,
    broken,
    describe,
    describe_error,
    difference,
    misfit,
    number_of,
    play,
    random_action,
    require,
    round_price,
)
from laconic.envs.contract.text import TEXT_RULES
from laconic.envs.dialogue.reward import PAY
from laconic.envs.errors import SettingError

__all__ = ["check_env"]


def check_env(make: Callable[[], Env], *, episodes: int = 3, seed: int = 0) -> None:
    """Check every rule on fresh environments.

    Args:
        make: makes an environment; called many times.
        episodes: number of differently seeded episodes that each rule is checked on.
        seed: seed of the first episode; the others count up from it.

    Raises:
        ContractError: a rule is broken.
        SettingError: `make` is no function.
    """
    if not callable(make):
        raise SettingError(
            "check_env takes a function that makes an environment, because rules compare fresh"
            f" ones; got a {type(make).__name__}. Write check_env(lambda: <what makes it>)"
        )
    maker = Maker(make)
    for rule in RULES:
        rule(maker, range(seed, seed + episodes))


def _parts(make: Maker, seeds: Sequence[int]) -> None:
    """List agents by name in `possible_agents`, and give each of them two gymnasium spaces."""
    env = make()
    require(hasattr(env, "possible_agents"), _parts, "no `possible_agents`")
    agents: Any = env.possible_agents
    listed = isinstance(agents, Collection) and not isinstance(agents, str) and len(agents) > 0
    valid = listed and all(isinstance(agent, str) for agent in agents)
    require(valid, _parts, f"possible_agents={agents!r}")
    for agent in agents:
        for name in ("observation_space", "action_space"):
            try:
                space = getattr(env, name)(agent)
            except Exception as error:
                raise broken(_parts, f"{describe_error(error)} from {name}", agent) from error
            require(isinstance(space, Space), _parts, f"{space!r} from {name}", agent)


def reset(make: Maker, seeds: Sequence[int]) -> None:
    """Take `seed` and `options` in `reset`, and return two dicts by agent: observations and infos.

    The agents are those in `env.agents` afterwards, all of them possible ones.
    """
    env = make()
    signature = inspect.signature(env.reset)
    try:
        signature.bind(seed=0, options=None)
    except TypeError as error:
        raise broken(reset, f"reset{signature}: {error}") from error
    for seed in seeds:
        returned: Any = env.reset(seed=seed)
        require(are_dicts(returned, 2), reset, describe(returned))
        agents = set(getattr(env, "agents", ()))
        possible = bool(agents) and agents <= set(env.possible_agents)
        require(possible, reset, f"agents={getattr(env, 'agents', None)!r} after it")
        for by_agent in returned:
            require(set(by_agent) == agents, reset, list(by_agent))


def step(make: Maker, seeds: Sequence[int]) -> None:
    """Return observations, rewards, terminations, truncations, infos from `step`: dicts by agent.

    Their agents are exactly those in `env.agents` before the step.
    """
    for seed in seeds:
        for taken in make.sampled(seed)[1].steps:
            require(are_dicts(taken.returned, 5), step, describe(taken.returned))
            for by_agent in taken.returned:
                require(set(by_agent) == set(taken.alive), step, list(by_agent))


def _names(make: Maker, seeds: Sequence[int]) -> None:
    """Name agents `<role>_<number>`."""
    for agent in make().possible_agents:
        require(re.fullmatch(r"\w+_\d+", agent) is not None, _names, agent, agent)


def _spaces(make: Maker, seeds: Sequence[int]) -> None:
    """Return the same space object for an agent at every call."""
    env = make()
    for agent in env.possible_agents:
        for space in (env.observation_space, env.action_space):
            require(space(agent) is space(agent), _spaces, "a new object", agent)


def leaving(make: Maker, seeds: Sequence[int]) -> None:
    """Remove an agent when it is terminated or truncated, not before, and never bring it back."""
    for seed in seeds:
        for step in make.sampled(seed)[1].steps:
            _, _, terminated, truncated, _ = step.returned
            staying = {agent for agent in step.alive if not (terminated[agent] or truncated[agent])}
            wrong = sorted(staying.symmetric_difference(step.remaining))
            require(not wrong, leaving, f"agents {step.remaining}", ", ".join(wrong))


def _endings(make: Maker, seeds: Sequence[int]) -> None:
    """End every episode, within `rounds` steps if the environment has that number."""
    for seed in seeds:
        env, (_, *steps) = make.sampled(seed)
        limit = getattr(env, "rounds", MAX_STEPS)
        ended = bool(steps) and not steps[-1].remaining
        require(ended and len(steps) <= limit, _endings, f"an episode of {len(steps)} steps so far")


def _observations(make: Maker, seeds: Sequence[int]) -> None:
    """Keep every observation in its space, the first and the last included."""
    for seed in seeds:
        env, episode = make.sampled(seed)
        for step in episode:
            for agent, observation in step.observations.items():
                reason = misfit(observation, env.observation_space(agent))
                require(not reason, _observations, reason, agent)


def rewards(make: Maker, seeds: Sequence[int]) -> None:
    """Pay rewards that are finite numbers."""
    for seed in seeds:
        for step in make.sampled(seed)[1].steps:
            for agent, reward in step.returned[1].items():
                require(number_of(reward) is not None, rewards, repr(reward), agent)


def _pay(make: Maker, seeds: Sequence[int]) -> None:
    """Report pay in infos so that the reward is `task_reward` - `charged`; see `Pay`.

    All infos of steps have `task_reward`, `billed` and `charged`, or none has any; then the
    environment counts as unpriced. All are finite numbers, and a bill is at least 0.
    """
    for seed in seeds:
        steps = make.sampled(seed)[1].steps
        reported = any(key in info for step in steps for info in step.infos.values() for key in PAY)
        for step in steps if reported else ():
            for agent, info in step.infos.items():
                lacking = [key for key in PAY if key not in info]
                require(not lacking, _pay, f"an info without {', '.join(lacking)}", agent)
                values = [info[key] for key in PAY]
                figures = ", ".join(f"{key}={info[key]!r}" for key in PAY)
                require(None not in map(number_of, values), _pay, figures, agent)
                require(info["billed"] >= 0, _pay, figures, agent)
                reward = step.returned[1][agent]
                paid = info["task_reward"] - info["charged"]
                # Other environments may round rewards to another precision.
                same = math.isclose(reward, paid, rel_tol=1e-6, abs_tol=1e-6)
                require(same, _pay, f"a reward of {reward!r}, {figures}", agent)


def _time(make: Maker, seeds: Sequence[int]) -> None:
    """Take a price of time, `metadata["round_price"]`, off one task reward that all agents share.

    Checked where it is above 0. Then `metadata["reward"]` is `common`, infos report pay, and the
    agents of a round have one `task_reward`.
    """
    for seed in seeds:
        env, episode = make.sampled(seed)
        if not (time := round_price(env)):
            return
        received = f"round_price={time:g} with reward={env.metadata.get('reward')!r}"
        require(time > 0 and env.metadata.get("reward") == "common", _time, received)
        for step in episode.steps:
            paid = {info.get("task_reward") for info in step.infos.values()}
            require(
                len(paid) == 1 and None not in paid, _time, f"task rewards {sorted(map(str, paid))}"
            )


def replay(make: Maker, seeds: Sequence[int]) -> None:
    """Repeat an episode to the last step under equal seeds and actions, in a used environment too.

    Equal means bit for bit.
    """
    used = make()
    for seed in seeds:
        reason = difference(make.sampled(seed)[1], play(used, seed, random_action))
        require(not reason, replay, reason)


def _generators(make: Maker, seeds: Sequence[int]) -> None:
    """Leave the process-wide generators of `random` and `numpy` alone in `reset` and `step`."""
    env = make()
    for seed in seeds:
        before = random.getstate(), np.random.get_state()
        play(env, seed, random_action)
        after = random.getstate(), np.random.get_state()
        for name, old, new in zip(("random", "numpy.random"), before, after, strict=True):
            require(data_equivalence(old, new, exact=True), _generators, f"a change of {name}")


def _options(make: Maker, seeds: Sequence[int]) -> None:
    """Ignore unknown options of `reset`."""
    for seed in seeds:
        plain = make().reset(seed=seed)
        with_option = make().reset(seed=seed, options={"an unknown option": 1})
        require(data_equivalence(plain, with_option, exact=True), _options, "another start")


RULES: tuple[Rule, ...] = (
    _parts,
    reset,
    step,
    _names,
    _spaces,
    leaving,
    _endings,
    _observations,
    rewards,
    _pay,
    _time,
    replay,
    _generators,
    _options,
    *TEXT_RULES,
)
"""All rules, in the order of the checks; later rules rely on earlier ones."""
