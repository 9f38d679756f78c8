"""DialogueEnv: agents solve a task together in rounds of simultaneous messages.

Rules beyond those of `envs.dialogue.team`. A task is read whole by all agents or dealt among them;
those who answer commit to an answer, and what they said is graded.

Reward of an agent in a round: minus the price of the tokens charged; in the last round also the
task reward, or in every round that of the answers so far.

Every end is a termination, and the last infos name it under `ended_by` (`envs.dialogue.reward`):
all agents of the answering role have committed to an answer (a majority and a joint work are graded
at the end only), or enough of those who answer agree; the score is as good as it has to be; nobody
spoke in a round after the first and somebody who answers has had a turn; the last round is played;
or the episode budget is spent. What is left of the budget is part of every observation, so a
learner should expect no reward after it.

Source: a reconstruction of the setting of Agent-GSPO (arXiv 2510.22477), of which only the abstract
and the first paragraphs were read; the budgets follow arXiv 2511.13193.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from laconic.envs.checks import choice, number, whole
from laconic.envs.dialogue.briefing import Opening, Rules, shown
from laconic.envs.dialogue.budget import Budget, Tokenize, split_words
from laconic.envs.dialogue.channel import Channel
from laconic.envs.dialogue.referee import Referee
from laconic.envs.dialogue.reward import Outcome, Reward, free_tokens
from laconic.envs.dialogue.roster import Information, Roster, Shares, deal, facts_told, informed
from laconic.envs.dialogue.schedule import Schedule
from laconic.envs.dialogue.team import TeamEnv
from laconic.envs.dialogue.topology import Topology
from laconic.envs.dialogue.transcript import Expert, Feedback, Mode
from laconic.envs.errors import SettingError
from laconic.envs.task import Benchmark, Score, Style, Task


class DialogueEnv(TeamEnv):
    """A team of language agents, one task, token budgets and a priced reward.

    Args:
        benchmark: grades answers and explains roles.
        tasks: the tasks that episodes are drawn from.
        team: number of agents of each role, the answering role first.
        rounds: how many rounds an episode has at the most.
        information: `full` or `split`.
        topology: who hears whom, a name, a matrix, or a list of such with one for each round
            (`envs.dialogue.topology`).
        schedule: whose turn it is, `all` or a list of roles (`envs.dialogue.schedule`).
        answer: the role that answers, the `majority` of all agents, or `joint`: what all agents
            wrote last is graded as one piece of work.
        feedback: what is said between rounds about the work so far (`envs.dialogue.transcript`).
        expert: who says it in mode `expert`.
        stop_at: a score from which on an episode ends; None for none.
        agree_at: share of those who answer, above 0 and at most 1: an episode ends when so many
            give the same answer; None for none.
        budget: caps on what may be said.
        reward: the price of a token.
        channel: how often messages are lost on the way (`envs.dialogue.channel`).
        tokens_left: what an agent sees of the caps: `all`, or its `own` without those of the round
            and the episode, which move when others speak, also for an agent that hears nobody.
        instructions: `full` for language models, `short` for small ones, `brief` for policies that
            were trained on the game, or two templates (`envs.dialogue.briefing.Templates`).
        tokenize: cuts text into tokens; a policy brings its own.
        render_mode: None, `ansi` (`render` returns text) or `human` (each round is printed).

    Raises:
        SettingError: a setting is outside its range or contradicts another; two tasks share a key.
        UnknownNameError: a role, topology or information mode does not exist.
    """

    metadata: dict[str, Any] = {
        **TeamEnv.metadata,
        "name": "laconic_dialogue_v0",
        "reward": "common",
    }

    def __init__(
        self,
        benchmark: Benchmark,
        tasks: Sequence[Task],
        *,
        team: Mapping[str, int] | None = None,
        rounds: int = 2,
        information: Information = "full",
        topology: Topology = "complete",
        schedule: Schedule = "all",
        answer: str = "solver",
        feedback: Mode = "none",
        expert: Expert | None = None,
        stop_at: float | None = None,
        agree_at: float | None = None,
        budget: Budget | None = None,
        reward: Reward | None = None,
        channel: Channel | None = None,
        tokens_left: Literal["all", "own"] = "all",
        instructions: Style | Mapping[str, str] = "full",
        tokenize: Tokenize = split_words,
        render_mode: Literal["human", "ansi"] | None = None,
    ) -> None:
        """Check the settings and build the spaces."""
        self.benchmark = benchmark
        self.graded = True
        """Whether an episode ends with a score; who learns nothing from it may save the time."""
        rounds = whole("env.rounds", rounds, 1)
        team = {"solver": 1, "helper": 3} if team is None else team
        roster = Roster.of(team, topology, schedule, answer, rounds)
        budget, reward = budget or Budget(), reward or Reward()
        # By the setting: a price that moves in training may be 0 at times, and prompts stay.
        rules = Rules(roster, rounds, budget, priced=reward.price > 0)
        super().__init__(
            tasks,
            rules,
            reward=reward,
            channel=channel,
            tokens_left=tokens_left,
            instructions=instructions,
            tokenize=tokenize,
            render_mode=render_mode,
            slow=benchmark.slow or expert is not None,
        )
        self.holders, self.joint = roster.holders, roster.joint
        self.information: Information = choice("env.information", information, ("full", "split"))
        choice("env.reward.multiply_by", self.reward.multiply_by, (None, *benchmark.measures))
        self.stop_at = number("env.stop_at", stop_at, optional=True)
        self.agree_at = number("env.agree_at", agree_at, above=0, highest=1, optional=True)
        if self.agree_at is not None and (self.joint or len(self.answering) < 2):
            raise SettingError(
                "env.agree_at needs several agents that answer one question (env.answer=majority);"
                f" got env.answer={answer} with {len(self.answering)}"
            )
        self._feedback = Feedback(benchmark, feedback, expert)
        self._conditions = dict(benchmark.conditions())
        self.told: dict[str, str] = {}
        """By agent: words that it alone reads before all else that is its own."""

    def check_order(self) -> None:
        """Check that an agent answers after those that hold the statements of a split task.

        Programs check it. The environment itself also plays teams that have to guess.

        Raises:
            SettingError: no turn to answer comes after the first turn of a holder.
        """
        if self.information == "split" and any(task.statements for task in self.tasks.values()):
            self._roster.check_order(self.rounds)

    def _max_reward(self, reward: Reward) -> float:
        # With `paid=round` every round pays the score. A measure that multiplies it is a share.
        return self.benchmark.max_reward * (self.rounds if reward.paid == "round" else 1)

    def _begin(self, generator: np.random.Generator) -> None:
        self._exempted: set[str] = set()
        self._referee = Referee(
            self.benchmark,
            self.task,
            self._roster,
            rounds=self.rounds,
            stop_at=self.stop_at,
            agree_at=self.agree_at,
        )
        self.shares: Shares = deal(
            self.task, self.information, self.possible_agents, self.holders, generator
        )

    def _openings(self) -> Mapping[str, Opening]:
        told = shown(self.task, self.shares, self.benchmark.separator)
        found = dict(self._briefing(self.benchmark).openings(told))
        for agent, words in self.told.items():
            found[agent] = replace(found[agent], own=f"{words}\n{found[agent].own}")
        return found

    def _note(self, agent: str, text: str) -> None:
        self._referee.note(agent, text)

    def _resolve(self) -> Outcome:
        score = self._score() if self._grades_rounds else None
        said = {agent: message.text for agent, message in self._latest.items()}
        ended_by = self._referee.ending(self.round, said, score)
        # Who spends the budget has not done without the rounds that are left.
        left = self.rounds - 1 - self.round if ended_by else 0
        if not ended_by and self.ledger.spent:
            ended_by = "budget"
        over = bool(ended_by)
        if over and score is None and self.graded:
            score = self._score()
        pay = self._account.pay(self._charged(), score, over=over, rounds_left=left)
        return Outcome(pay, score, ended_by)

    def _score(self) -> Score:
        score, name = self._referee.score(), self.reward.multiply_by
        return score if name is None else replace(score, value=score.value * score.measures[name])

    @property
    def _grades_rounds(self) -> bool:
        in_between = self.reward.paid == "round" or self._feedback.needs_score
        return in_between or self.stop_at is not None

    def _news(self, agents: Sequence[str], score: Score | None, over: bool) -> dict[str, str]:
        """What each agent reads after a round: those it hears, and the environment's feedback."""
        texts = super()._news(agents, score, over)
        if over or self._feedback.is_none:
            return texts
        hears = self._hears()
        told = self._feedback.on(self.task, self._referee.graded, score, agents)
        for agent in told:
            # Who hears nobody is told nothing of a round in which nobody spoke.
            parts = (texts[agent], told[agent]) if hears[agent] else (told[agent],)
            texts[agent] = "\n".join(parts)
        return texts

    def _free(self) -> Mapping[str, int]:
        """The tokens that state an answer, which on their own may be more than those said."""
        found = {}
        for agent in {*self.answering} - self._exempted if self.reward.exempt_answer else ():
            words = self._latest[agent].text
            free = free_tokens(self.benchmark, self.task, words, self.tokenize)
            if free is not None:
                self._exempted.add(agent)
                found[agent] = free
        return found

    def _measures(self, score: Score) -> dict[str, float]:
        said = dict.fromkeys(self.holders, "")
        for message in self.messages:
            if message.agent in said:
                said[message.agent] += f"{message.text} "
        told = facts_told(self.task, self.information, self.shares, said)
        return super()._measures(score) | ({} if told is None else {"facts_told": told})

    def _own_info(self, agent: str) -> dict[str, Any]:
        share, spoken = self.shares[agent], self.ledger.said[agent] > 0
        asked = self._roster.by_role and agent in self.answering
        known = None if asked else informed(self.task, self.information, share, spoken)
        found: dict[str, Any] = {"share": share, "informed": known}
        return found | ({"conditions": dict(self._conditions)} if self._conditions else {})
