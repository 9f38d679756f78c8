"""Mistakes are reported in one line before torch is imported, and leave no files."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import InstantiationException
from places import ROOT

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.session.early import check_config

MISTAKES = {
    "train trian.steps=2": "Did you mean 'train.steps'?",
    "train env=gsm9k": "Did you mean 'gsm8k'?",
    "train train.steps=two": "train.steps must be a whole number of at least 0; got 'two'",
    "train optimizer.lr=fast": "optimizer.lr must be a finite number; got 'fast'",
    "train report=maybe": "report must be true or false; got 'maybe'",
    "train learner.whiten=1.5x": "learner.whiten must be true or false; got '1.5x'",
    "train env.rounds=[2]": "env.rounds must be a whole number",
    "train train.group_size=1": "train.group_size must be at least 2",
    "train env.answer=helper": "Set env.schedule=[[solver],helper] with env.rounds of at least 2",
    "evaluate env=math env.schedule=all env.rounds=1": "Set env.schedule=[[helper],solver]",
    "warm-start env=signal env.answer=helper": "answers before it can hear of them",
    "train env.reward.price=-1": "reward.price must be a finite number of at least 0; got -1",
    "train agent.model=/no/such": "agent.model='/no/such' does not exist",
    "train agent=hf agent.model=/no/such": "agent.model='/no/such' does not exist",
    "train agent=smollm2 agent.model=bare": "agent.model='bare' has no tokenizer",
    "train agent.sharing=seperate": "Did you mean 'separate'?",
    "train agent.sampling.temperature=0": "agent.sampling.temperature must be a finite number",
    "train agent=scripted": "agent=scripted follows a script and has no weights to train",
    "train learner.objective.epsilon=2": "learner.objective.epsilon must be",
    "train learner=ippo learner.objective.beta=-1": "learner.objective.beta must be",
    "train learner.minibatches=0": "learner.minibatches must be",
    "train learner.credit=onw": "Did you mean 'own'?",
    "train learner.price.power=0": "learner.price.power must be",
    "train learner.charge_power=1": "learner.price.power replaces learner.charge_power",
    "train learner/price=ramp": "learner/price=pass_rate, the default",
    "train env.source=/no/such": "env.source: /no/such: no such file or folder",
    "train evaluation.source=/no/such": "/no/such: no such file or folder",
    "train resume=/no/such": "resume=/no/such: there is no such folder",
    "warm-start env.source=/no/such": "env.source: /no/such: no such file or folder",
    "evaluate evaluation.batch=0": "evaluation.batch must be",
    "evaluate run=/no/such": "run='/no/such' is no folder of a training",
    "compare compare.budget=0": "compare.budget must be",
    "train callbacks.mine._target_=json.JSONDecoder": "_target_ must name a subclass",
    "demand runs=/no/such": "'/no/such' holds none",
    "demand env.source=/no/such": "env.source: /no/such: no such file or folder",
    "measure-speed threads=0": "threads must be",
}
"""Command -> part of its answer."""

ASK = """
import contextlib, io, json, sys
from parsed import remember
from laconic.experiments.command_line.console import main
remember()
answers = []
for command in json.load(sys.stdin):
    sys.argv, said, code = ["laconic", *command.split()], io.StringIO(), 0
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            main()
        except SystemExit as end:
            code = end.code
    heavy = [name for name in ("torch", "transformers", "matplotlib") if name in sys.modules]
    answers.append([code, said.getvalue(), heavy])
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Command -> exit code, words and heavy modules; and what is left in the working folder."""
    here = tmp_path_factory.mktemp("here")
    (here / "bare").mkdir()
    (here / "bare" / "config.json").write_text("{}")
    completed = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps(list(MISTAKES)),
        capture_output=True,
        text=True,
        cwd=here,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "support")]),
        },
        check=True,
    )
    by_command = dict(zip(MISTAKES, json.loads(completed.stdout), strict=True))
    return by_command, [path.name for path in here.iterdir()]


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_answered_in_one_line_without_torch(answers, command):
    code, words, heavy = answers[0][command]
    assert code in (1, 2)
    assert words.startswith("error: ") and words.count("\n") == 1, words
    assert MISTAKES[command] in words
    assert heavy == []


def test_mistakes_leave_nothing_behind(answers):
    assert answers[1] == ["bare"]


def composed(*overrides, program="train"):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose(program, overrides=list(overrides))
        check_config(program, cfg, list(overrides))


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["env=signal", "learner=rae", "train.group_size=1"],
        ["env=commons", "learner=ippo"],
        ["experiment=warm_start", "env=tldr"],
        ["agent.sharing=separate", "learner=magrpo"],
        ["resume=true", "optimizer.lr=1", "learner.decay_updates=null"],
        ["agent=mixed"],
    ],
)
def test_right_settings_pass(overrides):
    composed(*overrides)


def test_a_users_own_class_may_take_any_setting():
    # No test makes a package of this name; one that other tests made would be looked into.
    composed("env._target_=package_elsewhere.Password", "env.rounds=many")
    with pytest.raises(SettingError, match="env.rounds must be a whole number"):
        composed("env.rounds=many")


def test_settings_of_an_optimizer_are_asked_of_torch():
    with pytest.raises(InstantiationException, match="Invalid learning rate"):
        composed("optimizer.lr=-1")


def test_a_level_may_be_a_pair_of_bounds():
    overrides = ["env.generator.level=[2,3]", "evaluation.tasks=4"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=overrides)
        check_config("train", cfg, overrides)
    assert list(cfg.env.generator.level) == [2, 3]
