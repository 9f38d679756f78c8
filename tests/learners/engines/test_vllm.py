"""How vLLM is spoken to, and what its servers lack is said with the command that has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.learners.engines.dialect import Launch, Raw, check_likeliest
from laconic.learners.engines.expected import Expected
from laconic.learners.engines.vllm import VLLM, Talk
from laconic.learners.errors import ServerError

LAUNCH = Launch("base", 8123, "float32", 20, 8, 1024)


def test_a_server_is_started_with_all_that_training_needs():
    words = " ".join(Talk().command(LAUNCH))
    assert words.startswith("serve base --host 127.0.0.1 --port 8123 --dtype float32")
    assert "--logprobs-mode processed_logprobs" in words and "--max-model-len 1024" in words
    # The next rank that it takes.
    assert "--enable-lora --max-lora-rank 32 --max-loras 8" in words


@pytest.mark.parametrize("gpu", [False, True])
def test_on_a_processor_prompts_are_read_whole(gpu, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    words = " ".join(Talk().command(LAUNCH))
    whole = "--no-enable-chunked-prefill --max-num-batched-tokens 1024" in words
    assert whole is not gpu and ("chunked" in words) is not gpu
    # The model's own length is not known here, and a lower bound would be refused.
    assert "chunked" not in " ".join(Talk().command(replace(LAUNCH, positions=None)))


def test_every_field_of_sampling_is_sent(make_team, start_server, tmp_path, play_groups):
    policies = make_team()
    server = start_server(policies)
    with VLLM(url=server.url) as engine:
        engine.open(policies, tmp_path)
        engine.sync()
        play_groups(policies)
    body = server.paths("/v1/completions")[-1]
    assert body["temperature"] == 0.8 and body["ignore_eos"] is True
    assert (body["top_p"], body["top_k"], body["repetition_penalty"]) == (1.0, 0, 1.0)
    assert all(isinstance(one, int) for one in body["prompt"])


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"runtime_loras": False, "dev_mode": False}, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"),
        ({"rank": 0}, "takes no adapters"),
        ({"rank": 2}, "up to rank 2"),
        ({"max_loras": 2}, "holds 2 adapters"),
        ({"dtype": "bfloat16"}, "computes in bfloat16"),
        ({"processed": False}, "temperature"),
    ],
)
def test_a_server_without_what_is_needed_is_refused_in_words(
    given, word, make_team, start_server, tmp_path
):
    policies = make_team()
    with (
        VLLM(url=start_server(policies, **given).url) as engine,
        pytest.raises(ServerError, match=word),
    ):
        engine.open(policies, tmp_path)
        engine.sync()


def test_a_server_that_cannot_take_a_whole_model_is_refused(
    make_team, start_server, tmp_path, nudge
):
    policies = make_team("shared")
    with VLLM(url=start_server(policies, dev_mode=False).url) as engine:
        engine.open(policies, tmp_path)
        engine.sync()
        nudge(policies)
        with pytest.raises(ServerError, match="VLLM_SERVER_DEV_MODE=1"):
            engine.sync()


def test_a_server_that_is_not_there_is_refused_with_its_command(make_team, tmp_path):
    engine = VLLM(url="http://127.0.0.1:9", patience_seconds=0.1)
    with (
        engine,
        pytest.raises(ServerError, match=r"Start the server first, with: VLLM_.*vllm serve"),
    ):
        engine.open(make_team(), tmp_path)


def test_what_is_expected_of_an_adapter_is_told_from_the_base_once_it_was_trained(make_team, nudge):
    policies = make_team()
    expected = Expected({"solver_0": policies["solver_0"]}, None)

    def answer(version):
        top = dict(enumerate(expected._rows[version]["solver_0"].tolist()[:20]))
        return Raw((), (0,), (top[0],), (top,))

    expected.renew(0)
    fresh = answer(0)
    # A new adapter is the base.
    expected.judge("solver_0", 0, fresh, "float32", "it was loaded")
    nudge(policies)
    expected.renew(1)
    with pytest.raises(ServerError, match="speaks with the (version before|base)"):
        expected.judge("solver_0", 1, fresh, "float32", "it was loaded")
    nudge(policies, seed=1)
    expected.renew(2)
    # Of a server that came back every version that still speaks is judged, by its own scores.
    expected.judge("solver_0", 1, answer(1), "float32", "it was loaded again")
    with pytest.raises(ServerError, match="speaks with version 2"):
        expected.judge("solver_0", 1, answer(2), "float32", "it was loaded again")
    expected.keep([2])
    assert list(expected._rows) == [2]


@pytest.mark.parametrize("tops", [{}, {1: -1.0}, {99: -1.0} | {at: -9.0 for at in range(1, 20)}])
def test_a_server_that_hides_what_is_likeliest_is_refused_with_its_flag(tops):
    raw = Raw((3,), (1,), (-1.0,), (tops,))
    with pytest.raises(ServerError, match="cannot be proved.*--max-logprobs 20"):
        check_likeliest(raw, 20, "http://here", 50)
    check_likeliest(replace(raw, likeliest=({at: -1.0 for at in range(20)},)), 20, "", 50)
