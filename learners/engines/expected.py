"""What servers have to say of a fixed text, by the trainer's own models; see `probe`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from laconic.learners.engines import probe
from laconic.learners.engines.dialect import Raw
from laconic.learners.interfaces import Prompt

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a server made of the text of a policy."""

    agent: str
    """The policy's name."""
    server: int
    """Index of the server."""
    answer: Raw
    """How it went on with it."""


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
        self._rows: dict[int, dict[str, Tensor]] = {}
        """By version and policy, see `probe.Reading.row`."""
        self._bare: dict[tuple[int, ...], Tensor] = {}
        """Those of the base, by text."""
        self._read: dict[str, probe.Reading] = {}
        self.vocabulary = max(map(probe.vocabulary_of, team.values()), default=0)
        """Tokens that the model knows."""
        self.furthest = 0.0
        """Largest distance since `renew`, nats a token."""

    def renew(self, version: int) -> None:
        """Read the texts with the weights of a version; all processes together, where sharded."""
        self.furthest = 0.0
        self._read = {name: probe.read(one, self.texts[name]) for name, one in self._team.items()}
        rows = {name: one.row for name, one in self._read.items()}
        # A server that comes back may be judged meanwhile, by what was there before.
        self._rows = {**self._rows, version: rows}
        for name, policy in self._team.items():
            # Adapters of one team are on one base, and that stays as it is.
            if policy.adapted and self.texts[name] not in self._bare:
                with policy.bare():
                    self._bare[self.texts[name]] = probe.read(policy, self.texts[name]).row

    def keep(self, versions: Collection[int]) -> None:
        """Forget what was read with the weights of other versions."""
        self._rows = {number: rows for number, rows in self._rows.items() if number in versions}

    def prompts(self, version: int, most: int) -> dict[str, Prompt]:
        """What servers are to go on with, by policy, for so many tokens at the most."""
        found = {}
        for name, policy in self._team.items():
            text, temperature = self.texts[name], policy.speech.temperature
            limit = min(most, policy.room(len(text)))
            found[name] = Prompt(text, limit, policy.end_ids, temperature, seed=version)
        return found

    def go_on(self, spoken: Sequence[Spoken]) -> list[list[float]]:
        """What the trainer gives the tokens that servers went on with; all processes together."""
        found = [
            probe.go_on(self._team[one.agent], self._read[one.agent], one.answer.ids)
            for one in spoken
        ]
        self._read = {}
        return found

    def judge(self, name: str, version: int, answer: Raw, dtype: str | None, what: str) -> None:
        """Stop where a server of that type speaks with other weights; see `probe.judge`."""
        likeliest = answer.likeliest[0]
        given, tokens = list(likeliest.values()), list(likeliest)
        wanted = probe.at(self._rows[version][name], tokens)
        others = {
            called: probe.at(row, tokens) for called, row in self._others(name, version).items()
        }
        self._found(probe.judge(given, wanted, others, self._limit(name, dtype), what))

    def judge_drawn(
        self, spoken: Spoken, wanted: Sequence[float], dtype: str | None, what: str
    ) -> None:
        """Stop where a server gave its tokens other log-probabilities than the trainer does."""
        given = list(spoken.answer.logprobs)
        self._found(probe.judge(given, wanted, {}, self._limit(spoken.agent, dtype), what))

    def _found(self, distance: float) -> None:
        self.furthest = max(self.furthest, distance)

    def _others(self, name: str, version: int) -> dict[str, Tensor]:
        others = {}
        before = max((one for one in self._rows if one < version), default=None)
        for number, rows in self._rows.items():
            if number != version:
                called = "the version before" if number == before else f"version {number}"
                others[called] = rows[name]
        if self.texts[name] in self._bare:
            others["the base"] = self._bare[self.texts[name]]
        for mate, row in self._rows[version].items():
            # At first adapters are alike: then nothing tells them apart, and nothing has to.
            if mate != name and self.texts[mate] == self.texts[name]:
                others[f"the weights of {mate}"] = row
        return others

    def _limit(self, name: str, dtype: str | None) -> float:
        return self._tolerance or probe.tolerance(dtype, self._team[name].precision.computed)
