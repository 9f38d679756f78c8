"""One agent of a team as a Gymnasium environment; team-mates play along.

Over a text environment or any other `ParallelEnv`. A step is a round of the team: the action of the
agent and those of its team-mates, who act on what they observed. The episode is over when it is
over for the agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
from pettingzoo import ParallelEnv

from laconic.envs.checks import choice
from laconic.envs.wrappers.teammates import Teammate, silent


class SingleAgent(gymnasium.Env[Any, Any]):
    """The environment as one agent meets it.

    Args:
        env: the environment of the whole team.
        agent: whose view it is.
        teammates: decides for all others; or one decider for each of them, by name.

    Raises:
        UnknownNameError: there is no such agent, or a team-mate is missing.
    """

    def __init__(
        self,
        env: ParallelEnv[str, Any, Any],
        agent: str,
        teammates: Teammate | Mapping[str, Teammate] = silent,
    ) -> None:
        """Take the agent's spaces."""
        choice("agent", agent, env.possible_agents)
        others = [other for other in env.possible_agents if other != agent]
        if not isinstance(teammates, Mapping):
            teammates = dict.fromkeys(others, teammates)
        for other in others:
            choice("team-mate, who is needed:", other, teammates)
        self.env, self.agent, self._teammates = env, agent, teammates
        self.observation_space = env.observation_space(agent)
        self.action_space = env.action_space(agent)
        self.metadata = dict(getattr(env, "metadata", {}))
        self.render_mode = getattr(env, "render_mode", None)
        self._observations: Mapping[str, Any] = {}
        self._infos: Mapping[str, Mapping[str, Any]] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode of the team; see the environment."""
        super().reset(seed=seed)
        self._observations, self._infos = self.env.reset(seed=seed, options=options)
        return self._observations[self.agent], dict(self._infos[self.agent])

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a round; the agent's observation, reward, whether it is over in either way, info."""
        actions = {self.agent: action}
        for other in self.env.agents:
            if other != self.agent:
                seen, info = self._observations[other], self._infos[other]
                actions[other] = self._teammates[other](other, seen, info)
        self._observations, rewards, terminated, truncated, self._infos = self.env.step(actions)
        own = self.agent
        over = bool(terminated[own]), bool(truncated[own])
        return self._observations[own], float(rewards[own]), *over, dict(self._infos[own])

    def render(self) -> Any:
        """Whatever the environment renders."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()
