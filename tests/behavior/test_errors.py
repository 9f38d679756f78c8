"""A user's mistake is answered in one line with the key and a remedy, and leaves nothing behind.

Resuming with another configuration, a full disk and signals are in `test_resume.py`; wrong
overrides are in `test_cli.py`.
"""

from __future__ import annotations

import copy
import json

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.tree import CONF, check_values, record_of

AGAIN = pytest.mark.slow
"""Mark of a further value, key or program that the same check refuses."""

# Exit code 2: Hydra refuses the command line; 1: a check of this package refuses a value.
COMMAND_LINE = [
    (["env=gsm8"], ["unknown option 'gsm8' of group 'env'. Did you mean 'gsm8k'?"]),
    pytest.param(
        ["agent=tinny"],
        ["unknown option 'tinny' of group 'agent'. Did you mean 'tiny'?"],
        marks=AGAIN,
    ),
    (["learner=gpso"], ["unknown option 'gpso' of group 'learner'. Did you mean 'gspo'?"]),
    pytest.param(
        ["optimizer=adam"],
        ["unknown option 'adam' of group 'optimizer'. Did you mean 'adamw'?"],
        marks=AGAIN,
    ),
    pytest.param(["logger=tensorbord"], ["Did you mean 'tensorboard'?"], marks=AGAIN),
    (["train.step=3"], ["unknown config key 'train.step'. Did you mean 'train.steps'?"]),
    pytest.param(
        ["env.reward.prise=1"],
        ["unknown config key", "Did you mean 'env.reward.price'?"],
        marks=AGAIN,
    ),
    pytest.param(
        ["evaluation.task=1"],
        ["unknown config key", "Did you mean 'evaluation.tasks'?"],
        marks=AGAIN,
    ),
]

COUNTS = [
    ("seed", "-1", "a whole number of at least 0; got -1"),
    ("seed", "abc", "a whole number of at least 0; got 'abc'"),
    ("threads", "0", "null or a whole number of at least 1; got 0"),
    ("train.steps", "-1", "a whole number of at least 0; got -1"),
    ("train.steps", "many", "a whole number of at least 0; got 'many'"),
    ("train.steps", "1.5", "a whole number of at least 0; got 1.5"),
    ("train.steps", "null", "a whole number of at least 0; got None"),
    ("train.tasks_per_step", "0", "a whole number of at least 1; got 0"),
    ("train.group_size", "two", "a whole number of at least 1; got 'two'"),
    ("train.group_size", "0", "a whole number of at least 1; got 0"),
    ("train.checkpoint_every", "0", "a whole number of at least 1; got 0"),
    ("train.evaluate_every", "0", "null or a whole number of at least 1; got 0"),
    ("evaluation.tasks", "0", "null or a whole number of at least 1; got 0"),
    ("evaluation.batch", "0", "a whole number of at least 1; got 0"),
    ("evaluation.transcripts", "-1", "a whole number of at least 0; got -1"),
    ("env.tasks", "0", "null or a whole number of at least 1; got 0"),
    ("env.rounds", "0", "a whole number of at least 1; got 0"),
    ("env.rounds", "two", "a whole number of at least 1; got 'two'"),
]
"""Key, bad value, and what it must be: the declaration of the key refuses it."""

