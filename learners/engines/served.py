"""Sampling by servers: settings, weights handed on at each sync, and the end of it all.

A team is one whole model, or adapters on one base. Each sync writes a version of the weights to
disk, has every server load it, and believes nothing until the probe has passed on each.
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
from typing import TYPE_CHECKING, Any, TypeVar

from laconic.envs.checks import number, whole
from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import ALONE, Processes
from laconic.learners.engines.base import Engine, speaking
from laconic.learners.engines.dialect import Described, Dialect, Launch
from laconic.learners.engines.expected import Expected, Spoken
from laconic.learners.engines.fit import check_fit, check_team, fingerprint, launch_for
from laconic.learners.engines.fleet import Fleet, wait_until_up
from laconic.learners.engines.http import Counts, Loop, Patience, Server, require_httpx
from laconic.learners.engines.process import Process, free_port
from laconic.learners.engines.versions import Versions
from laconic.learners.errors import Lost, ServerError
from laconic.learners.interfaces import Prompt, SampledReply

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

T = TypeVar("T")
_FAREWELL = 10.0
"""Seconds that servers have to unload what an engine that ends has loaded."""


@dataclass
class Served(Engine, ABC):
    """An engine of servers, all of one kind."""

    url: str | Sequence[str] | None = "http://127.0.0.1:8000"
    """Address of a server, or of several: episodes are dealt out to them in turn."""
    start: bool = False
    """Start a server on this machine for this run, instead of asking one that is there."""
    program: str = ""
    """What is started."""
    arguments: Sequence[str] = ()
    """Further arguments of it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it finds in its environment besides, `CUDA_VISIBLE_DEVICES` for one."""
    start_seconds: float = 900.0
    """Most seconds until it is up."""
    folder: str | None = None
    """Where weights are handed on; servers have to see it under the same path. None: `engine/` in
    the run folder."""
    max_staleness: int = 0
    """Learner updates by which the weights that play may lag behind those that learn. Above 0 the
    next groups are played while an update runs and while weights are handed on."""
    tolerance: float | None = None
    """Mean distance of log-probabilities, nats a token, above which the probe stops the run. None:
    1e-4 where all is computed in float32, else 0.05."""
    timeout_seconds: float = 600.0
    """Most seconds that one reply may take."""
    patience_seconds: float = 600.0
    """Most seconds for which a server that is busy, paused or gone is waited for."""
    concurrency: int = 256
    """Most requests under way at each server."""

    apart = True

    def __post_init__(self) -> None:
        """Check what can be checked without a server (`SettingError`)."""
        whole("engine.max_staleness", self.max_staleness, 0)
        number("engine.tolerance", self.tolerance, above=0, optional=True)
        number("engine.start_seconds", self.start_seconds, above=0)
        self._patience = Patience(self.timeout_seconds, self.patience_seconds, self.concurrency)
        self._urls = [self.url] if isinstance(self.url, str) else list(self.url or ())
        if not self.start and not self._urls:
            raise SettingError("engine.url must name a server, or set engine.start=true; got none")
        self._counts, self._sync_seconds = Counts(), 0.0
        self._process: Process | None = None
        self._team: dict[str, HFPolicy] = {}
        self._fleet: Fleet | None = None
        self._loop: Loop | None = None

    @abstractmethod
    def _dialect(self) -> Dialect:
        """How these servers are spoken to."""

    def open(self, policies: Mapping[str, Any], folder: Path, processes: Processes = ALONE) -> None:
        """Find or start the servers, and refuse what they cannot do; see `Engine`."""
        require_httpx()
        team, self._processes = speaking(policies), processes
        check_team(team)
        self._talk, self._loop = self._dialect(), Loop()
        place = (Path(self.folder).expanduser() if self.folder else folder / "engine").resolve()
        # The names that the main process gives are those of all.
        self._versions = processes.first(Versions(place, self.max_staleness + 1))
        self._synced: object = None
        try:
            launch = launch_for(team, self.max_staleness)
            if self.start:
                self._urls = [processes.main(partial(self._begin, launch, place))]
            servers = [Server(url.rstrip("/"), self._patience, self._counts) for url in self._urls]
            described = processes.main(partial(self._describe, servers, launch))
        except BaseException:
            self.close()
            raise
        self._fleet = Fleet(
            talk=self._talk,
            servers=servers,
            described=described,
            versions=self._versions,
            expected=Expected(team, self.tolerance),
            adapted=next(iter(team.values())).adapted,
            first=processes.rank,
            alive=self._process.check if self._process else lambda: None,
        )
        self._team = team
        positions = min((one.positions for one in described if one.positions), default=None)
        for name, policy in team.items():
            policy.sample_with(Voice(self, name), positions)

    def sync(self) -> None:
        """Write, load and prove a version of all weights, if they are not those of the last."""
        fleet, processes = self._opened(), self._processes
        marks = {name: fingerprint(policy) for name, policy in self._team.items()}
        if not processes.any(marks != self._synced):
            return
        began, version = time.perf_counter(), self._versions.take()
        # What was read for a sync that failed is nothing that a server could have been given.
        fleet.expected.keep(self._versions.good)
        loading: list[Future[list[Spoken]]] = []
        if fleet.adapted:
            processes.main(partial(self._hand_over_each, version, loading))
        else:
            self._hand_over(version)
        # A server may speak with a whole model already, so that what it should say comes first.
        fleet.expected.renew(version)
        if not fleet.adapted and processes.is_main:
            loading.append(self.submit(fleet.take_up(version, fleet.agents)))
        heard = processes.main(partial(Loop.wait_all, loading))
        spoken = [one for each in heard for one in each]
        wanted = fleet.expected.go_on(spoken)
        processes.main(partial(fleet.judge, version, spoken, wanted))
        # From here on episodes begin with it; those under way go on with theirs.
        self._versions.good.append(version)
        self._synced = marks
        processes.main(lambda: self.run(fleet.forget(self._versions.forget(self._team))))
        self._sync_seconds += time.perf_counter() - began

    def metrics(self) -> dict[str, float]:
        """Seconds of syncs, what the probe found last, and what was asked again."""
        counts = self._counts
        found = {
            "sync_seconds": self._sync_seconds,
            "probe_distance": self._opened().expected.furthest,
            "requests": float(counts.requests),
            "retries": float(counts.retries),
            "restores": float(counts.restores),
        }
        self._sync_seconds, counts.requests, counts.retries, counts.restores = 0.0, 0, 0, 0
        return found

    def close(self) -> None:
        """Unload what was loaded, end what was started, and let policies sample for themselves."""
        for policy in self._team.values():
            policy.sample_with(None)
        if self._fleet is not None and self._loop is not None:
            leaving = self._fleet.leave(unload=self._processes.is_main)
            try:
                self._loop.submit(leaving).result(timeout=_FAREWELL)
            except Exception:  # Servers that are gone take no leave, and must not hide why.
                pass
        if self._process is not None:
            self._process.close()
        if self._loop is not None:
            self._loop.close()
            if self._processes.is_main:
                self._versions.clear()
        self._team, self._fleet, self._process, self._loop = {}, None, None, None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin something on the loop that connections belong to."""
        assert self._loop is not None
        return self._loop.submit(work)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something there and wait for it."""
        return Loop.wait(self.submit(work))

    @property
    def version(self) -> int:  # type: ignore[override]
        """The version of the last sync."""
        return self._versions.newest

    @property
    def waits(self) -> bool:
        """Whether it is a whole model that takes another's place."""
        return not self._opened().adapted

    async def ask(self, agent: str, prompt: Prompt) -> SampledReply:
        """The reply of a policy; see `Fleet.ask`."""
        return await self._opened().ask(agent, prompt)

    def verify(self) -> None:
        """Prove a whole model once more: a server that came back has the weights it began with."""
        fleet = self._opened()
        if not fleet.adapted:
            self.run(fleet.prove_all("after episodes were played, what had been loaded"))

    def _opened(self) -> Fleet:
        if self._fleet is None:
            raise ServerError("the engine is closed; open it with the policies of a team first")
        return self._fleet

    def _hand_over(self, version: int) -> None:
        """Put a version of the whole model where servers find it."""
        ((name, policy),) = self._team.items()
        self._processes.main(partial(self._versions.write, version, name, self._saver(policy)))

    def _hand_over_each(self, version: int, loading: list[Future[list[Spoken]]]) -> None:
        """Write adapters one by one; servers load and read each while the next is written."""
        try:
            for name, policy in self._team.items():
                self._versions.write(version, name, self._saver(policy))
                loading.append(self.submit(self._opened().take_up(version, [name])))
        except BaseException:
            for one in loading:
                one.cancel()
            raise

    def _saver(self, policy: HFPolicy) -> Any:
        """Writes the weights of a policy; of sharded ones no GPU ever holds more than its part."""
        weights = None
        if self._processes.sharded and not policy.adapted:
            weights = self._processes.full_state(policy.model.state_dict(keep_vars=True))
        return partial(policy.hand_on, weights=weights)

    def _begin(self, launch: Launch, place: Path) -> str:
        """Start a server of our own; returns its address."""
        launch = replace(launch, port=free_port())
        words = [self.program, *self._talk.command(launch), *self.arguments]
        own = {name: str(value) for name, value in self.environment.items()}
        given = {**self._talk.environment, **own}
        self._process = Process(words, given, place / "server.log")
        url = f"http://127.0.0.1:{launch.port}"
        server = Server(url, Patience(10.0, self.start_seconds), self._counts)
        self.run(wait_until_up(server, self._talk.health, self._process.check))
        self.run(server.close())
        return url

    def _describe(self, servers: Sequence[Server], launch: Launch) -> list[Described]:
        async def each() -> list[Described]:
            return list(await asyncio.gather(*map(self._talk.describe, servers)))

        given = [f"{name}={value}" for name, value in self._talk.environment.items()]
        advice = " ".join([*given, self.program, *self._talk.command(launch)])
        try:
            found = self.run(each())
        except Lost as error:
            raise ServerError(
                f"{error}. Start the server first, with: {advice}; or set engine.start=true"
            ) from error
        for server, described in zip(servers, found, strict=True):
            check_fit(described, launch, server.url, advice)
        return found


@dataclass(frozen=True, slots=True)
class Voice:
    """The `AsyncSampler` of one policy of a served team."""

    engine: Served
    """Whose servers are asked."""
    agent: str
    """The policy's name."""

    @property
    def version(self) -> int:
        """Version of the last sync."""
        return self.engine.version

    async def sample_one(self, prompt: Prompt) -> SampledReply:
        """The reply to one prompt."""
        return await self.engine.ask(self.agent, prompt)

    def sample(self, prompts: Sequence[Prompt]) -> list[SampledReply]:
        """All at once."""

        async def each() -> list[SampledReply]:
            return list(await asyncio.gather(*map(self.sample_one, prompts)))

        return self.engine.run(each())

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin something on the engine's loop."""
        return self.engine.submit(work)

    def verify(self) -> None:
        """See `AsyncSampler`."""
        self.engine.verify()
