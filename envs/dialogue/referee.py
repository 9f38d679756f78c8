"""Which of the answers are graded, what they are worth, and when a dialogue is over.

A round after the first in which nobody speaks ends it, but not before somebody was asked to answer.
So does a round after which enough of those who answer agree, where that is set.

Graded is the last message of an agent that commits to an answer, or else the last one it spoke: a
commitment is withdrawn by another one only, and a team whose episode ends early is not without an
answer for want of the right words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from laconic.envs.dialogue.reward import Ending
from laconic.envs.dialogue.roster import Roster
from laconic.envs.task import Benchmark, Score, Task


class Referee:
    """Listens to one episode."""

    def __init__(
        self,
        benchmark: Benchmark,
        task: Task,
        roster: Roster,
        *,
        rounds: int,
        stop_at: float | None = None,
        agree_at: float | None = None,
    ) -> None:
        """Nothing is said yet.

        Args:
            benchmark: grades, and knows a commitment when it sees one.
            task: what the episode is about.
            roster: knows who answers.
            rounds: most rounds of the episode.
            stop_at: a score from which on the episode ends; None for none.
            agree_at: share of those who answer, which ends it when it gives one answer; None
                for none.
        """
        self._benchmark, self._task = benchmark, task
        self._roster = roster
        self._rounds, self._stop_at, self._agree_at = rounds, stop_at, agree_at
        self._last_words: dict[str, str] = {}
        self._commitments: dict[str, str] = {}

    def note(self, agent: str, text: str) -> None:
        """Take in a message; silence and agents that do not answer change nothing."""
        if text and agent in self._roster.answering:
            self._last_words[agent] = text
            if self._benchmark.committed(text) is not None:
                self._commitments[agent] = text

    @property
    def complete(self) -> bool:
        """Whether every answering agent has committed to an answer."""
        return len(self._commitments) == len(self._roster.answering)

    @property
    def graded(self) -> dict[str, str]:
        """The message to grade of each agent that spoke, in the order of agents.

        The order is the agents' own, so that a vote never depends on who spoke first.
        """
        said = self._last_words | self._commitments
        return {agent: said[agent] for agent in self._roster.answering if agent in said}

    def score(self) -> Score:
        """What the answers so far are worth."""
        return self._benchmark.score(self._task, self.graded)

    def ending(self, round: int, said: Mapping[str, str], score: Score | None) -> Ending:
        """Return what ends the dialogue with this round; empty if it goes on.

        Of several endings the first counts, in the order commitment, score, silence, rounds,
        agreement: whether voters agree takes grading, which the last round does once anyway.

        Args:
            round: of the episode, from 0.
            said: what every agent said in it.
            score: of the answers so far, where every round is graded.
        """
        if self._roster.by_role and self.complete:
            return "answer"
        if score is not None and self._stop_at is not None and score.value >= self._stop_at:
            return "score"
        if round > 0 and not any(said.values()) and self._was_asked(round):
            return "silence"
        if round + 1 >= self._rounds:
            return "rounds"
        return "answer" if self._agreed() else ""

    def _agreed(self) -> bool:
        """Whether enough of those who answer give the same answer, each graded by itself."""
        if self._agree_at is None:
            return False
        said = self.graded.items()
        found = [self._benchmark.score(self._task, {name: text}).answer for name, text in said]
        votes = Counter(filter(None, found)).values()
        # 0.7 of 10 agents are 7 of them, whatever floats make of it.
        return max(votes, default=0) >= self._agree_at * len(self._roster.answering) - 1e-9

    def _was_asked(self, round: int) -> bool:
        """Whether anybody who answers has had a turn by the end of a round."""
        return any(
            self._roster.in_turn(agent, before)
            for agent in self._roster.answering
            for before in range(round + 1)
        )
