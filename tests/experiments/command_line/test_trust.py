"""Settings of a run folder are used if they name no code, no file and no server."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import shutil
from collections import defaultdict

import pytest
from conf_keys import NAMES
from omegaconf import OmegaConf
from places import CONF

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.targets import dotted
from laconic.experiments.command_line.tree import compose, plain, record_of
from laconic.experiments.command_line.trust import (
    check_settings,
    is_override_taken,
    is_taken,
    known_targets,
)
from laconic.learners.agents.recipes import SHIPPED

TEAM = {"_target_": "laconic.learners.agents.hf.HFTeam", "frozen": True}
GATED = {**TEAM, "_target_": "laconic.extras.methods.gated_team.GatedTeam"}
MIXED = "laconic.learners.agents.mixed.MixedTeam"


@functools.cache
def _composed(program, *choices):
    return plain(compose(program, str(CONF), choices))


def _is_taken(text):
    """Judge an override as one of the program that knows its key, with the options it is for."""
    program = "compare" if re.match(r"\+?(entries|entry|compare)\b", text) else "train"
    choices = [choice for key, choice in OPTIONS.items() if text.lstrip("+").startswith(key)]
    cfg = _composed(program, *choices)
    return is_override_taken(text, cfg, record_of(program))


OPTIONS = {
    "agent.gate": "agent=gated",
    "agent.members": "agent=mixed",
    "agent.api_key_env": "agent=api",
    "agent.base_url": "agent=api",
    "agent.sampling.extra_body": "agent=api",
    "agent.tokenizer": "agent=api",
    "agent.sampling.template": "agent=hf",
    "engine.": "engine=vllm",
    "logger.mlflow": "logger=mlflow",
    "logger.trackio": "logger=trackio",
    "learner.collect.folder": "learner/collect=recorded",
}
"""Beginning of a key -> option whose class takes it."""
REFUSED = {
    # Servers, their keys, and programs that are started.
    *("api_key_env", "base_url", "extra_body", "url", "program", "arguments", "environment"),
    *("start", "attn_implementation", "uri", "space_id", "mode"),
    # Files and folders.
    *("tokenizer", "embed", "runs", "run", "folder", "source", "facts"),
    # Names under which a tracker files a run on its server.
    *("experiment", "group", "name", "project", "entity"),
    # Further classes.
    *("trust", "_target_", "_partial_"),
}
"""Last parts of all keys of all yamls that take no value but none, false and empty ones."""
VALUES = (7, 0.5, True, "any/word", ["any"], {"any": 1}, [1, 2])


def _configurations():
    """Yield programs and choices that compose every option of every group, many at a time."""
    options = defaultdict(list)
    for name in NAMES.values():
        group, _, option = name.rpartition("/")
        options[group].append(option)
    whole = ("env", "agent", "learner", "engine", "optimizer", "logger")
    parts = [group for group in options if group.startswith("learner/")]
    for groups, prefix in ((whole, ""), (parts, "learner=gspo ")):
        for place in range(max(len(options[group]) for group in groups)):
            chosen = [f"{group}={options[group][place % len(options[group])]}" for group in groups]
            yield "train", (*prefix.split(), *chosen)
    yield "train", ("experiment=expert",)
    for env in ("gsm8k", "boxnet"):
        yield "compare", (f"env={env}", f"entry=[{','.join(options['entry'])}]")
    for program in ("evaluate", "demand", "measure_speed"):
        yield program, ()


def test_each_key_of_each_yaml_is_judged_by_its_field():
    """Only the keys that name code, files or servers take nothing from a stranger."""
    taken: dict[str, bool] = defaultdict(bool)
    for program, choices in _configurations():
        cfg, record = _composed(program, *choices), record_of(program)
        for key in dotted(cfg):
            own = functools.reduce(lambda node, name: node[name], key.split("."), cfg)
            for value in (*VALUES, *([] if isinstance(own, dict) or not own else [own])):
                taken[key] = taken[key] or is_taken(key, value, cfg, record)
    leaves = {key for key in taken if not any(other.startswith(f"{key}.") for other in taken)}
    # These hold nodes with classes.
    leaves -= {"entries", "evaluation.after", "compare.columns"}
    refused = {key for key in leaves if not taken[key]}
    assert {key.rpartition(".")[2] for key in refused} == REFUSED
    safe = {key for key in leaves if taken[key]}
    assert len(safe) > 200
    assert {key for key in safe if key.rpartition(".")[2] in REFUSED} == {
        *("env.name", "env.source", "learner.collect.name"),
    }


@pytest.mark.parametrize(
    "text",
    [
        *("env=gsm8k", "agent=tiny", "agent=hf", "learner=gspo", "experiment=settings"),
        *("learner/price=fixed", "+learner/collect=teacher", "learner/collect=null", "~logger"),
        *("entry=[team,single]", "agent@agent.members.solver=hf", "logger=tensorboard"),
        *("seed=3", "env.rounds=3", "++env.budget.message=8", "env.team={solver: 1, helper: 2}"),
        *("train.layouts=[team,alone]", "env.reward={price: 1, normalizer: 10}", "resume=true"),
        *(
            "env.source=generated",
            "agent.model=null",
            "agent.model=some/model",
            "optimizer.betas=[0.9,0.99]",
            "sweep_metric=x",
        ),
        *("entries.mine.env.rounds=2", "+entries.mine.layout=team", "engine.start=false"),
        *("agent.members.helper.sampling.temperature=0.5", "agent.optimizer={solver: {lr: 1e-5}}"),
        *("+agent@agent.gate.policy=tiny", "agent@agent.speaker=hf", "agent.gate.threshold=0.2"),
        "entries.mine.say='two words'",
    ],
)
def test_an_override_that_names_nothing_outside_is_taken(text):
    assert _is_taken(text)


@pytest.mark.parametrize(
    "text",
    [
        # Flags, and what does not parse.
        *("--config-dir=/x", "--config-dir", "/x", "-cn=x", "-m", "env", "env[_target_]=os.system"),
        *(
            "--config-path=../../x",
            "",
            "=",
            "[" * 5000,
            "seed=" + "1" * 20_000,
            "env={a: {a: {a: 1}}",
            "seed=1,2",
        ),
        *("seed=range(1,9)", "seed=choice(1)", "env=glob(*)", "seed=\x1b[2J"),
        # Choices that are not this package's own.
        *(
            "env=../../x",
            "agent=../x",
            "engine=/x",
            "env=base/../../x",
            "env=mine",
            "env=[gsm8k,x]",
        ),
        *("learner/price=../x", "+hydra/launcher=joblib", "entry=[../x]", "env=sub/../gsm8k"),
        *("env@hydra.sweeper=gsm8k", "env@_global_=gsm8k", "agent@env=hf", "agent@agent._args_=hf"),
        *("agent@agent.a.b=hf", "agent@agent.sampling=tiny", "agent@speaker=hf"),
        # Classes and code.
        *("env._target_=os.system", "+env.x._target_=os.system", "env={_target_: os.system}"),
        *("env.team={_target_: os.system}", "train.layouts=[{_target_: os.system}]"),
        *("+optimizer._args_=[x]", "+entries.mine.agent._target_=os.system", "~env._target_"),
        *("agent.attn_implementation=them/kernel", "+agent.trust_remote_code=true", "trust=[a]"),
        "compare.trust=['']",
        # Programs and servers.
        *("engine=vllm", "engine.program=/x", "engine.start=true"),
        *("engine.url=http://x", "engine.arguments=[x]", "+engine.environment.LD_PRELOAD=x"),
        *("agent=api", "agent.base_url=http://x", "agent.api_key_env=HOME", "logger=wandb"),
        *("+agent.members.helper.base_url=http://x", "logger.mlflow.uri=http://x"),
        *("logger.trackio.space_id=them/space", "agent.sampling.extra_body={a: 1}"),
        # Files, folders and models.
        *("env.source=/x", "env.source=hub:them/data", "evaluation.source=/x", "run=/x"),
        *("learner.collect.folder=/x", "engine.folder=/x", "compare.runs=[/x]", "runs=/x"),
        *("compare.embed=/x", "agent.tokenizer=/x", "agent.model={a: 1}", "env.reader={facts: /x}"),
        # References, templates, and what there is none of.
        *("seed=${oc.env:HOME}", "env.team={solver: '${oc.env:HOME}'}", "hydra.searchpath=[/x]"),
        *("+agent.sampling.template.chat_template=x", "env.instructions={general: x, own: x}"),
        *("+env.x=1", "+mine=1", "hydra.run.dir=/x"),
    ],
)
def test_an_override_that_names_code_a_file_or_a_server_has_to_be_typed(text):
    assert not _is_taken(text)


def _hostile(folder, program, *task):
    """Make a stranger's run folder that records these overrides."""
    (folder / ".hydra").mkdir(parents=True)
    overrides = {"task": list(task), "hydra": []}
    noted = {"hydra": {"job": {"name": program}, "overrides": overrides}}
    OmegaConf.save(OmegaConf.create(noted), folder / ".hydra" / "hydra.yaml")
    (folder / "config.yaml").write_text("seed: 0\n")
    return folder


