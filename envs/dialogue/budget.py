"""Token budgets, the ledger of an episode, and the default tokenizer.

A budget has four caps on messages: per message, per agent, per round over all agents, per episode
over all agents. A fifth cap limits the thought before a message; the other four do not count
thoughts. The round and the episode cap together are the dual budget of arXiv 2511.13193, an auction
method of the Agent-GSPO authors. That Agent-GSPO itself uses this pair is our reading, not a
published fact.

A tokenizer here is a function from a text to its tokens as substrings that join back to the text.
The number of tokens is the length of the text. A policy brings the tokenizer of its own model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from laconic.envs.checks import Count, check_fields

UNLIMITED = 2**31 - 1
"""Stands for "no cap" wherever a number of tokens is shown as int32."""
Tokenize = Callable[[str], Sequence[str]]

_MAX_BYTES = 8
# At most eight letters per token, so that a long word is not cheap. Every character matches.
_TOKEN = re.compile(r"\s?[^\W\d_]{1,8}|\s?\d{1,3}|\s?[^\w\s]|[\s\S]")
# The same for ASCII, in two thirds of the time: sets of letters instead of classes of Unicode.
_SPACE, _SIGN = r"[ \t-\r\x1c-\x1f]", r"[\x00-\x08\x0e-\x1b!-/:-@\[-^`{-\x7f]"
_ASCII = re.compile(rf"{_SPACE}?[A-Za-z]{{1,8}}|{_SPACE}?(?:[0-9]{{1,3}}|{_SIGN})|[\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps on messages and thoughts, in tokens; None is no cap."""

    message: Count | None = None
    """Tokens of one message."""
    agent: Count | None = None
    """Tokens of one agent in the whole episode."""
    round: Count | None = None
    """Tokens of all agents in one round."""
    episode: Count | None = None
    """Tokens of all agents in the whole episode; when they are spent the episode ends."""
    thought: Count | None = None
    """Tokens of the thought before one message; an agent that thinks longer says nothing."""

    def __post_init__(self) -> None:
        """Raise SettingError where a cap is neither None nor an integer of at least 1."""
        check_fields(self, "env.budget")

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
        """Reset the count of the round."""
        self._round_said = 0

    def left(self, agent: str, shared: bool = True) -> tuple[int, int, int, int]:
        """Return the tokens left to an agent under the message, agent, round and episode cap.

        The first entry is already the smallest of the four: the most that this agent's next message
        may have. `UNLIMITED` stands for no cap, also for round and episode if not `shared`.
        """
        budget, own, round, episode = self._budget, UNLIMITED, UNLIMITED, UNLIMITED
        if budget.agent is not None:
            own = min(own, budget.agent - self.said[agent])
        if shared and budget.round is not None:
            round = min(round, budget.round - self._round_said)
        if shared and budget.episode is not None:
            episode = min(episode, budget.episode - self._episode_said)
        message = UNLIMITED if budget.message is None else budget.message
        return min(message, own, round, episode), own, round, episode

    def charge(self, agent: str, tokens: int) -> None:
        """Book a message of `tokens` tokens."""
        self.said[agent] += tokens
        self._round_said += tokens
        self._episode_said += tokens

    def think(self, agent: str, tokens: int, may_think: bool, before: int = 0) -> tuple[int, bool]:
        """Book a thought of `tokens` tokens up to the cap of one message's thoughts.

        Args:
            agent: the agent that thinks.
            tokens: length of the thought.
            may_think: whether the agent was in turn, with tokens left, when the round began;
                otherwise nothing is booked.
            before: tokens booked for the same message already.

        Returns:
            The tokens booked, and whether those were all.
        """
        booked = min(tokens, self._budget.longest_thought - before if may_think else 0)
        self.thought[agent] += booked
        return booked, booked == tokens

    def serving_order(self, round: int) -> tuple[str, ...]:
        """Return the order in which simultaneous messages use up a shared cap; it rotates."""
        start = round % len(self._agents)
        return self._agents[start:] + self._agents[:start]

    @property
    def spent(self) -> bool:
        """Return whether the episode budget is used up."""
        cap = self._budget.episode
        return cap is not None and self._episode_said >= cap


def split_words(text: str) -> list[str]:
    """Cut text into short words, numbers and signs; needs no download.

    A word counts once for every eight letters. Letters that are not ASCII count by the bytes of
    their UTF-8, so that no script is cheaper than another. A number counts once for every three
    digits. One white space before a token belongs to it.
    """
    if text.isascii():
        return _ASCII.findall(text)
    return [piece for token in _TOKEN.findall(text) for piece in _short(token)]


def count_tokens(texts: Mapping[str, str], tokenize: Tokenize) -> dict[str, int]:
    """Return the number of tokens that each agent reads.

    No token of `split_words` crosses a line, so a line that many agents read is counted only once.

    Args:
        texts: agent -> text of several agents' messages.
        tokenize: tokenizer of the budget.
    """
    if tokenize is not split_words:
        return {agent: len(tokenize(text)) for agent, text in texts.items()}
    known: dict[str, int] = {}
    totals = dict.fromkeys(texts, 0)
    for agent, text in texts.items():
        for place, part in enumerate(text.split("\n")):
            line = "\n" + part if place else part
            if line not in known:
                known[line] = len(split_words(line))
            totals[agent] += known[line]
    return totals


def _short(token: str) -> list[str]:
    """Cut a token into pieces of at most eight bytes, a white space before it not counted."""
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
    """Return the longest beginning of `text` that ends at a token border and fits into `limit`.

    Tokenizers may cut a beginning differently from the whole, so the result is counted again and
    shortened until it fits.

    Returns:
        The beginning, and its length in tokens. With a limit of 0 or less both are empty.
    """
    if not text or limit <= 0:
        return "", 0
    tokens = tokenize(text)
    count = len(tokens)
    if count <= limit:
        return text, count
    for length in range(limit, 0, -1):
        beginning = "".join(tokens[:length])
        count = len(tokenize(beginning))
        if count <= limit:
            return beginning, count
    return "", 0


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate, which no file or terminal accepts, by a `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
