"""Sampling by inference servers: settings, weight syncs, and shutdown.

A team is one whole model, or adapters on one base model. Each sync writes a version of the weights
to disk and has every server load it. Sampling starts only after every server passes the probe.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from laconic.envs.checks import (
    TYPED,
    Count,
    NotNegative,
    Positive,
    Whole,
    check_fields,
)
from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.engines.base import Engine, model_policies
from laconic.learners.engines.client import (
    LaunchOptions,
    ServerClient,
    ServerDescription,
    check_server,
    check_team,
    launch_options,
)
from laconic.learners.engines.pool import ServerPool, wait_until_up
from laconic.learners.engines.probe import ProbeReference, ProbeReply
from laconic.learners.engines.process import ServerProcess, free_port
from laconic.learners.engines.server import (
    EventLoop,
    RequestCounts,
    RetryPolicy,
    Server,
    require_httpx,
)
from laconic.learners.engines.versions import WeightVersions, fingerprint
from laconic.learners.errors import ConnectionLostError, ServerError
from laconic.learners.interfaces import Prompt, SampledReply

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

T = TypeVar("T")
_SHUTDOWN_SECONDS = 10.0
"""Seconds that servers have to unload adapters when an engine closes."""


@dataclass
class ServedEngine(Engine, ABC):
    """Sample by servers of one kind; a subclass names their client."""

    url: str | Sequence[str] | None = "http://127.0.0.1:8000"
    """Address of a server, or of several; episodes go to them in turn."""
    start: Annotated[bool, TYPED] = False
    """True to start a server on this machine, which ends with the run."""
    program: str = ""
    """Command that starts a server."""
    arguments: Sequence[str] = ()
    """Additional arguments of the command."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables of the command, such as `CUDA_VISIBLE_DEVICES`."""
    start_seconds: Positive = 900.0
    """Maximum seconds until a started server is up."""
    folder: str | None = None
    """Folder for weights; servers must see it under the same path. None: `engine/` in the run
    folder."""
    max_staleness: Whole = 0
    """Number of updates by which the sampling weights may lag behind the trained ones. Above 0,
    rollouts of the next steps run beside updates and syncs."""
    tolerance: Positive | None = None
    """Mean distance of log-probabilities, nats per token, above which the probe stops the run.
    None: 1e-4 if server and trainer compute in float32, else 0.05."""
    timeout_seconds: Positive = 600.0
    """Maximum seconds for one reply."""
    patience_seconds: NotNegative = 600.0
    """Maximum seconds to wait for a server that is busy, paused or gone."""
    concurrency: Count = 256
    """Maximum number of concurrent requests to each server."""

    keeps_copies = True

    def __post_init__(self) -> None:
        """Check the settings that need no server (`SettingError`)."""
        check_fields(self, "engine")
        self._retry = RetryPolicy(self.timeout_seconds, self.patience_seconds, self.concurrency)
        self._urls = [self.url] if isinstance(self.url, str) else list(self.url or ())
        if not self.start and not self._urls:
            raise SettingError(
                "engine.url must name a server, such as http://127.0.0.1:8000; got none. Or set"
                " engine.start=true"
            )
        self._counts, self._sync_seconds = RequestCounts(), 0.0
        self._process: ServerProcess | None = None
        self._team: dict[str, HFPolicy] = {}
        self._pool: ServerPool | None = None
        self._loop: EventLoop | None = None

    @abstractmethod
    def _client(self) -> ServerClient:
        """Return the client of these servers."""

    def open(
        self, policies: Mapping[str, Any], folder: Path, processes: Processes = SINGLE_PROCESS
    ) -> None:
        """Connect to the servers or start one, and refuse those that lack something."""
        require_httpx()
        team, self._processes = model_policies(policies), processes
        check_team(team)
        self._loop, client = EventLoop(), self._client()
        place = (Path(self.folder).expanduser() if self.folder else folder / "engine").resolve()
        # All processes use the run id of the main process.
        self._versions = processes.first(WeightVersions(place, self.max_staleness + 1))
        self._synced: object = None
        try:
            options = launch_options(team, self.max_staleness)
            if self.start:
                self._urls = [processes.main(partial(self._start, client, options, place))]
            servers = [Server(url.rstrip("/"), self._retry, self._counts) for url in self._urls]
            descriptions = processes.main(partial(self._describe, client, servers, options))
        except BaseException:
            self.close()
            raise
        self._pool = ServerPool(
            client=client,
            servers=servers,
            descriptions=descriptions,
            versions=self._versions,
            reference=ProbeReference(team, self.tolerance),
            adapted=next(iter(team.values())).adapted,
            first=processes.rank,
            check_process=self._process.check if self._process else lambda: None,
        )
        self._team = team
        limits = [server.positions for server in descriptions.values() if server.positions]
        for name, policy in team.items():
            policy.sample_with(ServedSampler(self, name), min(limits, default=None))

    def sync(self) -> None:
        """Write, load and probe the present weights, unless they are those of the last sync."""
        pool, processes = self._opened(), self._processes
        fingerprints = {name: fingerprint(policy) for name, policy in self._team.items()}
        if not processes.any(fingerprints != self._synced):
            return
        began, version = time.perf_counter(), self._versions.next_version()
        # References of a failed sync describe weights that no server can have.
        pool.reference.keep(self._versions.loaded)
        loading: list[Future[list[ProbeReply]]] = []
        if pool.adapted:
            processes.main(partial(self._write_and_load_adapters, version, loading))
        else:
            ((name, policy),) = self._team.items()
            save = self._saver(policy)
            processes.main(partial(self._versions.write, version, name, save))
        # A whole model is probed before it is loaded, so its reference comes first.
        pool.reference.update(version)
        if not pool.adapted and processes.is_main:
            loading.append(self.submit(pool.load(version, pool.agents)))
        results = processes.main(partial(EventLoop.wait_all, loading))
        replies = [reply for result in results for reply in result]
        scores = pool.reference.score(replies)
        processes.main(partial(pool.verify_weights, version, replies, scores))
        # New episodes begin with this version; those in progress continue with theirs.
        self._versions.loaded.append(version)
        self._synced = fingerprints
        processes.main(lambda: self.run(pool.unload(self._versions.remove_old(self._team))))
        self._sync_seconds += time.perf_counter() - began

    def metrics(self) -> dict[str, float]:
        """Return seconds of syncs, the largest probe distance, and request counts."""
        counts = self._counts
        metrics = {
            "sync_seconds": self._sync_seconds,
            "probe_distance": self._opened().reference.max_distance,
            "requests": float(counts.requests),
            "retries": float(counts.retries),
            "restores": float(counts.restores),
        }
        self._sync_seconds, counts.requests, counts.retries, counts.restores = 0.0, 0, 0, 0
        return metrics

    def close(self) -> None:
        """Unload this run's adapters, end the started server, and return sampling to policies."""
        for policy in self._team.values():
            policy.sample_with(None)
        if self._pool is not None and self._loop is not None:
            shutdown = self._pool.shutdown(unload=self._processes.is_main)
            try:
                self._loop.submit(shutdown).result(timeout=_SHUTDOWN_SECONDS)
            except Exception:  # A lost server cannot unload, and must not hide the first error.
                pass
        if self._process is not None:
            self._process.close()
        if self._loop is not None:
            self._loop.close()
            if self._processes.is_main:
                self._versions.clear()
        self._team, self._pool, self._process, self._loop = {}, None, None, None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the event loop that owns the connections."""
        assert self._loop is not None
        return self._loop.submit(work)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on that event loop and return its result."""
        return EventLoop.wait(self.submit(work))

    @property
    def version(self) -> int:  # type: ignore[override]
        """Version of the last sync."""
        return self._versions.newest

    @property
    def sync_overwrites(self) -> bool:
        """True if the team is one whole model, which a sync replaces."""
        return not self._opened().adapted

    async def sample(self, agent: str, prompt: Prompt) -> SampledReply:
        """Sample one reply of a policy; see `ServerPool.sample`."""
        return await self._opened().sample(agent, prompt)

    def verify(self) -> None:
        """Probe a whole model again: a restarted server has the weights it started with."""
        pool = self._opened()
        if not pool.adapted:
            self.run(pool.verify_newest("after episodes were played, the version of the last sync"))

    def _opened(self) -> ServerPool:
        if self._pool is None:
            raise ServerError("the engine is closed; call open() with the policies of a team first")
        return self._pool

    def _write_and_load_adapters(
        self, version: int, loading: list[Future[list[ProbeReply]]]
    ) -> None:
        """Write adapters one by one; servers load and probe each while the next is written."""
        try:
            for name, policy in self._team.items():
                self._versions.write(version, name, self._saver(policy))
                loading.append(self.submit(self._opened().load(version, [name])))
        except BaseException:
            for future in loading:
                future.cancel()
            raise

    def _saver(self, policy: HFPolicy) -> Any:
        """Return a function that writes a policy's weights; shards are gathered on the CPU."""
        weights = None
        if self._processes.sharded and not policy.adapted:
            weights = self._processes.full_state(policy.model.state_dict(keep_vars=True))
        return partial(policy.hand_on, weights=weights)

    def _start(self, client: ServerClient, options: LaunchOptions, place: Path) -> str:
        """Start a server on this machine; return its address."""
        options = replace(options, port=free_port())
        words = [self.program, *client.command(options), *self.arguments]
        extra = {name: str(value) for name, value in self.environment.items()}
        log = place / "server.log"
        self._process = ServerProcess(words, {**client.environment, **extra}, log)
        url = f"http://127.0.0.1:{options.port}"
        server = Server(url, RetryPolicy(10.0, self.start_seconds), self._counts)
        self.run(wait_until_up(server, client.health, self._process.check))
        self.run(server.close())
        return url

    def _describe(
        self, client: ServerClient, servers: Sequence[Server], options: LaunchOptions
    ) -> dict[str, ServerDescription]:
        """Ask all servers for their properties, and check these; return them by address."""

        async def describe() -> list[ServerDescription]:
            return list(await asyncio.gather(*map(client.describe, servers)))

        variables = [f"{name}={value}" for name, value in client.environment.items()]
        command = " ".join([*variables, self.program, *client.command(options)])
        try:
            descriptions = self.run(describe())
        except ConnectionLostError as error:
            raise ServerError(
                f"{error}. Start the server first, with: {command}; or set engine.start=true"
            ) from error
        by_url = dict(zip((server.url for server in servers), descriptions, strict=True))
        for url, description in by_url.items():
            check_server(description, options, url, command)
        return by_url


@dataclass(frozen=True, slots=True)
class ServedSampler:
    """The `AsyncSampler` of one policy of a served team."""

    engine: ServedEngine
    """Engine whose servers sample."""
    agent: str
    """Name of the policy."""

    @property
    def version(self) -> int:
        """Version of the last sync."""
        return self.engine.version

    async def sample_one(self, prompt: Prompt) -> SampledReply:
        """Sample one reply."""
        return await self.engine.sample(self.agent, prompt)

    def sample(self, prompts: Sequence[Prompt]) -> list[SampledReply]:
        """Sample all replies at once."""

        async def gather() -> list[SampledReply]:
            return list(await asyncio.gather(*map(self.sample_one, prompts)))

        return self.engine.run(gather())

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the engine's event loop."""
        return self.engine.submit(work)

    def verify(self) -> None:
        """Check that the servers still have the weights of the last sync."""
        self.engine.verify()
