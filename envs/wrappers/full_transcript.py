"""The whole conversation in every observation, for clients without a memory.

The text is what the agent has read and said so far, oldest first, its own messages in the form in
which it hears others (`solver_0: #### 12`). All else is as before; the ledger of tokens read still
counts what was new.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.transcript import Message, heard
from laconic.envs.wrappers.base import Options, Returned, Started, Wrapper, text_of


class FullTranscript(Wrapper):
    """An agent sees all it has read and said.

    For any text environment; an observation is a string or has one under `text`.
    """

    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        """Nothing is said yet."""
        super().__init__(env)
        self._texts: dict[str, list[str]] = {}

    def reset(self, seed: int | None = None, options: Options = None) -> Started:
        """Start an episode with an empty transcript; see the wrapped environment."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._texts = {agent: [] for agent in observations}
        return self._shown(observations), infos

    def step(self, actions: Mapping[str, Any]) -> Returned:
        """Play a round; see the wrapped environment."""
        observations, rewards, terminated, truncated, infos = self.env.step(dict(actions))
        for agent in observations:
            # What was published, where the environment says so: a message may have been cut.
            said = str(infos.get(agent, {}).get("message", actions.get(agent, "")))
            if said:
                own = Message(agent, 0, said, 0)
                self._texts[agent].append(heard((own,), (agent,)))
        return self._shown(observations), rewards, terminated, truncated, infos

    def _shown(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for agent, observation in observations.items():
            # Who joins later has a transcript from then on.
            texts = self._texts.setdefault(agent, [])
            texts.append(text_of(observation))
            whole = "\n".join(filter(None, texts))
            is_mapping = isinstance(observation, Mapping)
            shown[agent] = {**observation, "text": whole} if is_mapping else whole
        return shown
