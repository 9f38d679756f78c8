"""Interface of a client for one kind of inference server, and checks of its replies.

A `ServerClient` translates requests into the endpoints of its server. It trusts nothing: a
`Completion` is checked by `check_completion` before any of it is used, and a server is checked
against the team by `check_server` before anything is sampled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from laconic.envs.errors import SettingError
from laconic.learners.engines.server import Server
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Prompt

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

_ROUNDING = 1e-4
"""Amount by which rounding may lift a log-probability above 0."""


@dataclass(frozen=True, slots=True)
class ServerDescription:
    """Properties that a server reports of itself; None if it does not report one."""

    model: str
    """Name under which it serves the base model."""
    positions: int | None = None
    """Maximum number of tokens of a conversation."""
    dtype: str | None = None
    """Type of its weights and forward passes, as torch names it."""
    rank: int | None = None
    """Highest adapter rank; 0 if it takes no adapters."""
    adapters: int | None = None
    """Maximum number of adapters loaded at once."""
    processed: bool | None = None
    """True if it divides logits by the temperature before it computes log-probabilities."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """Options that a server needs in order to sample for a team."""

    model: str
    """Name or folder of the base model."""
    port: int
    """Port on the local machine."""
    dtype: str
    """Type of its weights and forward passes."""
    rank: int
    """Highest adapter rank; 0 for no adapters."""
    adapters: int
    """Maximum number of adapters loaded at once."""
    positions: int | None
    """Maximum number of tokens of a conversation; None for the model's own."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply as the server returned it, unchecked."""

    prompt_ids: tuple[int, ...]
    """Token ids of the prompt, as the server read them."""
    ids: tuple[int, ...]
    """Token ids of the reply."""
    logprobs: tuple[float, ...]
    """Log-probability of each reply token, as many as `ids`."""
    top_logprobs: tuple[Mapping[int, float], ...] = ()
    """Log-probabilities of the most likely tokens at each place of the reply, by token id; empty
    unless requested."""


class ServerClient(Protocol):
    """Client of one kind of inference server; it keeps no state."""

    health: str
    """Path that answers 200 once the server is up."""
    environment: Mapping[str, str]
    """Environment variables that the server needs."""

    async def describe(self, server: Server) -> ServerDescription:
        """Ask the server for its properties."""
        ...

    async def complete(
        self, server: Server, prompt: Prompt, model: str, adapter: str | None, top: int = 0
    ) -> Completion:
        """Sample one reply, with the log-probabilities of the `top` most likely tokens.

        Raises:
            UnknownAdapterError: the adapter is not loaded.
            ServerError: the answer holds no completion.
        """
        ...

    async def adapters(self, server: Server) -> set[str]:
        """Return the names of the loaded adapters."""
        ...

    async def load(self, server: Server, adapter: str, folder: str) -> None:
        """Load an adapter from a folder that the server can read, under a fresh name."""
        ...

    async def unload(self, server: Server, adapter: str) -> None:
        """Unload an adapter."""
        ...

    async def reload(self, server: Server, folder: str, version: str) -> None:
        """Replace the whole model by the one in a folder, and drop all caches."""
        ...

    def command(self, options: LaunchOptions) -> list[str]:
        """Return the arguments that start a server, without the program itself."""
        ...


def check_team(team: Mapping[str, HFPolicy]) -> None:
    """Refuse a team that does not fit on one base model.

    Raises:
        SettingError: several whole models, or adapters on several base models.
    """
    adapters = {name: policy for name, policy in team.items() if policy.adapted}
    models = [name for name in team if name not in adapters]
    if len(models) > 1 or (models and adapters):
        raise SettingError(
            "a server holds one base model: it needs agent.sharing=shared (one model for all"
            " agents) or agent.sharing=lora (one adapter per agent). This team has whole models for"
            f" {', '.join(models)}"
            + (f" and adapters for {', '.join(adapters)}" if adapters else "")
            + ". Choose one of the two, or set engine=own"
        )
    bases = sorted({policy.base for policy in adapters.values()})
    if len(bases) > 1:
        raise SettingError(
            f"a server holds one base model, and the adapters of this team are on {len(bases)}:"
            f" {', '.join(bases)}. Use the same agent.model for all agents, or set engine=own"
        )


def launch_options(team: Mapping[str, HFPolicy], max_staleness: int) -> LaunchOptions:
    """Return the options of a server that can sample for a team; the port is a default."""
    policy = next(iter(team.values()))
    rank = max(policy.rank for policy in team.values())
    return LaunchOptions(
        model=policy.base,
        port=8000,
        dtype=policy.precision.computed,
        rank=rank,
        # The live versions (max_staleness + 1) stay loaded while the next one is loaded.
        adapters=len(team) * (max_staleness + 2) if rank else 0,
        positions=policy.positions,
    )


