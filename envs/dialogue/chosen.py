"""Options that the settings of an environment choose. A new one is listed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from laconic.envs.checks import check_fields
from laconic.envs.dialogue.addressing import Addressing, Recipients
from laconic.envs.dialogue.by_reply import ByReply, LinksByReply
from laconic.envs.dialogue.channel import Channel, Transmission
from laconic.envs.dialogue.faults import Fault, Faults
from laconic.envs.dialogue.option import Option
from laconic.envs.dialogue.reward import Reward
from laconic.envs.dialogue.roster import Roster
from laconic.envs.dialogue.roster import Topology as FixedTopology
from laconic.envs.task import Benchmark, Task

Topology = FixedTopology | ByReply


@dataclass(frozen=True, slots=True)
class TeamOptions:
    """Settings of the options that every environment has."""

    addressing: Addressing = "none"
    """Whether a message may name its listeners (`envs.dialogue.addressing`)."""
    channel: Channel | None = None
    """Settings of lost messages (`envs.dialogue.channel`)."""

    def __post_init__(self) -> None:
        """Check the values."""
        check_fields(self, "env")


@dataclass(frozen=True, slots=True)
class DialogueOptions(TeamOptions):
    """Settings of the options of a dialogue."""

    fault: Fault | None = None
    """Fault of one agent (`envs.dialogue.faults`)."""


def team_options(
    settings: TeamOptions, topology: Topology, roster: Roster, reward: Reward
) -> list[Option]:
    """Return the options that every environment has, in the order in which they act."""
    by_reply = ByReply.of(topology)
    return [
        *([] if by_reply is None else [LinksByReply(by_reply, roster.joint)]),
        Transmission(settings.channel or Channel()),
        Recipients(settings.addressing, reward),
    ]


def dialogue_options(
    settings: DialogueOptions,
    topology: Topology,
    roster: Roster,
    reward: Reward,
    *,
    benchmark: Benchmark,
    tasks: Sequence[Task],
    readers: Sequence[str],
    rounds: int,
) -> list[Option]:
    """Return the options of a dialogue, in the order in which they act.

    Args:
        settings: settings of the options.
        topology: topology of the settings.
        roster: agents of the team.
        reward: price of a token.
        benchmark: benchmark of the tasks.
        tasks: tasks that episodes are drawn from.
        readers: agents that read statements.
        rounds: most rounds of an episode.
    """
    fault = Faults(settings.fault or Fault(), benchmark)
    fault.find_places(tasks, roster, rounds, readers)
    return [*team_options(settings, topology, roster, reward), fault]
