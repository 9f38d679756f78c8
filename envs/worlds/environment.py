"""WorldEnv: a team plays a world by acts, and talks under the same budgets and prices as dialogues.

Rules beyond those of `envs.dialogue.team`:

- The last line of an action is an act if it begins with `>` (`envs.worlds.base`); the rest is
  speech. Other agents do not hear the act.
- Acts are free and have tokens of their own: while an agent is to act, `tokens_left` counts the
  longest act beside the next message, so speech and spent budgets never prevent an act.
- An illegal act line, or an act out of turn, does nothing; `legal` in the infos is then False.
- What no agent hears is booked as a thought, because it would otherwise be a free note to oneself:
  that line, words in a round without talk or beyond a cap, and what an act has beyond its usual
  form (`> catch 10`) or the tokens of the longest act.
- Where a world hears its phrases alone (`World.only_phrases`), other words, or a phrase beyond the
  caps, are such a line: charged and unheard.
- An agent that does not act gets the world's default. A silent team loses no reward but the price
  of time (`reward.round_price`). A round of silence ends nothing.

The reward of an agent in a round is its gain less the prices of the round and of the tokens
charged. Every end is a termination: the world is over (`ended_by` is `rules`). A spent budget
silences a team and ends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from laconic.envs.checks import checked, choice, whole
from laconic.envs.dialogue.briefing import InitialPrompt, Rules
from laconic.envs.dialogue.budget import UNLIMITED, Budget, Tokenize, split_words
from laconic.envs.dialogue.chosen import TeamOptions, Topology, team_options
from laconic.envs.dialogue.messages import padding
from laconic.envs.dialogue.reward import Outcome, Reward
from laconic.envs.dialogue.roster import Hearing, Roster
from laconic.envs.dialogue.team import TeamEnv
from laconic.envs.errors import SettingError
from laconic.envs.task import Style, Task
from laconic.envs.worlds.base import MARK, World, act_line, split_act

_ZEROS = re.compile(r"(?<![\w.])0+(?=[0-9])")
"""Leading zeros, which do not change a number."""


@dataclass(frozen=True, slots=True)
class _Turns:
    """Agents that may do something in a round."""

    acting: frozenset[str] = frozenset()
    """Agents that have a legal act."""
    talking: frozenset[str] = frozenset()
    """Agents that others can hear."""
    absent: frozenset[str] = frozenset()
    """Agents that take no part and hear nothing."""


class WorldEnv(TeamEnv):
    """A team in a world, with token budgets and a price for every word.

    Args:
        world: the rules.
        tasks: starting states that episodes are drawn from.
        team: number of agents of each role; None takes the world's own.
        topology: who hears whom where the world leaves it open (`envs.dialogue.roster`).
        budget: caps on what may be said.
        reward: the price of a token; `exempt_answer` has no effect here.
        tokens_left: caps that an agent observes, `all` or its `own` (`envs.dialogue.team`).
        instructions: `full` for language models, `short` for small ones, `brief` for policies that
            were trained on the game, or two templates (`envs.dialogue.briefing.Templates`).
        tokenize: cuts text into tokens; a policy brings its own.
        render_mode: None, `ansi` (`render` returns text) or `human` (each round is printed).
        **options: settings of `envs.dialogue.chosen.TeamOptions`.

    Raises:
        SettingError: a setting is outside its range or contradicts another; two tasks share a key;
            solved episodes alone are to be charged, and the world calls none of them solved; rounds
            have a price, and the world pays each agent its own gain; an option puts words before
            messages, and the world hears its phrases alone.
        UnknownNameError: a topology does not exist.
    """

    plays_acts = True

    @checked("env")
    def __init__(
        self,
        world: World[Any, Any],
        tasks: Sequence[Task],
        *,
        team: Mapping[str, int] | None = None,
        topology: Topology = "complete",
        budget: Budget | None = None,
        reward: Reward | None = None,
        tokens_left: Literal["all", "own"] = "all",
        instructions: Style | Mapping[str, str] = "full",
        tokenize: Tokenize = split_words,
        render_mode: Literal["human", "ansi"] | None = None,
        **options: Annotated[Any, TeamOptions],
    ) -> None:
        """Check the settings and build the spaces."""
        self.world = world
        self.metadata = {
            **self.metadata,
            "name": f"{world.name}_v{world.version}",
            "reward": "common" if world.common_reward else "own",
        }
        rounds = whole("rounds of the world", world.rounds, 1)
        budget, reward = budget or Budget(), reward or Reward()
        for key in ("multiply_by", "measure"):
            choice(f"env.reward.{key} of a world", getattr(reward, key), (None,))
        self._phrases = frozenset(world.phrases) if world.only_phrases else None
        self._hears_all = topology == "complete"
        seats = world.team if team is None else team
        roster = Roster.of(seats, topology, "all", "majority", rounds)
        chosen = team_options(TeamOptions(**options), topology, roster, reward)
        prefixes = [option.prefix for option in chosen if option.prefix]
        if world.only_phrases and prefixes:
            raise SettingError(
                f"env={world.name} hears whole phrases alone, so a message must not begin with"
                f" other words: expected no option that adds some, got {prefixes[0]}; leave it out"
            )
        super().__init__(
            tasks,
            Rules(
                roster,
                rounds,
                budget,
                priced=reward.price > 0,
                counts=world.aim,
                per_listener=reward.charge == "listeners",
                reading_priced=reward.read_price > 0,
                rounds_priced=reward.round_price > 0,
            ),
            options=chosen,
            reward=reward,
            tokens_left=tokens_left,
            instructions=instructions,
            tokenize=tokenize,
            render_mode=render_mode,
        )
        first, agents = next(iter(self.tasks.values())), self.possible_agents
        # Refuses a team of a wrong size before anything is played.
        self._state: Any = world.start(first, agents, np.random.default_rng(0))
        self._turns = _Turns()

    @property
    def world_state(self) -> Any:
        """Present state, of the world's own type."""
        return self._state

    def offered(self, agent: str) -> Collection[str]:
        """Return the act lines and phrases of the world's menu that make sense now."""
        return frozenset(self.world.offered(self._state, agent) if self.agents else ())

    @property
    def best_reward(self) -> float | None:
        """What the best team that is known earns here in the mean, at the present prices.

        None where none is known, or where other words than an agent's own are charged, or reading,
        or solved episodes alone, or where messages get lost or do not reach all.
        """
        reward, phrases = self._reward, self.world.phrases
        usual = reward.charge == "own" and reward.when == "always" and not reward.read_price
        heard = self._hears_all and all(option.delivers for option in self.options)
        if not usual or not heard or not phrases:
            return None
        tokens = min(len(self.tokenize(phrase)) for phrase in phrases)
        price = reward.price * tokens / reward.normalizer
        return self.world.best_reward(self.possible_agents, price, reward.round_price)

    def _task_pay(self, reward: Reward) -> dict[str, Any]:
        if reward.when == "solved" and not self.world.verdict:
            raise SettingError(
                "env.reward.when=solved charges solved episodes alone, and an episode of"
                f" env={self.world.name} is neither solved nor unsolved: expected always, got"
                " solved; set env.reward.when=always"
            )
        if reward.round_price and not self.world.common_reward:
            raise SettingError(
                "env.reward.round_price is the price of time of a team that is paid alike, and"
                f" env={self.world.name} pays each agent its own gain: expected 0, got"
                f" {reward.round_price:g}; leave it out, and let the world's gains fall with time"
            )
        world = self.world
        return {"graded": world.graded, "max_reward": world.max_reward, "chance": world.chance}

    def _begin(self, generator: np.random.Generator) -> None:
        # A generator of its own: settings do not change the random outcomes of a seed.
        self._chance = generator.spawn(1)[0]
        # The act follows a line break if there is speech. Counted here and not in the constructor,
        # because a tokenizer may still be trained when an environment is made.
        lines = map(act_line, self.world.longest_acts())
        self._act_tokens = max((len(self.tokenize(f"\n{line}")) for line in lines), default=0)
        self._acts: dict[str, Any] = {}
        self._legal: dict[str, bool] = {}
        self._enter(self.world.start(self.task, self.possible_agents, self._chance))

    def _enter(self, state: Any) -> None:
        world, agents = self.world, self.possible_agents
        present = [agent for agent in agents if world.is_present(state, agent)]
        self._state = state
        self._turns = _Turns(
            frozenset(agent for agent in present if world.legal_acts(state, agent)),
            frozenset(agent for agent in present if world.may_talk(state, agent)),
            frozenset(agents).difference(present),
        )

    def _openings(self) -> Mapping[str, InitialPrompt]:
        texts = {agent: ("", self.world.observe(self._state, agent)) for agent in self.agents}
        return self._briefing(self.world).openings(texts)

    def _speakers(self) -> frozenset[str]:
        return self._turns.talking

    def _room(self, agent: str) -> tuple[int, int, int, int]:
        """Return the caps; an agent that is to act has room for the act in its next message."""
        message, own, round, episode = super()._room(agent)
        acts = bool(self.agents) and agent in self._turns.acting
        return min(message + acts * self._act_tokens, UNLIMITED), own, round, episode

    def _act(self, agent: str, message: str) -> tuple[str, str, str]:
        speech, line = split_act(message)
        between, _, behind = message[len(speech) :].partition(line) if line else ("", "", "")
        speech, unheard = self._heard_part(agent, speech)
        text, act = line.removeprefix(MARK), None
        if line and agent in self._turns.acting:
            act = self.world.parse_act(self._state, agent, text.strip())
        # Not acting and silence are legal; a line or words that do nothing are not.
        self._legal[agent] = (act is not None or not line) and (bool(speech) or not unheard.strip())
        if act is None:
            self._acts.pop(agent, None)
            return speech, "", unheard + padding(between) + line + padding(behind)
        self._acts[agent] = act
        bare = text.strip()
        spaces = text[: len(text) - len(text.lstrip())]
        line = MARK + spaces[:1] + bare
        excess = "".join(self.tokenize(line)[self._act_tokens :])
        if self.world.parse_act(self._state, agent, _ZEROS.sub("", bare)) == act:
            excess += "".join(_ZEROS.findall(bare))
        return speech, line, unheard + padding(between, spaces, behind) + excess

    def _heard_part(self, agent: str, speech: str) -> tuple[str, str]:
        """Split speech into what may be heard and what may not; by default all of it may.

        A phrase is heard whole or not at all: cut, it could be another phrase.
        """
        if self._phrases is None:
            return speech, ""
        phrase = speech.strip()
        fits = len(self.tokenize(phrase)) <= self.ledger.left(agent)[0]
        if phrase not in self._phrases or not fits:
            return "", speech
        before, _, after = speech.partition(phrase)
        return phrase, before + after

    def _resolve(self) -> Outcome:
        messages = {agent: message.text for agent, message in self.latest.items()}
        state, gains = self.world.apply(self._state, self._acts, messages, self._chance)
        self._acts = {}
        self._enter(state)
        over = self.round + 1 == self.rounds or self.world.is_over(state)
        score = self.world.score(state) if over else None
        earned = {agent: float(gains.get(agent, 0.0)) for agent in self.agents}
        solved = score is not None and bool(score.solved)
        pay = self._account.settle(
            earned, self._charged(over=over), tokens_heard=self._tokens_heard(over), due=solved
        )
        observed = {agent: self.world.observe(state, agent) for agent in self.agents}
        return Outcome(pay, score, "rules" if over else "", observed)

    def _linked(self) -> Hearing:
        # Where no agent may talk, all are deaf.
        linked, turns = super()._linked(), self._turns
        deaf = turns.absent if turns.talking else linked
        return {agent: speakers for agent, speakers in linked.items() if agent not in deaf}

    def _own_info(self, agent: str) -> dict[str, Any]:
        latest = self.latest.get(agent)
        return {
            "share": (),
            "informed": None,
            "facts": dict(self.world.facts_for(self._state, agent)),
            "offered": self.world.offered(self._state, agent) if self.agents else (),
            "act": latest.act if latest else "",
            "legal": self._legal.get(agent, True),
        }
