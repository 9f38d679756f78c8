"""Commons: agents who live off one stock that grows back, and talk about it between the months.

Source: GovSim (arXiv 2404.16698; giorgiopiatti/GovSim, MIT), the inverse of it from the
reproduction pedrocurvo/GovSim. Made from the rules, checked against 422 recorded months of that.

Rules. Five agents share a stock of 100 units. A month: all harvest at the same time, whole numbers
from 0, by the act `> catch 10`. If they want more than there is, units are dealt one at a time to a
drawn one of those who still want some. Of what is left fewer than 5 units are a collapse, after
which the month's talk is the last; else it doubles, up to 100. There are 12 months. A unit gains
1/120, so fair shares of 10 a month gain 1 each.

Talk. `rounds`: all are told what everybody got, and then all speak at the same time, `talk_rounds`
times. `published`: one speaks at a time, at most 9 times a month, the first agent first; the act
`> next fisher_2` passes the word on, `> end` ends the talk, as silence does, and who does neither
passes it on to the next in order. `language=none`: nobody is told what others got, and no talk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from laconic.envs.checks import choice, flag, whole
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.families.common.generation import Candidate, draw_different, span
from laconic.envs.task import Score, Split, Task
from laconic.envs.worlds.base import Manners, Script, Turns
from laconic.envs.worlds.commons import scripts
from laconic.envs.worlds.commons.facts import FACTS, of_stock
from laconic.envs.worlds.commons.measures import SUSTAINED, scored
from laconic.envs.worlds.commons.state import Month, State
from laconic.envs.worlds.commons.stock import (
    CAPACITY,
    GRANTS,
    LEAST,
    LIFE,
    duty,
    grown,
    littered,
    share,
)
from laconic.envs.worlds.commons.worded import Act, Worded
from laconic.envs.worlds.commons.wordings import WORDINGS, report

UTTERANCES = 9
"""Messages of a month where one speaks at a time; the report is the first of ten."""
JOINS = 3
"""The month, from 0, in which a newcomer joins."""
_MENU = (*range(21), 25, 30, 50, 100)  # Harvests of agents without a language.
_PASS, _END = re.compile(r"> ?next (\w+)"), re.compile(r"> ?end")


@dataclass(frozen=True, slots=True)
class Commons(Worded):
    """A commons of some wording and rules of talk; see the module."""

    wording: Literal["fishery", "pasture", "pollution", "trash"] = "fishery"
    """What the stock is. `trash` is the inverse: it grows by 50 a month, and what each carries away
    costs instead of being gained."""
    months: int = 12
    """Months of an episode."""
    talk: Literal["rounds", "published"] = "rounds"
    """Whether all speak at the same time, or one at a time as in the source."""
    talk_rounds: int = 2
    """Rounds of messages between two harvests, where all speak at the same time."""
    language: Literal["free", "none"] = "free"
    """`none`: no report of what others got, and no talk."""
    grant: Literal["lottery", "proportional"] = "lottery"
    """How the stock is dealt out where more is wanted."""
    universalization: bool = False
    """Whether each is told before a harvest what would happen if all took more than their share."""
    newcomer: bool = False
    """Whether the last agent joins in the fourth month only (with 15 months in the source)."""

    name: ClassVar[str] = "commons"
    facts: ClassVar[Mapping[str, float]] = FACTS

    def __post_init__(self) -> None:
        """Refuse settings that make no sense."""
        choice("env.wording", self.wording, tuple(WORDINGS))
        whole("env.months", self.months, 1)
        choice("env.talk", self.talk, ("rounds", "published"))
        whole("env.talk_rounds", self.talk_rounds, 1)
        choice("env.language", self.language, ("free", "none"))
        choice("env.grant", self.grant, tuple(GRANTS))
        flag("env.universalization", self.universalization)
        flag("env.newcomer", self.newcomer)

    @property
    def way(self) -> str:
        """How agents talk, `none` where they cannot."""
        return "none" if self.language == "none" else self.talk

    @property
    def talks(self) -> int:
        """Rounds of talk a month, at the most."""
        if self.language == "none":
            return 0
        return self.talk_rounds if self.talk == "rounds" else UTTERANCES

    @property
    def rounds(self) -> int:
        """Most rounds of an episode."""
        return self.months * (1 + self.talks)

    @property
    def max_reward(self) -> float:  # type: ignore[override]
        """What each of five agents gains by fair shares of what grows back: 1 in twelve months."""
        return CAPACITY / 2 * self.months / sum(self.team.values()) / SUSTAINED

    @property
    def team(self) -> Mapping[str, int]:
        """Five agents of the wording's role."""
        return {self.words.role: 5}

    def generate(
        self, seed: int, count: int, *, split: Split = "train", **settings: Any
    ) -> tuple[Task, ...]:
        """Make starting states; `stock` is how many units there are at first, or a pair of it.

        With one stock all are alike but for their names: what differs between their episodes is the
        lottery, which is drawn from the seed of a reset.
        """
        if unknown := {*settings} - {"stock"}:
            raise UnknownNameError("setting of env.generator", unknown.pop(), ("seed", "stock"))
        least, most = span("stock", settings.get("stock", CAPACITY), (2 * LEAST, CAPACITY))

        def make(random: Any, key: str) -> Candidate[Task]:
            number, stock = random.randrange(10**9), random.randint(least, most)
            text = f"{self.words.role.capitalize()}s' commons {number}: {stock} {self.words.unit}."
            return Candidate(str(number), lambda: _task(key, text, stock))

        return draw_different(make, seed, count, split, "starting states")

    def start(self, task: Task, agents: Sequence[str]) -> State:
        """The first harvest is due."""
        if self.newcomer and len(agents) < 2:
            raise SettingError("env.newcomer=true needs a team of at least two; got one agent")
        return State(tuple(agents), int(task.details.get("stock", CAPACITY)))

    def present(self, state: State) -> tuple[str, ...]:
        """Who is there in this month."""
        return state.agents[:-1] if self.newcomer and state.month < JOINS else state.agents

    def turns(self, state: State) -> Turns:
        """All harvest; then all talk, or one after the other, who also says who is next."""
        there = frozenset(self.present(state))
        absent = frozenset(state.agents) - there
        if state.talk is None:
            return Turns(acting=there, absent=absent)
        if self.talk == "rounds":
            return Turns(talking=there, absent=absent)
        speaker = frozenset({state.speaker})
        return Turns(speaker, speaker, absent)

    def fair(self, state: State) -> int:
        """The share that keeps the stock, or carries away what has to go, in this month."""
        keep = duty if self.words.inverse else share
        return keep(state.stock, len(self.present(state)))

    def see(self, state: State, agent: str) -> str:
        """The report after a harvest, the stock before one, and nothing in between."""
        if agent not in self.present(state):
            return ""
        lines = []
        if state.talk == 0 or (state.talk is None and not self.talks and state.months):
            lines.append(report(state.months[-1], agent, public=bool(self.talks)))
        if state.talk is None and not self.over(state):
            lines.append(f"Month {state.month + 1}: {state.stock} {self.words.unit}.")
            if self.universalization:
                way = "Below" if self.words.inverse else "Above"
                end = "there is no room next month" if self.words.inverse else "the stock shrinks"
                lines.append(f"{way} {self.fair(state)} each, {end}.")
        return "\n".join(filter(None, lines))

    def read(self, state: State, agent: str, line: str) -> Act | None:
        """A harvest of up to six digits, or who is next."""
        if state.talk is None:
            found = re.fullmatch(rf"> ?{self.words.verb} (\d{{1,6}})", line, re.ASCII)
            return int(found[1]) if found else None
        if _END.fullmatch(line):
            return ""
        named = _PASS.fullmatch(line)
        others = {*self.present(state)} - {agent}
        return named[1] if named and named[1] in others else None

    def apply(
        self,
        state: State,
        acts: Mapping[str, Act],
        said: Mapping[str, str],
        generator: np.random.Generator,
    ) -> tuple[State, Mapping[str, float]]:
        """A harvest, which gains what was got, or a round of talk, which gains nothing."""
        if state.talk is None:
            return self._harvested(state, acts, generator)
        words = state.words + sum(len(text.split()) for text in said.values())
        state = replace(state, talk=state.talk + 1, words=words)
        following = self._following(state, acts, said) if self.talk == "published" else "all"
        if state.talk == self.talks or not following:
            return self._grown(state), {}
        return replace(state, speaker=following), {}

    def _following(self, state: State, acts: Mapping[str, Act], said: Mapping[str, str]) -> str:
        """Who has the word next; empty where the talk is over."""
        if state.speaker in acts:
            return str(acts[state.speaker])
        if not said.get(state.speaker):
            return ""
        there = self.present(state)
        return there[(there.index(state.speaker) + 1) % len(there)]

    def _harvested(
        self, state: State, acts: Mapping[str, Act], generator: np.random.Generator
    ) -> tuple[State, Mapping[str, float]]:
        there = self.present(state)
        wanted = {agent: int(acts.get(agent, 0)) for agent in there}
        granted = GRANTS[self.grant](tuple(wanted.values()), state.stock, generator)
        month = Month(state.stock, wanted, dict(zip(there, granted, strict=True)), self.fair(state))
        rest = month.after
        lost = littered(rest) > CAPACITY if self.words.inverse else rest < LEAST
        after = replace(state, stock=rest, months=(*state.months, month), collapsed=lost)
        after = replace(after, talk=0, speaker=there[0])
        gains = {agent: units / SUSTAINED for agent, units in self._units(month).items()}
        return (after if self.talks else self._grown(after)), gains

    def _units(self, month: Month) -> dict[str, int]:
        """What a month is worth to each, in units."""
        if self.words.inverse:
            return {agent: LIFE - units for agent, units in month.caught.items()}
        return dict(month.caught)

    def _grown(self, state: State) -> State:
        grow = littered if self.words.inverse else grown
        stock = state.stock if self.over(replace(state, talk=None)) else grow(state.stock)
        return replace(state, stock=stock, talk=None, speaker="")

    def over(self, state: State) -> bool:
        """After the last month's talk, or the talk about a collapse."""
        return state.talk is None and (state.collapsed or len(state.months) == self.months)

    def score(self, state: State) -> Score:
        """Mean gain; solved is a stock that was never lost."""
        units = dict.fromkeys(state.agents, 0.0)
        for month in state.months:
            for agent, one in self._units(month).items():
                units[agent] += one
        return scored(state, units, self.months, self.words.inverse)

    def told(self, state: State, agent: str) -> Mapping[str, float]:
        """The month, the stock, whose turn it is, and what was got last."""
        turns = self.turns(state)
        own = {
            "months": self.months,
            "agents": len(self.present(state)),
            "fair": self.fair(state),
            "harvest": state.talk is None and agent in turns.acting,
            "talk": agent in turns.talking,
            "present": agent in self.present(state),
            "joined": self.newcomer and agent == state.agents[-1],
            "inverse": self.words.inverse,
        }
        public = bool(self.talks) and bool(own["present"])
        found = own | of_stock(state, agent, public=public, inverse=self.words.inverse)
        return {name: float(found[name]) for name in FACTS}

    def phrases(self) -> tuple[str, ...]:
        """Harvests, and, where there is talk, proposals of shares."""
        acts = tuple(f"> {self.words.verb} {units}" for units in _MENU)
        proposals = tuple(scripts.proposal(units) for units in (0, 5, 8, 10, 12))
        return acts + (proposals if self.talks else ())

    def offered(self, state: State, agent: str) -> frozenset[str]:
        """Acts when a harvest is due, and proposals while there is talk."""
        turns, phrases = self.turns(state), self.phrases()
        if agent in turns.talking:
            return frozenset(one for one in phrases if not one.startswith(">"))
        acting = agent in turns.acting
        return frozenset(one for one in phrases if acting and one.startswith(">"))

    def longest_act(self) -> str:
        """A harvest of six digits, or whom the word is passed on to."""
        harvest = f"> {self.words.verb} 999999"
        return max(harvest, f"> next {self.words.role}_999", key=len)

    @classmethod
    def scripts(cls) -> tuple[str, ...]:
        """See `envs.worlds.commons.scripts`."""
        return scripts.NAMES

    def script(self, name: str) -> Script:
        """See `envs.worlds.commons.scripts`."""
        return scripts.script(name, self.words.verb)

    def teacher(self, manners: Manners) -> Script:
        """Proposes shares, heeds proposals, and takes too much where it has heard none."""
        return scripts.Teacher(manners, self.words.verb)


def _task(key: str, text: str, stock: int) -> Task:
    return Task(key, text, (), "a stock that lasts", details={"stock": stock})
