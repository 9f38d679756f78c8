"""WorldEnv: a team plays a world by acts, and talks on the budgets and prices of every team here.

Rules beyond those of `envs.dialogue.team`. The last line of an action is an act if it begins with
`>` (`envs.worlds.acts`); the rest is speech. The act is heard by nobody, costs nothing, and has
tokens of its own that no speech can use up: `tokens_left` counts them with those of the next
message while an agent is to act. A line that is no legal act, or an act out of turn, does nothing,
and `infos` say so under `legal`. It is booked as a thought: it would be a free note to oneself
otherwise. Who does not act gets what the world has for that, and a silent team never loses reward.

Reward of an agent in a round: what it gained less the price of the tokens charged. Terminated: the
world is over (`ended_by` is `rules`). A spent budget ends nothing: who has spent it acts on in
silence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from laconic.envs.checks import choice, whole
from laconic.envs.dialogue.briefing import Opening, Rules
from laconic.envs.dialogue.budget import UNLIMITED, Budget, Tokenize, split_words
from laconic.envs.dialogue.channel import Channel
from laconic.envs.dialogue.reward import Outcome, Reward
from laconic.envs.dialogue.roster import Roster, Topology
from laconic.envs.dialogue.team import TeamEnv
from laconic.envs.task import Style, Task
from laconic.envs.worlds.acts import split_act
from laconic.envs.worlds.base import Turns, World

_NOBODY = Turns()


class WorldEnv(TeamEnv):
    """A team in a world, with token budgets and a price for every word.

    Args:
        world: the rules.
        tasks: starting states that episodes are drawn from.
        team: number of agents of each role; None takes the world's own.
        topology: who hears whom where the world leaves it open (`envs.dialogue.roster`).
        budget: caps on what may be said.
        reward: the price of a token; there is no answer here that it could exempt.
        channel: how often messages are lost on the way (`envs.dialogue.channel`).
        tokens_left: what an agent sees of the caps, `all` or its `own` (`envs.dialogue.team`).
        instructions: `full` for language models, `short` for small ones, `brief` for policies that
            were trained on the game, or two templates (`envs.dialogue.briefing.Templates`).
        tokenize: cuts text into tokens; a policy brings its own.
        render_mode: None, `ansi` (`render` returns text) or `human` (each round is printed).

    Raises:
        SettingError: a setting is outside its range or contradicts another; two tasks share a key.
        UnknownNameError: a topology does not exist.
    """

    metadata: dict[str, Any] = {**TeamEnv.metadata, "name": "laconic_world_v0", "reward": "own"}
    plays_acts = True

    def __init__(
        self,
        world: World[Any, Any],
        tasks: Sequence[Task],
        *,
        team: Mapping[str, int] | None = None,
        topology: Topology = "complete",
        budget: Budget | None = None,
        reward: Reward | None = None,
        channel: Channel | None = None,
        tokens_left: Literal["all", "own"] = "all",
        instructions: Style | Mapping[str, str] = "full",
        tokenize: Tokenize = split_words,
        render_mode: Literal["human", "ansi"] | None = None,
    ) -> None:
        """Check the settings and build the spaces."""
        self.world = world
        rounds = whole("rounds of the world", world.rounds, 1)
        chosen = world.team if team is None else team
        choice("env.reward.multiply_by of a world", (reward or Reward()).multiply_by, (None,))
        roster = Roster.of(chosen, topology, "all", "majority", rounds)
        budget, reward = budget or Budget(), reward or Reward()
        rules = Rules(roster, rounds, budget, reward.price > 0, world.counts)
        super().__init__(
            tasks,
            rules,
            reward=reward,
            channel=channel,
            tokens_left=tokens_left,
            instructions=instructions,
            tokenize=tokenize,
            render_mode=render_mode,
        )
        self._state: Any = world.start(next(iter(self.tasks.values())), self.possible_agents)
        self._turns = self._before = _NOBODY

    @property
    def world_state(self) -> Any:
        """The state that the world is in; its kind is the world's own."""
        return self._state

    def offered(self, agent: str) -> Collection[str]:
        """What makes sense to say or do now, of the world's phrases."""
        return self.world.offered(self._state, agent) if self.agents else frozenset()

    def _max_reward(self, reward: Reward) -> float:
        return self.world.max_reward

    def _begin(self, generator: np.random.Generator) -> None:
        # Apart from what else is drawn, so that settings do not change the luck of a seed.
        self._chance = generator.spawn(1)[0]
        # A line break before it, where something is said first; a tokenizer may still be learnt
        # when an environment is made.
        self._act_tokens = len(self.tokenize("\n" + self.world.longest_act()))
        self._acts: dict[str, Any] = {}
        self._legal: dict[str, bool] = {}
        self._enter(self.world.start(self.task, self.possible_agents))

    def _enter(self, state: Any) -> None:
        self._state, self._turns = state, self.world.turns(state)

    def _openings(self) -> Mapping[str, Opening]:
        shown = {agent: ("", self.world.see(self._state, agent)) for agent in self.agents}
        return self._briefing(self.world).openings(shown)

    def _speakers(self) -> frozenset[str]:
        return self._turns.talking

    def _room(self, agent: str) -> tuple[int, int, int, int]:
        """The caps, the next message with room for an act where one is due."""
        left, *caps = super()._room(agent)
        acts = bool(self.agents) and agent in self._turns.acting
        own, round, episode = caps
        return min(left + acts * self._act_tokens, UNLIMITED), own, round, episode

    def _act(self, agent: str, message: str) -> tuple[str, str, str]:
        speech, line = split_act(message)
        may = agent in self._turns.acting
        act = self.world.read(self._state, agent, line) if line and may else None
        # Who is to act and does nothing does nothing wrong; who does what cannot be done does.
        self._legal[agent] = act is not None or not line
        if act is None:
            self._acts.pop(agent, None)
            return speech, "", line
        self._acts[agent] = act
        return speech, line, ""

    def _resolve(self) -> Outcome:
        said = {agent: message.text for agent, message in self._latest.items()}
        self._before = self._turns
        state, gains = self.world.apply(self._state, self._acts, said, self._chance)
        self._acts = {}
        self._enter(state)
        over = self.world.over(state)
        score = self.world.score(state) if over else None
        earned = {agent: float(gains.get(agent, 0.0)) for agent in self.agents}
        solved = score is not None and score.solved
        pay = self._account.settle(earned, self._charged(), due=solved)
        seen = {agent: self.world.see(state, agent) for agent in self.agents}
        return Outcome(pay, score, "rules" if over else "", seen)

    def _hears(self) -> Mapping[str, Collection[str]]:
        hears, before = super()._hears(), self._before
        deaf = before.absent if before.talking else hears
        return {agent: () if agent in deaf else heard for agent, heard in hears.items()}

    def _own_info(self, agent: str) -> dict[str, Any]:
        latest = self._latest.get(agent)
        return {
            "share": (),
            "informed": None,
            "facts": dict(self.world.told(self._state, agent)),
            "act": latest.act if latest else "",
            "legal": self._legal.get(agent, True),
        }
