"""The contract between a policy and whoever samples for it: token ids in, token ids out.

An engine is never shown text, and what it gives back is never put into tokens again. It is opened
with the policies of a team, takes up their weights when `sync` is called, and is closed at the end.
`Own` is the engine of today's process: nothing is copied, and nothing has to be brought up to date.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import ALONE, Processes

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy
    from laconic.learners.agents.silence import ReplyEnd

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation that is to be gone on with, and how."""

    ids: tuple[int, ...]
    """Its tokens."""
    limit: int
    """Most tokens of the reply, its end token among them; at least 1."""
    end_ids: tuple[int, ...]
    """Tokens that end a reply; they are kept in it."""
    temperature: float
    """Divides the logits; log-probabilities are those of the divided ones. 0 takes the likeliest
    token, with the log-probability it has undivided."""
    seed: int
    """Of what is drawn."""
    episode: int = 0
    """The episode it belongs to; the turns of one are kept on one server."""
    version: int | None = None
    """Version of the weights that are to speak; None for the newest."""
    reply_end: ReplyEnd | None = field(default=None, compare=False)
    """Finds the silence word, which ends a reply too, and has the stop strings of a server. None:
    only end tokens and the limit end it."""

    @property
    def stops(self) -> tuple[str, ...]:
        """Strings at which a server stops sampling; the reply is cut exactly when it comes."""
        return () if self.reply_end is None else self.reply_end.stops

    def length(self, ids: Sequence[int]) -> int | None:
        """Return the tokens of a reply up to the end of the silence word; None without the word."""
        return None if self.reply_end is None else self.reply_end.length(ids)


@dataclass(frozen=True, slots=True)
class Sampled:
    """A reply as it was sampled."""

    ids: tuple[int, ...]
    """Its tokens, the end token among them."""
    logprobs: tuple[float, ...]
    """The log-probability of each under the engine's distribution."""
    version: int | None = None
    """Version of the weights that sampled it, counted by the engine's syncs; None where there is
    but one."""


@runtime_checkable
class Sampler(Protocol):
    """Samples for one policy."""

    def sample(self, prompts: Sequence[Prompt]) -> list[Sampled]:
        """A reply to each prompt, in order."""
        ...


@runtime_checkable
class AsyncSampler(Sampler, Protocol):
    """Samples each prompt by itself, so that a slow reply holds up nobody."""

    @property
    def version(self) -> int:
        """Version of the newest weights that can speak."""
        ...

    async def sample_one(self, prompt: Prompt) -> Sampled:
        """The reply to one prompt; awaited on the loop of `submit`."""
        ...

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a coroutine on the loop that the engine's connections belong to."""
        ...

    def verify(self) -> None:
        """Make sure that the weights that speak are still those of the last sync.

        Raises:
            ServerError: they are not, and what was played since must not be trained on.
        """
        ...


class Engine:
    """Samples with the policies' own models, in this process; others take the models' place."""

    max_staleness: int = 0
    """Learner updates by which the weights that play may lag behind those that learn."""
    apart: bool = False
    """Whether the weights that play are held elsewhere, so that no process needs them whole."""

    version: int | None = None
    """Version of the weights that speak, counted by syncs; None where there is but one."""

    def open(
        self,
        policies: Mapping[str, Any],
        folder: Path,
        processes: Processes = ALONE,
    ) -> None:
        """Sample for these policies from now on.

        Args:
            policies: by agent; scripts and clients of other servers are left as they are.
            folder: of the run, in which an engine keeps what it hands on.
            processes: those that play together; all call every method.

        Raises:
            SettingError: the engine cannot speak for these policies.
            ServerError: a server is not there, or not what it has to be.
        """

    def sync(self) -> None:
        """Let the policies' present weights speak; nothing is done where they do already.

        Raises:
            ServerError: they could not be loaded, or the server speaks with others.
        """

    @property
    def waits(self) -> bool:
        """Whether a sync takes the place of weights that may still be speaking."""
        return False

    def metrics(self) -> dict[str, float]:
        """What happened since the last call, by name; empty for none."""
        return {}

    def close(self) -> None:
        """Let go of everything; the policies sample for themselves again."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def speaking(policies: Mapping[str, Any]) -> dict[str, HFPolicy]:
    """The distinct policies that speak with a model, each by the first of its agents.

    Raises:
        SettingError: there are none.
    """
    from laconic.learners.agents.policy import HFPolicy

    found: dict[int, tuple[str, HFPolicy]] = {}
    for agent, policy in policies.items():
        if isinstance(policy, HFPolicy):
            found.setdefault(id(policy), (agent, policy))
    if not found:
        kinds = ", ".join(sorted({type(one).__name__ for one in policies.values()}))
        raise SettingError(
            f"an engine samples for agents with weights of ours, and this team has none ({kinds});"
            " set engine=own"
        )
    return dict(found.values())
