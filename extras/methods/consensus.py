"""Rule of a run whose agents learn from their vote: they may agree on answers without content."""

from __future__ import annotations

from statistics import fmean

from laconic.experiments.session.rule_kinds import WINDOW, Guard, Row

ELECTED_LEFT = 0.5
"""Share of the first entropy of elected answers up to which they have concentrated."""


class Consensus(Guard):
    """Warns where agents that learn from their vote elect few answers, whatever the task.

    A team that becomes right agrees as well, and its effective voters fall to one. The answers that
    it elects still differ from task to task, so their entropy stays. Samples concentrate later than
    elected answers. It warns again only after the entropy has come back.
    """

    setting = "learner.collective.guard"
    reason = "the policies agree without content"
    _NAMES = ("agreement", "effective_voters", "elected_entropy")

    def __init__(self) -> None:
        """Start without observations."""
        self.first: list[list[float]] = []
        self.last: list[list[float]] = []
        self.concentrated = False

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; see `Rule`."""
        figures = [row.get(f"train/{name}") for name in self._NAMES]
        present = [figure for figure in figures if figure is not None]
        if len(present) < len(figures):
            return None
        if len(self.first) < WINDOW:
            self.first = [*self.first, present]
        self.last = [*self.last, present][-WINDOW:]
        agreed_first, voters_first, start = map(fmean, zip(*self.first, strict=True))
        agreed, voters, entropy = map(fmean, zip(*self.last, strict=True))
        few = start > 0 and entropy <= ELECTED_LEFT * start
        self.concentrated = self.concentrated and few
        alike = agreed > agreed_first and voters < voters_first
        if len(self.last) < WINDOW or not (few and alike) or self.concentrated:
            return None
        self.concentrated = True
        return (
            f"agreement without content at step {step}: over the last {WINDOW} updates {agreed:.0%}"
            f" of the answers were the elected one ({agreed_first:.0%} at first), the team voted"
            f" like {voters:.2f} agents ({voters_first:.2f}), and the answers elected in an update"
            f" had {entropy:.2g} bits ({start:.2g}). The policies learn to agree on an answer that"
            " does not depend on the task; learner.collective.guard=stop ends the run. Start from"
            " policies that are right more often and differ more (laconic warm-start with other"
            " seeds), or raise learner.objective.beta"
        )

    def holds(self) -> bool:
        """Return whether the answers are still concentrated; see `Rule`."""
        return self.concentrated

    def figure(self) -> str:
        """Describe agreement, voters and entropy of the last window; see `Rule`."""
        if len(self.last) < WINDOW:
            return ""
        agreed, voters, entropy = map(fmean, zip(*self.last, strict=True))
        start = fmean(entropy for *_, entropy in self.first)
        return (
            f"answers that are the elected one {agreed:.0%}, effective voters {voters:.2f}, entropy"
            f" of elected answers {entropy:.2g} bits (at the start {start:.2g})"
        )
