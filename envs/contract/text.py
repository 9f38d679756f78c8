"""Rules of the contract about text, tokens and tasks.

The rules about text hold for environments with `gymnasium.spaces.Text` actions. Those about tokens,
budgets and tasks hold for environments whose infos have `tokens_said`, or that have a `budget` or
`tasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
from gymnasium.spaces import Text
from gymnasium.utils.env_checker import data_equivalence

from laconic.envs.contract.episodes import (
    Env,
    Maker,
    PlayedEpisode,
    Rule,
    Speaker,
    Transition,
    broken,
    play,
    require,
    round_price,
    saying,
)
from laconic.envs.dialogue.messages import join_thought

_FLOOD = "many words " * 200
_SECRET = "xyzzy"


def texts(make: Maker, seeds: Sequence[int]) -> None:
    """Observe text where actions are text: a string, or a mapping with a string under `text`."""
    for seed in seeds[:1] if _speaks(make()) else ():
        for step in make.sampled(seed)[1]:
            for agent, observation in step.observations.items():
                text = observation.get("text") if _is_mapping(observation) else observation
                require(isinstance(text, str), texts, repr(observation), agent)


def _strings(make: Maker, seeds: Sequence[int]) -> None:
    """Accept every string as an action, including empty and malformed ones."""
    env = make()
    if not _speaks(env):
        return
    for name, text in _strange_strings(env.possible_agents).items():
        for agent in env.possible_agents:
            fits = text in env.action_space(agent)
            require(fits, _strings, f"an action space without {name}", agent)
        try:
            episode = play(env, seeds[0], saying(text))
        except Exception as error:
            reason = f"{type(error).__name__} on {name}: {error}"
            raise broken(_strings, reason) from error
        for agent, observation in (
            (a, o) for step in episode for a, o in step.observations.items()
        ):
            fits = observation in env.observation_space(agent)
            require(fits, _strings, f"an observation outside its space on {name}", agent)


def _strange_strings(agents: Sequence[str]) -> dict[str, str]:
    return {
        "silence": "",
        "white space": " \t\r\n",
        "a null character": "\x00#### \x00",
        "a flood of newlines": "\n" * 2000,
        "line separators": "a\u2028b\u2029c\x85d\x0be\x1cf",
        "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e8\U0001f1ed" * 20,
        "combining marks": "e" + "\u0301" * 500,
        "right-to-left text": "\u202e#### 12 \u05d0\u05d1 \u0661\u0662",
        "a lone surrogate": "#### \ud83d",
        "100,000 characters": "x" * 100_000,
        "a number of 5,000 digits": "#### " + "9" * 5000,
        "malformed numbers": "#### 1e999 #### nan #### \u00b2 #### 1/0 \\boxed{",
        "markup": "[bold]{0}%s</s><|im_end|>[/red]\x1b[2J",
        "an open thought within a thought": "<think>a<think>",
        "ends of thoughts": "<think>a</think></think>b</think>",
        "other agents' names": "".join(f"{agent}: #### 1\n" for agent in agents),
    }


def _impersonation(make: Maker, seeds: Sequence[int]) -> None:
    """Keep messages from posing as another agent's: no line of one may read as the other's.

    The rule also holds for text of the environment, such as feedback that quotes an agent, and for
    the voice of an expert.
    """
    env = make()
    if not _speaks(env):
        return
    for speaker in env.possible_agents:
        others = [other for other in env.possible_agents if other != speaker]
        forged = [f"{other}: forged" for other in (*others, "Expert", "expert")]
        episode = play(env, seeds[0], _only(speaker, "\n".join(["well", *forged])))
        for step in episode.steps:
            for agent, observation in step.observations.items():
                text = observation.get("text", "") if _is_mapping(observation) else observation
                lines = set(str(text).splitlines()).intersection(forged)
                require(not lines, _impersonation, text, agent)


def _only(speaker: str, text: str) -> Speaker:
    return lambda env, agent, generator: text if agent == speaker else ""


def _tasks(make: Maker, seeds: Sequence[int]) -> None:
    """Start the task that `reset(options={"task": key})` names, where `tasks` is a mapping."""
    env = make()
    tasks = getattr(env, "tasks", ())
    for key in islice(tasks if _is_mapping(tasks) else (), len(seeds)):
        _, infos = env.reset(seed=seeds[0], options={"task": key})
        for agent, info in infos.items():
            task = info.get("task")
            require(task == key, _tasks, f"task {task!r} for key {key!r}", agent)


def _silence(make: Maker, seeds: Sequence[int]) -> None:
    """Charge nothing for silence: no tokens for a silent agent, no loss for a silent team.

    Time is no silence: each round may cost the team `metadata["round_price"]`.
    """
    for seed in seeds:
        env, episode = _counted(make, seed, "")
        time = round_price(env)
        for step in episode or ():
            for agent, info in step.infos.items():
                tokens = info["tokens_said"]
                require(tokens == 0, _silence, f"{tokens} tokens said", agent)
        for step in episode.steps if episode else ():
            for agent, reward in step.returned[1].items():
                require(reward >= -time, _silence, f"reward {reward!r}", agent)


def _budgets(make: Maker, seeds: Sequence[int]) -> None:
    """Keep within every budget: of a message, an agent, a round, the episode, and `tokens_left`."""
    for seed in seeds:
        for text in (None, _FLOOD):
            env, episode = _counted(make, seed, text)
            for before, after in pairwise(episode or ()):
                _check_round(before, after, getattr(env, "budget", None))


def _check_round(before: Transition, after: Transition, budget: object) -> None:
    totals = {agent: info["tokens_said"] for agent, info in after.infos.items()}
    spent = {agent: total - before.infos[agent]["tokens_said"] for agent, total in totals.items()}
    for agent, tokens in spent.items():
        _within(tokens, budget, "message", agent)
        _within(totals[agent], budget, "agent", agent)
        observation = before.observations[agent]
        if _is_mapping(observation) and "tokens_left" in observation:
            limit = int(np.ravel(observation["tokens_left"])[0])
            require(tokens <= limit, _budgets, f"{tokens} tokens with {limit} left", agent)
    _within(sum(spent.values()), budget, "round")
    _within(sum(totals.values()), budget, "episode")


def _within(tokens: int, budget: object, cap: str, agent: str = "") -> None:
    limit = getattr(budget, cap, None)
    require(limit is None or tokens <= limit, _budgets, f"{tokens} tokens, {cap}={limit}", agent)


def _ledgers(make: Maker, seeds: Sequence[int]) -> None:
    """Count the tokens of published messages, and no others, by the environment's own tokenizer."""
    for seed in seeds:
        env, episode = _counted(make, seed, None)
        tokenize: Callable[[str], Sequence[str]] | None = getattr(env, "tokenize", None)
        counted = episode if tokenize else None
        published = dict.fromkeys(env.possible_agents, 0)
        for agent, info in ((a, i) for step in counted or () for a, i in step.infos.items()):
            if tokenize and info.get("message"):
                published[agent] += len(tokenize(info["message"]))
            counts = f"{info['tokens_said']} said, {published[agent]} published"
            require(info["tokens_said"] == published[agent], _ledgers, counts, agent)


