"""Serve environments by the OpenEnv protocol.

    python -m laconic.extras.interop.openenv gsm8k instructions=full
    python -m laconic.extras.interop.openenv gsm8k instructions=full --seat solver_0

OpenEnv has a single agent, so a team is served in one of two ways:

- by joint messages: `TeamAction` holds all messages, `TeamObservation` all texts and rewards. The
  client is `openenv_client`;
- as the seat of one agent (`SeatAction`, `SeatObservation`), for trainers of a single agent. Its
  teammates are played by the server.

Each session has its own environment. `seed` and `task` of a reset are used.

Source: OpenEnv (github.com/huggingface/OpenEnv), tested with 0.10.0.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import yaml
from fastapi import FastAPI
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, EnvironmentMetadata, State
from openenv.core.env_server.types import Observation as Observed
from pettingzoo import ParallelEnv

from laconic import envs
from laconic.envs.dialogue.reward import PAY_RULES
from laconic.envs.dialogue.team import Infos, Observations
from laconic.envs.wrappers import SingleAgent, Teammate, silent

Make = Callable[[], ParallelEnv[str, Any, str]]
"""Factory of text environments, called once per session."""
_SESSIONS = 64


class TeamAction(Action):
    """Messages of a team in one round."""

    messages: dict[str, str] = {}
    """Agent -> message; agents without a message are silent."""


class TeamObservation(Observed):
    """Observation of a team after a round; `reward` is the mean of `rewards`."""

    agents: list[str]
    """Agents that are still active."""
    texts: dict[str, str]
    """Agent -> text that is new to it."""
    tokens_left: dict[str, list[int]]
    """Agent -> tokens left in the message, agent, round and episode budgets."""
    rewards: dict[str, float]
    """Agent -> its reward of the round."""
    terminated: dict[str, bool]
    """Agent -> whether its episode has ended."""
    truncated: dict[str, bool]
    """Agent -> whether its episode was truncated."""
    infos: dict[str, dict[str, Any]]
    """Agent -> further information of the environment."""


class SeatAction(Action):
    """Message of the agent of the seat."""

    message: str = ""
    """Message; empty for silence."""


class SeatObservation(Observed):
    """Observation of the agent of the seat."""

    text: str
    """Text that is new to it."""
    tokens_left: int
    """Largest number of tokens of its next message."""
    truncated: bool = False
    """True if the episode was truncated."""
    info: dict[str, Any] = {}
    """Further information of the environment, with `score` and `solved` at the end."""


class TeamState(State):
    """State that does not change during an episode."""

    possible_agents: list[str] = []
    """Agents of the team."""
    tasks: list[str] = []
    """Task keys that `reset(task=...)` accepts."""
    pay_rules: dict[str, Any] = {}
    """Pay rules in the metadata of the environment: `reward`, `when` and `max_reward`."""


class _Served(Environment):  # type: ignore[type-arg]
    """Base of both servers: round count and state."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, env: Any, team: Any) -> None:
        super().__init__()
        self._env = env
        tasks = [str(key) for key in getattr(team, "tasks", ())]
        rules = {key: team.metadata[key] for key in PAY_RULES if key in team.metadata}
        self._state = TeamState(
            possible_agents=list(team.possible_agents), tasks=tasks, pay_rules=plain(rules)
        )
        self._name = str(team.metadata.get("name", type(team).__name__))

    def _begin(self, seed: int | None, episode_id: str | None, task: str | None) -> Any:
        fields = {"episode_id": episode_id or str(uuid.uuid4()), "step_count": 0}
        self._state = self._state.model_copy(update=fields)
        return self._env.reset(seed=seed, options={} if task is None else {"task": task})

    def _count(self) -> None:
        self._state = self._state.model_copy(update={"step_count": self._state.step_count + 1})

    @property
    def state(self) -> TeamState:
        """Episode, team and tasks."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Return name and kind, for `/metadata`."""
        kind = "one agent of a team" if isinstance(self, Seat) else "a team by joint messages"
        return EnvironmentMetadata(name=self._name, description=f"Laconic: {kind}")

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


