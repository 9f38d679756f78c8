"""Training and evaluation are kept apart: other sources, a holdout, shared tasks."""

from __future__ import annotations

import json

import pytest
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError, SourceError
from laconic.experiments.session.setup import make_environments, make_evaluation
from laconic.experiments.session.splits import leave_out_shared
from laconic.learners.agents.scripted import ScriptedTeam

TEAM = ScriptedTeam("silent")


@pytest.fixture
def source(tmp_path):
    """Make a folder with a file of numbered questions for each split."""

    def write(**numbers):
        for name, those in numbers.items():
            rows = [{"question": f"What is {n} + 1?", "answer": f"#### {n + 1}"} for n in those]
            path = tmp_path / f"{name}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path

    return write


def parts(path, tasks=None, held=None, source=None):
    env = {"_target_": "laconic.envs.make", "name": "gsm8k", "source": str(path), "holdout": held}
    evaluation = {"tasks": tasks, "batch": 2, "source": source and str(source)}
    cfg = OmegaConf.create({"env": env, "evaluation": evaluation})
    return make_environments(cfg, 2, "train", TEAM), make_evaluation(cfg, "evaluation", TEAM)


def test_tasks_in_both_parts_are_left_out_of_every_training_environment_and_counted(source):
    train, evaluation = parts(source(train=range(5), test=(3, 9, 4)))
    assert leave_out_shared(train, evaluation) == [
        "2 of 5 training tasks are evaluation tasks too, and are left out of training"
    ]
    assert [list(env.tasks) for env in train] == [["train/1", "train/2", "train/3"]] * 2
    assert len(evaluation[0].tasks) == 3
    train[0].reset(seed=0)
    assert train[0].task.key in train[0].tasks


def test_parts_without_a_common_task_stay_as_they_are(source):
    train, evaluation = parts(source(train=range(2), test=(2, 3)))
    before = train[0].tasks
    assert leave_out_shared(train, evaluation) == [] and train[0].tasks is before


def test_one_file_for_both_is_refused_with_both_ways_out_and_either_helps(source):
    path = source(all=range(10), other=(20, 21)) / "all.jsonl"
    with pytest.raises(SettingError, match=r"all 10 .* env\.holdout=0\.2 .* evaluation\.source="):
        leave_out_shared(*parts(path))
    train, evaluation = parts(path, held=0.2)
    assert leave_out_shared(train, evaluation) == []
    assert (len(train[0].tasks), len(evaluation[0].tasks)) == (8, 2)
    train, evaluation = parts(path, source=path.with_name("other.jsonl"))
    assert (len(train[0].tasks), len(evaluation[0].tasks)) == (10, 2)
    # The first tasks of one file, evaluated, leave the others to train on.
    train, evaluation = parts(path, tasks=4)
    assert leave_out_shared(train, evaluation) and len(train[0].tasks) == 6


def test_the_error_for_a_missing_split_has_advice(source):
    with pytest.raises(SourceError, match=r"expected test\.jsonl .* env\.holdout=0\.2 draws"):
        parts(source(train=range(3)))


def test_two_ways_at_once_and_a_class_without_a_source_are_refused(source):
    path = source(all=range(4)) / "all.jsonl"
    with pytest.raises(SettingError, match="set one of them only"):
        parts(path, held=0.5, source=path)
    env = {"_target_": "laconic.envs.dialogue.budget.Budget"}
    cfg = OmegaConf.create({"env": env, "evaluation": {"tasks": 1, "batch": 1, "source": "x"}})
    with pytest.raises(SettingError, match="takes no `source`"):
        make_evaluation(cfg, "evaluation", TEAM)
