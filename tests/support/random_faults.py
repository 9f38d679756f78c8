"""Kills a server, a trainer or one of two processes at random moments, and checks the outcome.

    python tests/support/random_faults.py <folder> [kills] [seed]
    LACONIC_VLLM=<vllm> python tests/support/random_faults.py <folder> 5 0    # make faults-vllm

The first form (100 kills unless said otherwise) trains the shipped policy with the test server, or
without a server in two processes. After a kill the run goes on or is started again with
`resume=true`, until it is finished. Its rows and its last checkpoint then have to be those of a run
that nothing disturbed, to the last bit: so it took the same tasks, and trained no group twice. The
second form kills a real vLLM server, whose samples may differ after a restart: rows have to be one
per step, with the same tasks. Rows are appended to <folder>/rows.jsonl, so a check that was stopped
goes on where it was.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fake_engine import FakeEngine
from runs import Outcome, Process, Processes, read
from states import alike

from laconic.learners import checkpoint
from laconic.learners.agents.tiny import TinyTeam

STEPS = 6
SMALL = [
    "env.tasks=40",
    "train.tasks_per_step=2",
    "train.group_size=2",
    f"train.steps={STEPS}",
    "train.checkpoint_every=2",
    "evaluation.tasks=4",
    "learner.minibatches=2",
    "report=false",
    "threads=1",
]
SERVED = ["agent.sharing=lora", "agent.lora.rank=4", "engine=vllm", "engine.patience_seconds=60"]
MOST_STARTS = 4
"""Starts of one run; one that is not finished by then has failed the check."""


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one kill."""

    target: str
    """`trainer`, `server` or `process`."""
    seconds: float
    """Moment of the kill, seconds after the start."""
    codes: tuple[int | None, ...]
    """Exit code of each start of the run; None for one that had to be stopped."""
    reason: str
    """Message of the start that the kill ended, empty if it went on or was killed itself."""
    right: bool
    """Whether the finished run equals the undisturbed one."""


class TestServer:
    """The test server in a process of its own, on one port."""

    def __init__(self) -> None:
        """Choose a free port and start."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    def start(self) -> None:
        """Start the server without adapters, and wait until it answers."""
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_serve, args=(self.port,), daemon=True)
        self._process.start()
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()


def _serve(port: int) -> None:
    """Serve the shipped policy until the process is killed."""
    FakeEngine(str(TinyTeam().model), port)
    signal.pause()


class Check:
    """Runs that are disturbed, and the undisturbed ones they are compared with."""

    def __init__(self, folder: Path, vllm: str | None) -> None:
        """Train the undisturbed runs.

        Args:
            folder: folder of the runs.
            vllm: command of a real server, which each run starts; None: the test server.
        """
        self.folder, self.vllm = folder, vllm
        self._processes = Processes(folder)
        self._server = None if vllm else TestServer()
        self.plain: dict[int, Path] = {}
        self.seconds: dict[int, float] = {}
        for count in (1,) if vllm else (1, 2):
            self.plain[count] = folder / f"plain_{count}"
            shutil.rmtree(self.plain[count], ignore_errors=True)
            began = time.monotonic()
            outcomes = [each.wait() for each in self._start(self.plain[count], count)]
            self.seconds[count] = time.monotonic() - began
            assert all(outcome.code == 0 for outcome in outcomes), outcomes[0].err

    def _start(self, run: Path, count: int) -> list[Process]:
        """Start a run, or continue it, by one process with a server or by two without."""
        # A new folder starts a run; one without a checkpoint yet starts it again.
        common = [*SMALL, "resume=true", f"hydra.run.dir={run}"]
        if count == 1:
            if self.vllm:
                server = ["engine.start=true", f"engine.program={self.vllm}"]
                server.append('engine.arguments=[--enforce-eager,--max-num-batched-tokens,"32768"]')
            else:
                assert self._server
                server = [f"engine.url=http://127.0.0.1:{self._server.port}"]
            return [self._processes.start("train", *common, *SERVED, *server)]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        place = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks = [{**place, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
        return [self._processes.start("train", *common, environment=each) for each in ranks]

    def kill(self, target: str, share: float, number: int) -> Row:
        """Start a run, kill the target after a share of the usual time, and finish the run."""
        count = 2 if target == "process" else 1
        run, seconds = self.folder / f"run_{number}", share * self.seconds[count]
        shutil.rmtree(run, ignore_errors=True)
        started = self._start(run, count)
        time.sleep(seconds)
        if target == "server" and self._server:
            self._server.kill()
            time.sleep(0.3)
            self._server.start()
        elif target == "server":
            _kill_children(started[0].pid)
        else:
            _kill(started[number % count].pid)
        outcomes = [each.wait(120) for each in started]
        codes, reason = [_worst(outcomes)], _reason(outcomes)
        while codes[-1] != 0 and len(codes) < MOST_STARTS:
            codes.append(_worst([each.wait(300) for each in self._start(run, count)]))
        right = codes[-1] == 0 and self._equal(run, self.plain[count])
        if right:
            shutil.rmtree(run)
        return Row(target, round(seconds, 2), tuple(codes), reason, right)

    def _equal(self, run: Path, plain: Path) -> bool:
        """Return whether a run took the steps of another one, and each once."""
        rows, expected = (read(folder / "metrics.jsonl") for folder in (run, plain))
        if self.vllm:
            # The record of each step names its task.
            tasks = [[row["task"] for row in read(f / "groups.jsonl")] for f in (run, plain)]
            return [row["step"] for row in rows] == [*range(STEPS + 1)] and tasks[0] == tasks[1]
        states = (checkpoint.load(checkpoint.latest(f / "checkpoints")) for f in (run, plain))
        return _figures(rows) == _figures(expected) and alike(*states)

    def close(self) -> None:
        """End the server and the processes."""
        self._processes.close()
        if self._server:
            self._server.kill()


def _figures(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without seconds, memory and counts of requests, which differ from run to run."""
    costs = ("time/", "memory/", "engine/")
    return [{k: v for k, v in row.items() if not k.startswith(costs)} for row in rows]


