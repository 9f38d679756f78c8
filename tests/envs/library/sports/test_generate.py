from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any

import pytest

from laconic.envs.benchmarks.generation import split_of
from laconic.envs.errors import SettingError
from laconic.envs.library.sports.generate import (
    CLUBS,
    CUPS,
    FIRST_NAMES,
    LAST_NAMES,
    MOVES,
    SPORTS,
    VERBS,
    generate,
)
from laconic.envs.task import Task

FACTS = {
    "athlete": r"(\w+ \w+) plays (\w+)\.",
    "member": r"(\w+ \w+) is with the (\w+)\.",
    "club": r"The (\w+) play (\w+)\.",
    "action": r"Whoever (.*) plays (\w+)\.",
    "cup": r"The (\w+) Cup is for (\w+)\.",
}
QUESTION = re.compile(
    r'Is the following sentence plausible\? "(?P<athlete>\w+ \w+) (?P<action>.*?)'
    r'(?: in the (?P<cup>\w+) Cup)?\."'
)


def read(sentence: str) -> tuple[str, ...]:
    """Return the kind of a fact and its words."""
    for kind, pattern in FACTS.items():
        # Whoever is no athlete's first name.
        if (match := re.fullmatch(pattern, sentence)) and (
            kind == "action" or not sentence.startswith("Whoever ")
        ):
            return kind, *match.groups()
    raise AssertionError(sentence)


def reasoned(question: str, facts: list[str]) -> tuple[str, set[tuple[str, ...]]]:
    """Return the answer from the facts, and the facts used; a gap raises KeyError."""
    base = {read(fact)[:-1]: read(fact)[-1] for fact in facts}
    assert len(base) == len(facts), "two facts about one subject"
    words = QUESTION.fullmatch(question)
    assert words is not None, question
    used = [("athlete", words["athlete"])]
    if used[0] not in base:
        used = [("member", words["athlete"]), ("club", base["member", words["athlete"]])]
    sports = [base[used[-1]]]
    used.append(("action", words["action"]))
    if words["cup"]:
        used.append(("cup", words["cup"]))
        sports.append(base[used[-1]])
    sports.append(base["action", words["action"]])
    answer = "yes" if len(set(sports)) == 1 else "no"
    return answer, {(*key, base[key]) for key in used}


def needed(task: Task) -> list[str]:
    return [text for text, flag in zip(task.statements, task.relevant or (), strict=True) if flag]


@pytest.fixture(scope="module", params=[1, 2, 3, (1, 3)], ids=str)
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


def test_the_working_puts_the_sports_beside_each_other(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        sports, _, verdict = task.solution.partition(": ")
        same = len(set(sports.split(", "))) == 1
        assert verdict == ("same." if task.answer == "yes" else "different.")
        assert same == (task.answer == "yes")
        names = {read(fact)[-1] for fact in needed(task) if read(fact)[0] != "member"}
        assert set(sports.split(", ")) == names


def test_an_action_has_no_sport_of_its_own() -> None:
    """Else a team learns the sports of actions by heart, and to tell them is of no use."""
    records: dict[str, set[str]] = defaultdict(set)
    for task in generate(0, 5_000, "train", 1):
        for kind, subject, sport in map(read, task.statements):
            if kind == "action":
                verb, _, move = subject.split()
                records[verb].add(sport)
                records[move].add(sport)
    assert records.keys() == {*VERBS, *MOVES}
    # About 80 facts for a move; the chance that one of 12 sports is missing is below 1 %.
    assert min(len(sports) for sports in records.values()) > 9


@pytest.mark.parametrize(("level", "facts"), [(1, 2), (2, 3), (3, 4)])
def test_a_level_has_so_many_facts(level: int, facts: int) -> None:
    assert {len(needed(task)) for task in generate(1, 200, "train", level)} == {facts}


def test_a_wrong_cup_or_a_wrong_action_is_enough() -> None:
    fits = Counter()
    for task in generate(0, 600, "train", 3):
        own, action, cup = task.solution.partition(":")[0].split(", ")
        fits[own == action, own == cup] += 1
    assert fits[True, True] == 300
    assert min(fits[True, False], fits[False, True], fits[False, False]) > 60


def test_yes_and_no_are_equally_common_in_every_set() -> None:
    for count, level in ((2, 1), (500, 1), (500, (1, 3))):
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


def test_an_easy_distractor_shares_neither_name_nor_action() -> None:
    checked = {"athlete": 0, "action": 0}
    for task in generate(0, 500, "train", 1, 2):
        for text, flag in zip(task.statements, task.relevant or (), strict=True):
            kind, subject, _ = read(text)
            checked["athlete" if kind == "athlete" else "action"] += not flag
            if not flag and kind == "athlete":
                assert not any(f'"{name} ' in task.question for name in subject.split()[:1])
                assert subject.split()[1] not in task.question.split()
            elif not flag:
                verb, _, move = subject.split()
                assert f" {verb} " not in task.question
                assert f" {move}." not in task.question
    assert min(checked.values()) >= 200


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
    assert generate(0, 50, "train", 1) == tasks[:50]
    assert generate(1, 50, "train", 1) != tasks[:50]


def test_a_known_task_stays_what_it_is() -> None:
    # Written down so that a change of the tasks behind every published figure is seen.
    (task,) = generate(0, 1, "train", 1, 1)
    assert task.key == "train-0/0"
    assert task.text == (
        "Whoever held a vort plays volleyball. Neko Cald plays golf."
        " Whoever pushed a nask plays rugby."
        ' Is the following sentence plausible? "Neko Cald pushed a nask."'
    )
    assert task.answer == "no"


def test_the_table_is_one_of_distinct_words() -> None:
    for words in (SPORTS, FIRST_NAMES, LAST_NAMES, VERBS, MOVES, CLUBS, CUPS):
        assert len(set(words)) == len(words)
    assert (len(SPORTS), len(FIRST_NAMES), len(LAST_NAMES), len(MOVES)) == (12, 50, 50, 50)


def test_a_space_that_is_used_up_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for table, few in {
        "FIRST_NAMES": ("Ivo", "Elo"),
        "LAST_NAMES": ("Marn", "Tolk"),
        "VERBS": ("took", "won"),
        "MOVES": ("zorch", "vort", "welk"),
    }.items():
        monkeypatch.setattr(f"laconic.envs.library.sports.generate.{table}", few)
    # 4 athletes, 6 actions, 12 sports: 288 plausible sentences, about 72 of them for evaluation.
    with pytest.raises(SettingError, match=r"count must be at most .* level 1; got 1000"):
        generate(0, 1000, "evaluation", 1)
    assert len(generate(0, 60, "evaluation", 1)) == 60


@pytest.mark.parametrize("level", [0, 4, 1.5, True, "1", (3, 2)])
def test_a_level_out_of_range_is_refused(level: Any) -> None:
    with pytest.raises(
        SettingError, match="env.generator.level must be a whole number from 1 to 3"
    ):
        generate(0, 1, "train", level)