@pytest.mark.parametrize("program", ["train", "evaluate", "compare"])
def test_going_on_with_a_strangers_folder_runs_nothing_of_it(run, tmp_path, program):
    mark = tmp_path / "mark"
    (tmp_path / "start.sh").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (tmp_path / "start.sh").chmod(0o755)
    (tmp_path / "env").mkdir()
    for path in (tmp_path / "theirs.yaml", tmp_path / "env" / "theirs.yaml"):
        path.write_text(f"_target_: os.mkdir\npath: {mark}\n")
    outside = {
        group: os.path.relpath(tmp_path / "theirs", CONF / group)
        for group in ("env", "agent", "engine")
    }
    attacks = [
        ["engine=vllm", "engine.start=true", f"engine.program={tmp_path / 'start.sh'}"],
        *([f"{group}={path}"] for group, path in outside.items()),
        [f"--config-dir={tmp_path}", "env=theirs"],
        ["env._target_=os.mkdir", f"+env.path={mark}"],
        [f"hydra.searchpath=[{tmp_path}]", "env=theirs"],
    ]
    for number, attack in enumerate(attacks):
        folder = _hostile(tmp_path / str(number), program, *attack)
        outcome = run(program, f"resume={folder}", "evaluation.tasks=2")
        assert outcome.code == 1, attack
        assert "settings that are not taken from a run folder" in outcome.message, attack
        assert attack[-1] in outcome.message.replace("'", "")
    assert number == 6 and not mark.exists()


