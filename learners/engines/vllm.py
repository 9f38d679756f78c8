"""Sampling by vLLM servers (0.22 and later) over HTTP; vLLM itself is not imported.

- Replies: `/v1/completions`, with token ids in and out.
- Adapters: `/v1/load_lora_adapter`. The server needs `VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`.
- Whole models: `/pause`, `/collective_rpc` (`reload_weights`), `/reset_prefix_cache`,
  `/update_weight_version`, `/resume`. The server needs `VLLM_SERVER_DEV_MODE=1`, and must listen
  on a private address.

Every sampling field is sent. Otherwise the server would use the model's `generation_config.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from laconic.learners.engines.client import (
    Completion,
    LaunchOptions,
    ServerClient,
    ServerDescription,
    float_tuple,
    int_tuple,
)
from laconic.learners.engines.served import ServedEngine
from laconic.learners.engines.server import Server
from laconic.learners.errors import RequestRefusedError, ServerError, UnknownAdapterError
from laconic.learners.interfaces import Prompt

_FULL_DISTRIBUTION = {
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values that vLLM accepts for `--max-lora-rank`."""


class VLLMClient:
    """Client of vLLM servers; see `ServerClient`."""

    health = "/health"
    environment: Mapping[str, str] = {
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
        "VLLM_SERVER_DEV_MODE": "1",
    }

    async def describe(self, server: Server) -> ServerDescription:
        """Read the list of models and, in development mode, the server's configuration."""
        models = (await server.get("/v1/models"))["data"]
        base = next(model for model in models if not model.get("parent"))
        positions = base.get("max_model_len")
        try:
            config = (await server.get("/server_info?config_format=json"))["vllm_config"]
        except RequestRefusedError:
            return ServerDescription(base["id"], positions)
        model, lora = config["model_config"], config.get("lora_config") or {}
        mode = model.get("logprobs_mode")
        return ServerDescription(
            model=base["id"],
            positions=positions,
            dtype=str(model.get("dtype", "")).removeprefix("torch.") or None,
            rank=int(lora.get("max_lora_rank", 0)),
            adapters=int(lora.get("max_loras", 0)),
            processed=None if mode is None else mode == "processed_logprobs",
        )

    async def complete(
        self, server: Server, prompt: Prompt, model: str, adapter: str | None, top: int = 0
    ) -> Completion:
        """Sample by `/v1/completions`."""
        body = {
            **_FULL_DISTRIBUTION,
            "model": adapter or model,
            "prompt": list(prompt.ids),
            "max_tokens": prompt.limit,
            "temperature": prompt.temperature,
            "seed": prompt.seed,
            # Stop at our end tokens only, not at the server's own.
            "ignore_eos": True,
            "stop_token_ids": list(prompt.end_ids),
            "stop": list(prompt.stops),
            "include_stop_str_in_output": True,
            "logprobs": top,
            "return_token_ids": True,
            # Different tokens may decode to the same text, so name them by id.
            "return_tokens_as_token_ids": bool(top),
        }
        try:
            answer = await server.post("/v1/completions", body)
        except RequestRefusedError as error:
            if error.status == 404:
                raise UnknownAdapterError(
                    f"{server.url} does not know {body['model']!r}"
                ) from error
            raise
        try:
            (choice,) = answer["choices"]
        except (KeyError, TypeError, ValueError) as error:
            raise ServerError(
                f"{server.url} returned no completion: {str(answer)[:200]}"
            ) from error
        logprobs = choice.get("logprobs") or {}
        tops = logprobs.get("top_logprobs") or () if top else ()
        return Completion(
            prompt_ids=int_tuple(choice.get("prompt_token_ids")),
            ids=int_tuple(choice.get("token_ids")),
            logprobs=float_tuple(logprobs.get("token_logprobs")),
            top_logprobs=tuple(map(_by_token_id, tops)),
        )

    async def adapters(self, server: Server) -> set[str]:
        """Return the models that have a parent."""
        models = (await server.get("/v1/models"))["data"]
        return {model["id"] for model in models if model.get("parent")}

    async def load(self, server: Server, adapter: str, folder: str) -> None:
        """Load the adapter under a fresh name, so vLLM cannot serve a stale one."""
        try:
            await server.post("/v1/load_lora_adapter", {"lora_name": adapter, "lora_path": folder})
        except RequestRefusedError as error:
            if error.status == 404 and "lora_name" not in error.text and folder not in error.text:
                raise ServerError(
                    f"{server.url} cannot load adapters while it runs. Start it with"
                    f" VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and --enable-lora ({error})"
                ) from error
            raise

    async def unload(self, server: Server, adapter: str) -> None:
        """Unload the adapter by its name."""
        await server.post("/v1/unload_lora_adapter", {"lora_name": adapter})

    async def reload(self, server: Server, folder: str, version: str) -> None:
        """Reload the model while requests are paused, then drop the prefix cache."""
        try:
            await server.post("/pause?mode=keep")
        except RequestRefusedError as error:
            raise ServerError(
                f"{server.url} cannot reload a whole model. Start it with VLLM_SERVER_DEV_MODE=1"
                f" on a private address, or train adapters (agent.sharing=lora) ({error})"
            ) from error
        try:
            call = {"method": "reload_weights", "kwargs": {"weights_path": folder}}
            await server.post("/collective_rpc", call)
            await server.post("/reset_prefix_cache")
            await server.post("/update_weight_version", {"new_version": version})
        finally:
            await server.post("/resume")

    def command(self, options: LaunchOptions) -> list[str]:
        """Return `serve` with the options."""
        words = ["serve", options.model, "--host", "127.0.0.1", "--port", str(options.port)]
        words += ["--dtype", options.dtype, "--logprobs-mode", "processed_logprobs"]
        if options.positions:
            words += ["--max-model-len", str(options.positions)]
        if options.positions and not torch.cuda.is_available():
            # On a CPU, vLLM 0.32 cannot read a seeded prompt in chunks: the server ends with
            # "CPU Generator does not use offset".
            words += ["--no-enable-chunked-prefill"]
            words += ["--max-num-batched-tokens", str(options.positions)]
        if options.rank:
            rank = next((rank for rank in _RANKS if rank >= options.rank), options.rank)
            words += ["--enable-lora", "--max-lora-rank", str(rank)]
            words += ["--max-loras", str(options.adapters)]
        return words


def _by_token_id(logprobs: Any) -> dict[int, float]:
    """Parse log-probabilities by token that are named `token_id:<number>`."""
    items = logprobs.items() if isinstance(logprobs, dict) else ()
    pairs = [(str(name).partition(":")[2], value) for name, value in items]
    numbers = [(int(number), value) for number, value in pairs if number.isdecimal()]
    values = float_tuple([value for _, value in numbers])
    return {token: value for (token, _), value in zip(numbers, values, strict=True)}


@dataclass
class VLLM(ServedEngine):
    """Sample by vLLM servers; the settings are those of `ServedEngine`."""

    program: str = "vllm"
    """Command that starts a server: that of an environment in which vLLM is installed."""

    def _client(self) -> ServerClient:
        """Return the client of vLLM servers."""
        return VLLMClient()
