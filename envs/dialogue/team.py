"""TeamEnv: rounds of simultaneous messages on token budgets, which all environments here share.

Agents are `<role>_<number>`. In each round every agent in turn says a string or stays silent. The
empty string is silence: it is published to no agent and costs nothing. A message over budget is cut
at a token border. After the round each agent hears those that its topology links it to, unless an
option says otherwise (`envs.dialogue.chosen`).

An agent may think before it speaks, at the beginning of its action (`envs.dialogue.messages`). A
thought is counted, charged, and shown to no agent. An agent that thinks beyond the cap is silent.
The cap on thoughts is taken at the beginning of the round, so it does not depend on the order in
which agents are served.

An observation holds only new text, so a conversation grows at its end. The agent keeps the history.

Observation: `{"text": any string, "tokens_left": int32 array (4,)}`. The first entry is the maximum
tokens of the next message (0 out of turn and after the end). The others are the tokens left to the
agent, to this round and to the episode (`envs.dialogue.budget.UNLIMITED` without a cap).
Action: any string. Lone surrogates are published as `?`.

Subclasses define the content of an episode: `DialogueEnv` grades one answer, `WorldEnv` plays acts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium.spaces import Box, Dict, Space
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from laconic.envs.checks import by_key
from laconic.envs.dialogue.briefing import InitialPrompt, PromptBuilder, Rules, templates
from laconic.envs.dialogue.budget import (
    UNLIMITED,
    Ledger,
    Tokenize,
    count_tokens,
    cut,
    replace_surrogates,
)
from laconic.envs.dialogue.messages import (
    BEGIN,
    SILENT_ROUND,
    FreeText,
    Message,
    format_messages,
    print_round,
    show,
    split_thought,
)
from laconic.envs.dialogue.option import Option
from laconic.envs.dialogue.reward import Account, Outcome, Pay, Reward
from laconic.envs.dialogue.roster import Hearing, check_actions, hearing_by_round, listeners_of
from laconic.envs.errors import UnknownNameError
from laconic.envs.task import PromptedTask, Score, Style, Task

Observation = dict[str, Any]
Observations = dict[str, Observation]
Infos = dict[str, dict[str, Any]]
StepResult = tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]


class TextEnv(ParallelEnv[str, dict[str, Any], str]):
    """An environment whose agents observe `text` and `tokens_left`, and say any string."""

    def _take_seats(self, agents: Iterable[str]) -> None:
        """Name the agents and build their spaces; `agents` stays empty before a reset."""
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        self._spaces = {agent: observation_space() for agent in self.possible_agents}
        self._actions = {agent: FreeText() for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Space[Any]:
        """Return the observation space of an agent, the same object at every call."""
        return self._spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Return the action space of an agent, the same object at every call."""
        return self._actions[agent]


def observation_space() -> Dict:
    """Return the space of `text` and `tokens_left`, int32 of shape (4,)."""
    counts = Box(0, UNLIMITED, shape=(4,), dtype=np.int32)
    return Dict({"text": FreeText(), "tokens_left": counts})