@pytest.mark.parametrize(
    ("group", "settings", "key"),
    [
        ("env", {"channel": {"lose": math.nan}}, "env.channel.lose must be a finite number"),
        ("env", {"channel": {"lose": 2.0}}, "env.channel.lose must be a finite number"),
        ("env", {"reward": {"price": math.inf}}, "env.reward.price must be a finite number"),
        (
            "agent",
            {**TEAM, "sampling": {"temperature": math.nan}},
            "agent.sampling.temperature must be",
        ),
    ],
)
def test_a_number_out_of_its_bounds_is_refused(group, settings, key):
    with pytest.raises(SettingError, match=key):
        check_settings(settings, group, "run")


def test_the_settings_of_the_own_choices_are_taken():
    sampling = {"_target_": "laconic.learners.agents.hf.SamplingSettings", "temperature": 1.0}
    members = {"solver": TEAM, "helper": {**TEAM, "sampling": sampling}}
    for settings in (TEAM, {"_target_": MIXED, "members": members}, {}):
        check_settings(settings, "agent", "run")
    check_settings({"topology": "star", "rounds": 2, "team": {"solver": 1}}, "env", "run")
    by_reply = {"kind": "by_reply", "similarity": 0.6}
    check_settings({"topology": by_reply}, "env", "run")
    with pytest.raises(SettingError, match=r"env\.topology\.embed='my\.code' is not taken"):
        check_settings({"topology": {**by_reply, "embed": "my.code"}}, "env", "run")
    assert "laconic.envs.make" in known_targets()
    # Programs, loggers and learners have no place in what a folder says of a team.
    assert not [target for target in known_targets() if target.startswith("laconic.experiments")]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"_target_": "os.system", "command": "true"}, "would build 'os.system'"),
        ({"_target_": "laconic.learners.agents.load.torch.load"}, "which may run any code"),
        ({"_target_": "laconic.experiments.command_line.console.import_module"}, "any code"),
        ({"_target_": None, "_args_": []}, "would build None"),
        ({"_args_": ["x"]}, "would build None"),
        ({"_target_": ["os", "system"]}, "any code"),
        ({"members": {"a": {"_target_": "subprocess.run"}}}, "agent.members.a would build"),
        ({"optimizer": [{"_target_": "os.system"}]}, "would build 'os.system'"),
        ({**TEAM, "_args_": ["x"]}, "does not take ['_args_']"),
        ({**TEAM, "trust_remote_code": True}, "does not take ['trust_remote_code']"),
        ({**TEAM, "device": "${oc.env:SECRET}"}, "agent.device holds the reference"),
        ({**TEAM, "base_url": "http://elsewhere"}, "does not take"),
        ({**TEAM, "attn_implementation": "them/kernel"}, "agent.attn_implementation='them/kernel'"),
        ({**TEAM, "attn_implementation": {"sdpa": "them/kernel"}}, "attn_implementation.sdpa="),
        ({**TEAM, "attn_implementation": ["sdpa", "them/kernel"]}, "agent.attn_implementation="),
        ({**GATED, "gate": {"policy": ["informed"]}}, "agent.gate.policy='informed'"),
        ({**TEAM, "model": ["x"]}, "agent.model='x'"),
        ({**TEAM, "optimizer": {"a": {"_args_": [1]}}}, "would build None"),
        ({**TEAM, "_partial_": True}, "does not take ['_partial_']"),
        ({**TEAM, "m\u043edel": "x"}, "does not take"),
        (
            {**TEAM, "sampling": {"template": {"chat_template": "x"}}},
            "template.chat_template='x' is",
        ),
        (
            {"_target_": MIXED, "members": {"a": {**TEAM, "attn_implementation": "x"}}},
            "members.a.attn",
        ),
        ({"_target_": "laconic.extras.api.ApiTeam", "base_url": "http://x"}, "a server"),
    ],
)
def test_settings_that_could_run_code_or_send_a_key_are_refused_with_their_key(settings, words):
    with pytest.raises(SettingError) as refused:
        check_settings(settings, "agent", "run", say="pass compare.trust=[{}]")
    assert words in str(refused.value)


