"""Other interfaces of an environment: one agent for Gymnasium, and PettingZoo's turn-based form.

`SingleAgent` shows a team as one agent sees it; its teammates are given. `turn_based` lets agents
act one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec

from laconic.envs.checks import choice
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import SettingError
from laconic.envs.task import knows_enough, relevant_statements

Teammate = Callable[[str, Any, Mapping[str, Any]], Any]
"""Maps an agent's name, observation and info to its action."""


def silent(agent: str, observation: Any, info: Mapping[str, Any]) -> str:
    """Say nothing."""
    return ""


class Oracle:
    """A teammate that says the relevant statements once, and answers when it knows all of them.

    It looks at the task behind the episode, as no agent can: at the relevant statements and at the
    answer. Where all agents write one piece of work, it writes the best draft of its role.
    """

    def __init__(self, env: DialogueEnv) -> None:
        """Take the environment that is played, without its wrappers."""
        self._env = env
        self._read: dict[str, str] = {}

    def __call__(self, agent: str, observation: Any, info: Mapping[str, Any]) -> str:
        """Return the agent's message."""
        task, share = self._env.task, info["share"]
        self._read[agent] = ("" if info["round"] == 0 else self._read[agent]) + observation["text"]
        if info["answering"] and not task.drafts:
            return task.answer_text if knows_enough(task, share, self._read[agent]) else ""
        if info["tokens_said"]:
            return ""
        if task.drafts:
            return task.drafts[role_of(agent)][0]
        return self._env.benchmark.separator.join(relevant_statements(task, share))


class SingleAgent(gymnasium.Env[Any, Any]):
    """One agent's view of a team as a Gymnasium environment.

    A step is a round of the team: the agent's action, and those of its teammates on their own
    observations. The episode is over when it is over for the agent.

    Args:
        env: the environment of the whole team, over text or any other.
        agent: the agent whose view it is.
        teammates: chooses the actions of all other agents; or one function for each, by name.

    Raises:
        UnknownNameError: there is no such agent.
        SettingError: a teammate is missing.
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
        if missing := [other for other in others if other not in teammates]:
            raise SettingError(
                f"expected a teammate for each of {', '.join(others)}; got none for"
                f" {', '.join(missing)}. Add an entry to `teammates`, or pass one function for all"
            )
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
        """Play a round.

        Returns:
            Observation, reward, termination, truncation and info of the agent.
        """
        actions = {self.agent: action}
        for other in self.env.agents:
            if other != self.agent:
                observation, info = self._observations[other], self._infos[other]
                actions[other] = self._teammates[other](other, observation, info)
        self._observations, rewards, terminated, truncated, self._infos = self.env.step(actions)
        agent = self.agent
        over = bool(terminated[agent]), bool(truncated[agent])
        return self._observations[agent], float(rewards[agent]), *over, dict(self._infos[agent])

    def render(self) -> Any:
        """Render the environment."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def turn_based(env: ParallelEnv[str, Any, Any]) -> AECEnv[str, Any, Any]:
    """Return a parallel environment in PettingZoo's turn-based (AEC) form, with its `state_space`.

    The conversion is PettingZoo's. Rounds stay simultaneous: actions are held back until the last
    agent of a round has acted, and no agent observes them earlier. An agent that has ended is
    stepped once with None. Text passes through unchanged; PettingZoo's `api_test` holds, with
    warnings that text is no array.
    """
    converted: AECEnv[str, Any, Any] = parallel_to_aec(env)
    if hasattr(env, "state_space"):
        converted.state_space = env.state_space  # type: ignore[attr-defined]
    return converted