class TeamEnv(TextEnv, ABC):
    """Rounds of messages.

    Args:
        tasks: the tasks that episodes are drawn from.
        rules: agents, most rounds and caps.
        options: options in the order in which they act.
        reward: this and the following settings are those of `DialogueEnv`.
        tokens_left: caps that an agent sees.
        instructions: the form of the first observation.
        tokenize: cuts text into tokens.
        render_mode: how rounds are shown.
        slow: whether a step waits for others.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi"], "is_parallelizable": True}
    plays_acts: ClassVar[bool] = False
    """True if an action may contain an act after the message (`_act`)."""
    hearing: Sequence[Hearing]
    """Agents that each agent hears, by round; the cycle starts again when it ends. Where links
    are made in the episode, all that an agent may come to hear."""
    topology: Sequence[Hearing]
    """The same in this episode, whose start may set its own."""
    task: Task
    """Task of the episode."""

    def __init__(
        self,
        tasks: Sequence[Task],
        rules: Rules,
        *,
        options: Sequence[Option] = (),
        reward: Reward | None,
        tokens_left: Literal["all", "own"],
        instructions: Style | Mapping[str, str],
        tokenize: Tokenize,
        render_mode: Literal["human", "ansi"] | None,
        slow: bool = False,
    ) -> None:
        """Check the settings and build the spaces."""
        self.tasks = by_key(tasks)
        self.rounds, self.budget = rules.rounds, rules.budget
        self.options = tuple(options)
        told = "".join(option.rule for option in options)
        chosen = next((option.chosen for option in options if option.chosen), "")
        self._rules, self._roster = replace(rules, options=told, chosen=chosen), rules.roster
        self._take_seats(self._roster.agents)
        self.answering = self._roster.answering
        self._answers = frozenset(self.answering)
        self.hearing = self._roster.hearing
        self.instructions = instructions
        self._templates = templates(instructions)
        self._writer: PromptBuilder | None = None
        self.render_mode = render_mode
        self.tokenize = tokenize
        self._sees_all = tokens_left == "all"
        # Rollouts step environments that wait for others (processes, experts) at the same time.
        self.metadata = {**self.metadata, "slow_step": slow}
        # Thoughts are sent to environments that say how long one may be.
        self.metadata["thought_tokens"] = self.budget.longest_thought
        self.reward = reward or Reward()
        self._generator: np.random.Generator | None = None
        self.messages: list[Message] = []
        self._paid: dict[str, Pay] = {}

    @property
    def reward(self) -> Reward:
        """Price of a token; a new one counts from the next reset on."""
        return self._reward

    @reward.setter
    def reward(self, reward: Reward) -> None:
        rules = {"when": reward.when, "charge": reward.charge, "round_price": reward.round_price}
        self.metadata = {**self.metadata, **rules, **self._task_pay(reward)}
        self._reward = reward

    def _by_weight(self, generator: np.random.Generator) -> int:
        """Return the place of a task, drawn by its weight: a listed state, by its probability."""
        weights = np.array([task.weight for task in self.tasks.values()])
        return int(generator.choice(len(weights), p=weights / weights.sum()))

    def _task_pay(self, reward: Reward) -> dict[str, Any]:
        """Return `graded`, `max_reward` and `chance` of `envs.dialogue.reward.PAY_RULES`."""
        return {"graded": False, "max_reward": 1.0, "chance": 0.0}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Start an episode.

        Args:
            seed: seed of this environment's own generator; None continues with the present one.
            options: `{"task": key}` names the task, and `{"task": task}` brings a `Task` that need
                not be among `tasks`. Otherwise one is drawn. `{"topology": topology}` replaces
                `env.topology` for the episode. Other options are ignored.

        Returns:
            Observations and infos of all agents.

        Raises:
            UnknownNameError: there is no task of that key.
        """
        if seed is not None or self._generator is None:
            self._generator, _ = seeding.np_random(seed)
        generator = self._generator
        # Drawn in any case, so that later draws do not depend on the options.
        equal = next(iter(self.tasks.values())).weight == 1.0
        place = int(generator.integers(len(self.tasks))) if equal else self._by_weight(generator)
        options = options or {}
        task = options.get("task")
        if task is None:
            # Without a copy of all keys, of which there may be very many.
            task = next(islice(self.tasks, place, None))
        if not isinstance(task, Task):
            if task not in self.tasks:
                raise UnknownNameError("task", task, self.tasks)
            task = self.tasks[task]
        self.task = task
        self.agents, self.round, self.messages = list(self.possible_agents), 0, []
        self.ledger = Ledger(self.budget, self.possible_agents)
        self.latest: dict[str, Message] = {}
        self._account, self._paid = Account(self._reward), {}
        self.topology = self.hearing
        if "topology" in options:
            self.topology = hearing_by_round(options["topology"], self.possible_agents)
        self._active = tuple(o for o in self.options if o.on and o.start(self, generator))
        self._begin(generator)
        self._talking = self._speakers()
        openings = self._openings()
        texts = {
            agent: "\n".join(filter(None, (opening.general, opening.own)))
            for agent, opening in openings.items()
        }
        observations, infos = self._observe(texts), self._infos(self.agents, None)
        for agent, opening in openings.items():
            infos[agent] |= {"general": opening.general} if opening.general else {}
        return observations, infos

    def step(self, actions: Mapping[str, str]) -> StepResult:
        """Play one round.

        Args:
            actions: string of each agent; an agent that is left out is silent.

        Returns:
            Observations, rewards, terminations, truncations and infos of the agents that were
            alive before the round. Every info has `task_reward`, `billed` and `charged` of the
            round (`envs.dialogue.reward.Pay`); the reward is `task_reward - charged`. `feedback`
            is the environment's comment on the round, if there is one. The last infos also carry
            `score`, `solved` (unless the task has no verdict), `answer` and `ended_by`. Every end
            is a termination.
            With no agent alive (before a reset, or after the end) all five are empty.

        Raises:
            UnknownNameError: an action is not of an agent of this team.
            SettingError: an action is not a string.
        """
        agents = tuple(self.agents)
        if not agents:
            return {}, {}, {}, {}, {}
        check_actions(actions, self._spaces)
        self._speak(actions)
        self.links = self.heard = self._linked()
        for option in self._active:
            self.heard = option.hear(self.heard)
        outcome = self._resolve()
        self._paid = outcome.pay
        over = bool(outcome.ended_by)
        self.ledger.start_round()
        self.round += 1
        self.agents = [] if over else self.agents
        self._talking = frozenset() if over else self._speakers()
        # Texts after the end are not counted as read, since no agent can use them.
        observations = self._observe(self._news(agents, outcome.comments), read=not over)
        infos = self._infos(agents, outcome.score)
        for agent, text in outcome.comments.items():
            infos[agent]["feedback"] = text
        if self.render_mode == "human":
            print_round(tuple(self.latest.values()), outcome.score)
        for info in infos.values() if over else ():
            info["ended_by"] = outcome.ended_by
        endings = dict.fromkeys(agents, over), dict.fromkeys(agents, False)
        rewards = {agent: pay.reward for agent, pay in outcome.pay.items()}
        return observations, rewards, *endings, infos

    def render(self) -> str | None:
        """Return the transcript so far in mode `ansi`; in `human` it was printed already."""
        return show(self.messages) if self.render_mode == "ansi" else None

    def offered(self, agent: str) -> Collection[str] | None:
        """Return the messages that make sense now to an agent that picks from a list; None: any."""
        return None

    @abstractmethod
    def _begin(self, generator: np.random.Generator) -> None:
        """Start the subclass's part of an episode; the generator is that of the reset."""

    @abstractmethod
    def _openings(self) -> Mapping[str, InitialPrompt]:
        """Return the first observation of each agent."""

    def _briefing(self, prompted: PromptedTask) -> PromptBuilder:
        """Return the writer of first observations; another `prompted` needs a new one."""
        if self._writer is None or self._writer.prompted is not prompted:
            self._writer = PromptBuilder(self._rules, prompted, self._templates)
        return self._writer

    @abstractmethod
    def _resolve(self) -> Outcome:
        """Return the result of the messages of a round."""

    @abstractmethod
    def _own_info(self, agent: str) -> dict[str, Any]:
        """Return the subclass's entries of an info, `share` and `informed` among them."""

    def _measures(self) -> dict[str, float]:
        """Return the subclass's measures of a finished episode, by name."""
        return {}

    def _speakers(self) -> frozenset[str]:
        """Return the agents that may speak in this round."""
        return self._roster.cycle[self.round % len(self._roster.cycle)]

    def _room(self, agent: str) -> tuple[int, int, int, int]:
        """Return the caps that an agent sees: tokens of its next action, and of each cap."""
        room = self.ledger.left(agent, self._sees_all)
        return room if agent in self._talking else (0, *room[1:])

    def _act(self, agent: str, message: str) -> tuple[str, str, str]:
        """Split an action without its thought into speech, act, and text that is neither."""
        raise NotImplementedError

    def _linked(self) -> Hearing:
        """Return whom each agent is linked to now; deaf agents may be missing."""
        linked = self.topology[self.round % len(self.topology)]
        for option in self._active:
            linked = option.link(linked)
        return linked

    def _speak(self, actions: Mapping[str, str]) -> None:
        messages = {}
        self.silent, self._free = set[str](), dict[str, int]()
        for option in self._active:
            actions = option.act(actions, self._free)
        for agent in self.ledger.serving_order(self.round):
            wish = replace_surrogates(actions.get(agent, ""))
            room = self.ledger.left(agent)[0] if agent in self._talking else 0
            thought, fits, act = 0, True, ""
            if wish.startswith(BEGIN):
                words, wish = split_thought(wish)
                thought, fits = self._think(agent, words)
                wish = wish if fits else ""
            if self.plays_acts:
                wish, act, idle = self._act(agent, wish)
                booked, within = self._think(agent, idle, thought)
                thought, fits = thought + booked, fits and within
                if not within:
                    # A legal act is taken back; an illegal line stays one.
                    wish, act, _ = self._act(agent, "") if act else ("", "", "")
            text, tokens = cut(wish, room, self.tokenize)
            if self.plays_acts and text != wish:
                # The room for an act is room for words that no agent hears.
                thought += self._think(agent, wish[len(text) :], thought)[0]
            if room and not text:
                self.silent.add(agent)
            self.ledger.charge(agent, tokens)
            whole = fits and text == wish
            messages[agent] = Message(agent, self.round, text, tokens, not whole, thought, act)
        self.latest = {agent: messages[agent] for agent in self.agents}
        self.messages += self.latest.values()

    def _think(self, agent: str, words: str, before: int = 0) -> tuple[int, bool]:
        """Book a thought; return how many of its tokens were booked, and whether all were."""
        return self.ledger.think(agent, len(self.tokenize(words)), self._may_think[agent], before)

    def _news(self, agents: Sequence[str], comments: Mapping[str, str]) -> dict[str, str]:
        """Return the text of each agent after a round: messages, then comments of the environment.

        An agent that hears no one reads the comments alone: that no one spoke would be no news.
        """
        hears = self.heard
        # Written once: in a complete graph every line is read by all others.
        lines = {
            agent: format_messages((message,))
            for agent, message in self.latest.items()
            if message.text
        }
        texts = {
            agent: "\n".join([lines[each] for each in hears.get(agent, ()) if each in lines])
            or SILENT_ROUND
            for agent in agents
        }
        for option in self._active:
            texts = option.deliver(texts)
        for agent, text in comments.items():
            # Linked agents that hear no message read the same as after silence.
            news = texts[agent] if self.links.get(agent) or hears.get(agent) else ""
            texts[agent] = "\n".join(filter(None, (news, text)))
        return texts

    def _charged(
        self, free: Mapping[str, int] | None = None, *, over: bool = False
    ) -> dict[str, float]:
        """Return the tokens of the round that each agent is charged for.

        Args:
            free: tokens of messages that are free of charge, by agent; None for those of options.
            over: whether the episode ends with this round, so that no agent hears its messages.
        """
        weight, free = self._reward.thought_weight, self._free if free is None else free
        copies = dict.fromkeys(self.latest, 1)
        if self._account.reward.charge == "listeners" and not over:
            copies |= {agent: len(each) for agent, each in listeners_of(self.heard).items()}
        return {
            agent: copies[agent] * max(0, message.tokens - free.get(agent, 0))
            + weight * message.thought
            for agent, message in self.latest.items()
        }

    def _tokens_heard(self, over: bool) -> dict[str, int] | None:
        """Return the message tokens of the round that each agent hears, where these cost."""
        if over or not self._account.reward.read_price:
            return None
        tokens = dict.fromkeys(self.latest, 0)
        for agent, speakers in self.heard.items():
            heard_by = (self.latest[speaker] for speaker in speakers)
            tokens[agent] = sum(each.tokens for each in heard_by if not self.loses(each, agent))
        return tokens

    def loses(self, message: Message, listener: str) -> bool:
        """Return whether a message is lost on its way to a listener."""
        return any(option.loses(message, listener) for option in self._active)

    def _observe(self, texts: Mapping[str, str], read: bool = True) -> Observations:
        observations = {}
        # Of the beginning of a round, before other agents use up what they share.
        self._may_think: dict[str, bool] = {}
        if read:
            for agent, tokens in count_tokens(texts, self.tokenize).items():
                self.ledger.read[agent] += tokens
        for agent, text in texts.items():
            room = self._room(agent)
            self._may_think[agent] = room[0] > 0
            observations[agent] = {"text": text, "tokens_left": np.array(room, dtype=np.int32)}
        return observations

    def _infos(self, agents: Sequence[str], score: Score | None) -> Infos:
        """Return the infos of some agents; `score` is that of the work so far, if it was graded."""
        infos: Infos = {}
        measures: dict[str, float] = {}
        if score is not None:
            measures = dict(score.measures)
            for option in self._active:
                measures |= option.measures()
            measures |= self._measures()
        for agent in agents:
            latest = self.latest.get(agent)
            info: dict[str, Any] = {
                "task": self.task.key,
                "round": self.round,
                "rounds": self.rounds,
                "answering": agent in self._answers,
                **self._own_info(agent),
                "message": latest.text if latest else "",
                "cut": latest.cut if latest else False,
                "tokens_said": self.ledger.said[agent],
                "tokens_read": self.ledger.read[agent],
                "tokens_thought": self.ledger.thought[agent],
                **(self._paid.get(agent) or Pay()).info,
            }
            for option in self._active:
                info |= option.info(agent)
            if score is not None:
                verdict = {} if score.solved is None else {"solved": score.solved}
                info |= {"score": score.value, **verdict, "answer": score.answer}
                info |= {"detail": dict(score.detail)} if score.detail else {}
                info |= {"measures": dict(measures)} if measures else {}
            infos[agent] = info
        return infos
