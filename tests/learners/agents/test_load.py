"""Models that cannot be had: every way of it is a setting error that names the model."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import socket
import sys
import time
from contextlib import suppress
from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForSequenceClassification

from laconic.envs.errors import SettingError
from laconic.learners.agents import folders
from laconic.learners.agents.folders import agent_folders, folder_name
from laconic.learners.agents.hf import HFTeam
from laconic.learners.agents.load import count_parameters, load_model, load_tokenizer


def test_only_a_folder_of_folders_holds_separate_policies(saved, tmp_path):
    assert agent_folders(str(saved)) == {}
    assert agent_folders(str(tmp_path / "nothing")) == agent_folders("Qwen/Qwen3-0.6B") == {}
    assert agent_folders(str(saved.parent)) == {saved.name: str(saved)}


def spoil(folder, how: str) -> str:
    if how == "missing":
        return str(folder / "nothing")
    if how == "empty":
        (folder / "empty").mkdir()
        return str(folder / "empty")
    if how == "a file":
        return str(folder / "config.json")
    if how == "no weights":
        (folder / "model.safetensors").unlink()
    if how == "half the weights":
        weights = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    if how == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    if how == "a broken tokenizer":
        (folder / "tokenizer.json").write_text("{}")
    if how == "a broken config":
        (folder / "config.json").write_text("{")
    if how == "another kind of model":
        (folder / "config.json").write_text(json.dumps({"model_type": "t5"}))
    if how == "another shape":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 64}))
    return str(folder)


@pytest.mark.parametrize(
    "how",
    [
        "missing",
        "empty",
        "a file",
        "no weights",
        "half the weights",
        "no tokenizer",
        "a broken tokenizer",
        "a broken config",
        "another kind of model",
        "another shape",
    ],
)
def test_a_model_that_cannot_be_read_is_a_setting_error_that_names_it(saved, make_env, how):
    name = spoil(saved, how)
    with pytest.raises(SettingError, match="agent.model") as caught:
        HFTeam(name).policies(make_env())
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-0.6B", "no-such-model", "a/b/c", "has a space"])
def test_a_name_that_cannot_be_downloaded_fails_fast(make_env, monkeypatch, name):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    started = time.monotonic()
    with pytest.raises(SettingError, match="agent.model="):
        HFTeam(name).policies(make_env())
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("setting", "value"),
    [("device", "cudaa"), ("device", "cuda:77")],
)
def test_unknown_devices_are_refused(saved, make_env, setting, value):
    with pytest.raises(SettingError, match=f"agent.{setting}"):
        HFTeam(str(saved), **{setting: value}).policies(make_env())


NAMES = {
    "solver_0": "solver_0",
    "team/a": "team%2Fa",
    "../a": "%2E.%2Fa",
    "/etc": "%2Fetc",
    "..": "%2E.",
    ".hidden": "%2Ehidden",
    "%2Fetc": "%252Fetc",
    "a\\b:c*": "a%5Cb%3Ac%2A",
    "Zoë": "Zo%C3%AB",
}


@pytest.mark.parametrize(("agent", "folder"), NAMES.items())
def test_the_folder_of_an_agent_lies_in_that_of_its_team(tmp_path, agent, folder):
    assert folder_name(agent) == folder
    place = tmp_path / folder_name(agent)
    assert place.resolve().parent == tmp_path.resolve()
    place.mkdir()
    (place / "config.json").write_text("{}")
    assert agent_folders(str(tmp_path)) == {agent: str(place)}


def test_the_longest_name_of_an_agent_is_a_name_of_a_file(tmp_path):
    # 80 bytes, three characters for each: 240 of the 255 that a file name may have.
    place = tmp_path / folder_name("ü" * 40)
    place.mkdir()
    assert len(place.name) == 240 and place.is_dir()


def test_a_hub_that_cannot_be_reached_is_noticed_at_once(make_env, monkeypatch, caplog):
    """Nothing listens at this port: the name is looked for among earlier downloads alone."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folders.hub_answers.cache_clear()
    started = time.monotonic()
    with pytest.raises(SettingError, match="The hub cannot be reached") as caught:
        HFTeam("owner/no-such-model").policies(make_env())
    assert time.monotonic() - started < 6 and "\n" not in str(caught.value)
    assert "Retry" not in caplog.text
    folders.hub_answers.cache_clear()


def test_a_hub_that_takes_connections_is_asked(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        folders.hub_answers.cache_clear()
        assert folders.hub_answers()
        # A proxy is what has to answer where there is one.
        monkeypatch.delenv("NO_PROXY")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        folders.hub_answers.cache_clear()
        assert not folders.hub_answers()
    folders.hub_answers.cache_clear()


def rename(folder, change) -> None:
    """Write the weights of a model under other names; None leaves one out."""
    path = folder / "model.safetensors"
    weights = {name: change(name) for name in load_file(path)}
    kept = {new: load_file(path)[name] for name, new in weights.items() if new}
    save_file(kept, path, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda name: f"module.{name}", "and name others, such as module."),
        (lambda name: f"_orig_mod.{name}", "and name others, such as _orig_mod."),
        (lambda name: None if "mlp.up_proj" in name else name, "mlp.up_proj.weight"),
        (lambda name: None if "norm" in name else name, "norm.weight"),
        (lambda name: None if "embed_tokens" in name else name, "embed_tokens.weight"),
    ],
)
def test_a_model_whose_files_lack_weights_does_not_play_with_random_ones(
    saved, tmp_path, make_env, change, named
):
    folder = tmp_path / "spoiled"
    shutil.copytree(saved, folder)
    rename(folder, change)
    with pytest.raises(SettingError, match=r"lack \d+ of \d+ weights") as refusal:
        HFTeam(str(folder)).policies(make_env())
    assert named in str(refusal.value) and "would be random" in str(refusal.value)


