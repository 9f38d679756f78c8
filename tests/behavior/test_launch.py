"""Several processes: settings refused at the start, and settings passed to accelerate."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from places import ROOT

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.session.checks import check_train as check
from laconic.experiments.session.preparation import common_folder
from laconic.experiments.session.setup import make_learner, sampling_seed
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes

CPUOffloadPolicy = type("CPUOffloadPolicy", (), {})
WHOLE = {"fsdp_version": 2, "reshard_after_forward": True}
LAUNCH = ROOT / "experiments" / "launch"


class Two(Processes):
    """The second of two processes; the first one sends `said`."""

    rank, count = 1, 2

    def __init__(self, said=None) -> None:
        self.said = said

    def gather(self, values):
        return [self.said, *values]


def composed(*overrides: str):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", overrides=list(overrides))


def test_every_process_has_a_group_to_play():
    cfg = composed("train.tasks_per_step=3")
    check(cfg, 3)
    with pytest.raises(
        SettingError, match=r"train.tasks_per_step must be at least the 4 proc.*; got 3"
    ):
        check(cfg, 4)


def test_swarm_sharing_is_refused_and_one_learns_what_to_do_instead(tmp_path):
    cfg = composed("learner=swarm", f"learner.collect.folder={tmp_path}", "learner.decay_updates=1")
    refusal = r"Swarm\) remembers .* got 2 processes.*start another\s+run"
    with pytest.raises(SettingError, match=refusal):
        make_learner(cfg, {}, Two())


def test_a_learner_made_for_one_process_is_refused(outside):
    cfg = composed("learner=gspo", "~learner", "+learner._target_=my_parts.Bare")
    with pytest.raises(SettingError, match=r"my_parts.Bare takes no argument `processes`"):
        make_learner(cfg, {}, Two())


@pytest.mark.parametrize("overrides", (["demand"], ["train", "-m", "seed=1,2"]))
def test_what_runs_in_one_process_says_so(run, monkeypatch, tmp_path, overrides):
    for name, value in (("WORLD_SIZE", "2"), ("RANK", "0"), ("LOCAL_RANK", "0")):
        monkeypatch.setenv(name, value)
    outcome = run(*overrides, f"hydra.sweep.dir={tmp_path}", f"hydra.run.dir={tmp_path}")
    assert outcome.code == 1
    assert "accelerate launch" in outcome.err


def test_one_process_where_several_were_asked_for_is_told_of(run, monkeypatch, tmp_path):
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    outcome = run("train", "train.group_size=1", f"hydra.run.dir={tmp_path}")
    assert outcome.code == 1
    assert "note: accelerate launch has started one" in outcome.err
    # The file is named so that it is found from any folder.
    assert f"--config_file {LAUNCH / 'cpu.yaml'} (" in outcome.err


def test_the_page_finds_the_settings_from_any_folder(tmp_path):
    page = (ROOT / "docs" / "scaling.md").read_text("utf-8")
    (code, rest) = re.findall(r'--config_file "\$\(python -c "(.*)"\)(.*?)"', page)[0]
    completed = subprocess.check_output(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        text=True,
    )
    assert Path(completed.strip() + rest).resolve() == LAUNCH / "cpu.yaml"


def test_the_settings_are_packed_into_a_wheel():
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    patterns = packed["package-data"]["laconic.experiments"]
    paths = {path for pattern in patterns for path in LAUNCH.parent.glob(pattern)}
    assert set(LAUNCH.iterdir()) <= paths


def test_processes_draw_apart_and_the_first_one_as_if_it_were_alone():
    seeds = [sampling_seed(1, 5, rank) for rank in range(64)]
    assert seeds[0] == sampling_seed(1, 5) == 1_000_008
    assert len(set(seeds)) == 64 and sampling_seed(1, 6, 1) not in seeds
    # They are seeds of numpy's generators.
    assert all(np.random.default_rng((seed, 0)) for seed in seeds)


def test_the_run_folder_is_that_of_the_main_process_and_no_other_is_left(tmp_path):
    theirs, own = tmp_path / "12-00-00", tmp_path / "12-00-01"
    own.mkdir()
    assert common_folder(str(own), Two(str(theirs))) == str(theirs)
    assert not own.exists()
    own.mkdir()
    (own / "kept").touch()
    assert common_folder(str(own), Two(str(theirs))) == str(theirs)
    assert (own / "kept").exists()
    assert common_folder(str(own), SINGLE_PROCESS) == str(own)


@pytest.mark.parametrize("path", sorted(LAUNCH.glob("*.yaml")), ids=lambda path: path.stem)
def test_accelerate_reads_the_settings_and_starts_several_processes(path):
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser

    config = load_config_from_file(str(path))
    assert config.num_processes > 1 and config.mixed_precision == "no"
    arguments = ["--config_file", str(path), "-m", "laconic.experiments.train", "env=gsm8k"]
    args, _, _ = _validate_launch_command(launch_command_parser().parse_args(arguments))
    # Only these two start more than one; an option of accelerate's that is unknown would raise.
    assert args.multi_gpu != args.use_fsdp
    assert args.num_processes == config.num_processes
    assert args.use_cpu == (path.stem == "cpu")


def test_the_settings_of_fsdp_cut_the_model_at_its_layers(monkeypatch, policy_folder):
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils.launch import prepare_multi_gpu_env
    from transformers import AutoModelForCausalLM

    from laconic.learners.distributed import sharding
    from laconic.learners.distributed.launched import _check, _plugin

    arguments = ["--config_file", str(LAUNCH / "fsdp.yaml"), "-m", "laconic.experiments.train"]
    args, _, _ = _validate_launch_command(launch_command_parser().parse_args(arguments))
    for name, value in prepare_multi_gpu_env(args).items():
        monkeypatch.setenv(name, str(value))
    accelerator = SimpleNamespace(
        distributed_type=SimpleNamespace(name="MULTI_CPU"), mixed_precision="no"
    )
    plugin = _plugin(accelerator)
    _check(accelerator, plugin)
    assert (plugin.fsdp_version, plugin.reshard_after_forward) == (2, True)
    assert not plugin.cpu_ram_efficient_loading
    model = AutoModelForCausalLM.from_pretrained(policy_folder)
    names = sharding.layer_names(model, plugin)
    assert names == {"LlamaDecoderLayer"}
    results = [module for module in model.modules() if type(module).__name__ in names]
    assert len(results) == model.config.num_hidden_layers
    plugin.transformer_cls_names_to_wrap = ["NoSuchLayer"]
    with pytest.raises(SettingError, match="names NoSuchLayer, and LlamaForCausalLM has no such"):
        sharding.shard(model, plugin, None)


@pytest.mark.parametrize(
    ("kind", "precision", "plugin", "words"),
    (
        ("DEEPSPEED", "no", None, "split work by DEEPSPEED"),
        ("MULTI_GPU", "bf16", None, "mixed_precision=bf16 works with FSDP alone"),
        ("FSDP", "bf16", {"fsdp_version": 1}, "fsdp_version must be 2; got 1"),
        (
            "FSDP",
            "no",
            {"fsdp_version": 2, "reshard_after_forward": False},
            "fsdp_reshard_after_forward must be true",
        ),
        ("FSDP", "no", WHOLE | {"cpu_offload": CPUOffloadPolicy()}, "fsdp_offload_params must be"),
        (
            "FSDP",
            "no",
            WHOLE | {"cpu_offload": None, "cpu_ram_efficient_loading": True},
            "fsdp_cpu_ram_efficient_loading must be false",
        ),
    ),
)
def test_ways_to_split_work_that_are_not_known_here_are_refused(kind, precision, plugin, words):
    from laconic.learners.distributed.launched import _check

    accelerator = SimpleNamespace(
        distributed_type=SimpleNamespace(name=kind), mixed_precision=precision
    )
    with pytest.raises(SettingError, match=words):
        _check(accelerator, plugin and SimpleNamespace(**plugin))


def test_gradients_that_only_some_have_are_summed_and_others_stay_away():
    class Doubled(Two):
        def gather(self, values):
            # The other process has a gradient of the first parameter alone.
            return [[True, False, False], *values]

        def add(self, tensor):
            tensor *= 2

    parameters = [torch.nn.Parameter(torch.ones(2)) for _ in range(3)]
    parameters[1].grad = torch.tensor([3.0, 4.0])
    Doubled().sum_gradients(parameters)
    assert parameters[0].grad.tolist() == [0.0, 0.0]
    assert parameters[1].grad.tolist() == pytest.approx([6.0, 8.0])
    assert parameters[2].grad is None
