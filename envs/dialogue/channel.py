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

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from laconic.envs.checks import Share, check_fields
from laconic.envs.dialogue.messages import SILENT_ROUND, Message, heard
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


class Transmission:
    """The losses of one episode, and a count of them."""

    def __init__(
        self,
        channel: Channel,
        agents: Collection[str],
        generator: np.random.Generator,
    ) -> None:
        """Draw the losses of this episode; the state of the generator itself does not change."""
        self._channel = channel
        self._places = {agent: place for place, agent in enumerate(agents)}
        bits = generator.bit_generator.spawn(1)[0]
        assert isinstance(bits, np.random.PCG64)
        self._bits, self._stream = bits, np.random.Generator(bits)
        self._next = 0
        self._blocks: dict[int, bytes] = {}
        self._sent_lost = [0, 0]

    @property
    def measures(self) -> dict[str, float]:
        """Share of the messages so far that were lost, as `lost_rate`; each listener counts."""
        sent, lost = self._sent_lost
        return {"lost_rate": lost / sent} if sent else {}

    def deliver(
        self,
        messages: Iterable[Message],
        hears: Mapping[str, Collection[str]],
        silent: Collection[str],
    ) -> dict[str, str]:
        """Return the text of each listener after a round.

        Args:
            messages: messages of the round, in the order of the agents.
            hears: agents that each listener hears.
            silent: agents that could have spoken and did not.
        """
        sent = {message.agent: message for message in messages}
        return {
            listener: self._read([sent[agent] for agent in speakers], listener, silent)
            for listener, speakers in hears.items()
        }

    def _read(self, messages: Iterable[Message], listener: str, silent: Collection[str]) -> str:
        lines = []
        for message in messages:
            lost = bool(message.text) and self.loses(message, listener)
            self._sent_lost[0] += bool(message.text)
            self._sent_lost[1] += lost
            probed = self._channel.probe and message.agent in silent
            if (lost and self._channel.mark) or probed:
                lines.append(LOST.format(agent=message.agent))
            elif message.text and not lost:
                lines.append(heard((message,)))
        return "\n".join(lines) or SILENT_ROUND

    def loses(self, message: Message, listener: str) -> bool:
        """Return whether a message is lost to a listener.

        Each pair has its place in a stream of (rounds, speakers, listeners) draws. Only the blocks
        of the stream that are needed are drawn.
        """
        place = message.round * len(self._places) + self._places[message.agent]
        if self._channel.per == "listener":
            place = place * len(self._places) + self._places[listener]
        block, offset = divmod(place, _BLOCK)
        if block not in self._blocks:
            self._bits.advance(block * _BLOCK - self._next)
            self._next = (block + 1) * _BLOCK
            self._blocks[block] = (self._stream.random(_BLOCK) < self._channel.lose).tobytes()
        return self._blocks[block][offset] == 1
