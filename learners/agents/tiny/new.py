"""Team of untrained weights: a small random model with a tokenizer learned from a teacher's texts.

A warm start (`learner=imitation`) trains it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.budget import Tokenize, split_words
from laconic.envs.worlds import join_act
from laconic.learners.agents.hf import HFTeam
from laconic.learners.agents.sampling import SamplingSettings
from laconic.learners.agents.scripted import Teacher, teacher_policy
from laconic.learners.agents.tiny import TinySamplingSettings, TinyTeam
from laconic.learners.agents.tiny.build import ModelConfig, build_model, build_tokenizer
from laconic.learners.rollout.play import Start, play

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

_EPISODES = 64
"""Episodes from whose texts the tokenizer learns."""


@dataclass
class NewTeam:
    """Builder of one new policy for all agents; equal settings give equal weights."""

    teacher: Teacher = field(default_factory=Teacher)
    """Script that plays the episodes from which the tokenizer learns."""
    model_config: ModelConfig = field(default_factory=ModelConfig)
    """Size of the model, and maximum size of its vocabulary."""
    seed: int = 0
    """Seed of the weights and of the texts."""
    sampling: SamplingSettings = field(default_factory=TinySamplingSettings)
    """Sampling settings of the policy."""
    model: str | None = None
    """Run folder or `policy/` of an earlier warm start, to continue it. None: new weights."""
    step: int | None = None
    """Step of the checkpoint to load if `model` is a run folder. None: the last checkpoint."""

    def __post_init__(self) -> None:
        """Load the policy to continue, if any; count words until there is a tokenizer."""
        self._tokenize: Tokenize = split_words
        self._saved_team: HFTeam | None = None
        if self.model is not None:
            self._saved_team = TinyTeam(self.model, sampling=self.sampling, step=self.step)
            self._tokenize = self._saved_team.tokenize

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit new weights, by dotted key."""
        rate = 2e-3 if imitates else 1e-4
        length = float(self.sampling.max_reply_tokens)
        return {
            "env.instructions": "brief",
            "optimizer.lr": rate,
            "learner.objective.normalizer": length,
        }

    def tokenize(self, text: str) -> Sequence[str]:
        """Cut text into the policy's tokens; environments count budgets with it."""
        return self._tokenize(text)

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, HFPolicy]:
        """Return the policy of each agent; all are one object.

        Args:
            environment: environment with `tasks`, whose texts the tokenizer learns to encode.
        """
        from laconic.learners.agents.chat import tokenize_with
        from laconic.learners.agents.policy import HFPolicy

        if self._saved_team is not None:
            return self._saved_team.policies(environment)
        self._tokenize = split_words
        tokenizer = build_tokenizer(self._texts(environment), self.model_config.vocabulary)
        self._tokenize = tokenize_with(tokenizer)
        policy = HFPolicy(
            build_model(tokenizer, self.model_config, self.seed), tokenizer, self.sampling
        )
        return dict.fromkeys(environment.possible_agents, policy)

    def _texts(self, environment: ParallelEnv[str, Any, Any]) -> Iterator[str]:
        policy = teacher_policy(self.teacher, environment)
        speakers = dict.fromkeys(environment.possible_agents, policy)
        starts = [Start(self.seed * _EPISODES + episode) for episode in range(_EPISODES)]
        for episode in play([environment], speakers, starts, seed=self.seed):
            for turn in episode.turns:
                yield from (turn.read, join_act(turn.message, turn.act))
