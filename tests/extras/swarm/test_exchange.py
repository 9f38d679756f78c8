from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.extras.swarm.exchange import (
    DamagedError,
    Exchange,
    SharedGroup,
    SharedMessage,
    share,
)
from laconic.learners.episode import Episode, Group, Turn

TASK = Task(
    key="fruit",
    question="How many?",
    statements=("There are 3 äpples.", "It rains."),
    answer="3",
    relevant=(True, False),
    solution="3",
    source_text="3 äpples; how many?",
    details={"level": 2, "tests": ["a", {"b": None}]},
)
SHARED = SharedGroup(
    benchmark="sums",
    task=TASK,
    seed=7,
    agents=("solver_0", "helper_0"),
    episodes=(
        (
            SharedMessage("helper_0", 0, "3 äpples\n\ud800", -2.5),
            SharedMessage("solver_0", 1, "#### 3", -1.0),
        ),
        (SharedMessage("helper_0", 0, "", -0.25), SharedMessage("solver_0", 1, "", None)),
    ),
)


@pytest.fixture
def ann(tmp_path):
    """Make a node that shares."""
    return Exchange(tmp_path / "swarm", "ann")


@pytest.fixture
def bob(tmp_path):
    """Make a node that reads."""
    return Exchange(tmp_path / "swarm", "bob")


@pytest.mark.parametrize(
    "shared",
    [
        SHARED,
        replace(SHARED, task=Task(key="fruit", question="?", statements=(), answer="1")),
        replace(SHARED, task=replace(TASK, details={}), has_details=False),
    ],
    ids=["full", "bare", "without details"],
)
def test_a_read_group_equals_the_shared_one_with_a_key_of_its_author(ann, bob, shared):
    ann.publish(shared, "1-0")
    assert bob.offered(9) == ["ann/1-0.json"]
    read = bob.read("ann/1-0.json")
    assert read == replace(shared, task=replace(shared.task, key="ann/fruit"))


def test_a_group_is_shared_as_it_was_written_without_tokens_or_rewards(ann):
    turns = (
        Turn("helper_0", 0, "thr", (1, 2), (3, 4), (-0.5, -0.25), cut=True, written="three"),
        Turn("solver_0", 1, "3"),
    )
    episodes = (
        Episode("fruit", turns, {"solver_0": (0.0, 1.0), "helper_0": (-0.125, 1.0)}),
        Episode("fruit", (), {"solver_0": (0.0,), "helper_0": (0.0,)}),
    )
    shared = share("sums", Group("fruit", episodes), TASK, 7)
    fact, answer = ("helper_0", 0, "three", -0.75), ("solver_0", 1, "3", None)
    messages = (SharedMessage(*fact), SharedMessage(*answer))
    assert shared == SharedGroup("sums", TASK, 7, ("solver_0", "helper_0"), (messages, ()))
    ann.publish(shared, "1-0")
    plain = json.loads((ann.folder / "ann" / "1-0.json").read_text())
    keys = {"form", "benchmark", "task", "seed", "agents", "episodes", "has_details"}
    assert set(plain) == keys
    assert set(plain["episodes"][0][0]) == {"agent", "round", "text", "logprob"}


@pytest.mark.parametrize("details", [{"exam": object()}, {"pair": (1, 2)}, {1: "one"}])
def test_details_that_a_file_would_change_stay_at_home(ann, bob, details):
    episodes = (Episode("fruit", (), {}),) * 2
    shared = share("sums", Group("fruit", episodes), replace(TASK, details=details), 7)
    assert not shared.has_details
    ann.publish(shared, "1-0")
    assert bob.read("ann/1-0.json").task == replace(TASK, key="ann/fruit", details={})


def change(**settings):
    return lambda plain: {**plain, **settings}


@pytest.mark.parametrize(
    "damage",
    [
        change(form="laconic-swarm-2"),
        change(seed="7"),
        change(seed=-1),
        change(agents="solver_0"),
        change(episodes=[[]]),
        change(episodes=[[], [{"agent": "solver_0", "round": 0, "text": None, "logprob": 0.0}]]),
        change(
            episodes=[[], [{"agent": "a", "round": 0, "text": "", "logprob": float("-inf")}]],
        ),
        change(task=None),
        change(task={"key": "fruit"}),
        lambda plain: {**plain, "task": {**plain["task"], "relevant": [True]}},
        lambda plain: [plain],
        lambda plain: None,
    ],
)
def test_a_file_of_another_form_is_damaged(ann, bob, damage):
    ann.publish(SHARED, "1-0")
    path = ann.folder / "ann" / "1-0.json"
    path.write_text(json.dumps(damage(json.loads(path.read_text()))))
    with pytest.raises(DamagedError, match=r"'ann/1-0\.json' is not a shared group"):
        bob.read("ann/1-0.json")


@pytest.mark.parametrize("bytes_kept", [0, 1, 40, -3])
def test_half_a_file_is_damaged(ann, bob, bytes_kept):
    ann.publish(SHARED, "1-0")
    path = ann.folder / "ann" / "1-0.json"
    path.write_bytes(path.read_bytes()[:bytes_kept])
    with pytest.raises(DamagedError):
        bob.read("ann/1-0.json")


def test_a_file_that_is_gone_is_damaged(bob):
    with pytest.raises(DamagedError):
        bob.read("ann/1-0.json")


def test_a_file_is_seen_whole_or_not_at_all(ann, bob, monkeypatch):
    offers = []
    replace_file = os.replace

    def look_first(aside, path, **folders):
        # Everything is written by now, and still nobody sees any of it.
        offers.append(bob.offered(9))
        replace_file(aside, path, **folders)

    monkeypatch.setattr(os, "replace", look_first)
    ann.publish(SHARED, "1-0")
    assert offers == [[]]
    assert bob.offered(9) == ["ann/1-0.json"]
    assert [path.name for path in (ann.folder / "ann").iterdir()] == ["1-0.json"]


def test_the_newest_files_of_the_others_are_offered(ann, bob):
    assert bob.offered(9) == []
    for age, name in enumerate(("b", "a", "c")):
        ann.publish(SHARED, name)
        os.utime(ann.folder / "ann" / f"{name}.json", (1000 + age, 1000 + age))
    bob.publish(SHARED, "d")
    assert bob.offered(9) == ["ann/b.json", "ann/a.json", "ann/c.json"]
    assert bob.offered(2) == ["ann/a.json", "ann/c.json"]
    assert ann.offered(9) == ["bob/d.json"]


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "..", None, "a b"])
def test_a_name_that_is_no_plain_file_name_is_refused(tmp_path, name):
    with pytest.raises(SettingError, match=r"collect\.name must be letters"):
        Exchange(tmp_path, name)


def test_a_folder_that_cannot_be_written_to_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match=r"learner\.collect\.folder .*pass another folder"):
        Exchange(tmp_path / "file", "ann").publish(SHARED, "1-0")
