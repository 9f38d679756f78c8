"""A very small policy, small sizes, and two ways to run a program: here, or in its own process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from places import ROOT


@dataclass(frozen=True)
class Outcome:
    """What a program left."""

    code: int | None
    out: str
    err: str

    @property
    def message(self) -> str:
        """Return the error output, after checking that it has no traceback."""
        assert "Traceback" not in self.err + self.out, self.err
        return self.err


@pytest.fixture(scope="session", autouse=True)
def _short_errors() -> Iterator[None]:
    """Messages instead of tracebacks, whatever the shell of the tester asks for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HYDRA_FULL_ERROR", raising=False)
        patch.delenv("LACONIC_TRACEBACK", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def composed_once() -> Iterator[None]:
    """Read every yaml once and compose a command once; see `parsed.py`."""
    # Where Hydra is installed, its plugin imports it; environments are tested without it too.
    if "hydra" not in sys.modules:
        yield
        return
    from parsed import PATCHES

    with pytest.MonkeyPatch.context() as patch:
        for owner, name, make in PATCHES:
            patch.setattr(owner, name, make())
        yield


@pytest.fixture(scope="session")
def coarse_pictures() -> Iterator[None]:
    """Save pictures with 40 dots per inch, which takes half the time."""
    import matplotlib

    with matplotlib.rc_context({"savefig.dpi": 40}):
        yield


@pytest.fixture
def usual_resolution() -> Iterator[None]:
    """Save pictures as outside the tests, where no resolution but that of the style is set."""
    import matplotlib

    with matplotlib.rc_context({"savefig.dpi": matplotlib.rcParamsDefault["savefig.dpi"]}):
        yield


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write reports as on a machine without matplotlib, for tests that read their text alone."""
    monkeypatch.setattr("laconic.extras.report.look.can_draw", lambda: False)


@pytest.fixture(scope="session")
def policy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a random policy of the tiny kind, far smaller than the shipped one."""
    # Imported here because it takes long, and every test loads this module.
    from laconic import envs
    from laconic.learners.agents.hf import HFPolicy, SamplingSettings
    from laconic.learners.agents.tiny.new import ModelConfig, build_model, build_tokenizer

    folder = tmp_path_factory.mktemp("policy")
    tasks = envs.make("gsm8k", free=True, tasks=50, generator={"level": 1, "distractors": 1}).tasks
    tokenizer = build_tokenizer([task.text for task in tasks.values()], 400)
    config = ModelConfig(vocabulary=400, hidden=16, layers=1, heads=2, intermediate=16)
    model = build_model(tokenizer, config, seed=0)
    # With their random rows a greedy reply would repeat the control token it follows.
    model.get_input_embeddings().weight.data[:5] = 0.0
    HFPolicy(model, tokenizer, SamplingSettings()).save(folder)
    return folder


@pytest.fixture(scope="session")
def small(policy_folder: Path) -> list[str]:
    """Overrides with which a training takes about a second."""
    return [
        f"agent.model={policy_folder}",
        "agent.sampling.max_reply_tokens=6",
        "env.tasks=20",
        "train.tasks_per_step=2",
        "train.group_size=2",
        "train.steps=4",
        "train.checkpoint_every=2",
        "train.evaluate_every=2",
        "evaluation.tasks=4",
        "evaluation.batch=4",
        "evaluation.transcripts=2",
        "learner.minibatches=2",
        # Random weights solve nothing, so only a price that is always charged gives them contrast.
        "learner/price=fixed",
        # A rate that falls with the length of the run would tell a longer run from a resumed one.
        "learner.decay_updates=null",
        # Pictures take half of the time of so small a training.
        "report=false",
        "threads=1",
    ]


@pytest.fixture(scope="session")
def run(composed_once: None, coarse_pictures: None) -> Callable[..., Outcome]:
    """Run a program, by its name with `_` for `-`, with some arguments in this process.

    The environments of other packages that it offers are gone again after it.
    """
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance().repo

    def call(name: str, *arguments: str) -> Outcome:
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(store, "env", dict(store.get("env", {})))
            patch.setattr(sys, "argv", [f"{name}.py", *arguments])
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    import_module(module_of(name)).main()
                except SystemExit as end:
                    code = end.code if isinstance(end.code, int) else 1
        return Outcome(code, out.getvalue(), err.getvalue())

    return call


@pytest.fixture(scope="session")
def trained(
    run: Callable[..., Outcome], small: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Outcome]:
    """Return the folder and the outcome of a training of four steps without disturbance."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    outcome = run("train", *small, "report=true", f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    return folder, outcome


@pytest.fixture(scope="session")
def outside() -> Iterator[Path]:
    """Put a user's modules on the path; return their folder, which has choices as well."""
    folder = Path(__file__).with_name("outside")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder


@pytest.fixture(scope="session")
def my_package(
    code_blocks: Callable[[Path], list[Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Write the packages of the tutorials to a folder on the path, and return it."""
    folder = tmp_path_factory.mktemp("outside")
    for page in ("own_environment", "own_algorithm", "own_benchmark", "games", "packages"):
        for block in code_blocks(ROOT / "docs" / f"{page}.md"):
            if block.file:
                (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
                # Two pages add imports to one `__init__.py`.
                with (folder / block.file).open("a") as file:
                    file.write(f"{block.code}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder


def module_of(name: str) -> str:
    """Return the module of a program."""
    from laconic.experiments.command_line import programs

    program = programs.find(name.replace("_", "-"))
    assert program is not None, name
    return program.module


class Processes:
    """Starts programs beside this process; see `process_server.py`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("process_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "src"),
                "OMP_NUM_THREADS": "1",
                "OMP_WAIT_POLICY": "PASSIVE",
            },
        )

    def start(
        self,
        name: str,
        *arguments: str,
        path: Sequence[str] = (),
        **wishes: Any,
    ) -> Process:
        """Start a program; `wishes`: `die`, `number`, `limit`, `patience` and `environment`."""
        self._count += 1
        request = {
            "program": module_of(name),
            "arguments": arguments,
            "out": str(self._folder / f"{self._count}.out"),
            "err": str(self._folder / f"{self._count}.err"),
            "folder": str(self._folder),
            "path": list(path),
            **wishes,
        }
        return Process(self, self.ask(request), Path(request["out"]), Path(request["err"]))

    def run(self, name: str, *arguments: str, **wishes: Any) -> Outcome:
        """Start and wait for the end."""
        return self.start(name, *arguments, **wishes).wait()

    def ask(self, request: dict[str, Any]) -> Any:
        """Send a request and read the answer."""
        assert self._server.stdin and self._server.stdout
        print(json.dumps(request), file=self._server.stdin, flush=True)
        return json.loads(self._server.stdout.readline())

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin
        self._server.stdin.close()
        self._server.wait(timeout=60)


@dataclass(frozen=True)
class Process:
    """One program that runs."""

    processes: Processes
    pid: int
    out: Path
    err: Path

    def wait(self, seconds: float = 300.0) -> Outcome:
        """Wait for the end; the code is None if it does not come in time."""
        code = self.processes.ask({"wait": self.pid, "seconds": seconds})
        return Outcome(code, self.out.read_text(), self.err.read_text())


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Programs in processes of their own, which can be killed."""
    if not hasattr(os, "fork"):
        pytest.skip("needs a system with fork")
    started = Processes(tmp_path_factory.mktemp("processes"))
    yield started
    started.close()


@pytest.fixture
def together(processes: Processes) -> Callable[..., list[Process]]:
    """Starts the processes of one program, the second with wishes; gives them by rank."""

    def call(
        name: str,
        count: int,
        *arguments: str,
        folders: Sequence[Path],
        second: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        path: Sequence[str] = (),
    ) -> list[Process]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        common = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        common |= environment or {}
        return [
            processes.start(
                name,
                *arguments,
                f"hydra.run.dir={folders[rank]}",
                environment={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                path=path,
                **(second or {} if rank == 1 else {}),
            )
            for rank in range(count)
        ]

    return call


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def rows() -> Callable[[Path], list[dict[str, Any]]]:
    """Reads a JSON Lines file."""
    return read


@pytest.fixture(scope="session")
def timeless() -> Callable[[Path], list[dict[str, Any]]]:
    """Reads a JSON Lines file without the figures of seconds and memory."""

    def call(path: Path) -> list[dict[str, Any]]:
        costs = ("time/", "memory/")
        return [
            {name: value for name, value in row.items() if not name.startswith(costs)}
            for row in read(path)
        ]

    return call
