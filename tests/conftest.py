"""The code blocks of documentation pages, and a server of chat completions that fails as told."""

from __future__ import annotations

import gc
import json
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

pytest_plugins = ["runs", "tiers"]
"""Programs that run, here or in processes of their own, and the marks of the quick tests."""

# Before torch is imported, and for all processes of the tests: at their sizes threads cost more
# than they save, and many times more where each worker of the tests has some on every core.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Nothing that is imported becomes garbage.
gc.disable()


def pytest_collection_finish() -> None:
    """Search for garbage less often than after every 700 objects, and never among imports.

    The search took 7 % of the time of the tests of agents.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Begin with one thread, whatever an earlier test has set."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() > 1:
        torch.set_num_threads(1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a stretch of tests; a worker without tests steals from another's end.

    So only one worker makes the things that neighbors share, such as a training.
    """
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


_NAMED = re.compile(r"`([\w./]+)`:")


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    kind: str
    """Its language; empty where the page names none."""
    file: str | None
    """File to write it to; the line before names it, as in `` `my_package/password.py`: ``."""
    code: str
    """Text of the block."""
    line: int
    """Lines of the page up to its first one."""


class FaultServer:
    """A server of chat completions that records its requests and fails on demand."""

    def __init__(self) -> None:
        self.faults: deque[str] = deque()
        """Faults of the next requests, one each; `""` is none. Later requests have none."""
        self.say: Callable[[dict[str, Any]], str] = lambda body: f"#### {len(body['messages'])}"
        """Text of the answer to a body."""
        self.change: Callable[[dict[str, Any]], Any] = lambda completion: completion
        """Last change of a completion before it is sent."""
        self.upstream: str | None = None
        """Base URL of a real server that answers in place of `say`."""
        self.seconds = 0.0
        """Seconds that an answer takes."""
        self.bodies: list[dict[str, Any]] = []
        """Bodies of all requests, in order of arrival."""
        self.keys: list[str | None] = []
        """Authorization header of each request."""
        self.headers: list[dict[str, str]] = []
        """Headers of each request, with names in lower case."""
        self.times: list[float] = []
        """Time of each arrival, by the monotonic clock."""
        self.most = 0
        """Maximum number of concurrent requests so far."""
        self._now = 0
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"server_of_faults": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def calls(self) -> int:
        return len(self.bodies)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def begin(self, body: dict[str, Any], headers: dict[str, str]) -> str:
        """Record a request and return its fault."""
        with self._lock:
            self.bodies.append(body)
            self.keys.append(headers.get("authorization"))
            self.headers.append(headers)
            self.times.append(time.monotonic())
            self._now += 1
            self.most = max(self.most, self._now)
            return self.faults.popleft() if self.faults else ""

    def end(self) -> None:
        with self._lock:
            self._now -= 1

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return an answer that counts ten tokens read per message and one written per word."""
        if self.upstream is not None:
            request = urllib.request.Request(
                f"{self.upstream}/chat/completions",
                json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.loads(response.read())
        text = self.say(body)
        written = len(text.split())
        return {
            "choices": [
                {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 10 * len(body["messages"]), "completion_tokens": written},
        }


class _Handler(BaseHTTPRequestHandler):
    """Handles each request as its fault says."""

    server_of_faults: FaultServer
    """Server that this handler belongs to."""
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = self.server_of_faults.begin(body, headers)
        try:
            self._answer(fault, body)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            self.server_of_faults.end()

    def _answer(self, fault: str, body: dict[str, Any]) -> None:
        kind, _, detail = fault.partition(" ")
        if kind.isdigit():
            headers = {"Retry-After": detail} if detail else {}
            return self._send(int(kind), b'{"error": "a fault"}', headers)
        if kind == "refuse":
            return self._send(400, detail.encode())
        if kind == "redirect":
            return self._send(307, b"", {"Location": detail})
        if kind == "drops":
            return self._drop(float(detail))
        if kind == "slow":
            time.sleep(float(detail))
        if kind == "hangup":
            return self._reset()
        time.sleep(self.server_of_faults.seconds)
        whole = json.dumps(
            self.server_of_faults.change(self.server_of_faults.completion(body))
        ).encode()
        if kind == "half":
            self._head(200, len(whole))
            self.wfile.write(whole[: len(whole) // 2])
            self.wfile.flush()
            return self._reset()
        if kind == "send":
            return self._send(200, detail.encode())
        return self._send(200, whole)

    def _drop(self, seconds: float) -> None:
        """Send an answer byte by byte."""
        whole = json.dumps(self.server_of_faults.completion({"messages": []})).encode()
        self._head(200, len(whole))
        for letter in whole:
            self.wfile.write(bytes([letter]))
            self.wfile.flush()
            time.sleep(seconds)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._head(status, len(body), headers)
        self.wfile.write(body)

    def _head(self, status: int, size: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def _reset(self) -> None:
        """Reset the connection."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.connection.close()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def make_fault_server() -> Iterator[Callable[[], FaultServer]]:
    """Return a function that starts a server on this machine, reached without a proxy."""
    started: list[FaultServer] = []

    def start() -> FaultServer:
        started.append(FaultServer())
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1,localhost")
        yield start
    for server in started:
        server.close()


@pytest.fixture
def fault_server(make_fault_server: Callable[[], FaultServer]) -> FaultServer:
    """Return a server without requests so far."""
    return make_fault_server()


@pytest.fixture(scope="session")
def code_blocks() -> Callable[[Path], list[Block]]:
    """Return a function that reads the code blocks of a page."""

    @cache
    def parse(text: str) -> list[Block]:
        tokens = MarkdownIt().parse(text)
        blocks = []
        for place, token in enumerate(tokens):
            if token.type in ("fence", "code_block"):
                before = tokens[place - 2].content if place > 1 else ""
                match = _NAMED.fullmatch(before)
                first = (token.map or [0])[0] + (token.type == "fence")
                blocks.append(Block(token.info, match and match[1], token.content, first))
        return blocks

    return lambda page: parse(page.read_text("utf-8"))


@pytest.fixture
def run_page(
    code_blocks: Callable[[Path], list[Block]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Path], dict[str, Any]]]:
    """Return a function that runs a page's Python in a new folder and returns its names.

    It first writes the blocks that are files there, so that they can be imported.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # A page may register environments, which must not outlive it.
    monkeypatch.setattr("laconic.envs.registry._registered", {})
    before = set(sys.modules)

    def run(page: Path) -> dict[str, Any]:
        blocks = code_blocks(page)
        for block in blocks:
            if block.file:
                (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / block.file).write_text(block.code, "utf-8")
        names: dict[str, Any] = {"__name__": page.stem}
        for block in blocks:
            if block.kind == "python" and not block.file:
                # Empty lines before it, so that an error names the line of the page.
                exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        return names

    yield run
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
