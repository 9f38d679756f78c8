"""DialogueEnv: agents solve a task together in rounds of simultaneous messages.

Rules beyond those of `envs.dialogue.team`: all agents read the whole task, or its statements are
dealt among them. The answering agents commit to an answer, and their messages are graded.

Reward of an agent in a round: minus the price of the tokens charged. The last round adds the task
reward; with `reward.paid=round` every round adds the score of the answers so far. Each round costs
`reward.round_price`.

Every end is a termination. The last infos name it under `ended_by` (`envs.dialogue.reward`):

- All agents of the answering role have committed to an answer. A majority and a joint work are
  graded at the end only.
- Enough of the answering agents agree.
- The score has reached `stop_at`.
- No agent spoke in a round after the first, and an answering agent has had a turn.
- The last round was played.
- The episode budget is spent. Every observation shows the rest of it, so a learner should
  expect no reward after it.

Source: a reconstruction of the setting of Agent-GSPO (arXiv 2510.22477), of which only the abstract
and the first paragraphs were read; the budgets follow arXiv 2511.13193.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np

from laconic.envs.checks import Bound, Count, Word, checked, choice
from laconic.envs.dialogue.briefing import InitialPrompt, Rules, known_and_asked
from laconic.envs.dialogue.budget import Budget, Tokenize, split_words
from laconic.envs.dialogue.chosen import DialogueOptions, Topology, dialogue_options
from laconic.envs.dialogue.messages import Expert, Feedback, Mode
from laconic.envs.dialogue.option import Option
from laconic.envs.dialogue.reward import Ending, Outcome, Reward, free_tokens
from laconic.envs.dialogue.roster import (
    Information,
    Roster,
    Schedule,
    Shares,
    deal,
    facts_told,
    informed,
)
from laconic.envs.dialogue.team import TeamEnv
from laconic.envs.errors import SettingError
from laconic.envs.task import Benchmark, Score, Style, Task


@dataclass(slots=True)
class Referee:
    """Follows the messages of one episode: which answers are graded, and when it is over.

    Graded is the last message in which an agent commits to an answer, or its last message if it
    never commits. Only another commitment withdraws a commitment.
    """

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
    options: Sequence[Option] = ()
    """Options that may choose among the answers, which the benchmark compares."""
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
        answers = self.graded()
        for option in self.options:
            answers = option.choose(answers, self.commitments)
        return self.benchmark.score(self.task, answers)

    def ending(self, round: int, texts: Mapping[str, str], score: Score | None) -> Ending:
        """Return the reason why the dialogue ends with this round; empty if it continues.

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


