"""A fake inference server: vLLM's endpoints in front of a small model, and faults on request.

It loads weights from disk and samples in its own loop, independent of the code under test.
`python tests/support/fake_engine.py serve FOLDER --port N` runs one.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from laconic.learners.agents.cache import cache_argument


class _Listening(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


class FakeEngine:
    """One server; tests may change its attributes while it runs."""

    def __init__(self, folder: str | Path, port: int = 0, **settings: Any) -> None:
        self.folder = Path(folder)
        self.faults: deque[str] = deque()
        """Faults of the next completions, one each; `""` is none."""
        self.sync_fault = ""
        """Fault of every load: stale, base, tied, refuse, half (from the second adapter on)."""
        self.rank, self.max_loras, self.dtype = 64, 64, "float32"
        self.runtime_loras = self.dev_mode = self.processed = True
        self.seconds = 0.0
        """Minimum seconds of a completion."""
        self.overrun = 0
        """Number of tokens it samples after a stop string."""
        self.ragged = 0.0
        """Mean seconds of a completion that waits instead of computing; at most four times that,
        drawn by its seed. 0: completions are computed. Those of the probe always are."""
        self.asked: list[tuple[str, Any]] = []
        """Path and body of every request so far."""
        self.most = 0
        """Maximum number of concurrent completions so far."""
        for name, value in settings.items():
            setattr(self, name, value)
        self._now, self._lock, self._torch = 0, threading.Lock(), threading.Lock()
        self._open: set[socket.socket] = set()
        self.port = port
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start with the base model alone."""
        self.base = AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(self.folder)
        self.adapters: dict[str, Any] = {}
        self.version, self.paused = "default", False
        self._http = _Listening(("127.0.0.1", self.port), _handler(self))
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def kill(self) -> None:
        """Stop, and break all connections."""
        self._http.shutdown()
        self._http.server_close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    close = kill

    def paths(self, end: str) -> list[Any]:
        """Return the bodies of requests to paths with this end."""
        return [body for path, body in self.asked if path.split("?")[0].endswith(end)]

    # Weights.

    def load(self, name: str, folder: str) -> None:
        # Of this run only: killed runs may have left adapters on the server.
        run = name.rpartition("/")[0]
        before = [model for name, model in self.adapters.items() if name.rpartition("/")[0] == run]
        if self.sync_fault == "stale" and before:
            self.adapters[name] = before[-1]
        elif self.sync_fault == "base":
            self.adapters[name] = self.base
        else:
            model = PeftModel.from_pretrained(copy.deepcopy(self.base), folder)
            self.adapters[name] = model.merge_and_unload().eval()

    def reload(self, folder: str) -> None:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        if self.sync_fault == "tied":
            # The output head stays as it was.
            model.lm_head.weight = torch.nn.Parameter(self.base.lm_head.weight.detach().clone())
        if self.sync_fault != "stale":
            self.base = model

    # Sampling.

    @torch.no_grad()
    def complete(
        self, ids: list[int], model: Any, limit: int, temperature: float, seed: int, **stop: Any
    ) -> tuple[list[int], list[float], list[dict[int, float]]]:
        """Sample tokens; return them with their log-probabilities and those of the top 20."""
        ends, stops = stop["ends"], stop["stops"]
        if self.ragged and limit > 4:
            return self.make_up(limit, ends, seed)
        generator = torch.Generator().manual_seed(seed)
        new, logprobs, tops, past = [], [], [], None
        read, most = torch.tensor([ids]), limit
        while len(new) < most and (not new or new[-1] not in ends):
            with self._torch:
                out = model(input_ids=read, use_cache=True, **{cache_argument(model): past})
            past = getattr(out, cache_argument(model))
            scores = torch.log_softmax(out.logits[0, -1].float() / (temperature or 1.0), dim=-1)
            draw = torch.multinomial(scores.exp(), 1, generator=generator)
            token = int(draw if temperature else scores.argmax())
            new.append(token)
            logprobs.append(float(scores[token]))
            top = scores.topk(min(20, len(scores)))
            tops.append(dict(zip(top.indices.tolist(), top.values.tolist(), strict=True)))
            read = torch.tensor([[token]])
            if most == limit and any(word in self.tokenizer.decode(new) for word in stops):
                most = min(limit, len(new) + self.overrun)
        return new, logprobs, tops

    def make_up(self, limit: int, ends: list[int], seed: int) -> tuple[list[int], Any, Any]:
        """Invent a reply after a wait; the longer the wait, the longer the reply."""
        generator = random.Random(seed)
        share = min(1.0, generator.expovariate(4.0))
        time.sleep(4 * self.ragged * share)
        new = [generator.randrange(20, 200) for _ in range(round(share * min(limit, 24)) - 1)]
        new = [*(token for token in new if token not in ends), ends[0]]
        return new, [-1.0] * len(new), [{}] * len(new)

    def begin(self) -> str:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            return self.faults.popleft() if self.faults else ""

    def end(self) -> None:
        with self._lock:
            self._now -= 1


