"""The pretrained model of `make smollm2` is taken where it is, and answers."""

from __future__ import annotations

import pytest

from laconic.learners.agents import folders, smollm2
from laconic.learners.agents.sampling import SamplingSettings
from laconic.learners.interfaces import Request

FOLDER = folders.find_smollm2()


def test_the_folder_is_taken_where_it_is_and_else_the_hub(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_PLACES", (tmp_path / "a", tmp_path / "b"))
    assert folders.find_smollm2() == folders.SMOLLM2_HUB == smollm2.SmolLM2Team().model
    folder = tmp_path / "b" / "SmolLM2-135M-Instruct"
    folder.mkdir(parents=True)
    # Without a config it is what a download that was broken off has left.
    assert folders.find_smollm2() == folders.SMOLLM2_HUB
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    assert folders.find_smollm2() == str(folder) == smollm2.SmolLM2Team().model
    assert smollm2.SmolLM2Team(model="another").model == "another"


@pytest.mark.slow
@pytest.mark.skipif(FOLDER == folders.SMOLLM2_HUB, reason="needs `make smollm2`")
def test_it_knows_a_capital(make_env):
    sampling = SamplingSettings(explain_silence=False, max_reply_tokens=24)
    team = smollm2.SmolLM2Team(sampling=sampling, device="cpu")
    policy = next(iter(team.policies(make_env()).values()))
    request = Request("solver_1", "What is the capital of France?")
    [reply] = policy.reply([request], seed=0, greedy=True)
    assert reply.message == "The capital of France is Paris."
    assert policy.pad_id == policy.tokenizer.eos_token_id
    assert policy.tokenizer.eos_token == "<|im_end|>"
