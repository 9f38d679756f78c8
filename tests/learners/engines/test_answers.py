"""Any answer of a server becomes a value of the type asked for, or a `ServerError` in one line."""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from laconic.extras.api.answers import Answer, UnusableAnswerError, read
from laconic.learners.engines.answers import Json
from laconic.learners.engines.client import Completion, ServerDescription
from laconic.learners.engines.vllm import VLLMClient
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Prompt
from laconic.learners.untrusted_files import read_body

PROMPT = Prompt((1,), 3, (), 1.0, 0)
LEAVES = (None, True, 0, -1, 10**400, -(10**400), 2.5, float("nan"), float("inf"), "", "x", "7")
NAMES = (
    *("choices", "message", "content", "finish_reason", "usage", "prompt_tokens", "data", "id"),
    *("parent", "max_model_len", "vllm_config", "model_config", "lora_config", "logprobs", "type"),
    *("token_ids", "prompt_token_ids", "token_logprobs", "top_logprobs", "token_id:7", "text"),
    *("refusal", "tool_calls", "reasoning", "dtype", "max_lora_rank", "max_loras"),
)


def anything(draw: random.Random, depth: int = 0):
    """Return random JSON, most of it with the names and the depth of real answers."""
    kind = draw.randrange(3) if depth < 5 else 0
    if kind == 0:
        return draw.choice(LEAVES)
    if kind == 1:
        return [anything(draw, depth + 1) for _ in range(draw.randrange(3))]
    return {name: anything(draw, depth + 1) for name in draw.sample(NAMES, draw.randrange(9))}


class Sender:
    """Server that sends the same answer to every request."""

    url = "http://here"

    def __init__(self, value: object) -> None:
        """Keep the answer."""
        self.body = value if isinstance(value, bytes) else json.dumps(value).encode()

    async def get(self, path: str) -> Json:
        """Send it."""
        return Json.parse(self.body, self.url)

    async def post(self, path: str, body: object) -> Json:
        """Send it."""
        return Json.parse(self.body, self.url)


def ask_everything(value: object) -> None:
    """Read an answer in every way; only a `ServerError` of one line may come of it."""
    client, server = VLLMClient(), Sender(value)
    ways = (
        (client.describe(server), ServerDescription),
        (client.adapters(server), set),
        (client.complete(server, PROMPT, "m", None), Completion),
        (client.complete(server, PROMPT, "m", None, top=5), Completion),
    )
    for way, kind in ways:
        try:
            assert isinstance(asyncio.run(way), kind)
        except ServerError as error:
            assert "\n" not in str(error) and len(str(error)) < 1000
    try:
        assert isinstance(read(server.body), Answer)
    except UnusableAnswerError as error:
        assert "\n" not in str(error)


def test_random_answers_are_read_or_refused() -> None:
    draw = random.Random(0)
    for _ in range(400):
        ask_everything(anything(draw))


CHOICE = {
    "prompt_token_ids": [1],
    "token_ids": [7],
    "logprobs": {"token_logprobs": [-0.5], "top_logprobs": [{"token_id:7": -0.5}]},
}


HUGE = -(10**400)
"""A log-probability that no float holds."""


def test_a_right_answer_is_read() -> None:
    server = Sender({"choices": [CHOICE]})
    completion = asyncio.run(VLLMClient().complete(server, PROMPT, "m", None, top=1))
    assert completion == Completion((1,), (7,), (-0.5,), ({7: -0.5},))


@pytest.mark.parametrize(
    "value",
    [
        {"choices": ["no"]},
        {"choices": None},
        {"choices": [CHOICE, CHOICE]},
        {"choices": [{**CHOICE, "logprobs": None}]},
        {"choices": [{**CHOICE, "logprobs": {**CHOICE["logprobs"], "token_logprobs": ["-0.5"]}}]},
        {"choices": [{**CHOICE, "logprobs": {**CHOICE["logprobs"], "token_logprobs": [HUGE]}}]},
        {"choices": [{**CHOICE, "token_ids": [True]}]},
        {"data": []},
        {"data": [{"max_model_len": 5}]},
        b"<html>no</html>",
        b"[" * 100_000,
        b"",
    ],
)
def test_a_wrong_answer_is_one_line(value) -> None:
    with pytest.raises(ServerError, match="^http://here sent an unusable answer: expected"):
        asyncio.run(VLLMClient().complete(Sender(value), PROMPT, "m", None, top=1))
    with pytest.raises(ServerError, match="expected"):
        asyncio.run(VLLMClient().describe(Sender(value)))


class Response:
    """Streamed response of a server that never stops."""

    def __init__(self, **headers: str) -> None:
        """Count what was read."""
        self.headers, self.sent = headers, 0

    async def aiter_raw(self):
        """Send a megabyte after the other."""
        while True:
            self.sent += 1
            yield b"x" * 2**20


def test_reading_stops_behind_16_megabytes() -> None:
    response = Response()
    with pytest.raises(ServerError, match="more than 16,777,216 bytes"):
        asyncio.run(read_body(response))
    assert response.sent == 17
    packed = Response(**{"content-encoding": "gzip"})
    with pytest.raises(ServerError, match="encoded as 'gzip'"):
        asyncio.run(read_body(packed))
    assert packed.sent == 0
