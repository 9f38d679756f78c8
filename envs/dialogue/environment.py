"""DialogueEnv: agents solve a task together in rounds of simultaneous messages.

Rules. Agents are `<role>_<number>`. In each round every agent whose turn it is says a string or
stays silent (`""`, published to nobody, charged nothing). Messages over budget are cut at a token
border. What an agent thinks before that stands at the beginning of its action
(`envs.dialogue.thoughts`), is counted and charged, and shown to nobody; who thinks beyond the cap,
or only thinks, is silent. After the round each agent hears those its topology links it to. What an
agent observes is only what is new to it, so a conversation grows at its end; the history is the
agent's to keep.

Observation: `{"text": any string, "tokens_left": int32 array (4,)}`; the four entries are what the
next message may have (0 out of turn and after the end), and what is left to the agent, to this
round and to the episode (`envs.dialogue.budget.UNLIMITED` for no cap).
Action: any string, `<think>...</think>` at its beginning a thought; lone surrogates are published
as `?`.

Reward of an agent in a round: minus the price of the tokens charged; in the last round also the
task reward, or in every round that of the answers so far. Terminated: all agents of the answering
role have committed to an answer (a majority and a joint work are graded at the end only), the last
round is played, the score is as good as it has to be, or nobody spoke in a round after the first
and somebody who answers has had a turn. Truncated: the episode budget is spent before that.

Source: a reconstruction of the setting of Agent-GSPO (arXiv 2510.22477), of which only the abstract
and the first paragraphs were read; the budgets follow arXiv 2511.13193.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from laconic.envs.checks import by_key, choice, number, whole
from laconic.envs.dialogue.briefing import Rules, openings, templates
from laconic.envs.dialogue.budget import Budget, Ledger, Tokenize, cut, split_words, well_formed
from laconic.envs.dialogue.channel import Channel, Transmission
from laconic.envs.dialogue.referee import Referee
from laconic.envs.dialogue.reward import Account, Reward, free_tokens
from laconic.envs.dialogue.roster import Information, Roster, Shares, check_actions, deal, informed
from laconic.envs.dialogue.schedule import Schedule
from laconic.envs.dialogue.spaces import FreeText, observation_space
from laconic.envs.dialogue.thoughts import BEGIN, split
from laconic.envs.dialogue.topology import Topology
from laconic.envs.dialogue.transcript import Expert, Feedback, Message, Mode, heard, show
from laconic.envs.errors import UnknownNameError
from laconic.envs.task import Benchmark, Score, Style, Task

Observation = dict[str, Any]
Observations = dict[str, Observation]
Infos = dict[str, dict[str, Any]]
StepResult = tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]


class DialogueEnv(ParallelEnv[str, Observation, str]):
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
        "name": "laconic_dialogue_v0",
        "render_modes": ["human", "ansi"],
        "is_parallelizable": True,
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
        self.tasks = by_key(tasks)
        self.rounds = whole("env.rounds", rounds, 1)
        team = {"solver": 1, "helper": 3} if team is None else team
        self._roster = Roster.of(team, topology, schedule, answer, self.rounds)
        self.possible_agents = list(self._roster.agents)
        self.answering, self.holders = self._roster.answering, self._roster.holders
        self.joint = self._roster.joint
        self.information: Information = choice("env.information", information, ("full", "split"))
        self.instructions = instructions
        self._templates = templates(instructions)
        self.render_mode = choice("env.render_mode", render_mode, (None, "ansi", "human"))
        self.budget, self.reward = budget or Budget(), reward or Reward()
        self.channel = channel or Channel()
        choice("env.reward.multiply_by", self.reward.multiply_by, (None, *benchmark.measures))
        # By the setting: a price that moves in training may be 0 at times, and prompts stay.
        self._rules = Rules(self._roster, self.rounds, self.budget, priced=self.reward.price > 0)
        self.tokenize = tokenize
        self._sees_all = choice("env.tokens_left", tokens_left, ("all", "own")) == "all"
        self.stop_at = number("env.stop_at", stop_at, optional=True)
        self._feedback = Feedback(benchmark, feedback, expert)
        self._spaces = {agent: observation_space() for agent in self.possible_agents}
        self._actions = {agent: FreeText() for agent in self.possible_agents}
        self._conditions = dict(benchmark.conditions())
        # Rollouts step environments that wait for others (processes, experts) at the same time.
        self.metadata = {**self.metadata, "slow_step": benchmark.slow or expert is not None}
        # And send thoughts along to environments that say how long they may be.
        self.metadata["thought_tokens"] = self.budget.longest_thought
        self._generator: np.random.Generator | None = None
        self.agents: list[str] = []
        self.messages: list[Message] = []

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The observation space of an agent, the same object at every call."""
        return self._spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The action space of an agent, the same object at every call."""
        return self._actions[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Start an episode; the observations and infos of all agents.

        Args:
            seed: of this environment's own generator; None goes on with the one it has.
            options: `{"task": key}` names the task, and `{"task": task}` brings a `Task` that need
                not be among `tasks`; else one is drawn. Others are ignored.

        Raises:
            UnknownNameError: there is no task of that key.
        """
        if seed is not None or self._generator is None:
            self._generator, _ = seeding.np_random(seed)
        # Drawn in any case, so that a task is dealt alike whether it was drawn or named.
        keys = tuple(self.tasks)
        drawn = keys[int(self._generator.integers(len(keys)))]
        named = (options or {}).get("task")
        key = drawn if named is None else named
        if not isinstance(key, Task) and key not in self.tasks:
            raise UnknownNameError("task", key, keys)
        self.task = key if isinstance(key, Task) else self.tasks[key]
        self.agents = list(self.possible_agents)
        self._start_episode(self._generator)
        opened = openings(self.task, self.shares, self._rules, self.benchmark, self._templates)
        observations = self._observe({agent: one.text for agent, one in opened.items()})
        infos = {agent: self._info(agent) for agent in self.agents}
        for agent, opening in opened.items():
            infos[agent] |= {"general": opening.general} if opening.general else {}
        return observations, infos

    def step(self, actions: Mapping[str, str]) -> StepResult:
        """Play one round.

        Args:
            actions: what each agent says; an agent that is left out is silent.

        Returns:
            Observations, rewards, terminations, truncations and infos of the agents that were
            alive before the round. The last infos carry `score`, `solved` and `answer`. With
            nobody alive (before a reset, or after the end) all five are empty.

        Raises:
            UnknownNameError: an action is not of an agent of this team.
            SettingError: an action is not a string.
        """
        agents = tuple(self.agents)
        if not agents:
            return {}, {}, {}, {}, {}
        check_actions(actions, self.possible_agents)
        self._speak(actions)
        score = self._score() if self._grades_rounds else None
        said = {agent: message.text for agent, message in self._latest.items()}
        terminated = self._referee.is_over(self.round, said, score)
        truncated = self.ledger.spent and not terminated
        over = terminated or truncated
        if over and score is None:
            score = self._score()
        rounds_left = self.rounds - 1 - self.round if terminated else 0
        rewards = self._account.rewards(self._charged(), score, over=over, rounds_left=rounds_left)
        self.ledger.start_round()
        self.round += 1
        self.agents = [] if over else self.agents
        # What comes when the episode is over is read by nobody who could use it.
        observations = self._observe(self._news(agents, score, over), read=not over)
        infos = {agent: self._info(agent, score) for agent in agents}
        if self.render_mode == "human":
            from laconic.envs.dialogue.console import print_round  # Rich takes a while to import.

            print_round(tuple(self._latest.values()), score)
        endings = dict.fromkeys(agents, terminated), dict.fromkeys(agents, truncated)
        return observations, rewards, *endings, infos

    def render(self) -> str | None:
        """The transcript so far as text in mode `ansi`; in `human` it was printed already."""
        return show(self.messages) if self.render_mode == "ansi" else None

    def _start_episode(self, generator: np.random.Generator) -> None:
        self.round = 0
        self.ledger = Ledger(self.budget, self.possible_agents)
        self.messages = []
        self._latest: dict[str, Message] = {}
        self._exempted: set[str] = set()
        self._referee = Referee(
            self.benchmark, self.task, self._roster, rounds=self.rounds, stop_at=self.stop_at
        )
        self._account = Account(self.reward, self.possible_agents)
        self.shares: Shares = deal(
            self.task, self.information, self.possible_agents, self.holders, generator
        )
        self._transmission: Transmission | None = None
        if self.channel.lose or self.channel.probe:
            self._transmission = Transmission(self.channel, self.agents, self.rounds, generator)

    def _speak(self, actions: Mapping[str, str]) -> None:
        said = {}
        self._silent = set[str]()
        for agent in self.ledger.serving_order(self.round):
            wish, left = well_formed(actions.get(agent, "")), self._left(agent)[0]
            thought, fits = 0, True
            if wish.startswith(BEGIN):
                words, wish = split(wish)
                thought, fits = self.ledger.think(agent, len(self.tokenize(words)), left > 0)
            text, tokens = cut(wish, left if fits else 0, self.tokenize)
            if left and not text:
                self._silent.add(agent)
            self.ledger.charge(agent, tokens)
            whole = fits and text == wish
            said[agent] = Message(agent, self.round, text, tokens, not whole, thought)
            self._referee.note(agent, text)
        self._latest = {agent: said[agent] for agent in self.agents}
        self.messages += self._latest.values()

    def _left(self, agent: str, shared: bool = True) -> tuple[int, int, int, int]:
        left = self.ledger.left(agent, shared)
        may_speak = bool(self.agents) and self._roster.in_turn(agent, self.round)
        return left if may_speak else (0, *left[1:])

    def _score(self) -> Score:
        score, name = self._referee.score(), self.reward.multiply_by
        return score if name is None else replace(score, value=score.value * score.measures[name])

    @property
    def _grades_rounds(self) -> bool:
        in_between = self.reward.paid == "round" or self._feedback.needs_score
        return in_between or self.stop_at is not None

    def _news(self, agents: Sequence[str], score: Score | None, over: bool) -> dict[str, str]:
        """What each agent reads after a round: those it hears, and the environment's feedback."""
        hearing = self._roster.hearing
        messages, hears = tuple(self._latest.values()), hearing[(self.round - 1) % len(hearing)]
        if self._transmission is None:
            texts = {agent: heard(messages, hears[agent]) for agent in agents}
        else:
            listeners = {agent: hears[agent] for agent in agents}
            texts = self._transmission.deliver(messages, listeners, self._silent)
        told = {} if over else self._feedback.on(self.task, self._referee.graded, score, agents)
        for agent in told:
            # Who hears nobody is told nothing of a round in which nobody spoke.
            parts = (texts[agent], told[agent]) if hears[agent] else (told[agent],)
            texts[agent] = "\n".join(parts)
        return texts

    def _charged(self) -> dict[str, float]:
        latest, weight = self._latest.items(), self.reward.thought_weight
        tokens: dict[str, float] = {agent: message.tokens for agent, message in latest}
        for agent in {*self.answering} - self._exempted if self.reward.exempt_answer else ():
            words = self._latest[agent].text
            free = free_tokens(self.benchmark, self.task, words, self.tokenize)
            if free is not None:
                self._exempted.add(agent)
                # Cut on its own, an answer may have more tokens than the message it was part of.
                tokens[agent] = max(0, tokens[agent] - free)
        return {agent: tokens[agent] + weight * message.thought for agent, message in latest}

    def _observe(self, texts: Mapping[str, str], read: bool = True) -> Observations:
        observations = {}
        for agent, text in texts.items():
            self.ledger.read[agent] += len(self.tokenize(text)) if read else 0
            tokens_left = np.array(self._left(agent, shared=self._sees_all), dtype=np.int32)
            observations[agent] = {"text": text, "tokens_left": tokens_left}
        return observations

    def _info(self, agent: str, score: Score | None = None) -> dict[str, Any]:
        latest, share = self._latest.get(agent), self.shares[agent]
        spoken = self.ledger.said[agent] > 0
        asked = self._roster.by_role and agent in self.answering
        info: dict[str, Any] = {
            "task": self.task.key,
            "round": self.round,
            "rounds": self.rounds,
            "answering": agent in self.answering,
            "share": share,
            "informed": None if asked else informed(self.task, self.information, share, spoken),
            "message": latest.text if latest else "",
            "cut": latest.cut if latest else False,
            "tokens_said": self.ledger.said[agent],
            "tokens_read": self.ledger.read[agent],
            "tokens_thought": self.ledger.thought[agent],
        }
        info |= {"conditions": dict(self._conditions)} if self._conditions else {}
        if score is not None:
            info |= {"score": score.value, "solved": score.solved, "answer": score.answer}
            info |= {"detail": dict(score.detail)} if score.detail else {}
            lost = self._transmission.measures if self._transmission else {}
            measures = {**score.measures, **lost}
            info |= {"measures": measures} if measures else {}
        return info
