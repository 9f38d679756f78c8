from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any

import pytest

from laconic.envs.benchmarks.generation import split_of
from laconic.envs.errors import SettingError
from laconic.envs.library.strategyqa.knowledge import (
    LANGUAGES,
    PEOPLE,
    RELATIONS,
    TEXTS,
    THINGS,
    TOWNS,
    generate,
)
from laconic.envs.task import Task

FACTS = {
    "related": r"(\w+)'s (\w+) is (\w+)\.",
    "lives": r"(\w+) lives in (\w+)\.",
    "has": r"(\w+) has (\d+) coins\.",
    "reads": r"(\w+) reads only (\w+)\.",
    "died": r"(\w+) died in (\d+)\.",
    "costs": r"The (\w+) costs (\d+) coins\.",
    "made": r"The (\w+) was made in (\d+)\.",
    "in": r"The (\w+) is in (\w+)\.",
}
QUESTIONS = {
    r"Is the (?P<thing>\w+) in (?P<who>.*)'s town\?": ("lives", "in", str.__eq__),
    r"Can (?P<who>.*) buy the (?P<thing>\w+)\?": ("has", "costs", lambda a, b: int(a) >= int(b)),
    r"Can (?P<who>.*) read the (?P<thing>\w+)\?": ("reads", "in", str.__eq__),
    r"Was the (?P<thing>\w+) there in (?P<who>.*)'s lifetime\?": (
        *("died", "made"),
        lambda died, made: int(made) <= int(died),
    ),
}
"""Facts about person and thing that each question joins, and its test of both."""


def read(sentence: str) -> tuple[str, ...]:
    """Return the kind of a fact and its words."""
    for kind, pattern in FACTS.items():
        if match := re.fullmatch(pattern, sentence):
            return kind, *match.groups()
    raise AssertionError(sentence)


def asked(question: str) -> tuple[list[str], str, Any]:
    """Return the person with relations, the thing, and the row of `QUESTIONS`."""
    for pattern, row in QUESTIONS.items():
        if match := re.fullmatch(pattern, question):
            return match["who"].split("'s "), match["thing"], row
    raise AssertionError(question)


def reasoned(question: str, facts: list[str]) -> tuple[str, set[tuple[str, ...]]]:
    """Return the answer from the facts, and the facts used; a gap raises KeyError."""
    base = {read(fact)[:-1]: read(fact)[-1] for fact in facts}
    assert len(base) == len(facts), "two facts about one subject"
    (who, *relations), thing, (of_person, of_thing, holds) = asked(question)
    used = []
    for relation in relations:
        used.append(("related", who, relation))
        who = base[used[-1]]
    used += [(of_person, who), (of_thing, thing)]
    verdict = holds(base[used[-2]], base[used[-1]])
    return ("yes" if verdict else "no"), {(*key, base[key]) for key in used}


def needed(task: Task) -> list[str]:
    return [text for text, flag in zip(task.statements, task.relevant or (), strict=True) if flag]


@pytest.fixture(scope="module", params=[1, 2, 3, 5, (1, 5)], ids=str)
def tasks(request: pytest.FixtureRequest) -> tuple[Task, ...]:
    return generate(0, 1000, "train", request.param, (0, 3))


