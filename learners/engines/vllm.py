"""Sampling by vLLM servers (0.22 and later), by HTTP alone; nothing of vLLM is imported.

Data: `/v1/completions`, ids in and ids out. Adapters: `/v1/load_lora_adapter`, which a server has
that was started with `VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`. Whole models: `/pause`,
`/collective_rpc` (`reload_weights`), `/reset_prefix_cache`, `/update_weight_version`, `/resume`,
which a server has that was started with `VLLM_SERVER_DEV_MODE=1`; such a server belongs on a
private address. Every field of sampling is sent, because a server otherwise takes what the model's
`generation_config.json` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from laconic.learners.engines.dialect import (
    Described,
    Dialect,
    Launch,
    Raw,
    ids_of,
    numbers_of,
)
from laconic.learners.engines.http import Server
from laconic.learners.engines.served import Served
from laconic.learners.errors import Refused, ServerError, UnknownAdapter
from laconic.learners.interfaces import Prompt

ENVIRONMENT = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1", "VLLM_SERVER_DEV_MODE": "1"}
_PLAIN = {
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
"""The whole distribution, and nothing done to it."""


class Talk:
    """How vLLM is spoken to; see `Dialect`."""

    name = "vllm"
    health = "/health"
    environment = ENVIRONMENT

    async def describe(self, server: Server) -> Described:
        """From the list of models and, in development mode, from the server's configuration."""
        models = (await server.get("/v1/models"))["data"]
        base = next(one for one in models if not one.get("parent"))
        positions = base.get("max_model_len")
        try:
            config = (await server.get("/server_info?config_format=json"))["vllm_config"]
        except Refused:
            return Described(base["id"], positions)
        model, lora = config["model_config"], config.get("lora_config") or {}
        return Described(
            base["id"],
            positions,
            str(model.get("dtype", "")).removeprefix("torch.") or None,
            int(lora.get("max_lora_rank", 0)),
            int(lora.get("max_loras", 0)),
            None if (mode := model.get("logprobs_mode")) is None else mode == "processed_logprobs",
        )

    async def complete(
        self, server: Server, prompt: Prompt, model: str, adapter: str | None, likeliest: int = 0
    ) -> Raw:
        """By `/v1/completions`; tokens are named by their ids, because words may be alike."""
        body = {
            **_PLAIN,
            "model": adapter or model,
            "prompt": list(prompt.ids),
            "max_tokens": prompt.limit,
            "temperature": prompt.temperature,
            "seed": prompt.seed,
            # Our end tokens, and none that the server knows of.
            "ignore_eos": True,
            "stop_token_ids": list(prompt.end_ids),
            "stop": list(prompt.stops),
            "include_stop_str_in_output": True,
            "logprobs": likeliest,
            "return_token_ids": True,
            "return_tokens_as_token_ids": bool(likeliest),
        }
        choice = _choice(await self._asked(server, body), server)
        found = choice.get("logprobs") or {}
        return Raw(
            ids_of(choice.get("prompt_token_ids")),
            ids_of(choice.get("token_ids")),
            numbers_of(found.get("token_logprobs")),
            tuple(map(_likeliest, found.get("top_logprobs") or ())) if likeliest else (),
        )

    async def adapters(self, server: Server) -> set[str]:
        """Those in the list of models that have a parent."""
        models = (await server.get("/v1/models"))["data"]
        return {one["id"] for one in models if one.get("parent")}

    async def load(self, server: Server, adapter: str, folder: str) -> None:
        """Under a name that the server has never had."""
        body = {"lora_name": adapter, "lora_path": folder}
        try:
            await server.post("/v1/load_lora_adapter", body)
        except Refused as error:
            if error.status == 404 and "lora_name" not in error.text and folder not in error.text:
                raise ServerError(
                    f"{server.url} loads no adapters while it runs; start it with"
                    f" VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and --enable-lora ({error})"
                ) from error
            raise

    async def unload(self, server: Server, adapter: str) -> None:
        """By its name."""
        await server.post("/v1/unload_lora_adapter", {"lora_name": adapter})

    async def reload(self, server: Server, folder: str, version: str) -> None:
        """With the requests under way held back, and nothing kept of what they computed."""
        try:
            await server.post("/pause?mode=keep")
        except Refused as error:
            raise ServerError(
                f"{server.url} cannot be given a whole model; start it with VLLM_SERVER_DEV_MODE=1,"
                f" on a private address, or train adapters (agent.sharing=lora) ({error})"
            ) from error
        try:
            call = {"method": "reload_weights", "kwargs": {"weights_path": folder}}
            await server.post("/collective_rpc", call)
            await server.post("/reset_prefix_cache")
            await server.post("/update_weight_version", {"new_version": version})
        finally:
            await server.post("/resume")

    async def version(self, server: Server) -> str | None:
        """From `/weight_info`, which earlier servers do not have."""
        try:
            return str((await server.get("/weight_info"))["weight_version"])
        except Refused:
            return None

    def command(self, launch: Launch) -> list[str]:
        """`serve` with what training needs."""
        words = ["serve", launch.model, "--host", "127.0.0.1", "--port", str(launch.port)]
        words += ["--dtype", launch.dtype, "--logprobs-mode", "processed_logprobs"]
        if launch.positions:
            words += ["--max-model-len", str(launch.positions)]
        if launch.positions and not torch.cuda.is_available():
            # vLLM 0.32 rewinds the generator of a seeded prompt that it reads in pieces, which that
            # of a processor cannot ("CPU Generator does not use offset"): the server ends.
            whole = ["--no-enable-chunked-prefill", "--max-num-batched-tokens"]
            words += [*whole, str(launch.positions)]
        if launch.rank:
            rank = next((one for one in _RANKS if one >= launch.rank), launch.rank)
            words += ["--enable-lora", "--max-lora-rank", str(rank)]
            words += ["--max-loras", str(launch.adapters)]
        return words

    async def _asked(self, server: Server, body: dict[str, Any]) -> Any:
        try:
            return await server.post("/v1/completions", body)
        except Refused as error:
            if error.status == 404:
                raise UnknownAdapter(f"{server.url} does not know {body['model']!r}") from error
            raise


_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM takes as a highest rank."""


def _choice(answer: Any, server: Server) -> dict[str, Any]:
    try:
        (choice,) = answer["choices"]
    except (KeyError, TypeError, ValueError) as error:
        raise ServerError(f"{server.url} gave no completion: {str(answer)[:200]}") from error
    return dict(choice)


def _likeliest(given: Any) -> dict[int, float]:
    """Log-probabilities by token, of an answer that names them `token_id:<number>`."""
    named = given.items() if isinstance(given, dict) else ()
    split = [(str(name).partition(":"), value) for name, value in named]
    found = {int(number): value for (_, _, number), value in split if number.isdecimal()}
    return dict(zip(found, numbers_of(list(found.values())), strict=True))


@dataclass
class VLLM(Served):
    """Replies are sampled by vLLM; see `Served` for the settings."""

    program: str = "vllm"
    """What is started: the command of an environment that vLLM is installed in."""

    def _dialect(self) -> Dialect:
        return Talk()