def test_tied_heads_and_further_weights_do_not_matter(saved, tmp_path, make_env):
    folder = tmp_path / "spoiled"
    shutil.copytree(saved, folder)
    weights = load_file(folder / "model.safetensors")
    weights["v_head.summary.weight"] = torch.zeros(1, 4)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert HFTeam(str(folder)).policies(make_env())


@pytest.mark.parametrize("tied", [True, False])
def test_a_classifier_is_no_policy(tmp_path, tied):
    sizes = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = LlamaConfig(num_attention_heads=2, tie_word_embeddings=tied, **sizes)
    LlamaForSequenceClassification(config).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(SettingError, match="saved as LlamaForSequenceClassification"):
        load_model(str(tmp_path), "float32", "cpu")


@pytest.mark.parametrize(
    "entry", [{"attn_implementation": "a/kernel"}, {"text_config": {"_attn_implementation": "a/b"}}]
)
def test_code_of_the_hub_that_a_config_names_is_not_fetched(saved, tmp_path, make_env, entry):
    folder = tmp_path / "spoiled"
    shutil.copytree(saved, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **entry}))
    with pytest.raises(SettingError, match="asks for code of the hub"):
        HFTeam(str(folder)).policies(make_env())
    with pytest.raises(SettingError, match="asks for code of the hub"):
        count_parameters(str(folder))


def test_an_adapter_beside_a_model_is_not_given_to_a_library(saved, tmp_path, monkeypatch):
    folder = tmp_path / "spoiled"
    shutil.copytree(saved, folder)
    theirs = {"peft_type": "LORA", "megatron_config": {"x": 1}, "megatron_core": "megatron.core"}
    theirs |= {"r": 1, "target_modules": ["q_proj"], "base_model_name_or_path": str(saved)}
    (folder / "adapter_config.json").write_text(json.dumps(theirs))
    (tmp_path / "megatron").mkdir()
    (tmp_path / "megatron" / "core.py").write_text("raise SystemExit('their code ran')")
    monkeypatch.syspath_prepend(str(tmp_path))
    # Also the base that a harmless adapter names.
    with pytest.raises(SettingError, match=r"holds an adapter_config\.json"):
        load_model(str(folder), "float32", "cpu")
    assert "megatron" not in sys.modules


class Call:
    """Calls a function when it is read from a pickle."""

    def __reduce__(self):
        return os.mkdir, ("theirs",)


@pytest.mark.parametrize("how", ["auto_map", "tokenizer", "custom_generate", "pickle"])
def test_code_in_the_folder_of_a_model_is_not_run(saved, tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    code = "import os\nos.mkdir('theirs')\nclass Theirs: pass\ndef generate(*_, **__): pass\n"
    (saved / "custom_generate").mkdir()
    for file in ("theirs.py", "custom_generate/generate.py"):
        (saved / file).write_text(code)
    config = json.loads((saved / "config.json").read_text())
    if how == "auto_map":
        names = {"AutoConfig": "theirs.Theirs", "AutoModelForCausalLM": "theirs.Theirs"}
        config |= {"model_type": "theirs", "auto_map": names}
    if how == "tokenizer":
        theirs = {"tokenizer_class": "Theirs", "auto_map": {"AutoTokenizer": ["theirs.Theirs"] * 2}}
        (saved / "tokenizer_config.json").write_text(json.dumps(theirs))
    if how == "pickle":
        (saved / "model.safetensors").unlink()
        torch.save({"a": Call()}, saved / "pytorch_model.bin")
    (saved / "config.json").write_text(json.dumps(config))
    for load in (load_tokenizer, partial(load_model, dtype="float32", device="cpu")):
        with suppress(SettingError):
            load(str(saved))
    assert not (tmp_path / "theirs").exists()


class Hostile:
    """Makes a folder as soon as it is unpickled."""

    def __init__(self, path) -> None:
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("form", ["torch", "torch without zip", "pickle"])
def test_weights_in_the_form_of_torch_run_nothing(saved, tmp_path, make_env, form):
    folder = tmp_path / "spoiled"
    shutil.copytree(saved, folder)
    weights = load_file(folder / "model.safetensors") | {"theirs": Hostile(tmp_path / "ran")}
    (folder / "model.safetensors").unlink()
    if form == "pickle":
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"theirs": weights["theirs"]}))
    else:
        zipped = form == "torch"
        path = folder / "pytorch_model.bin"
        torch.save(weights, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(SettingError, match="could not be loaded"):
        HFTeam(str(folder)).policies(make_env())
    assert not (tmp_path / "ran").exists()