def _worst(outcomes: Sequence[Outcome]) -> int | None:
    """Return the exit code of processes: 0 if all have it, else the first other one."""
    return next((outcome.code for outcome in outcomes if outcome.code != 0), 0)


def _reason(outcomes: Sequence[Outcome]) -> str:
    """Return the last line of the first process that ended with a message."""
    messages = [each.err.strip().splitlines() for each in outcomes if each.code not in (0, -9)]
    return next((lines[-1][:200] for lines in messages if lines), "")


def _kill(pid: int) -> None:
    """Kill a process if it still runs."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _kill_children(pid: int) -> None:
    """Kill what a process started, with all that these started."""
    import psutil

    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return
    for child in children:
        _kill(child.pid)


@contextmanager
def _open(folder: Path, vllm: str | None) -> Iterator[Callable[..., Row]]:
    check = Check(folder, vllm)
    try:
        yield check.kill
    finally:
        check.close()


def main() -> int:
    """Kill and check; return 1 if a run did not come out right."""
    folder = Path(sys.argv[1]).resolve()
    kills, seed = (int(word) for word in (*sys.argv[2:], "100", "0")[:2])
    vllm = os.environ.get("LACONIC_VLLM")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / ("vllm.jsonl" if vllm else "rows.jsonl")
    generator = random.Random(seed)
    targets = ("server",) if vllm else ("trainer", "server", "process")
    drawn = [(generator.choice(targets), generator.random()) for _ in range(kills)]
    done = read(file) if file.exists() else []
    if len(done) < kills:
        with _open(folder, vllm) as kill:
            for number in range(len(done), kills):
                row = asdict(kill(*drawn[number], number))
                with open(file, "a") as out:
                    print(json.dumps(row), file=out)
                print(number + 1, row, flush=True)
    rows = read(file)
    for target in targets:
        mine = [row for row in rows if row["target"] == target]
        went_on = sum(len(row["codes"]) == 1 for row in mine)
        print(f"{target}: {len(mine)} kills, {went_on} went on, {len(mine) - went_on} resumed")
    print(Counter(row["reason"].split(":")[0] for row in rows if row["reason"]))
    wrong = [row for row in rows if not row["right"]]
    print(f"not right: {wrong}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
