"""Sampling by vLLM servers (0.22 and later) over HTTP; vLLM itself is not imported.

- Replies: `/v1/completions`, with token ids in and out.
- Adapters: `/v1/load_lora_adapter`. The server needs `VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`.
- Whole models: `/pause`, `/collective_rpc` (`reload_weights`), `/reset_prefix_cache`,
  `/update_weight_version`, `/resume`. The server needs `VLLM_SERVER_DEV_MODE=1`, and must listen
  on a private address.

Every sampling field is sent. Otherwise the server would use the model's `generation_config.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from laconic.learners.engines.answers import Json
from laconic.learners.engines.client import (
    Completion,
    LaunchOptions,
    ServerClient,
    ServerDescription,
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
_TOKEN_ID = re.compile(r"token_id:(\d{1,15})", re.ASCII)
"""Name of a token among log-probabilities, by its id."""
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
        base = next((model for model in models.items() if not model["parent"].value), None)
        if base is None:
            raise models.error("a list with a base model")
        positions = base["max_model_len"]
        described = ServerDescription(
            base["id"].text(), None if positions.value is None else positions.whole()
        )
        try:
            config = (await server.get("/server_info?config_format=json"))["vllm_config"]
        except RequestRefusedError:
            return described
        model, lora = config["model_config"], config.optional("lora_config")
        dtype, mode = model["dtype"], model["logprobs_mode"].value
        return replace(
            described,
            dtype=None if dtype.value is None else dtype.text().removeprefix("torch.") or None,
            rank=lora["max_lora_rank"].whole() if lora.value else 0,
            adapters=lora["max_loras"].whole() if lora.value else 0,
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
        choices = answer["choices"].items()
        if len(choices) != 1:
            raise answer["choices"].error("a list of one completion")
        choice = choices[0]
        logprobs = choice["logprobs"]
        tops = logprobs["top_logprobs"].items() if top else []
        return Completion(
            prompt_ids=choice["prompt_token_ids"].wholes(),
            ids=choice["token_ids"].wholes(),
            logprobs=logprobs["token_logprobs"].numbers(),
            top_logprobs=tuple(map(_by_token_id, tops)),
        )

    async def adapters(self, server: Server) -> set[str]:
        """Return the models that have a parent."""
        models = (await server.get("/v1/models"))["data"].items()
        return {model["id"].text() for model in models if model["parent"].value}

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


def _by_token_id(logprobs: Json) -> dict[int, float]:
    """Parse log-probabilities by token that are named `token_id:<number>`."""
    pairs = [(_TOKEN_ID.fullmatch(name), value) for name, value in logprobs.fields().items()]
    return {int(match[1]): value.number() for match, value in pairs if match}


@dataclass
class VLLM(ServedEngine):
    """Sample by vLLM servers; the settings are those of `ServedEngine`."""

    program: str = "vllm"
    """Command that starts a server: that of an environment in which vLLM is installed."""

    def _client(self) -> ServerClient:
        """Return the client of vLLM servers."""
        return VLLMClient()
