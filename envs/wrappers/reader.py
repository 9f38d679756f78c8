"""What one agent has read in an episode, as one array of numbers from 0 to 1.

Its parts, in order:

- `role`, `agent`: who the agent is, one-hot;
- `time`: the share of the rounds that are played, and whether the agent may speak now;
- `left`: tokens t left to the next message, the agent, the round and the episode, as t / (t + 64);
- `menu`, 4 for each entry: whether it is on the menu now; its tokens t, as t / (t + 16); the share
  of its words that the question has; whether the agent said it before;
- `question`: which words the question has;
- `known`: which words each statement of the agent has;
- `heard`, for each other agent: which words it was heard to say so far; the share of them that the
  question has; whether it was heard at all, or one half where it could not be;
- `facts`, in a world: what the agent knows of its state, in the world's order.

All of it is read off the texts that the agent was shown. Which statements matter is nowhere in it;
that a statement has words of the question says something about it, as it does to any reader.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from laconic.envs.dialogue.budget import Tokenize
from laconic.envs.dialogue.roster import role_of
from laconic.envs.wrappers.menu import Menu
from laconic.envs.wrappers.words import Bag, overlap, spoken, unheard, words_of

Floats = NDArray[np.float32]
Mask = NDArray[np.int8]
_ON, _LENGTH, _OVERLAP, _SAID = range(4)
_LONG_BUDGET, _LONG_MESSAGE = 64.0, 16.0
"""Tokens that are shown as one half."""


class Layout:
    """Where what stands in the array of every agent of a team."""

    def __init__(
        self, agents: Sequence[str], menu: Menu, bag: Bag, facts: Mapping[str, float] | None = None
    ) -> None:
        """Fix sizes and order for a team in its order, its messages, its words and its world.

        `facts` are those of a world, each with the number that is shown as 1.
        """
        self.agents = tuple(agents)
        self.roles = tuple(dict.fromkeys(map(role_of, agents)))
        self.menu, self.bag, self.facts = menu, bag, dict(facts or {})
        sizes = {
            "role": len(self.roles),
            "agent": len(self.agents),
            "time": 2,
            "left": 4,
            "menu": 4 * menu.size,
            "question": bag.size,
            "known": bag.size * menu.statements,
            "heard": (bag.size + 2) * (len(self.agents) - 1),
            "facts": len(self.facts),
        }
        ends = list(accumulate(sizes.values()))
        self.size = ends[-1]
        """Entries in all."""
        self.parts = {
            name: slice(end - size, end)
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        """Name of each part -> its entries."""


@dataclass(frozen=True, slots=True)
class Known:
    """What an agent knows when an episode begins."""

    question: str
    """What is asked."""
    statements: tuple[str, ...]
    """The statements that it reads."""
    entries: tuple[str, ...]
    """Its messages by number; empty where there is none."""


class Reader:
    """One agent in one episode."""

    def __init__(self, layout: Layout, agent: str, known: Known, tokenize: Tokenize) -> None:
        """Read the first observation."""
        self.entries = known.entries
        self._layout = layout
        self._others = [other for other in layout.agents if other != agent]
        self._question = words_of(known.question)
        self._tokens = np.array([len(tokenize(text)) for text in known.entries])
        self._heard: dict[str, frozenset[str]] = {}
        self._array = np.zeros(layout.size, np.float32)
        part = {name: self._array[place] for name, place in layout.parts.items()}
        part["role"][layout.roles.index(role_of(agent))] = 1.0
        part["agent"][layout.agents.index(agent)] = 1.0
        part["question"][:] = layout.bag.array(self._question)
        for place, text in enumerate(known.statements[: layout.menu.statements]):
            start = place * layout.bag.size
            part["known"][start : start + layout.bag.size] = layout.bag.array(words_of(text))
        self._table: Floats = part["menu"].reshape(-1, 4)
        self._table[:, _LENGTH] = self._tokens / (self._tokens + _LONG_MESSAGE)
        shares = [overlap(words_of(text), self._question) for text in known.entries]
        self._table[:, _OVERLAP] = shares
        self._time, self._left = part["time"], part["left"]
        self._facts = part["facts"]
        self._ears: Floats = part["heard"].reshape(-1, layout.bag.size + 2)
        self.mask: Mask = np.zeros(layout.menu.size, np.int8)

    def look(
        self, played: float, left: Sequence[int], offered: Collection[str] | None = None
    ) -> Floats:
        """The array as it is now, and a new `mask`; `played` is a share of the rounds.

        `left` is the tokens left under the four caps, what the next message may have first;
        `offered` is what makes sense to say now, None for anything.
        """
        on = (self._tokens > 0) & (self._tokens <= left[0])
        if offered is not None:
            on &= [text in offered for text in self.entries]
        on[0] = True
        self.mask = on.astype(np.int8)
        self._table[:, _ON] = on
        self._time[:] = played, left[0] > 0
        caps = np.asarray(left, np.float64)
        self._left[:] = caps / (caps + _LONG_BUDGET)
        return self._array.copy()

    def message(self, number: int) -> str:
        """What is said with a number, from now on as said before; off the menu it is silence."""
        if not self.mask[number]:
            return ""
        self._table[number, _SAID] = number > 0
        return self.entries[number]

    def learn(self, facts: Mapping[str, float]) -> None:
        """Take in what the agent knows of a world."""
        shown = [facts[name] / most for name, most in self._layout.facts.items()]
        self._facts[:] = np.clip(shown, 0.0, 1.0)

    def hear(self, text: str) -> None:
        """Take in what was said to the agent."""
        for speaker, words in spoken(text, self._others).items():
            known = self._heard.get(speaker, frozenset()) | words_of(words)
            self._heard[speaker] = known
            ear = self._ears[self._others.index(speaker)]
            ear[:-2] = self._layout.bag.array(known)
            ear[-2:] = overlap(known, self._question), 1.0
        for speaker in unheard(text, self._others):
            ear = self._ears[self._others.index(speaker)]
            ear[-1] = max(ear[-1], 0.5)
