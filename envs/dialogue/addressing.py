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
from typing import Literal

import numpy as np

from laconic.envs.dialogue.characters import ascii_alike
from laconic.envs.dialogue.messages import Message
from laconic.envs.dialogue.option import Option, Team
from laconic.envs.dialogue.reward import Reward
from laconic.envs.dialogue.roster import Hearing, listeners_of, role_of

Addressing = Literal["none", "names", "scopes"]
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


class Recipients(Option):
    """The option `env.addressing`; it also counts listeners, where each of them costs."""

    settings: Addressing

    def __init__(self, addressing: Addressing, reward: Reward) -> None:
        """Take the addresses that count, and the price of a token."""
        self.settings = addressing
        self.rule = EXPLAINED[addressing]
        self.prefix = "" if addressing == "none" else f"env.addressing={addressing}"
        self.on = addressing != "none" or _counts_listeners(reward)

    def start(self, team: Team, generator: np.random.Generator) -> bool:
        """Start the counts of an episode."""
        self.team, self._answering = team, frozenset(team.answering)
        self._told: set[str] = set()
        self._listeners: dict[str, list[str]] = {}
        self._sizes: list[int] = []
        self._unheard: set[tuple[str, int]] = set()
        return self.settings != "none" or _counts_listeners(team.reward)

    def hear(self, hears: Hearing) -> Hearing:
        """Return whom each agent hears; note who told the answering agents something.

        Where no answering agent is linked to the speaker, any listener counts instead.
        """
        texts = {agent: message.text for agent, message in self.team.latest.items()}
        linked_to, hears = listeners_of(hears), hearing_by_address(self.settings, hears, texts)
        reached = listeners_of(hears)
        self._listeners = {agent: reached.get(agent, []) for agent, text in texts.items() if text}
        for speaker, listeners in self._listeners.items() if self.settings != "none" else ():
            linked = frozenset(linked_to.get(speaker, ()))
            targets = linked & self._answering or linked
            to_all = address_of(texts[speaker]) is None
            if to_all or not targets.isdisjoint(listeners):
                self._told.add(speaker)
            if not listeners:
                self._unheard.add((speaker, self.team.latest[speaker].round))
        return hears

    def deliver(self, texts: dict[str, str]) -> dict[str, str]:
        """Count the listeners of a round; no agent hears the messages of the last one."""
        if self.team.agents:
            self._sizes += map(len, self._listeners.values())
        return texts

    def knows(self, agent: str, share: tuple[int, ...], told: bool) -> tuple[tuple[int, ...], bool]:
        """Return whether a message of the agent was meant for those that answer."""
        return share, told if self.settings == "none" else agent in self._told

    def reaches(self, message: Message) -> bool:
        """Return whether a message had any listener."""
        return self.settings == "none" or (message.agent, message.round) not in self._unheard

    def measures(self) -> dict[str, float]:
        """Mean number of listeners of a message, and share of the messages without any."""
        sizes = self._sizes
        if not sizes:
            return {}
        return {"listeners": sum(sizes) / len(sizes), "unheard_rate": sizes.count(0) / len(sizes)}


def _counts_listeners(reward: Reward) -> bool:
    return reward.charge == "listeners" or reward.read_price > 0
