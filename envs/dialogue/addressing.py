"""Addresses: a message may name the agents that are to hear it.

    @helper_1, solver: The box holds 12 pens.

The setting `env.addressing` says which addresses count:

- `none`: no message has an address, and each goes to all agents that the topology links to it.
- `names`: an address lists agents and roles. Of the linked agents only those hear the message.
- `scopes`: an address lists scopes. `near` are the linked agents, `team` are those at most two
  links away, and `all` is the whole team. So a message can reach further than the topology.

An address stands at the very beginning of the first line. It is part of the message: listeners read
it, and it is counted and charged. Without an address the linked agents hear a message. If an
address fits no agent, no agent hears it. Case, emphasis and full-width signs do not matter, and
`@Helper 1` is `@helper_1`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from laconic.envs.dialogue.channel import Transmission
from laconic.envs.dialogue.characters import ascii_alike
from laconic.envs.dialogue.messages import Message
from laconic.envs.dialogue.roster import role_of

Addressing = Literal["none", "names", "scopes"]
Hearing = Mapping[str, tuple[str, ...]]
"""Agents that each listener hears."""
EXPLAINED: Mapping[Addressing, str] = {
    "none": "",
    "names": (
        " Begin a message with names or roles, as in `@name, role:`, and they alone hear it."
    ),
    "scopes": (
        " Begin a message with `@team:`, and those linked to your listeners hear it too; begin it"
        " with `@all:`, and all agents hear it."
    ),
}
"""Sentence of the rules that agents read."""
_NEAR = frozenset(("near",))
"""Scope of a message without an address."""
_DRESSING = " \t*`"
_LONGEST = 10_000
"""Characters of a message in which its address ends."""
_BETWEEN = re.compile(r"[,;&/]|\band\b")
# The number of an agent stands apart from its role, or against it.
_NUMBER = re.compile(r"(?<=[^\W\d_])[ -]?(?=[0-9]+\Z)")


def address_of(message: str) -> frozenset[str] | None:
    """Return the names in the address of a message; None for a message without an address.

    They are in one spelling (`_name`), and may be names of no agent. A text such as
    `@ 3 dollars: 6` has no address, because its words cannot be names.
    """
    line = ascii_alike(message.lstrip(_DRESSING).split("\n", 1)[0][:_LONGEST])
    head, colon, _ = line.strip(_DRESSING).partition(":")
    if not colon or not head.startswith("@") or head.splitlines() != [head]:
        return None
    parts = (part.strip(_DRESSING).removeprefix("@") for part in _BETWEEN.split(head[1:]))
    names = frozenset(map(_name, parts))
    return names if all(name.isidentifier() for name in names) else None


def is_addressed(message: str, listener: str) -> bool:
    """Return whether a message has no address, or one with the name or role of a listener."""
    return _fits(address_of(message), listener)


def _fits(names: frozenset[str] | None, listener: str) -> bool:
    return names is None or not names.isdisjoint((_name(listener), _name(role_of(listener))))


def _name(text: str) -> str:
    """Write a name in one spelling: `Helper 1` as `helper_1`."""
    return _NUMBER.sub("_", text.strip(_DRESSING)).casefold()


def hearing_by_address(
    addressing: Addressing, linked: Hearing, messages: Mapping[str, str]
) -> Hearing:
    """Return whom each agent hears in a round.

    Args:
        addressing: addresses that count.
        linked: agents that each listener is linked to.
        messages: message of each agent; empty for silence.
    """
    if addressing == "none":
        return linked
    return (hearing_by_name if addressing == "names" else hearing_by_scope)(linked, messages)


def hearing_by_name(linked: Hearing, messages: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return whom each agent hears in a round, with addresses by name."""
    names = {speaker: address_of(message) for speaker, message in messages.items()}
    return {
        listener: tuple(speaker for speaker in speakers if _fits(names.get(speaker), listener))
        for listener, speakers in linked.items()
    }


def hearing_by_scope(linked: Hearing, messages: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return whom each agent hears in a round, with addresses by scope.

    Listeners that `linked` lacks hear no agent, whatever the scope.
    """
    hears: dict[str, list[str]] = {listener: [] for listener in linked}
    reached = listeners_of(linked)
    for speaker, message in messages.items():
        scopes = address_of(message)
        for listener in _listeners(reached, linked, speaker, _NEAR if scopes is None else scopes):
            hears[listener].append(speaker)
    return {listener: tuple(speakers) for listener, speakers in hears.items()}


def listeners_of(hears: Hearing) -> dict[str, list[str]]:
    """Return the listeners of each agent that any agent hears."""
    listeners: dict[str, list[str]] = {}
    for listener, speakers in hears.items():
        for speaker in speakers:
            listeners.setdefault(speaker, []).append(listener)
    return listeners


def _listeners(
    reached: Mapping[str, list[str]], linked: Hearing, speaker: str, scopes: frozenset[str]
) -> set[str]:
    """Return the listeners of a speaker in the widest of some scopes."""
    if "all" in scopes:
        return {*linked} - {speaker}
    near = set(reached.get(speaker, ()))
    if "team" in scopes:
        further = (listener for each in near for listener in reached.get(each, ()))
        return {*near, *further} - {speaker}
    return near if "near" in scopes else set()


@dataclass(slots=True)
class Audience:
    """The listeners of the messages of one episode, round by round, and a count of them."""

    addressing: Addressing
    """Addresses that count."""
    listeners: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Agents that hear each agent that spoke in the present round."""
    _counts: tuple[int, int, int] = (0, 0, 0)
    """Messages of the rounds before, their listeners, and the messages without any."""

    def gather(self, linked: Hearing, messages: Mapping[str, Message]) -> Hearing:
        """Find the listeners of a round; return whom each agent hears."""
        texts = {agent: message.text for agent, message in messages.items()}
        hears = hearing_by_address(self.addressing, linked, texts)
        reached = listeners_of(hears)
        self.listeners = {
            speaker: tuple(reached.get(speaker, ())) for speaker, text in texts.items() if text
        }
        return hears

    def count(self) -> None:
        """Count the messages of the present round; those of the last one are heard by no agent."""
        sizes = [len(each) for each in self.listeners.values()]
        sent, reached, unheard = self._counts
        self._counts = sent + len(sizes), reached + sum(sizes), unheard + sizes.count(0)

    def tokens_heard(
        self, messages: Mapping[str, Message], transmission: Transmission | None
    ) -> dict[str, int]:
        """Return the message tokens of the round that each agent hears, without lost messages."""
        tokens = dict.fromkeys(messages, 0)
        for speaker, listeners in self.listeners.items():
            message = messages[speaker]
            for listener in listeners:
                lost = transmission and transmission.loses(message, listener)
                tokens[listener] += 0 if lost else message.tokens
        return tokens

    @property
    def measures(self) -> dict[str, float]:
        """Mean number of listeners of a message, and share of the messages without any."""
        sent, reached, unheard = self._counts
        return {"listeners": reached / sent, "unheard_rate": unheard / sent} if sent else {}
