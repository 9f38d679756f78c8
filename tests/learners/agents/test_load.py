"""Models that cannot be had: every way of it is a setting error that names the model."""

from __future__ import annotations

import json
import socket
import time

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.agents import folders
from laconic.learners.agents.folders import agent_folders, folder_name
from laconic.learners.agents.hf import HFTeam


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