def test_the_answer_follows_from_the_relevant_facts_and_takes_each(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        answer, used = reasoned(task.question, needed(task))
        assert answer == task.answer
        assert used == {read(fact) for fact in needed(task)}


def test_distractors_change_nothing(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        answer, used = reasoned(task.question, list(task.statements))
        assert answer == task.answer
        assert task.relevant == tuple(read(text) in used for text in task.statements)


def test_the_working_puts_both_values_beside_each_other(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        (_, *relations), thing, (of_person, of_thing, _) = asked(task.question)
        facts = [read(fact) for fact in needed(task)]
        values = [
            words[-1] for kind in (of_person, of_thing) for words in facts if words[0] == kind
        ]
        assert f"{values[0]}, {values[1]}: " in task.solution
        ends = ("same.", "enough.", "in time.") if task.answer == "yes" else ()
        assert task.solution.endswith(ends or ("different.", "too few.", "too late."))


@pytest.mark.parametrize("level", range(1, 6))
def test_a_level_is_the_number_of_joins(level: int) -> None:
    assert {len(needed(task)) for task in generate(1, 200, "train", level)} == {level + 1}


def test_yes_and_no_are_equally_common_in_every_set() -> None:
    for count, level in ((2, 1), (500, 1), (500, (1, 5))):
        answers = Counter(task.answer for task in generate(3, count, "train", level))
        assert answers == {"yes": count // 2, "no": count // 2}


@pytest.mark.parametrize("level", [1, 3])
def test_the_question_alone_tells_nothing(level: int) -> None:
    """A count of answers by every word of the question guesses unseen ones at chance."""
    tasks = generate(0, 6000, "train", level)
    lean: dict[str, int] = defaultdict(int)
    for task in tasks[:4000]:
        for word in re.findall(r"\w+", task.question):
            lean[word] += 1 if task.answer == "yes" else -1
    right = sum(
        (sum(lean[word] for word in re.findall(r"\w+", task.question)) > 0)
        == (task.answer == "yes")
        for task in tasks[4000:]
    )
    # 2,000 guesses at one half: five standard deviations are 112.
    assert abs(right - 1000) < 112


def test_an_easy_distractor_is_about_others_and_of_the_other_kind() -> None:
    for task in generate(0, 500, "train", 1, 2):
        (who,), thing, (of_person, of_thing, _) = asked(task.question)
        for text, flag in zip(task.statements, task.relevant or (), strict=True):
            kind, subject, _ = read(text)
            assert flag == (kind in (of_person, of_thing)) == (subject in (who, thing))


def test_a_hard_distractor_may_differ_in_a_word_or_two() -> None:
    near = 0
    for task in generate(0, 300, "train", 3, 1):
        facts = [set(re.findall(r"\w+", fact)) for fact in needed(task)]
        decoy = {
            word
            for text, flag in zip(task.statements, task.relevant or (), strict=True)
            if not flag
            for word in re.findall(r"\w+", text)
        }
        near += any(len(fact - decoy) <= 2 for fact in facts)
    assert near > 150


def test_train_and_evaluation_share_no_problem_whatever_the_seeds() -> None:
    def contents(split: Any, seeds: tuple[int, ...]) -> set[str]:
        return {
            "\n".join((*sorted(needed(task)), task.question))
            for seed in seeds
            for task in generate(seed, 800, split, (1, 2))
        }

    trained, evaluated = contents("train", (0, 1, -5)), contents("evaluation", (0, 2, 10**30))
    assert not trained & evaluated
    assert {split_of(content) for content in evaluated} == {"evaluation"}


def test_no_two_problems_are_equal_and_fewer_are_the_first_of_more() -> None:
    tasks = generate(0, 5_000, "train", 1)
    assert len({(frozenset(needed(task)), task.question) for task in tasks}) == 5_000
    assert len({task.key for task in tasks}) == 5_000
    assert generate(0, 50, "train", 1) == tasks[:50]
    assert generate(1, 50, "train", 1) != tasks[:50]


def test_a_known_task_stays_what_it_is() -> None:
    # Written down so that a change of the tasks behind every published figure is seen.
    (task,) = generate(0, 1, "train", 1, 1)
    assert task.key == "train-0/0"
    assert (
        task.text
        == "The lamp is in Fez. Ola has 3 coins. The book costs 5 coins. Can Ola buy the book?"
    )
    assert task.answer == "no"


def test_words_are_told_apart() -> None:
    lists = (PEOPLE, THINGS, TEXTS, TOWNS, LANGUAGES, RELATIONS)
    for words in lists:
        assert len(set(words)) == len(words)
    assert not set(PEOPLE) & set(TOWNS)


@pytest.mark.parametrize("level", [0, 6, 1.5, True, "1", (3, 2), (1, 6)])
def test_a_level_out_of_range_is_refused(level: Any) -> None:
    with pytest.raises(
        SettingError, match="env.generator.level must be a whole number from 1 to 5"
    ):
        generate(0, 1, "train", level)


def test_too_many_distractors_are_refused() -> None:
    with pytest.raises(SettingError, match="env.generator.distractors must be a whole number"):
        generate(0, 1, "train", 1, 13)