class Answer(Exception):
    """An answer with an error status."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status)
        self.status, self.body = status, body


def spoil(fault: str, prompt: list[int], ids: list[int], logprobs: list[float]) -> Any:
    """Return prompt, tokens and log-probabilities as a faulty server does."""
    if fault == "off by one":
        ids = [token + 1 for token in ids]
    if fault == "retokenised":
        prompt = [*prompt[:2], 5, *prompt[2:]]
    if fault == "short":
        logprobs = logprobs[:-1]
    if fault == "beyond":
        ids, logprobs = [*ids, 7], [*logprobs, -1.0]
    if fault == "nan":
        logprobs = [float("nan"), *logprobs[1:]]
    return prompt, ids, logprobs


def _completion(server: FakeEngine, prompt: list[int], model: Any, **options: Any) -> Any:
    """Return a completion, spoiled by the next fault; refuse while the server is paused."""
    if server.paused:
        raise Answer(503, {"error": "paused"})
    fault = server.begin()
    try:
        if fault == "hangup":
            raise ConnectionResetError
        if fault.isdigit():
            raise Answer(int(fault), {"error": "a fault"})
        time.sleep(float(fault[5:]) if fault.startswith("slow ") else server.seconds)
        ids, logprobs, tops = server.complete(prompt, model=model, **options)
        return *spoil(fault, prompt, ids, logprobs), tops
    finally:
        server.end()


def _v1_completions(server: FakeEngine, body: Any) -> Any:
    for name, plain in {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}.items():
        if body.get(name) != plain:
            raise Answer(400, {"error": f"{name} would come from generation_config.json"})
    name = body["model"]
    model = server.base if name == str(server.folder) else server.adapters.get(name)
    if model is None:
        raise Answer(404, {"error": {"message": f"The model `{name}` does not exist."}})
    assert body["include_stop_str_in_output"]
    options = {"limit": body["max_tokens"], "temperature": body["temperature"]}
    if len(body["stop"]) > 4:
        raise Answer(400, {"error": "stop: at most 4 items"})
    options |= {"seed": body["seed"], "ends": body["stop_token_ids"], "stops": body["stop"]}
    read, ids, logprobs, tops = _completion(server, body["prompt"], model, **options)
    fields: dict[str, Any] = {"token_logprobs": logprobs}
    if body["logprobs"] and body["return_tokens_as_token_ids"]:
        best = [list(top.items())[: body["logprobs"]] for top in tops]
        fields["top_logprobs"] = [{f"token_id:{t}": lp for t, lp in top} for top in best]
    return {"choices": [{"prompt_token_ids": read, "token_ids": ids, "logprobs": fields}]}


def _load(server: FakeEngine, body: Any) -> Any:
    name, folder = body["lora_name"], body["lora_path"]
    if not server.runtime_loras:
        raise Answer(404, {"detail": "Not Found"})
    half = server.sync_fault == "half" and server.adapters
    if server.sync_fault == "refuse" or half:
        raise Answer(500, {"error": {"message": "no room for the adapter"}})
    if name in server.adapters:
        raise Answer(400, {"error": {"message": f"{name} has already been loaded"}})
    if len(server.adapters) >= server.max_loras:
        raise Answer(500, {"error": {"message": "too many adapters"}})
    with server._torch:
        server.load(name, folder)
    return {"success": True}


def _unload(server: FakeEngine, body: Any) -> Any:
    if server.adapters.pop(body["lora_name"], None) is None:
        raise Answer(404, {"error": {"message": "not found"}})
    return {"success": True}


def _dev(act: Any) -> Any:
    """Return an endpoint of vLLM's development mode."""

    def answer(server: FakeEngine, body: Any) -> Any:
        if not server.dev_mode:
            raise Answer(404, {"detail": "Not Found"})
        return act(server, body) or {"success": True}

    return answer


def _reload_vllm(server: FakeEngine, body: Any) -> None:
    if not server.paused:
        raise Answer(500, {"error": "requests are under way"})
    server.reload(body["kwargs"]["weights_path"])


def _models(server: FakeEngine, _: Any) -> Any:
    base = {"id": str(server.folder), "parent": None, "max_model_len": 1024}
    return {"data": [base, *({"id": n, "parent": base["id"]} for n in server.adapters)]}


def _server_info(server: FakeEngine, _: Any) -> Any:
    mode = "processed_logprobs" if server.processed else "raw_logprobs"
    lora = {"max_lora_rank": server.rank, "max_loras": server.max_loras} if server.rank else None
    model = {"dtype": f"torch.{server.dtype}", "logprobs_mode": mode}
    return {
        "vllm_config": {"model_config": model, "lora_config": lora},
    }


ROUTES: dict[str, Any] = {
    "/health": lambda server, _: "",
    "/v1/models": _models,
    "/server_info": _dev(_server_info),
    "/weight_info": _dev(lambda server, _: {"weight_version": server.version}),
    "/v1/completions": _v1_completions,
    "/v1/load_lora_adapter": _load,
    "/v1/unload_lora_adapter": _unload,
    "/pause": _dev(lambda server, _: setattr(server, "paused", True)),
    "/resume": _dev(lambda server, _: setattr(server, "paused", False)),
    "/collective_rpc": _dev(_reload_vllm),
    "/reset_prefix_cache": _dev(lambda server, _: None),
    "/update_weight_version": _dev(lambda s, body: setattr(s, "version", body["new_version"])),
}


def _handler(server: FakeEngine) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            server._open.add(self.connection)

        def finish(self) -> None:
            server._open.discard(self.connection)
            with suppress(OSError):
                super().finish()

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            read = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer(json.loads(read) if read else None)

        def _answer(self, body: Any) -> None:
            path = self.path.split("?")[0]
            server.asked.append((self.path, body))
            try:
                route = ROUTES.get(path)
                if route is None:
                    raise Answer(404, {"detail": "Not Found"})
                self._send(200, route(server, body))
            except Answer as answer:
                self._send(answer.status, answer.body)
            except (ConnectionResetError, BrokenPipeError):
                self.close_connection = True

        def _send(self, status: int, body: Any) -> None:
            sent = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("serve")
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ragged", type=float, default=0.0)
    arguments, _ = parser.parse_known_args()
    FakeEngine(arguments.folder, arguments.port, ragged=arguments.ragged)
    threading.Event().wait()
