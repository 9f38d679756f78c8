"""Channel that loses messages, so that a listener cannot distinguish silence from loss.

Each published message is lost to a listener with some probability. A lost message is still charged,
counts against the budget, and its answer is graded. With `mark` listeners are told of the loss;
otherwise the sender seems silent to them.

Losses are drawn when an episode begins, so they do not depend on messages: a replay with another
message loses the same ones. They have their own random stream, so tasks and deals are the same at
any rate of loss. A message that is lost at a lower rate is also lost at a higher one.

With `probe` no message is lost, but silence that an agent chose is marked as a loss. A team then
fails on the tasks in which it used silence as information.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from laconic.envs.checks import Share, check_fields
from laconic.envs.dialogue.messages import SILENT_ROUND, Message, format_messages
from laconic.envs.dialogue.option import Option, Team
from laconic.envs.errors import SettingError

LOST = "{agent} could not be heard."
"""Text that a listener reads for a marked loss."""
_BLOCK = 64
"""Draws of the stream that are made at once; one block is an episode of a small team."""


@dataclass(frozen=True, slots=True)
class Channel:
    """Settings of lost messages."""

    lose: Share = 0.0
    """Probability that a message is lost, from 0 to 1."""
    mark: bool = False
    """Tell listeners that an agent could not be heard; otherwise it seems silent."""
    per: Literal["listener", "message"] = "listener"
    """Unit of a loss. `listener`: each listener loses messages independently. `message`: all
    listeners lose the same messages."""
    probe: bool = False
    """Lose no message, but mark silence that agents choose as a loss; needs `mark`."""

    def __post_init__(self) -> None:
        """Raise SettingError for values out of range, UnknownNameError for other words."""
        check_fields(self, "env.channel")
        if self.probe and not self.mark:
            raise SettingError(
                "env.channel.probe=true marks silences; it needs env.channel.mark=true"
            )


class Transmission(Option):
    """The option `env.channel`: the losses of one episode after the other, and a count of them."""

    settings: Channel

    def __init__(self, settings: Channel) -> None:
        """Take the settings."""
        self.set(settings)

    def set(self, settings: Channel) -> None:
        """Take other settings, from the next episode on."""
        self.settings = settings
        self.on = settings.lose > 0 or settings.probe
        self.delivers = not settings.lose

    def start(self, team: Team, generator: np.random.Generator) -> bool:
        """Draw the losses of an episode; the state of the generator itself does not change."""
        self.team = team
        self._places = {agent: place for place, agent in enumerate(team.possible_agents)}
        bits = generator.bit_generator.spawn(1)[0]
        assert isinstance(bits, np.random.PCG64)
        self._bits, self._stream = bits, np.random.Generator(bits)
        self._next = 0
        self._blocks: dict[int, bytes] = {}
        self._sent_lost = [0, 0]
        return True

    def measures(self) -> dict[str, float]:
        """Share of the messages so far that were lost, as `lost_rate`; each listener counts."""
        sent, lost = self._sent_lost
        return {"lost_rate": lost / sent} if sent else {}

    def deliver(self, texts: dict[str, str]) -> dict[str, str]:
        """Return what each agent reads of the messages that it hears, where some are lost."""
        latest, heard_by = self.team.latest, self.team.heard
        return {
            listener: self._read([latest[agent] for agent in heard_by.get(listener, ())], listener)
            for listener in texts
        }

    def _read(self, messages: Iterable[Message], listener: str) -> str:
        lines = []
        for message in messages:
            lost = bool(message.text) and self.loses(message, listener)
            self._sent_lost[0] += bool(message.text)
            self._sent_lost[1] += lost
            probed = self.settings.probe and message.agent in self.team.silent
            if (lost and self.settings.mark) or probed:
                lines.append(LOST.format(agent=message.agent))
            elif message.text and not lost:
                lines.append(format_messages((message,)))
        return "\n".join(lines) or SILENT_ROUND

    def loses(self, message: Message, listener: str) -> bool:
        """Return whether a message is lost to a listener.

        Each pair has its place in a stream of (rounds, speakers, listeners) draws. Only the blocks
        of the stream that are needed are drawn.
        """
        place = message.round * len(self._places) + self._places[message.agent]
        if self.settings.per == "listener":
            place = place * len(self._places) + self._places[listener]
        block, offset = divmod(place, _BLOCK)
        if block not in self._blocks:
            self._bits.advance(block * _BLOCK - self._next)
            self._next = (block + 1) * _BLOCK
            self._blocks[block] = (self._stream.random(_BLOCK) < self.settings.lose).tobytes()
        return self._blocks[block][offset] == 1
