"""Content of a folder, found without torch: one model, one per agent, an adapter, or nothing."""

from __future__ import annotations

import json
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


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2\nsize 12345\n"


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors", "x.bin"])
@pytest.mark.parametrize("kind", ["model", "adapter", "team", "team of adapters"])
def test_a_pointer_of_git_lfs_is_named_with_its_remedy(tmp_path, kind, file):
    folder = tmp_path / "solver_0" if "team" in kind else tmp_path
    folder.mkdir(exist_ok=True)
    adapter = "adapter" in kind
    names = ("adapter_config.json",) if adapter else ("config.json", "tokenizer.json")
    for name in names:
        (folder / name).write_text("{}")
    check_model(str(tmp_path))
    file = f"adapter_{file}" if adapter else file
    (folder / file).write_text(POINTER)
    with pytest.raises(SettingError, match=f"{file} is a pointer of Git LFS.*git lfs pull"):
        check_model(str(tmp_path))


def test_a_pointer_in_place_of_weights_that_are_not_read_does_not_matter(tmp_path):
    folder = write(tmp_path, "config.json", "tokenizer.json", "model.safetensors")
    for name in ("pytorch_model.bin", "q4.gguf", "picture.png"):
        (tmp_path / name).write_text(POINTER)
    check_model(folder)
    with pytest.raises(SettingError, match=r"q4\.gguf is a pointer of Git LFS"):
        check_model(f"{folder}/q4.gguf")
    (tmp_path / "chat_template.jinja").write_text(POINTER)
    with pytest.raises(SettingError, match=r"chat_template\.jinja is a pointer of Git LFS"):
        check_model(folder)


@pytest.mark.parametrize("shard", ["../other.safetensors", "/etc/passwd", "a/b.safetensors", ".."])
def test_shards_lie_in_the_folder_of_the_model(tmp_path, shard):
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "model-1.safetensors"}}))
    check_model(str(tmp_path))
    index.write_text(json.dumps({"weight_map": {"a": "model-1.safetensors", "b": shard}}))
    with pytest.raises(SettingError, match="expected files of its own folder"):
        check_model(str(tmp_path))


@pytest.mark.parametrize("content", ["[]", "{", "{}", '{"weight_map": []}', "[" * 99999])
def test_an_index_that_names_no_shards_is_refused(tmp_path, content):
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "pytorch_model.bin.index.json").write_text(content)
    with pytest.raises(SettingError, match="is no index of shards"):
        check_model(str(tmp_path))


@pytest.mark.parametrize("file", ["tokenizer.json", "generation_config.json", "model.safetensors"])
def test_a_device_in_place_of_a_file_is_not_read(tmp_path, file):
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / file).unlink(missing_ok=True)
    (tmp_path / file).symlink_to("/dev/zero")
    with pytest.raises(SettingError, match=f"{file} is no file"):
        check_model(str(tmp_path))
