"""Content of a folder, found without torch: one model, one per agent, an adapter, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from places import ROOT
from safetensors.torch import save_file

from laconic.envs.errors import SettingError
from laconic.learners.agents.folders import apply_umask, check_model, is_path
from laconic.learners.agents.hf import HFTeam


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    return str(folder)


@pytest.mark.parametrize(
    "names",
    [
        ("config.json", "tokenizer.json"),
        ("config.json", "tokenizer.model"),
        ("config.json", "vocab.json", "merges.txt"),
        ("config.json", "qwen.tiktoken"),
        ("adapter_config.json",),
        ("solver_0/config.json", "solver_0/tokenizer.json"),
        ("helper_0/adapter_config.json", "solver_0/adapter_config.json"),
    ],
)
def test_a_model_an_adapter_and_a_team_of_them_pass(tmp_path, names):
    check_model(write(tmp_path, *names))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "holds no config.json"),
        (("config.json",), "has no tokenizer: expected tokenizer.json beside config.json"),
        # The settings of a tokenizer are not its vocabulary.
        (("config.json", "tokenizer_config.json"), "has no tokenizer"),
        (("solver_0/config.json",), "solver_0' has no tokenizer"),
    ],
)
def test_a_folder_that_no_team_can_be_loaded_from_is_refused(tmp_path, names, words):
    with pytest.raises(SettingError, match=f"agent.model=.*{words}"):
        check_model(write(tmp_path, *names))


@pytest.mark.parametrize("name", ["/no/such", "./no_such", "~/no_such", "outputs/2026/policy"])
def test_a_path_that_does_not_exist_is_refused(name):
    assert is_path(name)
    with pytest.raises(SettingError, match=f"agent.model='{name}' does not exist; expected"):
        HFTeam(name)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-0.6B", "gpt2"])
def test_a_name_on_the_hub_is_left_to_the_hub(name):
    assert not is_path(name)
    check_model(name)


TARGETS = (
    "laconic.learners.agents.hf.HFTeam",
    "laconic.learners.agents.hf.SamplingSettings",
    "laconic.learners.agents.lora.Lora",
    "laconic.learners.agents.mixed.MixedTeam",
    "laconic.learners.agents.scripted.ScriptedTeam",
    "laconic.learners.agents.scripted.Teacher",
    "laconic.learners.agents.smollm2.SmolLM2Team",
    "laconic.learners.agents.tiny.TinyTeam",
    "laconic.learners.agents.tiny.new.ModelConfig",
    "laconic.learners.agents.tiny.new.NewTeam",
)
"""Agents and their parts that a configuration names."""


def test_settings_of_agents_need_no_torch():
    code = (
        "import sys; from pkgutil import resolve_name\n"
        f"for name in {TARGETS}: resolve_name(name)\n"
        "from laconic.learners.agents.tiny import TinyTeam; TinyTeam()\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src")},
        check=True,
    )
    assert completed.stdout == "[]\n"


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_files_have_the_permissions_of_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        (tmp_path / "policy").mkdir()
        save_file({"weights": torch.zeros(3)}, tmp_path / "policy" / "model.safetensors")
        (tmp_path / "policy" / "config.json").write_text("{}")
        apply_umask(tmp_path)
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()]
    assert modes == [mode] * 2
