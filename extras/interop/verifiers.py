"""A benchmark as a taskset and an environment of verifiers, with one agent a role.

verifiers finds an environment by the name of a module that exports it, so one of two lines is all
that is needed (`my_team.py`):

    from laconic.extras.interop.verifiers import team

    TeamTaskset, TeamEnv = team("gsm8k", information="split")
    __all__ = ["TeamTaskset", "TeamEnv"]

Roles are `AgentConfig` fields of the environment's configuration (`--env.solver.model`), which all
agents of the role share; every agent is an interaction of its own, so an episode has one trace an
agent. A trace gets the reward of its agent, price included, and the metrics `tokens_said`,
`silence` (share of its turns), `solved`, and `informed` where that is known. The silence word ends
a reply; what stands behind it is charged as a thought. prime-rl trains such environments.

Source: verifiers (github.com/PrimeIntellect-ai/verifiers), tried with 0.4.0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Literal

import verifiers.v1 as vf
from pydantic import create_model

from laconic import envs
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.messages import SilenceWord, join_thought
from laconic.envs.dialogue.roster import role_of

SILENCE = "<silence>"
"""What an agent replies to say nothing."""
NOTHING = "(nothing new)"
"""Stands for an empty text, which verifiers does not send."""


class TeamConfig(vf.TasksetConfig):
    """Which tasks are played."""

    split: Literal["train", "evaluation"] = "train"
    """Part of the source, `--env.taskset.split`."""
    tasks: int | None = None
    """How many; None for all."""


class TeamData(vf.TaskData):
    """A task by its key; what agents read of it is the environment's to say."""

    key: str
    """Key in the environment."""
    seed: int
    """Of the episode: who holds which statements, and what else is drawn."""


class TeamTask(vf.Task[TeamData]):
    """A task of a benchmark; rewards come from the environment."""


@dataclass
class _Turns:
    """One agent's part of an episode."""

    earned: float = 0.0
    taken: int = 0
    silent: int = 0
    info: Mapping[str, Any] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    over: bool = False
    """Whether verifiers has ended its trace (a limit on turns or tokens); it is silent then."""


def team(
    name: str, silence: str = SILENCE, **settings: Any
) -> tuple[type[vf.Taskset[Any, Any]], type[vf.Env[Any]]]:
    """The taskset and the environment of a benchmark.

    Args:
        name: one of `envs.names()`.
        silence: the word that an agent says nothing with.
        **settings: of `envs.make`.

    Raises:
        UnknownNameError, SettingError: as `envs.make`.
    """
    roles = dict.fromkeys(role_of(a) for a in envs.make(name, **settings, tasks=1).possible_agents)
    seats: dict[str, Any] = {role: (vf.AgentConfig, _speaker()) for role in roles}
    configuration = create_model(
        "TeamEnvConfig", __base__=vf.EnvConfig, __module__=__name__, **seats
    )

    def made(config: TeamConfig) -> DialogueEnv:
        given = {"tasks": config.tasks} if config.tasks is not None else {}
        return envs.make(name, split=config.split, **{**settings, **given})

    class TeamTaskset(vf.Taskset[TeamTask, TeamConfig]):
        """The tasks of a benchmark, each played from a seed of its own."""

        def load(self) -> Iterable[TeamTask]:
            for seed, key in enumerate(made(self.config).tasks):
                yield TeamTask(TeamData(id=key, key=key, seed=seed), self.config.task)

    class TeamEnv(vf.Env[configuration]):  # type: ignore[valid-type]
        """A team that plays one task; see the module."""

        async def start(self) -> None:
            self._played: dict[str, _Turns] = {}

        async def run(self, task: TeamTask, agents: Any) -> None:
            env = await asyncio.to_thread(made, self.config.taskset)
            async with AsyncExitStack() as stack:
                seats = {}
                for agent in env.possible_agents:
                    told = _seat(task, agent, silence)
                    opened = getattr(agents, role_of(agent)).interaction(told)
                    seats[agent] = await stack.enter_async_context(opened)
                played = await _play(env, task.data, seats, silence)
            self._played |= {seats[agent].trace.id: one for agent, one in played.items()}

        async def finalize(self, task: TeamTask, episode: vf.Episode) -> None:
            for trace in episode.traces:
                _record(trace, self._played.pop(trace.id))

    return TeamTaskset, TeamEnv


def _speaker() -> vf.AgentConfig:
    """An agent that speaks and runs no code."""
    return vf.AgentConfig(harness={"id": "null"}, runtime=vf.SubprocessConfig())


def _seat(task: TeamTask, agent: str, silence: str) -> TeamTask:
    """The task as one agent is given it: without a prompt, for the environment opens."""
    word = f"To say nothing, reply with {silence} and nothing else."
    system = task.data.system_prompt or word
    told: TeamTask = task.with_data(name=agent, prompt=None, system_prompt=system)
    return told


async def _play(
    env: DialogueEnv, data: TeamData, seats: Mapping[str, Any], silence: str
) -> dict[str, _Turns]:
    """Play an episode; agents whose turn it is are asked together."""
    played = {agent: _Turns() for agent in env.possible_agents}
    observations, infos = env.reset(seed=data.seed, options={"task": data.key})
    while env.agents:
        for agent, seen in observations.items():
            played[agent].unread += [seen["text"]] if seen["text"] else []
        asked = [agent for agent in env.agents if observations[agent]["tokens_left"][0] > 0]
        word = SilenceWord(silence)
        said = await asyncio.gather(*(_ask(seats[a], played[a], word, a) for a in asked))
        messages = dict(zip(asked, said, strict=True))
        # A step may run programs, or wait for others.
        observations, rewards, *_, infos = await asyncio.to_thread(env.step, messages)
        for agent, reward in rewards.items():
            played[agent].earned += float(reward)
    for agent, info in infos.items():
        played[agent].info = info
    return played


async def _ask(seat: Any, turns: _Turns, silence: SilenceWord, agent: str) -> str:
    """Show an agent what it has not read yet, and return its action."""
    if turns.over:
        return ""
    text, turns.unread = "\n".join(turns.unread) or NOTHING, []
    segment = await seat.turn(text)
    if segment.terminated:
        turns.over = True
        return ""
    message, rest = silence.split(str(segment.last_reply), agent)
    turns.taken += 1
    turns.silent += not message
    return join_thought(rest, message)


def _record(trace: vf.Trace, turns: _Turns) -> None:
    trace.record_reward("team", turns.earned)
    trace.record_metric("tokens_said", float(turns.info["tokens_said"]))
    trace.record_metric("silence", turns.silent / turns.taken if turns.taken else 1.0)
    trace.record_metric("solved", float(bool(turns.info.get("solved"))))
    if turns.info.get("informed") is not None:
        trace.record_metric("informed", float(turns.info["informed"]))
