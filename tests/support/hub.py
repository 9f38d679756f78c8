"""A stand-in for the hub on this machine: the few routes that pushing and loading take."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

TOKEN = "hf_of_the_tests"


class Hub:
    """Repositories of models in memory; all files are small enough for the hub's plain way."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        """Repository -> path -> content."""
        self.made: dict[str, dict[str, Any]] = {}
        """Repository -> the request that created it."""
        self.messages: list[str] = []
        """Of the commits."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def sha(self, repository: str) -> str:
        """Return the present commit: 40 hexadecimal digits of the contents."""
        held = {path: _digest(data) for path, data in self.files[repository].items()}
        return _digest(json.dumps(held, sort_keys=True).encode())

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def post(self, path: str, body: bytes) -> Any:
        if path == "/api/repos/create":
            request = json.loads(body)
            name = f"{request['organization']}/{request['name']}"
            self.made[name] = request
            self.files.setdefault(name, {})
            return {"url": f"{self.address}/{name}"}
        if path == "/api/validate-yaml":
            return {"errors": [], "warnings": []}
        if match := re.fullmatch(r"/api/models/(.+)/preupload/main", path):
            names = [file["path"] for file in json.loads(body)["files"]]
            plain = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
            return {"files": [{"path": name, **plain} for name in names]}
        if match := re.fullmatch(r"/api/models/(.+)/commit/main", path):
            return self._commit(match[1], [json.loads(line) for line in body.splitlines()])
        return None

    def _commit(self, name: str, lines: list[dict[str, Any]]) -> Any:
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                self.messages.append(value["summary"])
            else:
                assert line["key"] == "file", line["key"]
                self.files[name][value["path"]] = base64.b64decode(value["content"])
        sha = self.sha(name)
        return {"commitUrl": f"{self.address}/{name}/commit/{sha}", "commitOid": sha}

    def get(self, path: str) -> Any:
        """Plain data, the bytes of a file with its repository, or None."""
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/[^/]+", path):
            held = self.files.get(match[1], {})
            file = {"type": "file", "lfs": None}
            return [
                {"path": name, "size": len(data), "oid": _digest(data), **file}
                for name, data in held.items()
            ]
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(/revision/[^/]+)?", path):
            if match[1] not in self.files:
                return None
            siblings = [{"rfilename": name} for name in self.files[match[1]]]
            return {"id": match[1], "sha": self.sha(match[1]), "siblings": siblings, "tags": []}
        if match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            data = self.files.get(match[1], {}).get(match[2])
            return None if data is None else (match[1], data)
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            if "chunked" in (self.headers["Transfer-Encoding"] or ""):
                body = b"".join(iter(self._chunk, b""))
            else:
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                return self._send(401, b'{"error": "Invalid username or password."}')
            answer = hub.post(urlsplit(self.path).path, body)
            return self._plain(answer)

        def do_GET(self) -> None:
            answer = hub.get(unquote(urlsplit(self.path).path))
            if not isinstance(answer, tuple):
                return self._plain(answer)
            name, data = answer
            headers = {"X-Repo-Commit": hub.sha(name), "ETag": f'"{_digest(data)}"'}
            return self._send(200, data, headers)

        do_HEAD = do_GET

        def _plain(self, answer: Any) -> None:
            if answer is None:
                inside = "/resolve/" in self.path or "/tree/" in self.path
                code = "EntryNotFound" if inside else "RepoNotFound"
                return self._send(404, b"{}", {"X-Error-Code": code})
            return self._send(200, json.dumps(answer).encode())

        def _chunk(self) -> bytes:
            data = self.rfile.read(int(self.rfile.readline(), 16))
            self.rfile.readline()
            return data

        def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Start an empty hub."""
    server = Hub()
    yield server
    server.close()
