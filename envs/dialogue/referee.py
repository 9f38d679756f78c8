"""Which answers are graded, and when a dialogue is over.

A silent round after the first one ends the dialogue, but not before an agent that answers has had a
turn. A round after which enough voters agree ends it too, where that is set.

The referee grades the last message in which an agent commits to an answer. If the agent never
commits, its last message is graded. Only another commitment withdraws a commitment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from laconic.envs.dialogue.reward import Ending
from laconic.envs.dialogue.roster import Roster
from laconic.envs.task import Benchmark, Score, Task


@dataclass(slots=True)
class Referee:
    """Follows the messages of one episode."""

    benchmark: Benchmark
    """Benchmark that recognizes commitments and grades."""
    task: Task
    """Task of the episode."""
    roster: Roster
    """Agents, and who of them answers."""
    rounds: int
    """Most rounds of the episode."""
    stop_at: float | None = None
    """Score from which on the episode ends; None for none."""
    agree_at: float | None = None
    """Share of the answering agents whose equal answers end the episode; None for none."""
    last_messages: dict[str, str] = field(default_factory=dict)
    """Last message of each answering agent that spoke."""
    commitments: dict[str, str] = field(default_factory=dict)
    """Last message of each answering agent that commits to an answer."""

    def note(self, texts: Mapping[str, str]) -> None:
        """Take in the messages of a round; silence and other agents' messages change nothing."""
        for agent in self.roster.answering:
            if text := texts.get(agent):
                self.last_messages[agent] = text
                if self.benchmark.committed(text) is not None:
                    self.commitments[agent] = text

    def graded(self) -> dict[str, str]:
        """Return the message to grade of each agent that spoke.

        They are in the order of the agents, so that a vote never depends on who spoke first.
        """
        messages = self.last_messages | self.commitments
        return {agent: messages[agent] for agent in self.roster.answering if agent in messages}

    def score(self) -> Score:
        """Grade the answers so far."""
        return self.benchmark.score(self.task, self.graded())

    def ending(self, round: int, texts: Mapping[str, str], score: Score | None) -> Ending:
        """Return what ends the dialogue with this round; empty if it goes on.

        Of several endings the first counts, in the order commitment, score, silence, rounds,
        agreement. Agreement comes last because it takes grading, which the last round does anyway.

        Args:
            round: round of the episode, from 0.
            texts: messages of all agents in it.
            score: score of the answers so far, where every round is graded.
        """
        if self.roster.by_role and len(self.commitments) == len(self.roster.answering):
            return "answer"
        if score is not None and self.stop_at is not None and score.value >= self.stop_at:
            return "score"
        if round > 0 and not any(texts.values()) and self._was_asked(round):
            return "silence"
        if round + 1 >= self.rounds:
            return "rounds"
        return "answer" if self.agree_at is not None and self._agreed(self.agree_at) else ""

    def _agreed(self, share: float) -> bool:
        """Return whether this share of the answering agents give one answer, graded one by one."""
        graded = self.graded().items()
        answers = [self.benchmark.score(self.task, {name: text}).answer for name, text in graded]
        votes = Counter(filter(None, answers)).values()
        # The tolerance makes 0.7 of 10 agents 7 agents despite rounding.
        return max(votes, default=0) >= share * len(self.roster.answering) - 1e-9

    def _was_asked(self, round: int) -> bool:
        """Return whether any answering agent has had a turn by the end of a round."""
        return any(
            self.roster.in_turn(agent, before)
            for agent in self.roster.answering
            for before in range(round + 1)
        )
