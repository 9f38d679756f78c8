"""Generated posts and abstracts, and the scores of pairs of drafts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from statistics import mean, pstdev
from typing import Any

import pytest

from laconic import envs
from laconic.envs.benchmarks.generation import split_of
from laconic.envs.errors import SettingError
from laconic.envs.families.writing.generate import Piece, draw
from laconic.envs.families.writing.measures import spaced_words, words
from laconic.envs.library.arxiv import abstracts
from laconic.envs.library.tldr import posts
from laconic.envs.task import Task

NAMES = ("tldr", "arxiv")
both = pytest.mark.parametrize("name", NAMES)


@cache
def tasks(name: str, count: int = 300) -> tuple[Task, ...]:
    return envs.benchmark(name).generate(0, count)


def values(name: str, task: Task) -> Mapping[tuple[int, int], float]:
    """Return the score of every pair of drafts."""
    benchmark = envs.benchmark(name)
    first, second = benchmark.roles
    return {
        (i, j): benchmark.score(task, {f"{first}_0": draft, f"{second}_0": other}).value
        for i, draft in enumerate(task.drafts[first])
        for j, other in enumerate(task.drafts[second])
    }


@pytest.mark.slow
@both
def test_the_best_pair_is_close_to_the_maximum_and_no_pair_is_better(name: str) -> None:
    for task in tasks(name):
        result = values(name, task)
        assert result[0, 0] == max(result.values()) >= 2.7, task


@pytest.mark.slow
@both
def test_drafts_stand_best_first_beside_the_best_of_the_other(name: str) -> None:
    results = [values(name, task) for task in tasks(name)]
    for side in (0, 1):
        count = 1 + max(pair[side] for pair in results[0])
        worth = [
            mean(pairs[(place, 0) if side == 0 else (0, place)] for pairs in results)
            for place in range(count)
        ]
        assert count >= 4
        assert worth == sorted(worth, reverse=True)
        # From the best down to worthless, with something in between.
        assert worth[-1] == 0.0 and any(0.4 < value < 2.5 for value in worth)


@both
def test_mixed_pairs_differ_so_that_there_is_something_to_learn(name: str) -> None:
    every = [value for task in tasks(name, 50) for value in values(name, task).values()]
    assert 0.5 < mean(every) < 1.3 and pstdev(every) > 0.8


def test_a_post_of_level_one_is_short_and_so_are_its_drafts() -> None:
    for task in posts.generate(0, 500, "train", 1):
        assert 25 <= spaced_words(task.question) <= 45
        concise, detailed = task.drafts["concise"][0], task.drafts["detailed"][0]
        assert 12 <= spaced_words(concise) <= 16 and 29 <= spaced_words(detailed) <= 37
        assert max(spaced_words(text) for texts in task.drafts.values() for text in texts) <= 37


@pytest.mark.parametrize(("level", "fewest", "most"), [(2, 60, 105), (3, 115, 190)])
def test_a_post_of_a_higher_level_says_more_that_does_not_matter(
    level: int, fewest: int, most: int
) -> None:
    longer = posts.generate(0, 200, "train", level)
    assert all(fewest <= spaced_words(task.question) <= most for task in longer)
    for task in longer:
        text = " ".join(text for texts in task.drafts.values() for text in texts)
        assert not any(aside in text for aside in posts.ASIDES)
        assert any(aside in task.question for aside in posts.ASIDES)


def test_summaries_use_the_words_of_the_post() -> None:
    own = {"has", "first", "but", "so", "because", "yes", "own"}
    for task in tasks("tldr"):
        used = {word for texts in task.drafts.values() for text in texts for word in words(text)}
        assert used - set(words(task.question)) <= own


def test_an_abstract_has_the_length_of_one() -> None:
    for task in tasks("arxiv"):
        assert 70 <= spaced_words(task.question) <= 120
        for text in (task.drafts["background"][0], task.drafts["method"][0]):
            assert 128 <= spaced_words(text) <= 256
            # Every gap of the sentences is filled, and every choice made.
            assert not set("{}[]|") & set(text)


def test_a_known_task_stays_what_it_is() -> None:
    # Written down so that a change of the tasks behind every published figure is seen.
    (task,) = posts.generate(0, 1, "train", 1)
    assert (task.key, task.statements) == ("train-0/0", ())
    assert task.question == (
        "My manager joined my project on Friday and deleted it for fun. Now she denies the whole"
        " thing. I feel annoyed, as I need it for the spring fair. Should I call a lawyer?"
    )
    assert task.answer == "My manager has deleted my project and now she denies the whole thing."
    assert task.drafts["detailed"][0] == (
        "First my manager joined my project on Friday, but she deleted it for fun. Now she denies"
        " the whole thing, so I feel annoyed because I need it for the spring fair."
    )


@both
def test_no_two_tasks_are_equal_and_fewer_are_the_first_of_more(name: str) -> None:
    many = tasks(name, 1000)
    assert len({task.question for task in many}) == len({task.key for task in many}) == 1000
    benchmark = envs.benchmark(name)
    assert benchmark.generate(0, 20) == many[:20] != benchmark.generate(1, 20)


def test_no_story_is_in_both_parts_whatever_is_said_beside_it() -> None:
    def stories(split: Any, level: int) -> set[str]:
        places = set()
        for task in posts.generate(3, 400, split, level):
            text = task.question
            for aside in posts.ASIDES:
                text = text.replace(f"{aside} ", "").replace(f" {aside}", "")
            places.add(text)
        return places

    for level in (1, 2, 3):
        assert {split_of(text) for text in stories("train", level)} == {"train"}
        assert {split_of(text) for text in stories("evaluation", level)} == {"evaluation"}


def test_a_space_that_is_used_up_is_refused() -> None:
    with pytest.raises(SettingError, match="different train coins; got 3, and found"):
        draw(lambda random: Piece(str(random.randint(0, 1)), "", ""), "coins", 0, 3, "train")


@pytest.mark.parametrize("level", [0, 4, (2, 1), "1", True])
def test_a_level_out_of_range_is_refused(level: Any) -> None:
    with pytest.raises(SettingError, match=r"env\.generator\.level must be a whole number from 1"):
        posts.generate(0, 1, "train", level)


def test_the_tables_have_no_word_twice() -> None:
    tables = (posts.PEOPLE, posts.TIMES, posts.FEELINGS, posts.REACTIONS, posts.PLANS, posts.ASIDES)
    tables += tuple(column for plot in posts.PLOTS for column in plot[1:])
    names = ("TASKS", "SOURCES", "USERS", "WEAKNESSES", "RIVALS", "KINDS", "IDEAS", "STEPS")
    names += ("FIRST_SOUNDS", "LAST_SOUNDS", "DATA")
    tables += tuple(getattr(abstracts, name) for name in names)
    assert all(len(set(table)) == len(table) > 3 for table in tables)
