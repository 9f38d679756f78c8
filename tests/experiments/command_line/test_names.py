"""Old names are answered with the new ones, and mistyped ones with what they are really like."""

from __future__ import annotations

import pytest

from laconic.experiments.command_line import names
from laconic.experiments.command_line.mistakes import unknown_option
from laconic.experiments.command_line.names import RENAMES, nearest, renamed


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("key", "evaluation.part", "evaluation.split"),
        ("key", "benchmark.answers", "measure.answers"),
        ("target", "envs.make", "laconic.envs.make"),
        (
            "target",
            "learners.advantages.Advantages",
            "laconic.learners.advantages.group.Advantages",
        ),
        ("target", "laconic.learners.price.Ramp", "laconic.learners.prices.schedule.Ramp"),
        ("program", "benchmark", "measure-speed"),
        # What is right, or of somebody else, has no new name.
        ("target", "laconic.envs.make", None),
        ("target", "torch.optim.AdamW", None),
        ("target", "laconic.learners.prices.schedule.Ramp", None),
        ("key", "env.partner", None),
        ("key", "benchmarks", None),
        ("metric", "eval/reward", None),
    ],
)
def test_an_old_name_has_a_new_one_and_a_right_one_has_none(kind, old, new):
    assert renamed(kind, old) == new


def test_the_longest_row_wins_and_the_group_of_a_metric_stays(monkeypatch):
    rows = {"pay": "return", "pay.late": "delay"}
    option = {"learner/old": "learner/new"}
    monkeypatch.setattr(names, "RENAMES", {"metric": rows, "key": rows, "option": option})
    assert renamed("metric", "train/pay") == "train/return"
    assert renamed("key", "pay.late.most") == "delay.most"
    assert renamed("metric", "train/payment") is None
    said = "option 'old' of group 'learner' is now called 'new'"
    assert unknown_option("learner", "old", ["new"]) == said


@pytest.mark.parametrize("old", RENAMES["target"])
def test_every_renamed_class_leads_somewhere(old):
    from importlib.util import find_spec

    new = renamed("target", old)
    # A row names a module, or a class of one.
    assert find_spec(new.rpartition(".")[0] if new.rpartition(".")[2][0].isupper() else new)


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("train.epochs", "train.steps"),
        ("train.batch_size", "train.group_size"),
        ("env.speed", "env.seed_word"),
        ("learner.temperature", "learner.minibatches"),
    ],
)
def test_a_far_fetched_name_is_not_offered(typed, known):
    assert nearest(typed, [known]) is None


@pytest.mark.parametrize(
    ("typed", "known"),
    [("num_agents", "agent"), ("env.max_tokens", "env.max_rounds")],
)
def test_a_far_fetched_suggestion_is_worse_than_none(typed, known):
    assert nearest(typed, [known, "seed"]) is None