def test_settings_that_are_nested_without_end_are_refused():
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(SettingError, match="nested too deeply"):
        check_settings(deep, "agent", "run")


def test_a_class_is_accepted_once_allowed_but_not_other_classes_inside():
    mine = {"_target_": "my_package.Team", "speed": 1}
    with pytest.raises(SettingError, match=r"pass compare\.trust=\[my_package\.Team\]"):
        check_settings(mine, "agent", "run", say="pass compare.trust=[{}]")
    check_settings(mine, "agent", "run", ["my_package."])
    with pytest.raises(SettingError, match="agent.inner would build 'os.system'"):
        inner = {**mine, "inner": {"_target_": "os.system"}}
        check_settings(inner, "agent", "run", ["my_package."])


def _foreign_run(folder, mark, **agent):
    (folder / "policy").mkdir(parents=True)
    config = {"env": {"name": "gsm8k"}, "agent": agent}
    OmegaConf.save(OmegaConf.create(config), folder / "config.yaml")
    return [f"compare.runs=[{folder}]", "entry=[]", "evaluation.tasks=2", "agent=scripted"]


def test_a_comparison_runs_no_code_of_a_folder_that_it_is_given(run, tmp_path):
    mark = tmp_path / "mark"
    code = {"_target_": "pathlib.Path.touch", "self": {"_target_": "pathlib.Path"}}
    arguments = _foreign_run(tmp_path / "theirs", mark, _target_="os.mkdir", path=str(mark))
    outcome = run("compare", *arguments, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1 and not mark.exists()
    assert "would build 'os.mkdir'" in outcome.message
    assert "pass compare.trust=[os.mkdir] to allow it" in outcome.message
    (tmp_path / "theirs" / "policy").rmdir()
    arguments = _foreign_run(tmp_path / "theirs", mark, **code)
    outcome = run("compare", *arguments, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1 and "would build 'pathlib.Path.touch'" in outcome.message


def test_the_code_of_a_model_is_never_run_and_no_prompt_appears(processes, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    code = {"AutoConfig": "theirs.Config", "AutoModelForCausalLM": "theirs.Model"}
    (model / "config.json").write_text(json.dumps({"model_type": "theirs", "auto_map": code}))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(SHIPPED / name, model / name)
    (model / "theirs.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    outcome = processes.run(
        "evaluate", f"agent.model={model}", "env.tasks=2", f"hydra.run.dir={tmp_path}/run"
    )
    assert outcome.code == 1 and not (tmp_path / "mark").exists()
    assert f"agent.model='{model}' could not be loaded" in outcome.message
    assert "[y/N]" not in outcome.out + outcome.err
