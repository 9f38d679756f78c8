"""What servers have to say of a fixed text, by the trainer's own models; see `probe`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from laconic.learners.engines import probe
from laconic.learners.engines.base import Prompt, Sampled

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a server made of the text of a policy."""

    agent: str
    """The policy's name."""
    server: int
    """Index of the server."""
    scores: list[float]
    """The log-probability of each token but the first."""
    prompt: Prompt
    """What it was to go on with."""
    drawn: Sampled
    """How it went on."""


class Expected:
    """Scores of the weights that should speak, and of those that could speak instead."""

    def __init__(self, team: Mapping[str, HFPolicy], tolerance: float | None) -> None:
        """Choose the texts.

        Args:
            team: the distinct policies, by name.
            tolerance: distance that is taken for rounding; None goes by types.
        """
        self._team, self._tolerance = team, tolerance
        self.texts = {name: probe.text_of(policy) for name, policy in team.items()}
        self._wanted: dict[str, list[float]] = {}
        self._good: dict[str, list[float]] = {}
        self._before: dict[str, list[float]] = {}
        self._bare: dict[tuple[int, ...], list[float]] = {}
        self._read: dict[str, probe.Reading] = {}
        self.vocabulary = max(map(probe.vocabulary_of, team.values()), default=0)
        """Tokens that the model knows."""
        self.furthest = 0.0
        """Largest distance since `renew`, nats a token."""

    def renew(self) -> None:
        """Read the texts with the present weights; all processes together, where sharded."""
        self.furthest, self._before = 0.0, self._good
        self._read = {name: probe.read(one, self.texts[name]) for name, one in self._team.items()}
        self._wanted = {name: one.scores for name, one in self._read.items()}
        for name, policy in self._team.items():
            # Adapters of one team are on one base.
            if policy.adapted and self.texts[name] not in self._bare:
                with policy.bare():
                    self._bare[self.texts[name]] = probe.scores(policy, self.texts[name])

    def accept(self) -> None:
        """Take note that the present weights speak: they are the version before of the next."""
        self._good = self._wanted

    def prompts(self, version: int) -> dict[str, Prompt]:
        """What servers are to go on with, by policy."""
        found = {}
        for name, policy in self._team.items():
            ids = self.texts[name]
            count = min(probe.SAMPLED, policy.room(len(ids)))
            temperature = policy.speech.temperature
            found[name] = Prompt(ids, count, policy.end_ids, temperature, seed=version)
        return found

    def go_on(self, spoken: Sequence[Spoken]) -> list[list[float]]:
        """What the trainer gives the tokens that servers went on with; all processes together."""
        found = []
        for one in spoken:
            reading, policy = self._read[one.agent], self._team[one.agent]
            ids, temperature = one.drawn.ids, one.prompt.temperature
            found.append(probe.go_on(policy, reading, ids, temperature))
        self._read = {}
        return found

    def judge(self, name: str, given: Sequence[float], dtype: str | None, what: str) -> None:
        """Stop where a server of that type gives the text other scores; see `probe.judge`."""
        found = probe.judge(
            given, self._wanted[name], self._others(name), self._limit(name, dtype), what
        )
        self.furthest = max(self.furthest, found)

    def judge_drawn(
        self, spoken: Spoken, wanted: Sequence[float], dtype: str | None, what: str
    ) -> None:
        """Stop where a server gave its tokens other log-probabilities than the trainer does."""
        limit = self._limit(spoken.agent, dtype)
        found = probe.judge(spoken.drawn.logprobs, wanted, {}, limit, what)
        self.furthest = max(self.furthest, found)

    def _others(self, name: str) -> dict[str, list[float]]:
        others = {}
        if name in self._before:
            others["the version before"] = self._before[name]
        if self.texts[name] in self._bare:
            others["the base"] = self._bare[self.texts[name]]
        for mate, scores in self._wanted.items():
            # At first adapters are alike: then nothing tells them apart, and nothing has to.
            if mate != name and self.texts[mate] == self.texts[name]:
                others[f"the weights of {mate}"] = scores
        return others

    def _limit(self, name: str, dtype: str | None) -> float:
        return self._tolerance or probe.tolerance(dtype, self._team[name].precision.computed)