VALUES = [
    (["train.steps=many"], ["train.steps must be a whole number of at least 0; got 'many'"]),
    (
        ["train.group_size=1"],
        ["train.group_size must be at least 2, because an advantage compares"],
    ),
    (["env.name=gsm8"], ["unknown environment 'gsm8'. Did you mean 'gsm8k'?"]),
    pytest.param(
        ["env.information=splt"], ["env.information 'splt'. Did you mean 'split'?"], marks=AGAIN
    ),
    pytest.param(["env.topology=strr"], ["'strr'. Did you mean 'star'?"], marks=AGAIN),
    (["env.answer=solvr"], ["'solvr'"]),
    (["env.source=/nowhere/gsm8k"], ["env.source: /nowhere/gsm8k: no such file or folder"]),
    (["env.generator.level=9"], ["level", "9"]),
    (["+env.generator.levels=1"], ["'levels'", "Did you mean 'level'?"]),
    (["+env.round=1"], ["'round'", "Write budget={'round': 1}"]),
    (["env.budget.message=0"], ["budget.message", "at least 1; got 0"]),
    pytest.param(["env.budget.episode=0"], ["budget.episode", "at least 1; got 0"], marks=AGAIN),
    pytest.param(["env.budget.message=few"], ["budget.message", "got 'few'"], marks=AGAIN),
    (["env.reward.price=-1"], ["reward.price", "at least 0; got -1"]),
    pytest.param(["env.reward.price=dear"], ["reward.price", "got 'dear'"], marks=AGAIN),
    (["env._target_=no_such.Env"], ["no_such", "config key 'env'"]),
    (["train.tasks_per_step=21"], ["train.tasks_per_step=21", "20 tasks", "raise env.tasks"]),
    (["agent=hf", "agent.model=???"], ["agent.model has no value; pass agent.model=<value>"]),
    (["agent.model=/nowhere"], ["agent.model", "'/nowhere' does not exist"]),
    (["agent.sharing=shard"], ["agent.sharing 'shard'. Did you mean 'shared'?"]),
    (["agent.sampling.max_reply_tokens=0"], ["max_reply_tokens", "at least 1; got 0"]),
    (["agent.sampling.temperature=0"], ["temperature", "above 0", "got 0"]),
    (["learner.credit=onw"], ["credit 'onw'. Did you mean 'own'?"]),
    (["learner.minibatches=0"], ["learner.minibatches", "at least 1; got 0"]),
    (["learner.objective.importance_sampling_level=sequenc"], ["sampling_level", "'sequenc'"]),
    (["learner.objective.epsilon=-1"], ["epsilon", "-1"]),
    pytest.param(["learner.advantages.scale=sdt"], ["scale", "'sdt'"], marks=AGAIN),
    (["+learner.minibatch=1"], ["'learner.minibatch'. Did you mean 'learner.minibatches'?"]),
    (["optimizer.lr=-1"], ["learning rate", "-1", "config key 'optimizer'"]),
    (["optimizer.lr=fast"], ["optimizer.lr must be a finite number; got 'fast'"]),
    (["learner.whiten=maybe"], ["learner.whiten must be true or false; got 'maybe'"]),
    (["learner.objective.epsilon=2"], ["learner.objective.epsilon", "at most 1; got 2"]),
    (["learner.correction=token_mask"], ["learner.correction=token_mask weighs tokens"]),
    (["agent.device=cuda:9"], ["agent.device must be", "got cuda:9", "set agent.device=auto"]),
    (["evaluation.source=/nowhere"], ["/nowhere: no such file or folder"]),
    (["+optimizer.beta=1"], ["'optimizer.beta'. Did you mean 'optimizer.betas'?"]),
    (["resume=true"], ["resume=true needs the folder", "pass hydra.run.dir=<folder>"]),
]


@pytest.fixture
def refused(run, small, tmp_path, monkeypatch):
    """Run a program that must refuse; return the message if nothing was left behind."""
    monkeypatch.chdir(tmp_path)

    def call(name, arguments, code=1):
        dated, before = "resume=true" in arguments, set(tmp_path.iterdir())
        folder = [] if dated else [f"hydra.run.dir={tmp_path}/run"]
        # A warm start begins with new weights.
        sizes = small if name == "train" and "experiment=warm_start" not in arguments else []
        outcome = run(name, *sizes, *arguments, *folder)
        assert outcome.code == code, outcome.out
        # Notes on applied defaults may come first.
        lines = [line for line in outcome.message.splitlines() if not line.startswith("note: ")]
        assert lines[0].startswith("error: ")
        assert len(lines) == 1 or "another configuration" in outcome.message
        assert set(tmp_path.iterdir()) == before, "something was left behind"
        return "\n".join(lines)

    return call


@pytest.mark.parametrize(("arguments", "words"), COMMAND_LINE)
def test_an_unknown_choice_or_key_is_named_with_the_nearest(refused, arguments, words):
    message = refused("train", arguments, code=2)
    assert all(word in message for word in words), message


