"""Commons: agents live off one stock that grows back, and talk about it between the months.

Source: GovSim (arXiv 2404.16698; giorgiopiatti/GovSim, MIT) and, for trash, its reproduction
pedrocurvo/GovSim. Written from the rules and checked against 422 recorded months of the latter.

Rules. Five agents share a stock of 100 units. Every month all harvest at the same time, a whole
number of units, by the act `> catch 10`. If they want more than there is, units go one at a time to
a uniformly drawn agent that still wants some. Fewer than 5 units left are a collapse: the talk of
that month is the last. Otherwise the stock doubles, up to 100. There are 12 months. A unit gains
1/120, so fair shares of 10 a month gain 1 each.

Talk. `rounds`: all read everyone's harvest, then all speak at the same time, `talk_rounds` times.
`published`: one agent speaks at a time, at most 9 times a month, the first agent first. The act
`> next fisher_2` names the next speaker; `> end` or silence ends the talk; without either, the next
agent in order speaks. `language=none`: agents read their own harvest alone and cannot talk.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal

import numpy as np

from laconic.envs.benchmarks.generation import Candidate, draw_different, span
from laconic.envs.checks import Count, check_fields, check_names
from laconic.envs.declarations import Metric, Recipe
from laconic.envs.errors import SettingError
from laconic.envs.library.commons import scripts, stock
from laconic.envs.library.commons.stock import (
    CAPACITY,
    GRANTS,
    LEAST,
    LIFE,
    SUSTAINED,
    Month,
    State,
)
from laconic.envs.library.commons.wordings import Act, WordedCommons, report
from laconic.envs.task import PRICE, Score, Split, Task
from laconic.envs.worlds.base import Script, TeacherStyle

UTTERANCES = 9
"""Messages of a month where agents speak one at a time; the report is the first of ten."""
JOINS = 3
"""Index of the month in which a newcomer joins."""
_HARVESTS = (*range(21), 25, 30, 50, 100)
"""Harvests that numeric agents choose from, in units."""
_PROPOSALS = (0, 5, 8, 10, 12)
"""Shares that numeric agents can propose, in units."""
_PASS, _END = re.compile(r"next (\w+)"), "end"


@cache
def _harvest_acts(verb: str) -> tuple[str, ...]:
    return tuple(f"{verb} {units}" for units in _HARVESTS)


@dataclass(frozen=True, slots=True)
class Commons(WordedCommons):
    """A commons with a wording and rules of talk; see the module."""

    wording: Literal["fishery", "pasture", "pollution", "trash"] = "fishery"
    """Kind of stock. `trash` is the inverse: it grows by 50 a month, and carrying it away costs."""
    months: Count = 12
    """Months of an episode."""
    talk: Literal["rounds", "published"] = "rounds"
    """All agents speak at the same time, or one at a time as in the source."""
    talk_rounds: Count = 2
    """Rounds of messages between two harvests, where all speak at the same time."""
    language: Literal["free", "none"] = "free"
    """`none`: no talk, and no report of the harvests of others."""
    grant: Literal["lottery", "proportional"] = "lottery"
    """Rule that divides the stock when agents want more than there is."""
    universalization: bool = False
    """Warn agents before a harvest of the result if all take more than their share."""
    newcomer: bool = False
    """Let the last agent join in the fourth month (the source then has 15 months)."""

    name: ClassVar[str] = "commons"
    metrics = {
        "months": Metric("Months of a commons up to its collapse, or all of them."),
        "survived": Metric(
            "Share of episodes of a commons in which the stock was never lost (GovSim).", share=True
        ),
        "survived_to_last": Metric(
            "The same, except that a collapse in the last month counts as survival.", share=True
        ),
        "gain": Metric("Units that an agent took out of a commons, mean over agents."),
        "efficiency": Metric(
            "Units that all agents took, as a share of the possible regrowth; at most 1.", high=1.0
        ),
        "equality": Metric(
            "1 less the Gini coefficient of the units that the agents of a commons took.", high=1.0
        ),
        "monthly_gini": Metric(
            "Gini coefficient of the units that they took in a month, mean over months.", high=1.0
        ),
        "overuse": Metric(
            "Share of harvests that asked for more than a fair share of the regrowth.", share=True
        ),
        "words_per_month": Metric("Words that all agents together said in a month."),
    }
    recipe = Recipe(
        Path(__file__).with_name("policy"),
        minutes=20,
        max_reply_tokens=17,
        training={"train.tasks_per_step": 1},
        # A team that catches nothing survives too, so the gain chooses the start.
        metric="score",
        target=0.5,
        tasks=8,
        final_tasks=100,
    )
    verdict: ClassVar[bool] = False
    defaults: ClassVar[Mapping[str, Any]] = {
        **WordedCommons.defaults,
        # The best team says nothing, so no brief team gives the unit.
        "reward": {"price": PRICE, "normalizer": 50},
        "instructions": "brief",
    }
    script_names: ClassVar[Sequence[str]] = scripts.NAMES
    facts: ClassVar[Mapping[str, float]] = {
        "month": 12.0,
        "months": 12.0,
        "stock": 100.0,
        "agents": 5.0,
        "fair": 20.0,
        "harvest": 1.0,
        "talk": 1.0,
        "present": 1.0,
        "last_wanted": 100.0,
        "last_caught": 100.0,
        "last_total": 100.0,
        "last_overuse": 5.0,
        "last_fair": 20.0,
        "joined": 1.0,
        "inverse": 1.0,
    }

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self, "env")

    @property
    def talk_mode(self) -> str:
        """Way in which agents talk; `none` if they cannot."""
        return "none" if self.language == "none" else self.talk

    @property
    def max_talk(self) -> int:
        """Maximum number of rounds of talk in a month."""
        return {"none": 0, "rounds": self.talk_rounds, "published": UTTERANCES}[self.talk_mode]

    @property
    def rounds(self) -> int:
        """Maximum number of rounds in an episode."""
        return self.months * (1 + self.max_talk)

    @property
    def max_reward(self) -> float:  # type: ignore[override]
        """Gain of each of five agents by fair shares of all that grows back; 1 in twelve months."""
        return CAPACITY / 2 * self.months / sum(self.team.values()) / SUSTAINED

    @property
    def acts(self) -> tuple[str, ...]:  # type: ignore[override]
        """Harvests that numeric agents choose from."""
        return _harvest_acts(self.words.verb)

    @property
    def phrases(self) -> tuple[str, ...]:  # type: ignore[override]
        """Proposals of shares; empty if agents cannot talk."""
        return tuple(map(scripts.proposal, _PROPOSALS)) if self.max_talk else ()

    def generate(
        self, seed: int, count: int, *, split: Split = "train", **settings: Any
    ) -> tuple[Task, ...]:
        """Return starting states.

        With a fixed stock they differ only in their names. Their episodes differ by the lottery,
        which is drawn from the seed of a reset.

        Args:
            seed: any whole number.
            count: number of states.
            split: `train` or `evaluation`.
            **settings: `stock`, the units at the start, or a pair to draw from.
        """
        check_names("setting of env.generator", settings, ("seed", "stock"))
        least, most = span("stock", settings.get("stock", CAPACITY), (2 * LEAST, CAPACITY))

        def draw(random: Random, key: str) -> Candidate[Task]:
            number, units = random.randrange(10**9), random.randint(least, most)
            text = f"{self.words.role.capitalize()}s' commons {number}: {units} {self.words.unit}."
            task = Task(key, text, (), "a stock that lasts", details={"stock": units})
            return Candidate(str(number), lambda: task)

        return draw_different(draw, seed, count, split, "starting states")

    def start(self, task: Task, agents: Sequence[str], generator: np.random.Generator) -> State:
        """Return the state in which the first harvest is due."""
        if self.newcomer and len(agents) < 2:
            raise SettingError("env.newcomer=true needs a team of at least two; got one agent")
        return State(tuple(agents), int(task.details.get("stock", CAPACITY)))

    def present(self, state: State) -> tuple[str, ...]:
        """Return the agents that take part in this month."""
        return state.agents[:-1] if self.newcomer and state.month < JOINS else state.agents

    def is_present(self, state: State, agent: str) -> bool:
        """Return False for a newcomer before it joins."""
        return agent in self.present(state)

    def may_talk(self, state: State, agent: str) -> bool:
        """Return True between harvests; if agents speak one at a time, for the speaker alone."""
        if state.talk is None or not self.is_present(state, agent):
            return False
        return self.talk == "rounds" or agent == state.speaker

    def legal_acts(self, state: State, agent: str) -> Collection[str]:
        """Return a sample of harvests, or whom a speaker can pass the word to."""
        if not self.is_present(state, agent):
            return ()
        if state.talk is None:
            return self.acts
        if self.talk == "rounds" or agent != state.speaker:
            return ()
        return (_END, *(f"next {other}" for other in self.present(state) if other != agent))

    def parse_act(self, state: State, agent: str, text: str) -> Act | None:
        """Parse a harvest of up to six digits, or the next speaker."""
        if state.talk is None:
            harvest = re.fullmatch(rf"{self.words.verb} (\d{{1,6}})", text, re.ASCII)
            return int(harvest[1]) if harvest else None
        if text == _END:
            return ""
        match = _PASS.fullmatch(text)
        others = {*self.present(state)} - {agent}
        return match[1] if match and match[1] in others else None

    def longest_acts(self) -> Collection[str]:
        """Return a harvest of six digits or the longest next speaker."""
        harvest = f"{self.words.verb} 999999"
        return (max(harvest, f"next {self.words.role}_999", key=len),)

    def fair(self, state: State) -> int:
        """Return the units per agent that keep the stock, or that have to be carried away."""
        share = stock.fair_duty if self.words.inverse else stock.fair_share
        return share(state.stock, len(self.present(state)))

    def observe(self, state: State, agent: str) -> str:
        """Return the report after a harvest and the stock before the next one."""
        if not self.is_present(state, agent):
            return ""
        lines = []
        if state.talk == 0 or (state.talk is None and not self.max_talk and state.months):
            lines.append(report(state.months[-1], agent, public=bool(self.max_talk)))
        if state.talk is None and not self.is_over(state):
            lines.append(f"Month {state.month + 1}: {state.stock} {self.words.unit}.")
            if self.universalization:
                side = "Below" if self.words.inverse else "Above"
                end = "there is no room next month" if self.words.inverse else "the stock shrinks"
                lines.append(f"{side} {self.fair(state)} each, {end}.")
        return "\n".join(filter(None, lines))

    def apply(
        self,
        state: State,
        acts: Mapping[str, Act],
        messages: Mapping[str, str],
        generator: np.random.Generator,
    ) -> tuple[State, Mapping[str, float]]:
        """Play a harvest, which gains the units caught, or a round of talk, which gains nothing."""
        if state.talk is None:
            return self._harvest(state, acts, generator)
        words = state.words + sum(len(text.split()) for text in messages.values())
        state = replace(state, talk=state.talk + 1, words=words)
        speaker = self._next_speaker(state, acts, messages) if self.talk == "published" else "all"
        if state.talk == self.max_talk or not speaker:
            return self._grow(state), {}
        return replace(state, speaker=speaker), {}

    def _next_speaker(
        self, state: State, acts: Mapping[str, Act], messages: Mapping[str, str]
    ) -> str:
        """Return the next speaker; empty if the talk is over."""
        if state.speaker in acts:
            return str(acts[state.speaker])
        if not messages.get(state.speaker):
            return ""
        present = self.present(state)
        return present[(present.index(state.speaker) + 1) % len(present)]

    def _harvest(
        self, state: State, acts: Mapping[str, Act], generator: np.random.Generator
    ) -> tuple[State, Mapping[str, float]]:
        present = self.present(state)
        wishes = {agent: int(acts.get(agent, 0)) for agent in present}
        granted = GRANTS[self.grant](tuple(wishes.values()), state.stock, generator)
        caught = dict(zip(present, granted, strict=True))
        month = Month(state.stock, wishes, caught, self.fair(state))
        rest = month.after
        collapsed = stock.pollute(rest) > CAPACITY if self.words.inverse else rest < LEAST
        state = replace(
            state,
            stock=rest,
            months=(*state.months, month),
            collapsed=collapsed,
            talk=0,
            speaker=present[0],
        )
        gains = {agent: units / SUSTAINED for agent, units in self._units(month).items()}
        return (state if self.max_talk else self._grow(state)), gains

    def _units(self, month: Month) -> dict[str, int]:
        """Return the value of a month to each agent, in units."""
        if self.words.inverse:
            return {agent: LIFE - units for agent, units in month.caught.items()}
        return dict(month.caught)

    def _grow(self, state: State) -> State:
        """Return the state before the next harvest; after the last month nothing grows."""
        state = replace(state, talk=None, speaker="")
        grow = stock.pollute if self.words.inverse else stock.regrow
        return state if self.is_over(state) else replace(state, stock=grow(state.stock))

    def is_over(self, state: State) -> bool:
        """Return True after the last month's talk, or the talk about a collapse."""
        return state.talk is None and (state.collapsed or len(state.months) == self.months)

    def score(self, state: State) -> Score:
        """Score the mean gain; the measures say whether the stock was ever lost."""
        units = dict.fromkeys(state.agents, 0.0)
        for month in state.months:
            for agent, value in self._units(month).items():
                units[agent] += value
        return stock.score(state, units, self.months, self.words.inverse)

    def facts_for(self, state: State, agent: str) -> Mapping[str, float]:
        """Return the facts of the month, the agent's turn and the last harvest."""
        present = self.is_present(state, agent)
        values: dict[str, float] = {
            "month": state.month,
            "months": self.months,
            "stock": state.stock,
            "agents": len(self.present(state)),
            "fair": self.fair(state),
            "harvest": state.talk is None and present,
            "talk": self.may_talk(state, agent),
            "present": present,
            "joined": self.newcomer and agent == state.agents[-1],
            "inverse": self.words.inverse,
        }
        if state.months:
            last = state.months[-1]
            values["last_wanted"] = last.requested.get(agent, 0)
            values["last_caught"] = last.caught.get(agent, 0)
            values["last_fair"] = last.fair
            if self.max_talk and present:
                values["last_total"] = sum(last.caught.values())
                values["last_overuse"] = last.overuse(self.words.inverse)
        return {name: float(values.get(name, 0.0)) for name in self.facts}

    def script(self, name: str) -> Script:
        """Return a script; see `envs.library.commons.scripts`."""
        return scripts.script(name, self.words.verb)

    def teacher(self, style: TeacherStyle) -> Script:
        """Return a teacher that proposes shares and takes too much where it hears no proposal."""
        return scripts.Teacher(style, self.words.verb)