class Team(_Served):
    """Server of a whole team by joint messages."""

    def __init__(self, env: ParallelEnv[str, Any, str]) -> None:
        """Serve an environment over text."""
        super().__init__(env, env)

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: str | None = None,
        **kwargs: Any,
    ) -> TeamObservation:
        """Start an episode, of a task by its key or of a drawn one."""
        observations, infos = self._begin(seed, episode_id, task)
        none = dict.fromkeys(observations, False)
        return self._shown(observations, {}, none, none, infos)

    def step(
        self, action: TeamAction, timeout_s: float | None = None, **kwargs: Any
    ) -> TeamObservation:
        """Play a round."""
        self._count()
        return self._shown(*self._env.step(action.messages))

    def _shown(
        self,
        observations: Observations,
        rewards: Mapping[str, float],
        terminated: Mapping[str, bool],
        truncated: Mapping[str, bool],
        infos: Infos,
    ) -> TeamObservation:
        earned = [float(reward) for reward in rewards.values()]
        return TeamObservation(
            agents=list(self._env.agents),
            texts={agent: _text(observation) for agent, observation in observations.items()},
            tokens_left={agent: _left(observation) for agent, observation in observations.items()},
            rewards=dict(zip(rewards, earned, strict=True)),
            terminated=dict(terminated),
            truncated=dict(truncated),
            infos=plain(infos),
            reward=sum(earned) / len(earned) if earned else None,
            done=not self._env.agents,
        )


class Seat(_Served):
    """Server of one agent of a team; the teammates are played by the server."""

    def __init__(
        self, env: ParallelEnv[str, Any, str], agent: str, teammates: Teammate = silent
    ) -> None:
        """Serve the seat of one agent."""
        super().__init__(SingleAgent(env, agent, teammates), env)

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: str | None = None,
        **kwargs: Any,
    ) -> SeatObservation:
        """Start an episode, of a task by its key or of a drawn one."""
        observation, info = self._begin(seed, episode_id, task)
        return SeatObservation(
            text=_text(observation), tokens_left=_left(observation)[0], info=plain(info)
        )

    def step(
        self, action: SeatAction, timeout_s: float | None = None, **kwargs: Any
    ) -> SeatObservation:
        """Publish the message and play the round."""
        self._count()
        observation, reward, terminated, truncated, info = self._env.step(action.message)
        return SeatObservation(
            text=_text(observation),
            tokens_left=_left(observation)[0],
            truncated=truncated,
            info=plain(info),
            reward=reward,
            done=terminated or truncated,
        )


def team_app(make: Make, sessions: int = _SESSIONS) -> FastAPI:
    """Return an application that serves teams by joint messages."""
    app: FastAPI = create_fastapi_app(
        lambda: Team(make()),
        TeamAction,
        TeamObservation,
        max_concurrent_envs=sessions,
        state_cls=TeamState,
    )
    return app


def seat_app(
    make: Make, agent: str, teammates: Teammate = silent, sessions: int = _SESSIONS
) -> FastAPI:
    """Return an application that serves the seat of one agent."""
    Seat(make(), agent, teammates).close()
    app: FastAPI = create_fastapi_app(
        lambda: Seat(make(), agent, teammates),
        SeatAction,
        SeatObservation,
        max_concurrent_envs=sessions,
        state_cls=TeamState,
    )
    return app


def plain(value: Any) -> Any:
    """Return a value in types of JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _text(observation: Any) -> str:
    return str(observation["text"] if isinstance(observation, Mapping) else observation)


def _left(observation: Any) -> list[int]:
    has_budget = isinstance(observation, Mapping) and "tokens_left" in observation
    return [int(tokens) for tokens in np.ravel(observation["tokens_left"])] if has_budget else []


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the environment that the command line names."""
    import uvicorn

    parser = argparse.ArgumentParser(prog="openenv", description="Serve an environment by OpenEnv.")
    parser.add_argument("env", choices=envs.names(), help="name of the environment")
    parser.add_argument("settings", nargs="*", help="its settings, e.g. instructions=full")
    parser.add_argument("--seat", help="serve one agent; its teammates are silent")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args(arguments)
    settings = {
        key: yaml.safe_load(value) for key, _, value in (s.partition("=") for s in options.settings)
    }

    def make() -> ParallelEnv[str, Any, str]:
        return envs.make(options.env, **settings)

    app = seat_app(make, options.seat) if options.seat else team_app(make)
    uvicorn.run(app, host=options.host, port=options.port)


if __name__ == "__main__":
    main()
