"""Provide a benchmark as a taskset and an environment of verifiers, with an agent per role.

verifiers finds an environment by the name of a module that exports it (`my_team.py`):

    from laconic.extras.interop.verifiers import team

    TeamTaskset, TeamEnv = team("gsm8k", instructions="full")
    __all__ = ["TeamTaskset", "TeamEnv"]

Roles are `AgentConfig` fields of the environment's configuration (`--env.solver.model`), shared by
all agents of the role. Each agent is an interaction of its own, so an episode has one trace per
agent. A trace gets the reward of its agent, price included, and the metrics `tokens_said`,
`silence` (share of its turns), `solved`, and `informed` if it is known. The silence word ends a
reply; text after it is charged as a thought. prime-rl trains such environments.

Source: verifiers (github.com/PrimeIntellect-ai/verifiers), tested with 0.4.0.
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

__all__ = ["team"]

SILENCE = "<silence>"
"""Word that an agent replies to be silent."""
NOTHING = "(nothing new)"
"""Placeholder for an empty text, which verifiers does not send."""


class TeamConfig(vf.TasksetConfig):
    """Settings of the taskset."""

    split: Literal["train", "evaluation"] = "train"
    """Split of the source, `--env.taskset.split`."""
    tasks: int | None = None
    """Number of tasks; None for all."""


class TeamData(vf.TaskData):
    """Task by its key; the environment decides what agents read of it."""

    key: str
    """Task key in the environment."""
    seed: int
    """Seed of the episode, for the deal of statements and all else that is drawn."""


class TeamTask(vf.Task[TeamData]):
    """Task of a benchmark; rewards come from the environment."""


@dataclass
class _Turns:
    """Part of one agent in an episode."""

    earned: float = 0.0
    count: int = 0
    silent: int = 0
    info: Mapping[str, Any] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    over: bool = False
    """True if verifiers ended the trace (a limit on turns or tokens); the agent is then silent."""


def team(
    name: str, silence: str = SILENCE, **settings: Any
) -> tuple[type[vf.Taskset[Any, Any]], type[vf.Env[Any]]]:
    """Return the taskset and the environment of a benchmark.

    Args:
        name: one of `envs.names()`.
        silence: word that an agent replies to be silent.
        **settings: settings of `envs.make`.

    Raises:
        UnknownNameError, SettingError: as `envs.make`.
    """
    roles = dict.fromkeys(role_of(a) for a in envs.make(name, **settings, tasks=1).possible_agents)
    seats: dict[str, Any] = {role: (vf.AgentConfig, _speaker()) for role in roles}
    configuration = create_model(
        "TeamEnvConfig", __base__=vf.EnvConfig, __module__=__name__, **seats
    )

    def make_env(config: TeamConfig) -> DialogueEnv:
        tasks = {"tasks": config.tasks} if config.tasks is not None else {}
        return envs.make(name, split=config.split, **{**settings, **tasks})

    class TeamTaskset(vf.Taskset[TeamTask, TeamConfig]):
        """Tasks of a benchmark, each with a seed of its own."""

        def load(self) -> Iterable[TeamTask]:
            for seed, key in enumerate(make_env(self.config).tasks):
                yield TeamTask(TeamData(id=key, key=key, seed=seed), self.config.task)

    class TeamEnv(vf.Env[configuration]):  # type: ignore[valid-type]
        """Environment in which a team plays one task; see the module."""

        async def start(self) -> None:
            self._played: dict[str, _Turns] = {}

        async def run(self, task: TeamTask, agents: Any) -> None:
            env = await asyncio.to_thread(make_env, self.config.taskset)
            async with AsyncExitStack() as stack:
                seats = {}
                for agent in env.possible_agents:
                    own_task = _seat(task, agent, silence)
                    interaction = getattr(agents, role_of(agent)).interaction(own_task)
                    seats[agent] = await stack.enter_async_context(interaction)
                played = await _play(env, task.data, seats, silence)
            self._played |= {seats[agent].trace.id: turns for agent, turns in played.items()}

        async def finalize(self, task: TeamTask, episode: vf.Episode) -> None:
            for trace in episode.traces:
                _record(trace, self._played.pop(trace.id))

    return TeamTaskset, TeamEnv


def _speaker() -> vf.AgentConfig:
    """Return the configuration of an agent that speaks and runs no code."""
    return vf.AgentConfig(harness={"id": "null"}, runtime=vf.SubprocessConfig())


def _seat(task: TeamTask, agent: str, silence: str) -> TeamTask:
    """Return the task for one agent, without a prompt, because the environment speaks first."""
    word = f"To say nothing, reply with {silence} and nothing else."
    system = task.data.system_prompt or word
    own_task: TeamTask = task.with_data(name=agent, prompt=None, system_prompt=system)
    return own_task


async def _play(
    env: DialogueEnv, data: TeamData, seats: Mapping[str, Any], silence: str
) -> dict[str, _Turns]:
    """Play an episode; all agents in turn are asked concurrently."""
    played = {agent: _Turns() for agent in env.possible_agents}
    observations, infos = env.reset(seed=data.seed, options={"task": data.key})
    while env.agents:
        for agent, observation in observations.items():
            played[agent].unread += [observation["text"]] if observation["text"] else []
        in_turn = [agent for agent in env.agents if observations[agent]["tokens_left"][0] > 0]
        word = SilenceWord(silence)
        replies = await asyncio.gather(*(_ask(seats[a], played[a], word, a) for a in in_turn))
        messages = dict(zip(in_turn, replies, strict=True))
        # A step may run programs or wait for other processes.
        observations, rewards, *_, infos = await asyncio.to_thread(env.step, messages)
        for agent, reward in rewards.items():
            played[agent].earned += float(reward)
    for agent, info in infos.items():
        played[agent].info = info
    return played


async def _ask(seat: Any, turns: _Turns, silence: SilenceWord, agent: str) -> str:
    """Send an agent the text that it has not read yet, and return its action."""
    if turns.over:
        return ""
    text, turns.unread = "\n".join(turns.unread) or NOTHING, []
    segment = await seat.turn(text)
    if segment.terminated:
        turns.over = True
        return ""
    message, rest = silence.split(str(segment.last_reply), agent)
    turns.count += 1
    turns.silent += not message
    return join_thought(rest, message)


def _record(trace: vf.Trace, turns: _Turns) -> None:
    trace.record_reward("team", turns.earned)
    trace.record_metric("tokens_said", float(turns.info["tokens_said"]))
    trace.record_metric("silence", turns.silent / turns.count if turns.count else 1.0)
    for name in ("solved", "informed"):
        if turns.info.get(name) is not None:
            trace.record_metric(name, float(turns.info[name]))