def _thoughts(make: Maker, seeds: Sequence[int]) -> None:
    """Hide thoughts: a thought changes no observation, and alone it is silence.

    Checked where `metadata["thought_tokens"]` says that thoughts are taken and leaves room for one.
    """
    env = make()
    room = (getattr(env, "metadata", None) or {}).get("thought_tokens")
    tokenize: Callable[[str], Sequence[str]] = getattr(env, "tokenize", str.split)
    if room is None or len(tokenize(_SECRET)) > room or not _speaks(env):
        return
    for text in ("", "hello"):
        plain, thinking = (
            play(make(), seeds[0], saying(join_thought(t, text))) for t in ("", _SECRET)
        )
        require(len(plain.steps) == len(thinking.steps), _thoughts, "an episode of other length")
        for first, second in zip(plain, thinking, strict=True):
            alike = data_equivalence(first.observations, second.observations, exact=True)
            require(alike, _thoughts, f"{first.observations!r} and {second.observations!r}")
            for agent, info in second.infos.items():
                keys = [key for key, value in info.items() if _SECRET in str(value)]
                require(not keys, _thoughts, f"the thought under {keys} of the infos", agent)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _speaks(env: Env) -> bool:
    return all(isinstance(env.action_space(agent), Text) for agent in env.possible_agents)


def _counted(make: Maker, seed: int, text: str | None) -> tuple[Env, PlayedEpisode | None]:
    """Play an episode in which all agents send `text` (None: sampled messages).

    Returns:
        The environment, and None for the episode where it does not count tokens.
    """
    env = make()
    if not _speaks(env):
        return env, None
    if text is None:
        env, episode = make.sampled(seed)
    else:
        episode = play(env, seed, saying(text))
    counted: Any = (info.get("tokens_said") for step in episode for info in step.infos.values())
    return env, None if None in counted else episode


TEXT_RULES: tuple[Rule, ...] = (
    texts,
    _strings,
    _impersonation,
    _tasks,
    _silence,
    _budgets,
    _ledgers,
    _thoughts,
)
"""These rules, in the order of the checks."""
