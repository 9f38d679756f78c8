from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from laconic.envs.benchmarks.base import ShortAnswers
from laconic.envs.benchmarks.sources import Row, field
from laconic.envs.errors import SourceError, UnknownNameError
from laconic.envs.task import Split, Task


def answer_in(text: str) -> str | None:
    matches = re.findall("yes|no", text)
    return matches[-1] if matches else None


def commitment(text: str) -> tuple[str, str] | None:
    match = re.search("(?:####|answer:) *(yes|no)", text)
    return (match[0], match[1]) if match else None


def generate(seed: int, count: int, split: Split, level: int = 1) -> tuple[Task, ...]:
    return tuple(Task(f"{split}-{seed}/{i}", f"Level {level}?", (), "yes") for i in range(count))


class Own(ShortAnswers):
    name, roles, goal, answer_form, duties = "own", ("solver",), "", "", {}
    generator = staticmethod(generate)
    answer_in = staticmethod(answer_in)
    commitment = staticmethod(commitment)

    def read(self, row: Row, where: str, key: str) -> Task | None:
        answer = field(row, "answer", where)
        return Task(key, "Is it?", (), answer) if answer else None


def score(*texts: str, answer: str = "no") -> tuple[float, bool, str]:
    agents = {f"solver_{number}": text for number, text in enumerate(texts)}
    score = Own().score(Task("t", "Is it?", (), answer), agents)
    return score.value, score.solved, score.answer


def test_votes_are_counted_and_ties_go_to_the_earliest() -> None:
    assert score() == (0.0, False, "")
    assert score("", "hm", "whether") == (0.0, False, "")
    assert score("no", "yes", "#### yes") == (0.0, False, "yes")
    assert score("no", "yes") == (1.0, True, "no")
    assert score("hm", "yes", "no", answer="yes") == (1.0, True, "yes")


def test_measures_tell_a_right_answer_from_its_form() -> None:
    def form(*texts: str) -> tuple[float, float]:
        agents = {f"solver_{number}": text for number, text in enumerate(texts)}
        measures = Own().score(Task("t", "Is it?", (), "no"), agents).measures
        return measures["stated"], measures["strict"]

    # No message; right without the mark; right and wrong behind it.
    assert form() == form("") == form("no") == (0.0, 0.0)
    assert form("#### no") == (1.0, 1.0)
    assert form("#### yes") == (1.0, 0.0)
    # Two of three agents use the mark. "no" wins with 2 to 1, once behind the mark.
    assert form("#### no", "#### yes", "no") == (2 / 3, 1.0)
    # "no" wins, but the one mark holds the other answer.
    assert form("no", "#### yes", "no") == (1 / 3, 0.0)


def test_what_commits_is_given_as_written_and_what_is_exempt_plainly() -> None:
    own, task = Own(), Task("t", "Is it?", (), "no")
    message = "well, answer:   yes of course"
    assert (own.committed(message), own.exempt(message, task)) == ("answer:   yes", "#### yes")
    assert (own.committed("yes"), own.exempt("yes", task)) == (None, "")


def test_settings_are_those_of_the_generator() -> None:
    tasks = Own().generate(3, 2, split="evaluation", level=2)
    assert [(task.key, task.question) for task in tasks] == [
        ("evaluation-3/0", "Level 2?"),
        ("evaluation-3/1", "Level 2?"),
    ]
    for name in ("levle", "count_", "random"):
        with pytest.raises(UnknownNameError, match="Known: level, seed$"):
            Own().generate(0, 1, **{name: 1})


def test_rows_without_a_task_are_left_out_and_one_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps({"answer": answer}) + "\n" for answer in ("yes", "", "no")))
    result = Own().load(file)
    assert [(task.key, task.answer) for task in result] == [("own/1", "yes"), ("own/3", "no")]
    file.write_text('{"answer": ""}')
    with pytest.raises(SourceError, match="at least one problem with an answer; found none"):
        Own().load(file)