def check_server(
    description: ServerDescription, options: LaunchOptions, url: str, command: str
) -> None:
    """Refuse a server that lacks an option. Options that it does not report are left to the probe.

    Raises:
        ServerError: the message names the missing option, and the command that starts a server
            with it.
    """
    reason = ""
    if description.dtype is not None and description.dtype != options.dtype:
        reason = (
            f"it computes in {description.dtype} and the trainer in {options.dtype}"
            " (agent.precision), so every log-probability would differ by rounding"
        )
    elif options.rank and description.rank == 0:
        reason = "it takes no adapters, and every agent has one (agent.sharing=lora)"
    elif description.rank is not None and options.rank > description.rank:
        reason = f"it takes adapters up to rank {description.rank}; agent.lora.rank={options.rank}"
    elif description.adapters is not None and options.adapters > description.adapters:
        reason = (
            f"it holds {description.adapters} adapters at a time; this team needs"
            f" {options.adapters} (agents x (engine.max_staleness + 2))"
        )
    elif description.processed is False:
        reason = "its log-probabilities ignore the temperature"
    if reason:
        raise ServerError(
            f"the server at {url} cannot sample for this team: {reason}. Start it with: {command}"
        )


def check_completion(
    completion: Completion, prompt: Prompt, url: str, vocabulary: int
) -> Completion:
    """Return a completion, cut at the end of the silence word.

    Args:
        completion: reply as the server returned it.
        prompt: prompt that the server continued.
        url: address of the server, for the message.
        vocabulary: number of tokens of the model.

    Raises:
        ServerError: this cannot be a reply to the prompt. None of it may be trained on.
    """
    unknown = next((token for token in completion.ids if not 0 <= token < vocabulary), None)
    if unknown is not None:
        reason = f"token id {unknown} is outside the model's vocabulary of {vocabulary}"
    elif len(completion.ids) != len(completion.logprobs):
        reason = (
            f"it has {len(completion.ids)} tokens and {len(completion.logprobs)} log-probabilities"
        )
    else:
        size = prompt.length(completion.ids)
        completion = replace(
            completion,
            ids=completion.ids[:size],
            logprobs=completion.logprobs[:size],
            top_logprobs=completion.top_logprobs[:size],
        )
        reason = _mismatch(completion, prompt)
    if reason:
        raise ServerError(
            f"{url} returned a reply that cannot be trained on: {reason}. Nothing of it was kept."
            " Use a server that takes and returns token ids unchanged (docs/engines.md)"
        )
    return completion


def check_top_logprobs(completion: Completion, top: int, url: str, vocabulary: int) -> None:
    """Refuse a completion without the log-probabilities of the most likely first tokens.

    Raises:
        ServerError: there are fewer than requested, or some of tokens that the model lacks.
    """
    first = completion.top_logprobs[0] if completion.top_logprobs else {}
    if len(first) < min(top, vocabulary) or not all(0 <= token < vocabulary for token in first):
        raise ServerError(
            f"{url} returned the log-probabilities of {len(first)} tokens; the probe needs those of"
            f" the {top} most likely of {vocabulary} to verify the weights. Start it with a limit"
            f" of at least {top} (vLLM: --max-logprobs {top})"
        )


def _mismatch(completion: Completion, prompt: Prompt) -> str:
    """Say why a completion is no reply to the prompt; empty if it is one."""
    read, ids = completion.prompt_ids, completion.ids
    if read != prompt.ids:
        pairs = zip(read, prompt.ids, strict=False)
        shortest = min(len(read), len(prompt.ids))
        place = next((at for at, (a, b) in enumerate(pairs) if a != b), shortest)
        return (
            f"{len(prompt.ids)} prompt tokens were sent and it read {len(read)}; they differ from"
            f" token {place} on"
        )
    if not 0 < len(ids) <= prompt.limit:
        return f"it has {len(ids)} tokens; expected 1 to {prompt.limit}"
    for logprob in completion.logprobs:
        if not (math.isfinite(logprob) and logprob <= _ROUNDING):
            return f"{logprob!r} is no log-probability"
    ends = [at for at, token in enumerate(ids) if token in prompt.end_ids]
    if ends and ends[0] != len(ids) - 1:
        return f"it continues after the end token {ids[ends[0]]}"
    if not ends and len(ids) < prompt.limit and prompt.length(ids) != len(ids):
        return (
            f"it stops at token {ids[-1]} after {len(ids)} of {prompt.limit} tokens, without an end"
            f" token ({list(prompt.end_ids)}) or the whole silence word"
        )
    return ""