class DialogueEnv(TeamEnv):
    """A team of language agents, one task, token budgets and a priced reward.

    Args:
        benchmark: grades answers and explains roles.
        tasks: the tasks that episodes are drawn from.
        team: number of agents of each role, the answering role first.
        rounds: most rounds of an episode.
        information: `full` or `split`.
        topology: who hears whom: a name, the agents that each agent hears, a matrix, or a list
            with one of them for each round (`envs.dialogue.roster`); or a mapping with a `kind`.
        schedule: whose turn it is: `all` or a list of roles (`envs.dialogue.roster`).
        answer: the role that answers, the `majority` of all agents, or `joint`: the last messages
            of all agents are graded as one piece of work.
        feedback: comments of the environment between rounds on the work so far
            (`envs.dialogue.messages`).
        expert: source of the feedback in mode `expert`.
        stop_at: a score from which on an episode ends; None for none.
        agree_at: share of the answering agents, above 0 and at most 1, whose equal answers end an
            episode; None for none.
        budget: caps on messages and thoughts.
        reward: the price of a token.
        tokens_left: caps that an agent sees: `all`, or its `own` without those of the round
            and the episode. These change when others speak, even for an agent that hears no one.
        instructions: `full` for language models, `short` for small ones, `brief` for policies that
            were trained on the game, or two templates (`envs.dialogue.briefing.Templates`).
        tokenize: cuts text into tokens; a policy brings its own.
        render_mode: None, `ansi` (`render` returns text) or `human` (each round is printed).
        **options: settings of `envs.dialogue.chosen.DialogueOptions`.

    Raises:
        SettingError: a setting is outside its range or contradicts another; two tasks share a key.
        UnknownNameError: a role, topology or information mode does not exist.
    """

    metadata: dict[str, Any] = {**TeamEnv.metadata, "reward": "common"}

    @checked("env")
    def __init__(
        self,
        benchmark: Benchmark,
        tasks: Sequence[Task],
        *,
        team: Mapping[str, int] | None = None,
        rounds: Count = 2,
        information: Information = "full",
        topology: Topology = "complete",
        schedule: Schedule = "all",
        answer: Word = "solver",
        feedback: Mode = "none",
        expert: Expert | None = None,
        stop_at: float | None = None,
        agree_at: Annotated[float, Bound(gt=0, le=1)] | None = None,
        budget: Budget | None = None,
        reward: Reward | None = None,
        tokens_left: Literal["all", "own"] = "all",
        instructions: Style | Mapping[str, str] = "full",
        tokenize: Tokenize = split_words,
        render_mode: Literal["human", "ansi"] | None = None,
        **options: Annotated[Any, DialogueOptions],
    ) -> None:
        """Check the settings and build the spaces."""
        self.benchmark = benchmark
        self.metadata = {**self.metadata, "name": f"{benchmark.name}_v{benchmark.version}"}
        self.graded = True
        """Whether an episode ends with a score; learners that do not need it may save the time."""
        team = {"solver": 1, "helper": 3} if team is None else team
        roster = Roster.of(team, topology, schedule, answer, rounds)
        budget, reward = budget or Budget(), reward or Reward()
        # The prompt follows the setting, since the price may move in training.
        rules = Rules(
            roster,
            rounds,
            budget,
            priced=reward.price > 0,
            per_listener=reward.charge == "listeners",
            reading_priced=reward.read_price > 0,
            rounds_priced=reward.round_price > 0,
        )
        readers = roster.holders if information == "split" else roster.agents
        super().__init__(
            tasks,
            rules,
            options=dialogue_options(
                DialogueOptions(**options),
                topology,
                roster,
                reward,
                benchmark=benchmark,
                tasks=tasks,
                readers=readers,
                rounds=rounds,
            ),
            reward=reward,
            tokens_left=tokens_left,
            instructions=instructions,
            tokenize=tokenize,
            render_mode=render_mode,
            slow=benchmark.slow or expert is not None,
        )
        self.holders, self.joint = roster.holders, roster.joint
        self.information = information
        for key in ("multiply_by", "measure"):
            choice(f"env.reward.{key}", getattr(self.reward, key), (None, *benchmark.metrics))
        self.stop_at, self.agree_at = stop_at, agree_at
        if self.agree_at is not None and (self.joint or len(self.answering) < 2):
            raise SettingError(
                "env.agree_at needs several agents that answer one question (env.answer=majority);"
                f" got env.answer={answer} with {len(self.answering)}"
            )
        self._feedback = Feedback(benchmark, feedback, expert)
        self._conditions = dict(benchmark.conditions())
        self._by_role = roster.by_role
        self.notes: dict[str, str] = {}
        """By agent, private words that it reads at the top of its own part of the first text."""

    def check_order(self) -> None:
        """Check that an agent answers after those that hold the statements of a split task.

        Programs check it. The environment itself also plays teams that have to guess.

        Raises:
            SettingError: no turn to answer comes after the first turn of a holder.
        """
        if self.information == "split" and any(task.statements for task in self.tasks.values()):
            self._roster.check_order(self.rounds)

    def _task_pay(self, reward: Reward) -> dict[str, Any]:
        paid_by_measure = reward.measure is not None or reward.multiply_by is not None
        # With `paid=round` every round pays the score. A measure that multiplies it is a share.
        highest = self.benchmark.max_reward if reward.measure is None else 1.0
        return {
            "graded": self.benchmark.graded or paid_by_measure,
            "chance": self.benchmark.chance,
            "max_reward": highest * (self.rounds if reward.paid == "round" else 1),
        }

    def _begin(self, generator: np.random.Generator) -> None:
        self._exempted: set[str] = set()
        self._referee = Referee(
            self.benchmark,
            self.task,
            self._roster,
            self.rounds,
            self.stop_at,
            self.agree_at,
            self._active,
        )
        self.shares: Shares = deal(
            self.task, self.information, self.possible_agents, self.holders, generator
        )

    def _openings(self) -> Mapping[str, InitialPrompt]:
        parts = known_and_asked(self.task, self.shares, self.benchmark.separator)
        for option in self._active:
            parts = option.brief(parts, self.shares)
        openings = self._briefing(self.benchmark).openings(parts)
        for agent, words in self.notes.items():
            openings[agent] = replace(openings[agent], own=f"{words}\n{openings[agent].own}")
        return openings

    def _resolve(self) -> Outcome:
        texts = {agent: message.text for agent, message in self.latest.items()}
        self._referee.note(texts)
        grade_now = self._feedback.needs_score or self.stop_at is not None
        score = self._score() if grade_now or self._reward.paid == "round" else None
        ended_by = self._referee.ending(self.round, texts, score)
        # A team that spends the budget has not chosen to end early.
        rounds_left = self.rounds - 1 - self.round if ended_by else 0
        if not ended_by and self.ledger.spent:
            ended_by = "budget"
        over = bool(ended_by)
        if over and score is None and self.graded:
            score = self._score()
        tokens = self._charged(self._free_tokens(), over=over)
        pay = self._account.pay(
            tokens,
            score,
            tokens_heard=self._tokens_heard(over),
            over=over,
            rounds_left=rounds_left,
        )
        comments: Mapping[str, str] = {}
        if self._feedback.given and not over:
            comments = self._feedback.on(self.task, self._referee.graded(), score, self.agents)
        return Outcome(pay, score, ended_by, comments)

    def _score(self) -> Score:
        score, reward = self._referee.score(), self._reward
        if reward.measure is not None:
            return replace(score, value=score.measures[reward.measure])
        if reward.multiply_by is not None:
            return replace(score, value=score.value * score.measures[reward.multiply_by])
        return score

    def _free_tokens(self) -> dict[str, int]:
        """Return the tokens of each message that cost nothing.

        They state an answer, or an option put them into the agent's mouth.
        """
        free = dict(self._free)
        if not self._reward.exempt_answer:
            return free
        for agent in self.answering:
            text = self.latest[agent].text
            if text and agent not in self._exempted:
                tokens = free_tokens(self.benchmark, self.task, text, self.tokenize)
                if tokens is not None:
                    self._exempted.add(agent)
                    free[agent] = free.get(agent, 0) + tokens
        return free

    def _measures(self) -> dict[str, float]:
        texts = dict.fromkeys(self.holders, "")
        messages = self.messages
        for option in self._active:
            messages = [message for message in messages if option.reaches(message)]
        for message in messages:
            if message.agent in texts:
                texts[message.agent] += f"{message.text} "
        passed_on = facts_told(self.task, self.information, self.shares, texts)
        return {} if passed_on is None else {"facts_told": passed_on}

    def _own_info(self, agent: str) -> dict[str, Any]:
        share, knows = self.shares[agent], None
        if not (self._by_role and agent in self._answers):
            true, has_told = share, self.ledger.said[agent] > 0
            for option in self._active:
                true, has_told = option.knows(agent, true, has_told)
            knows = informed(self.task, self.information, true, has_told)
        info: dict[str, Any] = {"share": share, "informed": knows}
        return info | ({"conditions": dict(self._conditions)} if self._conditions else {})
