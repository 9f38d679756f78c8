"""What servers have to say of a fixed text, by the trainer's own models; see `probe`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from laconic.learners.engines import probe
from laconic.learners.engines.base import Prompt, Sampled

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy


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
        self._before: dict[str, list[float]] = {}
        self._bare: dict[str, list[float]] = {}
        self.furthest = 0.0
        """Largest distance since `renew`, nats a token."""

    def renew(self) -> None:
        """Score the texts with the present weights; all processes together, where sharded."""
        self.furthest, self._before = 0.0, self._wanted
        self._wanted = {n: probe.scores(one, self.texts[n]) for n, one in self._team.items()}
        for name, policy in self._team.items():
            if policy.adapted and name not in self._bare:
                with policy.bare():
                    self._bare[name] = probe.scores(policy, self.texts[name])

    def prompts(self, version: int) -> dict[str, Prompt]:
        """What servers are to go on with, by policy."""
        found = {}
        for name, policy in self._team.items():
            ids = self.texts[name]
            count = min(probe.SAMPLED, policy.room(len(ids)))
            temperature = policy.speech.temperature
            found[name] = Prompt(ids, count, policy.end_ids, temperature, seed=version)
        return found

    def judge(self, name: str, given: Sequence[float], dtype: str | None, what: str) -> None:
        """Stop where a server of that type gives the text other scores; see `probe.judge`."""
        found = probe.judge(
            given, self._wanted[name], self._others(name), self._limit(name, dtype), what
        )
        self.furthest = max(self.furthest, found)

    def judge_drawn(
        self, name: str, prompt: Prompt, drawn: Sampled, dtype: str | None, what: str
    ) -> None:
        """Stop where a server gave its tokens other log-probabilities than the trainer does."""
        tokens = (*prompt.ids, *drawn.ids)
        scored = probe.scores(self._team[name], tokens, prompt.temperature)
        wanted = scored[len(prompt.ids) - 1 :]
        found = probe.judge(drawn.logprobs, wanted, {}, self._limit(name, dtype), what)
        self.furthest = max(self.furthest, found)

    def _others(self, name: str) -> dict[str, list[float]]:
        others = {}
        if name in self._before:
            others["the version before"] = self._before[name]
        if name in self._bare:
            others["the base"] = self._bare[name]
        for mate, scores in self._wanted.items():
            # At first adapters are alike: then nothing tells them apart, and nothing has to.
            if mate != name and self.texts[mate] == self.texts[name]:
                others[f"the weights of {mate}"] = scores
        return others

    def _limit(self, name: str, dtype: str | None) -> float:
        return self._tolerance or probe.tolerance(dtype, self._team[name].precision.computed)
