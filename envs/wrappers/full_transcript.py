"""The whole conversation in every observation, for clients without a memory.

The text is everything the agent has read and said so far, oldest first. Its own messages have the
form in which it hears others (`solver_0: #### 12`). The ledger of tokens read still counts only new
text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.messages import Message, heard
from laconic.envs.wrappers.base import Options, ResetResult, StepResult, Wrapper, text_of


class FullTranscript(Wrapper):
    """An agent observes everything it has read and said.

    The environment may be any text environment; an observation is a string or has one under `text`.
    """

    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        """Wrap the environment."""
        super().__init__(env)
        self._texts: dict[str, list[str]] = {}

    def reset(self, seed: int | None = None, options: Options = None) -> ResetResult:
        """Start an episode with an empty transcript; see the wrapped environment."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._texts = {agent: [] for agent in observations}
        return self._extend(observations), infos

    def step(self, actions: Mapping[str, Any]) -> StepResult:
        """Play a round; see the wrapped environment."""
        observations, rewards, terminated, truncated, infos = self.env.step(dict(actions))
        for agent in observations:
            # The published message, if the environment reports it: it may have been cut.
            text = str(infos.get(agent, {}).get("message", actions.get(agent, "")))
            if text:
                message = Message(agent, 0, text, 0)
                self._texts[agent].append(heard((message,), (agent,)))
        return self._extend(observations), rewards, terminated, truncated, infos

    def _extend(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        """Add new texts to the transcripts and return these as observations."""
        extended: dict[str, Any] = {}
        for agent, observation in observations.items():
            # The transcript of an agent that joins later begins there.
            texts = self._texts.setdefault(agent, [])
            texts.append(text_of(observation))
            transcript = "\n".join(filter(None, texts))
            is_mapping = isinstance(observation, Mapping)
            extended[agent] = {**observation, "text": transcript} if is_mapping else transcript
        return extended
