"""Client environment of a team that an OpenEnv server plays.

    env = RemoteTeam("http://127.0.0.1:8000")

The server is one of `openenv.team_app`, on any machine. Training and evaluation use it as any other
`ParallelEnv`. Tasks, seeds, tokens left and infos are those of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from openenv.core.generic_client import GenericEnvClient

from laconic.envs.dialogue.roster import check_actions
from laconic.envs.dialogue.team import Infos, Observations, StepResult, TextEnv

__all__ = ["RemoteTeam"]


class RemoteTeam(TextEnv):
    """Team that a server of `team_app` plays, as a `ParallelEnv`."""

    def __init__(self, base_url: str, render_mode: str | None = None) -> None:
        """Connect to a server, e.g. `http://127.0.0.1:8000`."""
        self.metadata: dict[str, Any] = {"name": "laconic_remote_v0", "render_modes": []}
        # Rollouts step slow environments at the same time.
        self.metadata["slow_step"] = True
        self.render_mode = render_mode
        self._client = GenericEnvClient(base_url=base_url).sync()
        self._client.connect()
        state = self._client.state()
        self.metadata |= state.get("pay_rules", {})
        self._take_seats(state["possible_agents"])
        self.tasks = {key: key for key in state["tasks"]}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Start an episode on the server, of the task in `options` if there is one."""
        task = {"task": options["task"]} if options and "task" in options else {}
        seeded = {} if seed is None else {"seed": int(seed)}
        observation = self._client.reset(**seeded, **task).observation
        return self._read(observation), observation["infos"]

    def step(self, actions: Mapping[str, str]) -> StepResult:
        """Play a round on the server."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        check_actions(actions, self.possible_agents)
        observation = self._client.step({"messages": dict(actions)}).observation
        endings = observation["terminated"], observation["truncated"]
        return self._read(observation), observation["rewards"], *endings, observation["infos"]

    def close(self) -> None:
        """End the session."""
        self._client.close()

    def _read(self, observation: Mapping[str, Any]) -> Observations:
        self.agents = list(observation["agents"])
        tokens_left = observation["tokens_left"]
        return {
            agent: {"text": text, "tokens_left": np.array(tokens_left[agent], np.int32)}
            for agent, text in observation["texts"].items()
        }
