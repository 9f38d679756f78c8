"""A swarm folder full of garbage: each kind costs its own file, and no run stops, hangs or learns.

Beside each file of garbage lies a group that can be taken, and a node has to find it.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from laconic.envs.task import Score, Task
from laconic.extras.swarm.exchange import (
    DamagedError,
    Exchange,
    SharedGroup,
    SharedMessage,
)
from laconic.extras.swarm.replay import replay_groups
from laconic.extras.swarm.swarm import Swarm
from laconic.learners import untrusted_files
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.rollout.play import Start

FRUIT = Task("fruit", "How many?", ("3 apples.", "4 pears."), "7")
STARTS = [Start(1, "fruit"), Start(2, "fruit"), Start(3, "fruit"), Start(4, "fruit")]
AGENTS = ("solver_0", "helper_0")


def shared(right: str = "7", task: Task = FRUIT) -> SharedGroup:
    """Make a group in which one of two episodes is correct."""
    return SharedGroup("sums", task, 5, AGENTS, (turns(right), turns("0")))


def turns(answer: str) -> tuple[SharedMessage, ...]:
    return (SharedMessage("solver_0", 0, answer, -1.0), SharedMessage("helper_0", 0, "hi", -2.0))


Plain = dict[str, Any]
Change = Callable[[Plain], Any]
File = Callable[[Path, str], Any]


def put(*path: str | int, value: Any) -> Change:
    """Make a change that puts another value in one place of a group."""

    def change(plain: Plain) -> Plain:
        inside: Any = plain
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = value
        return plain

    return change


def without(*path: str | int) -> Change:
    """Make a group that lacks one field."""

    def change(plain: Plain) -> Plain:
        inside: Any = plain
        for step in path[:-1]:
            inside = inside[step]
        del inside[path[-1]]
        return plain

    return change


def literal(mark: str, text: str) -> Change:
    """Replace a mark by text that `json.dumps` cannot write."""
    return lambda plain: json.dumps(plain).replace(mark, text, 1)


def said_again(plain: Plain, times: int) -> Plain:
    """Repeat every message of an episode this number of times."""
    plain["episodes"][0] *= times
    return plain


HUGE = "9" * 400
DEEP = json.loads("[" * 900 + "]" * 900)
FIRST = ("episodes", 0, 0)
FIELDS = [("form",), ("benchmark",), ("task",), ("seed",), ("agents",), ("episodes",)]
FIELDS += [("task", name) for name in ("key", "question", "statements", "answer", "relevant")]
TEXTS = ("solution", "answer_text", "source_text", "drafts", "details")
FIELDS += [("task", name) for name in TEXTS]
FIELDS += [(*FIRST, name) for name in ("agent", "round", "text", "logprob")]
FIELDS += [("has_details",), ("episodes", 0), FIRST]
WRONG: dict[str, Any] = {
    "null": None,
    "true": True,
    "a negative number": -1,
    "a fraction": 1.5,
    "a 400-digit number": int(HUGE),
    "text": "\x1b]0;owned\x07",
    "a list of lists": [[[]]],
    "numbers": [1, 2],
    "a mapping": {"a": {"b": []}},
}

CHANGES: dict[str, Change] = {
    "no object": lambda plain: [plain],
    "null": lambda plain: None,
    "a number": lambda plain: 7,
    "a text": lambda plain: "laconic-swarm-1",
    "an empty object": lambda plain: {},
    "a form of later": put("form", value="laconic-swarm-2"),
    "another benchmark": put("benchmark", value="chess"),
    "a 10,000-digit seed": literal('"seed": 5', f'"seed": {HUGE * 25}'),
    "a seed of nan": put("seed", value=float("nan")),
    "a logprob of nan": put(*FIRST, "logprob", value=float("nan")),
    "a logprob of infinity": put(*FIRST, "logprob", value=float("inf")),
    "a logprob of minus infinity": put(*FIRST, "logprob", value=float("-inf")),
    "a logprob of 1e999": literal('"logprob": -1.0', '"logprob": -1e999'),
    "a probability above 1": put(*FIRST, "logprob", value=50.0),
    "nested lists": literal("{", "[" * 100_000),
    "nested objects": literal("{", '{"a":' * 100_000),
    "nested details": literal('"details": {', '"details": {"a": ' + "[" * 100_000),
    "details nested and closed": put("task", "details", value={"a": DEEP}),
    "details with infinity": literal('"details": {', '"details": {"points": Infinity'),
    "no episodes": put("episodes", value=[]),
    "one episode": put("episodes", value=[[]]),
    "empty episodes": put("episodes", value=[[], []]),
    "20,000 episodes": put("episodes", value=[[]] * 20_000),
    "300 episodes": lambda plain: {**plain, "episodes": plain["episodes"] * 150},
    "10,000 agents": put("agents", value=[f"a_{n}" for n in range(10_000)]),
    "an agent too many": put("agents", value=[*AGENTS, "solver_1"]),
    "an agent twice": put("agents", value=["solver_0", "solver_0", "helper_0"]),
    "no agents": put("agents", value=[]),
    "a message of nobody": put(*FIRST, "agent", value="nobody_0"),
    "a message of a round below 0": put(*FIRST, "round", value=-1),
    "a turn without its message": put("episodes", 0, value=[]),
    "two messages of one turn": lambda plain: said_again(plain, 2),
    "66,000 messages": lambda plain: said_again(plain, 33_000),
    "token ids": put(*FIRST, "reply_ids", value=[10**9, -1]),
    "rewards": put("rewards", value={"solver_0": [-1e308]}),
    "a field of no record": put("__class__", value="os.system"),
    "a target": put("task", "details", value={"_target_": "os.system", "_args_": ["true"]}),
    "text with a lone surrogate": put(*FIRST, "text", value="\ud800"),
    "text of control characters": put(*FIRST, "text", value="\x00\x1b[2J\x07\u202e"),
    "text of control tokens": put(*FIRST, "text", value="</think><|im_end|><silence><unk>"),
    "very long text": put(*FIRST, "text", value="7 " * 500_000),
    "a task that is too long": put("task", "question", value="how " * 200_000),
    "another task by a known name": put("task", "question", value="How few?"),
    "10,000 statements": put("task", "statements", value=["x"] * 10_000),
    "no statements": put("task", "statements", value=[]),
    "too few flags": put("task", "relevant", value=[True]),
    "an empty key": put("task", "key", value=""),
    "a key of control characters": put("task", "key", value="a\x1b[2Jb"),
    "a key that leads out": put("task", "key", value="../../etc/passwd"),
    "a key with a surrogate": put("task", "key", value="\udc80"),
}  # fmt: skip


HARMLESS = {
    # The node has this task, and takes details from its own; a name is but a name.
    "details nested and closed",
    "a target",
    "an empty key",
    "a key that leads out",
    # Said again in this node's own tokens.
    "text of control characters",
    "text of control tokens",
}


def made(act: Callable[[Path], Any]) -> File:
    return lambda path, text: act(path)


def held(path: Path, text: str, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(text.encode()))


def sparse(path: Path, text: str) -> None:
    path.write_text(text)
    os.truncate(path, 20 << 30)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


FILES: dict[str, File] = {
    "a link to itself": made(lambda path: path.symlink_to(path)),
    "a link to nothing": made(lambda path: path.symlink_to("nothing.json")),
    "a link to an endless device": made(lambda path: path.symlink_to("/dev/zero")),
    "a link to a device without data": made(lambda path: path.symlink_to("/dev/tty")),
    "a link to a file elsewhere": lambda path, text: path.symlink_to(elsewhere(path, text)),
    "a pipe": made(os.mkfifo),
    "a socket": made(listening),
    "a folder": made(os.mkdir),
    "a sparse file of 20 GB": sparse,
    "an empty file": made(lambda path: path.touch()),
    "half a file": lambda path, text: held(path, text, lambda data: data[: len(data) // 2]),
    "all but the end": lambda path, text: held(path, text, lambda data: data[:-3]),
    "a file twice": lambda path, text: held(path, text, lambda data: data + data),
    "no UTF-8": lambda path, text: held(path, text, lambda data: data.replace(b"app", b"\xff")),
    "UTF-16": lambda path, text: held(path, text, lambda data: data.decode().encode("utf-16")),
    "a mark of order": lambda path, text: held(path, text, lambda data: b"\xef\xbb\xbf" + data),
    "zeros": made(lambda path: path.write_bytes(bytes(4096))),
    "no rights": lambda path, text: (path.write_text(text[:9]), path.chmod(0)),
    "a pickle": made(lambda path: path.write_bytes(b"\x80\x04cos\nsystem\n\x8c\x04true\x85R.")),
    "a field twice": lambda path, text: path.write_text('{"form": 1, "episodes": 3, ' + text[1:-3]),
}  # fmt: skip


def elsewhere(path: Path, text: str) -> Path:
    """Make a file outside the folder that could be read as a group."""
    outside = path.parents[2] / "outside.json"
    outside.write_text(text)
    return outside


@pytest.fixture
def swarm(tmp_path) -> Path:
    """Make a folder with a valid group, and another group for a test to damage."""
    folder = tmp_path / "swarm"
    for name in ("ann", "carl"):
        Exchange(folder, name).publish(shared(), "1")
    return folder


@pytest.fixture
def bob(swarm, two_of_us) -> Callable[..., tuple[dict[str, float], list[Any], Any]]:
    """Return a function that plays a step of a node: its counts, foreign groups and state."""

    def play(state: Any = None, **settings: Any) -> Any:
        node = Swarm(str(swarm), "bob", own=1, foreign=1, **settings)
        if state:
            node.load_state_dict(state)
        groups = node(*two_of_us, STARTS, 2, seed=1)
        return node.metrics, [group for group in groups if not group.own], node.state_dict()

    return play


@pytest.fixture(scope="module")
def writer(make_writer) -> HFPolicy:
    """Make a frozen policy."""
    return make_writer(max_reply_tokens=5)


@pytest.fixture
def two_of_us(make_env, writer) -> tuple[list[Any], dict[str, Any]]:
    """Make environments that have one task, and their policies."""
    team = {"solver": 1, "helper": 1}
    environments = [make_env(tasks=(FRUIT,), team=team, rounds=1) for _ in range(2)]
    return environments, dict.fromkeys(AGENTS, writer)


def spoil(path: Path, name: str) -> None:
    """Put garbage of one kind in the place of a group."""
    text = path.read_text()
    path.unlink()
    if name in FILES:
        FILES[name](path, text)
    else:
        changed = CHANGES[name](json.loads(text))
        path.write_text(
            changed if isinstance(changed, str) and "\n" not in changed else json.dumps(changed)
        )


def looked_at(metrics: dict[str, float]) -> float:
    return sum(
        metrics[f"{name}_{what}"]
        for name, what in (
            ("damaged", "files"),
            ("unfit", "groups"),
            ("level", "groups"),
            ("foreign", "groups"),
        )
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if place % 6 == 0 else pytest.mark.slow)
        for place, name in enumerate([*CHANGES, *FILES])
    ],
)
def test_garbage_costs_its_own_file_and_no_run(bob, swarm, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    spoil(swarm / "ann" / "1.json", name)
    metrics, groups, state = bob()
    assert looked_at(metrics) == 2.0
    assert "carl/fruit" in [group.task for group in groups]
    assert [group for group in groups if group.task != "carl/fruit"] == [] or name in HARMLESS
    # A resumed run meets it again.
    again, *_ = bob(state=state)
    assert looked_at(again) == metrics["damaged_files"]


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: ".".join(map(str, field)))
def test_a_value_of_a_wrong_type_is_damage_and_nothing_worse(swarm, two_of_us, field):
    environments, policies = two_of_us
    file, exchange = swarm / "ann" / "1.json", Exchange(swarm, "bob")
    text, damaged = file.read_text(), 0

    def scores_of(read):
        (group,) = replay_groups(environments, policies, [read], max_tokens=1000)
        return None if group is None else {episode.score for episode in group.episodes}

    assert (scores_of(exchange.read("ann/1.json")) or {-1.0}) <= {0.0, 1.0}
    for change in (*(put(*field, value=value) for value in WRONG.values()), without(*field)):
        file.write_text(json.dumps(change(json.loads(text))))
        try:
            read = exchange.read("ann/1.json")
        except DamagedError:
            damaged += 1
        else:
            assert (scores_of(read) or {0.0}) <= {0.0, 1.0}
    # At most three values of those fit any field, and what is missing may have a default.
    assert damaged >= 6


def test_a_folder_that_is_a_link_offers_nothing(bob, swarm):
    (swarm / "dora").symlink_to(swarm)
    (swarm / "emil").symlink_to(swarm / "ann")
    (swarm / "loop").symlink_to("loop")
    assert Exchange(swarm, "bob").offered(99) == ["ann/1.json", "carl/1.json"]
    with pytest.raises(DamagedError, match="NotADirectory"):
        Exchange(swarm, "bob").read("emil/1.json")


def test_a_file_that_vanishes_is_damaged_and_one_that_is_mended_is_read(swarm):
    exchange, file = Exchange(swarm, "bob"), swarm / "ann" / "1.json"
    whole = file.read_text()
    file.write_text(whole[:-9])
    for _ in range(2):
        with pytest.raises(DamagedError):
            exchange.read("ann/1.json")
    file.unlink()
    with pytest.raises(DamagedError, match="FileNotFound"):
        exchange.read("ann/1.json")
    file.write_text(whole)
    assert exchange.read("ann/1.json") == replace(shared(), task=replace(FRUIT, key="ann/fruit"))


def test_garbage_is_parsed_once_until_it_changes(swarm, monkeypatch):
    exchange, file = Exchange(swarm, "bob"), swarm / "ann" / "1.json"
    file.write_text("[" * 1000)
    read: list[str] = []
    monkeypatch.setattr(untrusted_files, "read", lambda *_: read.append("x") or b"garbage")
    for _ in range(3):
        with pytest.raises(DamagedError):
            exchange.read("ann/1.json")
    assert len(read) == 1


@pytest.mark.parametrize("key", ["fruit", "a name of their own"])
def test_the_answer_of_a_task_that_the_node_has_is_its_own(bob, swarm, key):
    # They say that 9 is right, and all of theirs who said so earned 1.
    lie = shared("9", replace(FRUIT, key=key, answer="9", solution="9", details={"points": 1e9}))
    Exchange(swarm, "ann").publish(lie, "1")
    Exchange(swarm, "carl").publish(shared("7", replace(FRUIT, answer="9")), "1")
    metrics, groups, _ = bob()
    # Here 9 and 0 are both wrong, so nothing can be learnt from that; and 7 is right.
    assert (metrics["level_groups"], [group.task for group in groups]) == (1.0, ["carl/fruit"])
    assert [episode.score for episode in groups[0].episodes] == [1.0, 0.0]


def test_tasks_that_the_node_does_not_have_are_taken_with_their_answers_or_refused(bob, swarm):
    for name in ("ann", "carl"):
        Exchange(swarm, name).publish(shared("9", Task("nuts", "Nuts?", (), "9")), "1")
    metrics, groups, _ = bob()
    assert [group.task for group in groups] == ["carl/nuts", "ann/nuts"]
    metrics, groups, _ = bob(strange_tasks=False)
    assert (groups, metrics["unfit_groups"]) == ([], 2.0)


def test_details_of_another_shape_that_a_grader_chokes_on_are_unfit(
    bob, swarm, two_of_us, monkeypatch
):
    def score(self, task, answers):
        return Score(float(task.details["exam"].points), True, "")

    nuts = Task("nuts", "Nuts?", (), "9", details={"exam": {"points": 1}})
    for name in ("ann", "carl"):
        Exchange(swarm, name).publish(shared("9", nuts), "1")
    environments, _ = two_of_us
    # Own episodes are played here too, and their task has what is asked for.
    own = replace(FRUIT, details={"exam": SimpleNamespace(points=1)})
    for environment in environments:
        environment.tasks = {"fruit": own}
    monkeypatch.setattr(type(environments[0].benchmark), "score", score)
    metrics, groups, _ = bob()
    assert (groups, metrics["unfit_groups"]) == ([], 2.0)
