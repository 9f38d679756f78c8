"""The client of vLLM servers, and servers started without the options of a team."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.learners.engines.client import LaunchOptions, ServerClient
from laconic.learners.engines.vllm import VLLM, VLLMClient
from laconic.learners.errors import ServerError

OPTIONS = LaunchOptions("base", 8123, "float32", 20, 8, 1024)


def test_the_command_has_everything_that_training_needs():
    client: ServerClient = VLLMClient()
    words = " ".join(client.command(OPTIONS))
    assert words.startswith("serve base --host 127.0.0.1 --port 8123 --dtype float32")
    assert "--logprobs-mode processed_logprobs" in words and "--max-model-len 1024" in words
    # vLLM takes rank 32, but not 20.
    assert "--enable-lora --max-lora-rank 32 --max-loras 8" in words


@pytest.mark.parametrize("gpu", [False, True])
def test_on_a_cpu_prompts_are_read_whole(gpu, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    words = " ".join(VLLMClient().command(OPTIONS))
    whole = "--no-enable-chunked-prefill --max-num-batched-tokens 1024" in words
    assert whole is not gpu and ("chunked" in words) is not gpu
    # The model's own length is unknown here, and vLLM refuses a lower bound.
    unbounded = replace(OPTIONS, positions=None)
    assert "chunked" not in " ".join(VLLMClient().command(unbounded))


def test_every_sampling_field_is_sent(make_team, start_server, tmp_path, play_groups):
    policies = make_team()
    server = start_server(policies)
    with VLLM(url=server.url) as engine:
        engine.open(policies, tmp_path)
        engine.sync()
        play_groups(policies)
    body = server.paths("/v1/completions")[-1]
    assert body["temperature"] == 0.8 and body["ignore_eos"] is True
    assert (body["top_p"], body["top_k"], body["repetition_penalty"]) == (1.0, 0, 1.0)
    assert all(isinstance(token, int) for token in body["prompt"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"runtime_loras": False, "dev_mode": False}, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"),
        ({"rank": 0}, "takes no adapters"),
        ({"rank": 2}, "up to rank 2"),
        ({"max_loras": 2}, "holds 2 adapters"),
        ({"dtype": "bfloat16"}, "computes in bfloat16"),
        ({"processed": False}, "temperature"),
    ],
)
def test_a_server_that_lacks_something_is_refused(
    settings, message, make_team, start_server, tmp_path
):
    policies = make_team()
    with (
        VLLM(url=start_server(policies, **settings).url) as engine,
        pytest.raises(ServerError, match=message),
    ):
        engine.open(policies, tmp_path)
        engine.sync()


def test_a_server_that_cannot_reload_a_whole_model_is_refused(
    make_team, start_server, tmp_path, nudge
):
    policies = make_team("shared")
    with VLLM(url=start_server(policies, dev_mode=False).url) as engine:
        engine.open(policies, tmp_path)
        engine.sync()
        nudge(policies)
        with pytest.raises(ServerError, match="VLLM_SERVER_DEV_MODE=1"):
            engine.sync()


def test_without_a_server_the_error_has_the_command(make_team, tmp_path):
    engine = VLLM(url="http://127.0.0.1:9", patience_seconds=0.1)
    with (
        engine,
        pytest.raises(ServerError, match=r"Start the server first, with: VLLM_.*vllm serve"),
    ):
        engine.open(make_team(), tmp_path)
