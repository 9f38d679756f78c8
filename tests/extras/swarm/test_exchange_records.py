"""Records and plain data: whatever a record holds, it holds after its way through JSON."""

from __future__ import annotations

import json
import random
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from laconic.envs.task import Score, Task
from laconic.experiments.run_folder.journal import as_plain, episode_from
from laconic.extras.swarm.exchange import Exchange, SharedGroup, SharedMessage, from_plain, to_plain
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Reply, Usage

RECORDS = (Task, Score, Turn, Episode, Group, Usage, Reply, SharedMessage, SharedGroup)
TIMES = 25
TOKENS = ("prompt_ids", "reply_ids", "behavior_logprobs")
"""Fields that an evaluation's journal leaves out on purpose."""


def drawn(kind: Any, generator: random.Random, name: str = "") -> Any:
    """Make a value of a type, whose fields differ from their defaults if possible."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return record(kind, generator)
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return kind(*(drawn(each, generator) for each in get_type_hints(kind).values()))
    if origin in (Union, types.UnionType):
        return drawn(inner[0], generator, name)
    if origin is tuple:
        count = 2 if name in ("statements", "relevant", *TOKENS) else generator.randint(2, 3)
        return tuple(drawn(inner[0], generator, name) for _ in range(count))
    if origin is Mapping:
        return {drawn(str, generator): drawn(inner[1], generator) for _ in range(2)}
    if kind is Any:
        return generator.choice([None, "x", 1.5, [1, {"a": True}]])
    if kind is bool:
        return generator.random() < 0.5
    if kind is str:
        return "".join(generator.choices('ab \n"\\é\ud800\x00#', k=generator.randint(1, 6)))
    return generator.randint(0, 99) if kind is int else generator.uniform(-9, 9)


def record(kind: type, generator: random.Random) -> Any:
    hints = get_type_hints(kind)
    values = {field.name: drawn(hints[field.name], generator, field.name) for field in fields(kind)}
    if kind is Group:
        values["episodes"] = tuple(
            from_plain(Episode, {**to_plain(episode), "task": values["task"]})
            for episode in values["episodes"]
        )
    return kind(**values)


def through_json(plain: Any) -> Any:
    return json.loads(json.dumps(plain))


@pytest.mark.parametrize("kind", RECORDS)
def test_every_field_of_every_record_comes_back(kind):
    generator = random.Random(0)
    for _ in range(TIMES):
        value = record(kind, generator)
        assert from_plain(kind, through_json(to_plain(value))) == value


def playable(group: SharedGroup) -> SharedGroup:
    """Return the group as a run could play it, with each agent of the team once in a round."""
    agents = ("anna", 'ben\n"\\')
    episodes = tuple(
        tuple(
            replace(message, agent=agents[at % 2], round=at // 2, logprob=-abs(message.logprob))
            for at, message in enumerate(episode)
        )
        for episode in group.episodes
    )
    key = "".join(filter(str.isprintable, f"k{group.task.key}"))
    return replace(group, agents=agents, episodes=episodes, task=replace(group.task, key=key))


def test_every_field_of_a_shared_group_comes_back_from_the_folder(tmp_path):
    ann, bob = Exchange(tmp_path, "ann"), Exchange(tmp_path, "bob")
    generator = random.Random(1)
    for _ in range(TIMES):
        group = playable(record(SharedGroup, generator))
        ann.publish(group, "1")
        read = to_plain(bob.read("ann/1.json"))
        assert read.pop("task") == {**to_plain(group.task), "key": f"ann/{group.task.key}"}
        assert read == {name: value for name, value in to_plain(group).items() if name != "task"}


def test_every_field_of_an_episode_but_its_tokens_comes_back_from_a_journal():
    generator = random.Random(2)
    for _ in range(TIMES):
        episode = record(Episode, generator)
        read = to_plain(episode_from(through_json(as_plain(episode))))
        expected = to_plain(episode)
        for turn in expected["turns"]:
            turn |= dict.fromkeys(TOKENS, [])
        assert read == expected


@dataclass(frozen=True)
class Pair:
    number: float
    word: str | None = "w"
    flags: tuple[bool, ...] = ()


def test_fields_missing_in_earlier_versions_get_their_defaults():
    assert from_plain(Pair, {"number": 2}) == Pair(2.0)
    assert type(from_plain(Pair, {"number": 2}).number) is float


@pytest.mark.parametrize(
    ("plain", "error", "words"),
    [
        ([], TypeError, "fields of Pair"),
        ({}, TypeError, "needs the field 'number'"),
        ({"number": True}, TypeError, "expected float for 'number'; got True"),
        ({"number": "1"}, TypeError, "expected float"),
        ({"number": 1, "word": 1}, TypeError, "expected str for 'word'"),
        ({"number": 1, "flags": [1]}, TypeError, "expected bool"),
        ({"number": 1, "flags": "no"}, TypeError, "for 'flags'"),
        ({"number": 1, "more": 1}, ValueError, "Pair has no field 'more'"),
    ],
)
def test_values_of_another_type_are_refused(plain, error, words):
    with pytest.raises(error, match=words):
        from_plain(Pair, plain)
