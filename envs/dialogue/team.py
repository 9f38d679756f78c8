"""TeamEnv: what all environments here share, rounds of simultaneous messages on token budgets.

Agents are `<role>_<number>`. In each round every agent in turn says a string or stays silent (`""`,
published to nobody, charged nothing). Messages over budget are cut at a token border. What an agent
thinks before that stands at the beginning of its action (`envs.dialogue.thoughts`), is counted and
charged, and shown to nobody; who thinks beyond the cap, or only thinks, is silent. Whether an agent
has room for a thought is settled when the round begins, whoever is served first. After the round
each agent hears those its topology links it to. What an agent observes is only what is new to it,
so a conversation grows at its end; the history is the agent's to keep.

Observation: `{"text": any string, "tokens_left": int32 array (4,)}`; the four entries are what the
next message may have (0 out of turn and after the end), and what is left to the agent, to this
round and to the episode (`envs.dialogue.budget.UNLIMITED` for no cap).
Action: any string, `<think>...</think>` at its beginning a thought; lone surrogates are published
as `?`.

What it is about is a subclass's: `DialogueEnv` grades one answer, `WorldEnv` plays acts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from gymnasium.utils import seeding

from laconic.envs.checks import by_key, choice, task_of
from laconic.envs.dialogue.briefing import Briefing, Opening, Rules, templates
from laconic.envs.dialogue.budget import Ledger, Tokenize, cut, well_formed
from laconic.envs.dialogue.channel import Channel, Transmission
from laconic.envs.dialogue.reward import Account, Outcome, Pay, Reward
from laconic.envs.dialogue.roster import check_actions
from laconic.envs.dialogue.spaces import TextEnv
from laconic.envs.dialogue.thoughts import BEGIN, split
from laconic.envs.dialogue.transcript import Message, heard, show
from laconic.envs.task import Explained, Score, Style, Task

Observation = dict[str, Any]
Observations = dict[str, Observation]
Infos = dict[str, dict[str, Any]]
StepResult = tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]


class TeamEnv(TextEnv, ABC):
    """Rounds of messages.

    Args:
        tasks: the tasks that episodes are drawn from.
        rules: who there is, how many rounds there are at the most, and the caps.
        reward: this and the other settings are those of `DialogueEnv`.
        channel: how often messages are lost on the way.
        tokens_left: what an agent sees of the caps.
        instructions: the form of the first observation.
        tokenize: cuts text into tokens.
        render_mode: how rounds are shown.
        slow: whether a step waits for others.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi"], "is_parallelizable": True}
    task: Task
    """What the episode is about."""

    def __init__(
        self,
        tasks: Sequence[Task],
        rules: Rules,
        *,
        reward: Reward | None,
        channel: Channel | None,
        tokens_left: Literal["all", "own"],
        instructions: Style | Mapping[str, str],
        tokenize: Tokenize,
        render_mode: Literal["human", "ansi"] | None,
        slow: bool = False,
    ) -> None:
        """Check the settings and build the spaces."""
        self.tasks = by_key(tasks)
        self.rounds, self.budget = rules.rounds, rules.budget
        self._rules, self._roster = rules, rules.roster
        self._take_seats(self._roster.agents)
        self.answering = self._roster.answering
        self.channel = channel or Channel()
        self.instructions = instructions
        self._templates = templates(instructions)
        self._told: Briefing | None = None
        self.render_mode = choice("env.render_mode", render_mode, (None, "ansi", "human"))
        self.tokenize = tokenize
        self._sees_all = choice("env.tokens_left", tokens_left, ("all", "own")) == "all"
        # Rollouts step environments that wait for others (processes, experts) at the same time.
        self.metadata = {**self.metadata, "slow_step": slow}
        # And send thoughts along to environments that say how long they may be.
        self.metadata["thought_tokens"] = self.budget.longest_thought
        self.reward = reward or Reward()
        self._generator: np.random.Generator | None = None
        self.messages: list[Message] = []
        self._paid: dict[str, Pay] = {}

    @property
    def reward(self) -> Reward:
        """The price of a token; another one counts from the next reset on."""
        return self._reward

    @reward.setter
    def reward(self, reward: Reward) -> None:
        self._reward = reward
        most = self._max_reward(reward)
        self.metadata = {**self.metadata, **reward.rules, "max_reward": most}

    def _max_reward(self, reward: Reward) -> float:
        """Return the most that the task pays an agent in an episode, charges aside."""
        return 1.0

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
        self.task = task_of(self.tasks, options, self._generator)
        self._start_episode(self._generator)
        opened = self._openings()
        observations = self._observe({agent: one.text for agent, one in opened.items()})
        infos = {agent: self._info(agent, None) for agent in self.agents}
        for agent, opening in opened.items():
            infos[agent] |= {"general": opening.general} if opening.general else {}
        return observations, infos

    def step(self, actions: Mapping[str, str]) -> StepResult:
        """Play one round.

        Args:
            actions: what each agent says; an agent that is left out is silent.

        Returns:
            Observations, rewards, terminations, truncations and infos of the agents that were
            alive before the round. Every info has `task_reward`, `billed` and `charged` of the
            round (`envs.dialogue.reward.Pay`); the reward is `task_reward - charged`. The last
            infos also carry `score`, `solved`, `answer` and `ended_by`. Every end is a termination.
            With nobody alive (before a reset, or after the end) all five are empty.

        Raises:
            UnknownNameError: an action is not of an agent of this team.
            SettingError: an action is not a string.
        """
        agents = tuple(self.agents)
        if not agents:
            return {}, {}, {}, {}, {}
        check_actions(actions, self.possible_agents)
        self._speak(actions)
        outcome = self._resolve()
        self._paid = outcome.pay
        over = bool(outcome.ended_by)
        self.ledger.start_round()
        self.round += 1
        self.agents = [] if over else self.agents
        self._talking = frozenset() if over else self._speakers()
        # What comes when the episode is over is read by nobody who could use it.
        observations = self._observe(self._news(agents, outcome.score, over), read=not over)
        infos = {agent: self._info(agent, outcome.score) for agent in agents}
        if self.render_mode == "human":
            from laconic.envs.dialogue.console import print_round  # Rich takes a while to import.

            print_round(tuple(self._latest.values()), outcome.score)
        for info in infos.values() if over else ():
            info["ended_by"] = outcome.ended_by
        endings = dict.fromkeys(agents, over), dict.fromkeys(agents, False)
        rewards = {agent: pay.reward for agent, pay in outcome.pay.items()}
        return observations, rewards, *endings, infos

    def render(self) -> str | None:
        """The transcript so far as text in mode `ansi`; in `human` it was printed already."""
        return show(self.messages) if self.render_mode == "ansi" else None

    def offered(self, agent: str) -> Collection[str] | None:
        """What makes sense to say now to who picks a message from a list; None for anything."""
        return None

    def _start_episode(self, generator: np.random.Generator) -> None:
        self.agents = list(self.possible_agents)
        self.round = 0
        self.ledger = Ledger(self.budget, self.possible_agents)
        self.messages = []
        self._latest: dict[str, Message] = {}
        self._paid = {}
        self._account = Account(self.reward, self.possible_agents)
        self._begin(generator)
        self._talking = self._speakers()
        self._transmission: Transmission | None = None
        if self.channel.lose or self.channel.probe:
            self._transmission = Transmission(self.channel, self.agents, self.rounds, generator)

    @abstractmethod
    def _begin(self, generator: np.random.Generator) -> None:
        """Start what the episode is about; the generator is that of the reset."""

    @abstractmethod
    def _openings(self) -> Mapping[str, Opening]:
        """What each agent reads first."""

    def _briefing(self, explained: Explained) -> Briefing:
        """The first words, whose fixed parts are written anew only for another who explains."""
        if self._told is None or self._told.explained is not explained:
            self._told = Briefing(self._rules, explained, self._templates)
        return self._told

    @abstractmethod
    def _resolve(self) -> Outcome:
        """What comes of the messages of a round."""

    def _speakers(self) -> frozenset[str]:
        """Who may speak in this round."""
        return self._roster.cycle[self.round % len(self._roster.cycle)]

    def _room(self, agent: str) -> tuple[int, int, int, int]:
        """What an agent sees of the caps: tokens of its next action, and what is left."""
        return self._left(agent, shared=self._sees_all)

    def _act(self, agent: str, message: str) -> tuple[str, str, str]:
        """Split an action without its thought into speech, act, and a line that is no legal act."""
        return message, "", ""

    def _hears(self) -> Mapping[str, Collection[str]]:
        """Whom each agent hears of the round that is over."""
        hearing = self._roster.hearing
        return hearing[(self.round - 1) % len(hearing)]

    def _speak(self, actions: Mapping[str, str]) -> None:
        said = {}
        self._silent = set[str]()
        # At the start of the round, before other agents use up what they share.
        may_think = {agent: self._room(agent)[0] > 0 for agent in self.agents}
        for agent in self.ledger.serving_order(self.round):
            wish, left = well_formed(actions.get(agent, "")), self._left(agent)[0]
            thought, fits = 0, True
            if wish.startswith(BEGIN):
                words, wish = split(wish)
                thought, fits = self._think(agent, words, may_think[agent])
            wish, act, illegal = self._act(agent, wish if fits else "")
            if illegal:
                # Nobody hears the line and it does nothing: it is a thought by another mark.
                booked, fits = self._think(agent, illegal, may_think[agent], thought)
                thought, wish = thought + booked, wish if fits else ""
            text, tokens = cut(wish, left, self.tokenize)
            if left and not text:
                self._silent.add(agent)
            self.ledger.charge(agent, tokens)
            whole = fits and text == wish
            said[agent] = Message(agent, self.round, text, tokens, not whole, thought, act)
            self._note(agent, text)
        self._latest = {agent: said[agent] for agent in self.agents}
        self.messages += self._latest.values()

    def _think(self, agent: str, words: str, may_think: bool, before: int = 0) -> tuple[int, bool]:
        """Book the tokens of a thought; return how many were booked, and whether those were all."""
        return self.ledger.think(agent, len(self.tokenize(words)), may_think, before)

    def _note(self, agent: str, text: str) -> None:
        """Take in what was published of an agent."""

    def _left(self, agent: str, shared: bool = True) -> tuple[int, int, int, int]:
        left = self.ledger.left(agent, shared)
        return left if agent in self._talking else (0, *left[1:])

    def _news(self, agents: Sequence[str], score: Score | None, over: bool) -> dict[str, str]:
        """What each agent reads after a round: those it hears."""
        messages, hears = tuple(self._latest.values()), self._hears()
        if self._transmission is None:
            return {agent: heard(messages, hears[agent]) for agent in agents}
        listeners = {agent: hears[agent] for agent in agents}
        return self._transmission.deliver(messages, listeners, self._silent)

    def _charged(self) -> dict[str, float]:
        """Tokens of the round that each agent is charged for."""
        weight, free = self.reward.thought_weight, self._free()
        return {
            agent: max(0, message.tokens - free.get(agent, 0)) + weight * message.thought
            for agent, message in self._latest.items()
        }

    def _free(self) -> Mapping[str, int]:
        """Tokens said in the round that are free of charge."""
        return {}

    def _observe(self, texts: Mapping[str, str], read: bool = True) -> Observations:
        observations = {}
        for agent, text in texts.items():
            self.ledger.read[agent] += len(self.tokenize(text)) if read else 0
            tokens_left = np.array(self._room(agent), dtype=np.int32)
            observations[agent] = {"text": text, "tokens_left": tokens_left}
        return observations

    def _info(self, agent: str, score: Score | None) -> dict[str, Any]:
        latest = self._latest.get(agent)
        info: dict[str, Any] = {
            "task": self.task.key,
            "round": self.round,
            "rounds": self.rounds,
            "answering": agent in self.answering,
            **self._own_info(agent),
            "message": latest.text if latest else "",
            "cut": latest.cut if latest else False,
            "tokens_said": self.ledger.said[agent],
            "tokens_read": self.ledger.read[agent],
            "tokens_thought": self.ledger.thought[agent],
            **self._paid.get(agent, Pay()).info,
        }
        if score is not None:
            info |= {"score": score.value, "solved": score.solved, "answer": score.answer}
            info |= {"detail": dict(score.detail)} if score.detail else {}
            measures = self._measures(score)
            info |= {"measures": measures} if measures else {}
        return info

    def _measures(self, score: Score) -> dict[str, float]:
        """What is told of a finished episode beside its score, by name."""
        lost = self._transmission.measures if self._transmission else {}
        return {**score.measures, **lost}

    @abstractmethod
    def _own_info(self, agent: str) -> dict[str, Any]:
        """What an info says beside budgets, messages and the score; `share` and `informed` too."""
