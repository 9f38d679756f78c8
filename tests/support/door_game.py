"""A door that two tellers know the key of: credits of its words can be worked out on paper.

The team gains 1 if the solver says `open` in a round after a teller said `key`. An `open` before it
gains nothing, and ends the game as well. A word is a token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from laconic.envs import Reward, Score, Task, World, WorldEnv
from laconic.learners.interfaces import Reply, Request

TEAM = {"teller": 2, "solver": 1}
ROUND_PRICE, WORD_PRICE = 0.1, 0.05


@dataclass(frozen=True)
class State:
    """What happened at the door."""

    told: bool = False
    gain: float | None = None


@dataclass(frozen=True)
class Door(World):
    """The game; it has words of its list alone, and no acts."""

    rounds: int = 4

    name = "door"
    team = TEAM
    goal = "Open the door."
    phrases = ("key", "open", "open door")
    script_names = ("tell", "silent")
    only_phrases = True
    common_reward = True

    def start(self, task, agents, generator):
        """Return the closed door."""
        return State()

    def observe(self, state, agent):
        """Say nothing: all that an agent reads are words of others."""
        return ""

    def apply(self, state, acts, messages, generator):
        """Open the door, or take in the key."""
        if messages.get("solver_0", "") == "open":
            gain = float(state.told)
            return replace(state, gain=gain), dict.fromkeys(messages, gain)
        return replace(state, told=state.told or "key" in messages.values()), {}

    def is_over(self, state):
        """Return True once somebody tried to open the door."""
        return state.gain is not None

    def score(self, state):
        """Score an open door."""
        return Score(state.gain or 0.0, bool(state.gain), "open" if state.gain else "closed")

    def script(self, name):
        """Return a script; the silent one of this game opens the door in its third round."""
        if name == "silent":
            return lambda turn, random: "open" if turn.round == 2 else ""
        return lambda turn, random: f"key {turn.round} {'/'.join(turn.said)}"


def door(price: float = WORD_PRICE, rounds: int = 4, **reward: object) -> WorldEnv:
    """Make the game with a price of a word, and of a round unless `round_price` says another."""
    settings = {"price": price, "normalizer": 1.0, "round_price": ROUND_PRICE, **reward}
    priced = Reward(**settings)  # type: ignore[arg-type]
    return WorldEnv(
        Door(rounds), (Task("a", "", (), ""),), reward=priced, tokenize=words, instructions="brief"
    )


def words(text: str) -> list[str]:
    """Cut text before each blank, so that a word is a token."""
    return re.findall(r"\s?\S+|\s", text)


class Players:
    """Policy of all agents: tellers tell in the first round, the solver opens as soon as it can.

    Without a key it tries the door in the last round.
    """

    def __init__(self, tellers: Sequence[str] = ("teller_0", "teller_1"), last: int = 3) -> None:
        """Take the tellers that tell, and the last round."""
        self.tellers, self.last = tellers, last

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Return the words of each agent."""
        return [Reply(self._say(request)) for request in requests]

    def _say(self, request: Request) -> str:
        if request.agent != "solver_0":
            return "key" if request.agent in self.tellers and not request.history else ""
        heard = "key" in "\n".join((*request.texts, request.text))
        return "open" if heard or request.info["round"] == self.last else ""


__all__ = ["ROUND_PRICE", "WORD_PRICE", "Door", "Players", "door"]