@pytest.fixture(scope="module")
def composed():
    """Return the configuration of a training."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train")


@pytest.mark.parametrize(("key", "value", "words"), COUNTS)
def test_a_number_out_of_range_or_of_another_type_is_named_with_its_range(
    composed, key, value, words
):
    cfg = copy.deepcopy(composed)
    OmegaConf.update(cfg, key, yaml.safe_load(value))
    with pytest.raises(SettingError) as refused:
        check_values(cfg, record_of("train"))
    assert f"{key} must be {words}" in str(refused.value)


@pytest.mark.parametrize(("arguments", "words"), VALUES)
def test_a_value_that_cannot_be_is_named_with_what_could(refused, arguments, words):
    message = refused("train", arguments)
    assert all(word in message for word in words), message


def test_a_script_is_not_trained(run, tmp_path):
    outcome = run("train", "agent=scripted", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1
    assert "agent=scripted follows a script and has no weights to train" in outcome.message
    assert "choose agent=tiny or agent=hf" in outcome.message


GOOD = json.dumps({"question": "Ann has 3 apples. How many?", "answer": "#### 3"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["expected at least one row; the source is empty"]),
        ("\n\n", ["expected at least one row; the source is empty"]),
        (f"{GOOD}\nnot json\n", ["test.jsonl:2: expected one JSON object a line"]),
        (f"{GOOD}\n[1]\n", ["test.jsonl:2: expected a JSON object; got list"]),
        (f'{GOOD}\n{{"question": "?"}}\n', ["test.jsonl:2: expected the field 'answer'"]),
        (
            f'{GOOD}\n\n{{"qestion": "?", "answer": "#### 1"}}\n',
            ["test.jsonl:3: expected the field 'question'", "Did you mean 'qestion'?"],
        ),
        (f'{GOOD}\n{{"question": "?", "answer": "1"}}\n', ["test.jsonl:2", "#### number"]),
    ],
)
@pytest.mark.parametrize("name", [pytest.param("train", marks=AGAIN), "evaluate"])
def test_a_data_file_that_cannot_be_read_is_named_with_the_line(
    refused, tmp_path, name, text, words
):
    data = tmp_path / "data"
    data.mkdir()
    (data / "train.jsonl").write_text(f"{GOOD}\n" * 20)
    (data / "test.jsonl").write_text(text)
    agent = ["agent=scripted"] if name == "evaluate" else []
    message = refused(name, [f"env.source={data}", "env.tasks=null", *agent])
    assert message.startswith(f"error: env.source: {data}")
    assert all(word in message for word in words), message


def test_a_folder_without_the_part_is_named_with_what_it_holds(refused, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "train.jsonl").write_text(GOOD)
    message = refused("evaluate", [f"env.source={data}", "agent=scripted"])
    assert "expected test.jsonl or test.jsonl.gz" in message and "train.jsonl" in message


def test_one_file_for_both_parts_is_refused(refused, tmp_path):
    (tmp_path / "data.jsonl").write_text(f"{GOOD}\n" * 20)
    message = refused("train", [f"env.source={tmp_path}/data.jsonl"])
    assert "all 20 training tasks are evaluation tasks too" in message
    assert "env.holdout=0.2" in message and "evaluation.source=" in message


def test_a_folder_without_a_model_is_named(refused, tmp_path):
    (tmp_path / "empty").mkdir()
    message = refused("train", [f"agent.model={tmp_path}/empty"])
    assert "agent.model" in message and "holds no config.json" in message


@pytest.mark.parametrize("name", ["train", "evaluate", "compare"])
def test_a_run_folder_that_cannot_be_made_names_the_key_to_change(run, tmp_path, name):
    (tmp_path / "taken").touch()
    outcome = run(name, f"hydra.run.dir={tmp_path}/taken/run")
    assert outcome.code == 1
    assert "hydra.run.dir=<folder>" in outcome.message and "taken" in outcome.message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ["evaluation.batch=0"], ["evaluation.batch", "at least 1; got 0"], marks=AGAIN
        ),
        (["evaluation.tasks=-1"], ["evaluation.tasks", "null or", "got -1"]),
        (["evaluation.split=test"], ["evaluation.split 'test'", "Known: evaluation, train"]),
        (["evaluation.greedy=maybe"], ["evaluation.greedy", "true or false; got 'maybe'"]),
        (["agent=scripted", "agent.script=oracel"], ["'oracel'. Did you mean 'oracle'?"]),
        (["env.source=/nowhere"], ["env.source: /nowhere: no such file or folder"]),
        pytest.param(["env.budget.message=0"], ["budget.message", "got 0"], marks=AGAIN),
        pytest.param(
            ["seed=-1"], ["seed must be a whole number of at least 0; got -1"], marks=AGAIN
        ),
    ],
)
def test_an_evaluation_refuses_what_it_cannot_do(refused, arguments, words):
    agent = [] if "agent=scripted" in arguments else ["agent=scripted"]
    message = refused("evaluate", [*agent, *arguments])
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["steps=3"], ["unknown config key 'steps'. Did you mean 'train.steps'?"]),
        (["learner/collect=recorded"], ["learner.collect.folder"]),
        (["learner.collect.others=2"], ["learner.collect.others must be", "got 2"]),
        (
            ["learner.collect.teacher.frames=9"],
            ["learner.collect.teacher.frames must be from 1 to 3; got 9"],
        ),
    ],
)
def test_a_warm_start_refuses_what_it_cannot_do(refused, arguments, words):
    code = 2 if "unknown config key" in words[0] else 1
    few = ["experiment=warm_start", "env.tasks=20", "evaluation.tasks=4", "train.tasks_per_step=4"]
    message = refused("train", [*few, *arguments], code=code)
    assert all(word in message for word in words), message


def test_a_learning_rate_at_which_training_diverges_ends_it_with_the_reason(run, small, tmp_path):
    folder = tmp_path / "run"
    outcome = run("train", *small, "optimizer.lr=1e20", f"hydra.run.dir={folder}")
    assert outcome.code == 1, outcome.out
    assert "training diverged" in outcome.message and "lower optimizer.lr" in outcome.message
    # The folder has rows, so it stays.
    assert json.loads((folder / "status.json").read_text())["state"] == "failed"
