"""Token budgets, the ledgers of what was said, read and thought, and what a token is.

Four caps: per message, per agent, per round over all agents, per episode over all agents; and one
for what is thought before a message, which those do not count. The round
and the episode cap together are the dual budget of arXiv 2511.13193 (an auction method of the
Agent-GSPO authors); that Agent-GSPO itself uses this pair is our reading, not a published fact.

A tokenizer here is a function from a text to its tokens as substrings that join back to the text;
their number is the text's length in tokens. A policy brings the one of its own model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from laconic.envs.checks import whole

UNLIMITED = 2**31 - 1
"""Stands for "no cap" wherever a number of tokens is shown as int32."""
Tokenize = Callable[[str], Sequence[str]]

_MAX_BYTES = 8
# At most eight letters a token, so that a long unbroken word is not cheap; every character matches.
_TOKEN = re.compile(r"\s?[^\W\d_]{1,8}|\s?\d{1,3}|\s?[^\w\s]|[\s\S]")
# The same for ASCII, in two thirds of the time: sets of letters instead of classes of Unicode.
_SPACE, _SIGN = r"[ \t-\r\x1c-\x1f]", r"[\x00-\x08\x0e-\x1b!-/:-@\[-^`{-\x7f]"
_ASCII = re.compile(rf"{_SPACE}?[A-Za-z]{{1,8}}|{_SPACE}?(?:[0-9]{{1,3}}|{_SIGN})|[\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps on what may be said and thought, in tokens; None is no cap."""

    message: int | None = None
    """Tokens of one message."""
    agent: int | None = None
    """Tokens of one agent in the whole episode."""
    round: int | None = None
    """Tokens of all agents in one round."""
    episode: int | None = None
    """Tokens of all agents in the whole episode; when they are spent the episode ends."""
    thought: int | None = None
    """Tokens of the thought before one message; who thinks longer says nothing."""

    def __post_init__(self) -> None:
        """Raise SettingError where a cap is neither None nor an integer of at least 1."""
        for field in fields(self):
            whole(f"env.budget.{field.name}", getattr(self, field.name), 1, optional=True)

    @property
    def longest_thought(self) -> int:
        """Tokens that a thought may have; `UNLIMITED` for no cap."""
        return UNLIMITED if self.thought is None else self.thought


class Ledger:
    """Tokens said, read and thought by each agent of one episode, held against a budget."""

    def __init__(self, budget: Budget, agents: Sequence[str]) -> None:
        """Open an empty ledger for agents in their fixed order."""
        self._budget = budget
        self._agents = tuple(agents)
        self.said = dict.fromkeys(self._agents, 0)
        self.read = dict.fromkeys(self._agents, 0)
        self.thought = dict.fromkeys(self._agents, 0)
        self._round_said = 0
        self._episode_said = 0

    def start_round(self) -> None:
        """Forget what was said in the round before."""
        self._round_said = 0

    def left(self, agent: str, shared: bool = True) -> tuple[int, int, int, int]:
        """Tokens left to an agent under the message, agent, round and episode cap, in that order.

        The first entry is already the smallest of the four: what this agent's next message may
        have at most. `UNLIMITED` stands for no cap, also of round and episode if not `shared`.
        """
        budget = self._budget
        own = _left(budget.agent, self.said[agent])
        round = _left(budget.round if shared else None, self._round_said)
        episode = _left(budget.episode if shared else None, self._episode_said)
        return min(_left(budget.message, 0), own, round, episode), own, round, episode

    def charge(self, agent: str, tokens: int) -> None:
        """Book a message of `tokens` tokens."""
        self.said[agent] += tokens
        self._round_said += tokens
        self._episode_said += tokens

    def think(self, agent: str, tokens: int, may_think: bool, before: int = 0) -> tuple[int, bool]:
        """Book a thought of `tokens` tokens up to the cap of one message's thoughts.

        Args:
            agent: who thinks.
            tokens: length of the thought.
            may_think: whether the agent was in turn, with tokens left, when the round began; else
                nothing is booked.
            before: tokens booked for the same message already.

        Returns:
            The tokens booked, and whether those were all.
        """
        booked = min(tokens, self._budget.longest_thought - before if may_think else 0)
        self.thought[agent] += booked
        return booked, booked == tokens

    def serving_order(self, round: int) -> tuple[str, ...]:
        """Who is served first when simultaneous messages share a cap; rotates with the round."""
        start = round % len(self._agents)
        return self._agents[start:] + self._agents[:start]

    @property
    def spent(self) -> bool:
        """Whether the episode budget is used up."""
        cap = self._budget.episode
        return cap is not None and self._episode_said >= cap


def _left(cap: int | None, used: int) -> int:
    return UNLIMITED if cap is None else min(cap - used, UNLIMITED)


def split_words(text: str) -> list[str]:
    """Cut text into short words, numbers and signs; needs no download.

    A word counts once for every eight letters, and where they are not ASCII once for every eight
    bytes of UTF-8, so that no script is cheaper than another; a number once for every three digits.
    One white space before a token belongs to it.
    """
    if text.isascii():
        return _ASCII.findall(text)
    return [piece for token in _TOKEN.findall(text) for piece in _short(token)]


def _short(token: str) -> list[str]:
    """A token in pieces of at most eight bytes, a white space before it not counted."""
    pieces, size = [""], 0
    for place, character in enumerate(token):
        size += 0 if place == 0 and character.isspace() else _bytes(character)
        if size > _MAX_BYTES:
            pieces.append("")
            size = _bytes(character)
        pieces[-1] += character
    return pieces


def _bytes(character: str) -> int:
    return len(character.encode("utf-8", "surrogatepass"))


def cut(text: str, limit: int, tokenize: Tokenize) -> tuple[str, int]:
    """The longest beginning of `text`, ending at a token border, of at most `limit` tokens.

    Tokenizers may cut a beginning otherwise than the whole, so the result is counted again and
    shortened until it fits.

    Returns:
        The beginning, and its length in tokens. With a limit of 0 or less both are empty.
    """
    if not text or limit <= 0:
        return "", 0
    kept = tokenize(text)
    count = len(kept)
    if count <= limit:
        return text, count
    for length in range(limit, 0, -1):
        beginning = "".join(kept[:length])
        count = len(tokenize(beginning))
        if count <= limit:
            return beginning, count
    return "", 0


def well_formed(text: str) -> str:
    """The text with lone surrogates, which no file or terminal takes, replaced each by a `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
