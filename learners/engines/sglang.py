"""Sampling by SGLang servers, by HTTP alone; nothing of SGLang is imported.

Data: `/generate`, ids in and ids out; log-probabilities are those of logits divided by the
temperature. Adapters: `/load_lora_adapter`, on a server started with `--enable-lora`. Whole models:
`/update_weights_from_disk`, which flushes the cache itself. Written after its documentation and
tried with a server of our own that speaks these endpoints; a real one was not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from laconic.learners.engines.base import Prompt
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

_PLAIN = {
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
"""The whole distribution, and nothing done to it."""


class Talk:
    """How SGLang is spoken to; see `Dialect`."""

    name = "sglang"
    health = "/health"
    environment: dict[str, str] = {}

    async def describe(self, server: Server) -> Described:
        """From the arguments that it was started with."""
        info = await server.get("/server_info")
        lora = bool(info.get("enable_lora"))
        rank = info.get("max_lora_rank") if lora else 0
        count = info.get("max_loaded_loras") or info.get("max_loras_per_batch")
        dtype = info.get("dtype")
        return Described(
            str(info.get("served_model_name") or info.get("model_path")),
            info.get("context_length") or info.get("max_req_input_len"),
            None if dtype in (None, "auto", "half") else str(dtype),
            None if rank is None else int(rank),
            None if count is None else int(count),
            True,
        )

    async def complete(
        self, server: Server, prompt: Prompt, model: str, adapter: str | None, likeliest: int = 0
    ) -> Raw:
        """By `/generate`; ids are taken from where their log-probabilities stand."""
        body = {
            "input_ids": list(prompt.ids),
            "sampling_params": {
                **_PLAIN,
                "max_new_tokens": prompt.limit,
                "temperature": prompt.temperature,
                # Its `ignore_eos` would have it pass over our end tokens too.
                "stop_token_ids": list(prompt.end_ids),
                "stop": list(prompt.stops),
                "no_stop_trim": True,
                "sampling_seed": prompt.seed,
            },
            "return_logprob": True,
            "top_logprobs_num": likeliest,
            "return_prompt_token_ids": True,
        }
        answer = await self._asked(server, body, adapter)
        meta = answer["meta_info"]
        found = meta.get("output_token_logprobs") or []
        ids, told = ids_of([one[1] for one in found]), ids_of(answer.get("output_ids"))
        # The token that ended a reply may be left out of `output_ids`.
        if told not in (ids, ids[:-1]):
            raise ServerError(
                f"{server.url} gave {len(told)} tokens and the log-probabilities of {len(ids)}"
                " others; nothing of the reply was kept"
            )
        read = answer.get("prompt_token_ids", meta.get("prompt_token_ids"))
        tops = (meta.get("output_top_logprobs") or []) if likeliest else []
        return Raw(
            ids_of(read),
            ids,
            numbers_of([one[0] for one in found]),
            tuple({int(one[1]): float(one[0]) for one in top or ()} for top in tops),
        )

    async def adapters(self, server: Server) -> set[str]:
        """Those in the list of models that have a parent."""
        models = (await server.get("/v1/models"))["data"]
        return {one["id"] for one in models if one.get("parent")}

    async def load(self, server: Server, adapter: str, folder: str) -> None:
        """Under a name that the server has never had."""
        body = {"lora_name": adapter, "lora_path": folder}
        _succeeded(server, await server.post("/load_lora_adapter", body))

    async def unload(self, server: Server, adapter: str) -> None:
        """By its name."""
        body = {"lora_name": adapter}
        _succeeded(server, await server.post("/unload_lora_adapter", body))

    async def reload(self, server: Server, folder: str, version: str) -> None:
        """With its cache flushed."""
        body = {"model_path": folder, "flush_cache": True, "weight_version": version}
        _succeeded(server, await server.post("/update_weights_from_disk", body))

    async def version(self, server: Server) -> str | None:
        """From what it says of itself."""
        info = await server.get("/server_info")
        found = info.get("weight_version")
        return None if found is None else str(found)

    def command(self, launch: Launch) -> list[str]:
        """`-m sglang.launch_server` with what training needs."""
        words = ["-m", "sglang.launch_server", "--model-path", launch.model]
        words += ["--host", "127.0.0.1", "--port", str(launch.port), "--dtype", launch.dtype]
        if launch.positions:
            words += ["--context-length", str(launch.positions)]
        if launch.rank:
            words += ["--enable-lora", "--max-lora-rank", str(launch.rank)]
            words += ["--max-loras-per-batch", str(launch.adapters)]
            words += ["--lora-target-modules", "all"]
        return words

    async def _asked(self, server: Server, body: dict[str, Any], adapter: str | None) -> Any:
        named = {} if adapter is None else {"lora_path": adapter}
        try:
            answer = await server.post("/generate", body | named)
        except Refused as error:
            if adapter is not None and error.status in (400, 404) and adapter in error.text:
                raise UnknownAdapter(f"{server.url} does not know {adapter!r}") from error
            raise
        if not isinstance(answer, dict) or not isinstance(answer.get("meta_info"), dict):
            raise ServerError(f"{server.url} gave no completion: {str(answer)[:200]}")
        return answer


def _succeeded(server: Server, answer: Any) -> None:
    """Refuse an answer of 200 that says it went wrong."""
    if isinstance(answer, dict) and answer.get("success") is False:
        why = answer.get("error_message") or answer.get("message")
        raise ServerError(f"{server.url} did not do as told: {why}")


@dataclass
class SGLang(Served):
    """Replies are sampled by SGLang; see `Served` for the settings."""

    program: str = "python"
    """What is started: the Python of an environment that SGLang is installed in."""
    url: str | Sequence[str] | None = "http://127.0.0.1:30000"
    """As above."""

    def _dialect(self) -> Dialect:
        return Talk()
