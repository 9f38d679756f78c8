"""The reward worked out a second time, in another way, on real texts, generated ones and noise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from places import DATA

from laconic import envs
from laconic.envs.benchmarks.sources import rows
from laconic.envs.families.writing.measures import CONNECTIVES, STOP_WORDS
from laconic.envs.library.arxiv import benchmark as arxiv
from laconic.envs.library.tldr import benchmark as tldr
from laconic.envs.task import Benchmark

needs_data = pytest.mark.skipif(not (DATA / "tldr").is_dir(), reason=f"no posts in {DATA}")
Pair = tuple[str, str]

RULES = {
    "tldr": {
        "words": (8, 256),
        "length": ([1.1, 1.6, 3.2, 5.0], [0, 1, 1, 0]),
        "different": ([1.3, 2.0, 1e9], [0, 0.5, 0.5]),
        "wanted": 0.03,
    },
    "arxiv": {
        "words": (128, 256),
        "length": ([0.8, 1.3, 1.6, 2.0], [0, 1, 1, 0]),
        "different": ([0.5, 0.7, 1.3, 1.7], [0, 0.5, 0.5, 0]),
        "wanted": 0.23,
    },
}
"""Corners of the reward over each ratio, as in the paper's library."""
_PHRASES = {text: name for name, texts in CONNECTIVES.items() for text in texts}
_LONGEST_FIRST = "|".join(map(re.escape, sorted(_PHRASES, key=len, reverse=True)))
_ANY_PHRASE = re.compile(rf"(?<!\S)(?:{_LONGEST_FIRST})(?!\S)")


def split(text: str) -> list[str]:
    """Words, letter by letter."""
    message, word = [], ""
    letters = [*text.lower().replace("’", "'"), "."]
    for place, letter in enumerate(letters):
        inside = letter.isalnum() or letter == "_"
        joins = letter == "'" and word and word[-1] != "'" and place + 1 < len(letters)
        if inside or (joins and (letters[place + 1].isalnum() or letters[place + 1] == "_")):
            word += letter
        elif word:
            message.append(word)
            word = ""
    return message


def kinds(*texts: str) -> set[str]:
    return {
        _PHRASES[match.group()]
        for text in texts
        for match in _ANY_PHRASE.finditer(" ".join(split(text)))
    }


def reward(name: str, first: str, second: str) -> tuple[float, int]:
    """Return the reward, and the number of graded levels."""
    rules = RULES[name]
    fewest, most = rules["words"]
    if not all(fewest <= len(re.findall(r"\S+", text)) <= most for text in (first, second)):
        return 0.0, 1
    longer, (corners, heights) = len(second) / len(first), rules["length"]
    if longer < corners[0] or longer > corners[-1]:
        return 0.5, 2
    total = 0.5 + float(np.interp(longer, corners, heights))
    words, others = ([w for w in set(split(t)) if w not in STOP_WORDS] for t in (first, second))
    corners, heights = rules["different"]
    if not words or not corners[0] <= len(others) / len(words) <= corners[-1]:
        return total, 3
    total += float(np.interp(len(others) / len(words), corners, heights))
    joined = sum(word in others for word in words) / len({*words, *others})
    number = len(kinds(second) if name == "tldr" else kinds(first, second))
    style = 0.4 * min(1.0, 0.35 + 0.05 * number) * (number > 0)
    return total + style + 0.6 * min(1.0, joined / rules["wanted"]), 4


def agree(name: str, pairs: list[Pair]) -> list[int]:
    """Compare with the benchmark; returns how many levels each pair came to."""
    benchmark = envs.benchmark(name)
    roles, came_to = benchmark.roles, []
    task = benchmark.generate(0, 1)[0]
    for first, second in pairs:
        expected, levels = reward(name, first, second)
        score = benchmark.score(task, {f"{roles[0]}_0": first, f"{roles[1]}_0": second})
        assert score.value == pytest.approx(expected, rel=1e-9, abs=1e-12), (first, second)
        assert len(score.detail["points"]) == levels, (first, second)
        assert 0.0 <= score.value <= 2.98 + 1e-12
        came_to.append(levels)
    return came_to


@needs_data
def test_two_hundred_real_summaries_earn_what_they_are_worth() -> None:
    random, pairs = Random(0), []
    for _, row in list(rows(DATA / "tldr"))[:200]:
        post = row["instruction"].split(" ")
        text = " ".join(post[: random.randint(10, 110)])
        pairs.append((row["gold_response"], text))
    levels = agree("tldr", pairs)
    assert len(levels) == 200
    assert min(levels.count(level) for level in (2, 3, 4)) >= 5 and levels.count(4) >= 50


@needs_data
def test_two_hundred_real_introductions_earn_what_they_are_worth() -> None:
    random, pairs = Random(0), []
    for _, row in list(rows(DATA / "acl_abstract_intro" / "papers.jsonl.gz"))[:200]:
        words = " ".join(row["introduction_text"]).split(" ") * 3
        first = random.randint(120, 190)
        second = random.randint(120, 270)
        pairs.append((" ".join(words[:first]), " ".join(words[first : first + second])))
    levels = agree("arxiv", pairs)
    assert len(levels) == 200
    assert min(levels.count(level) for level in (1, 2, 4)) >= 5 and levels.count(4) >= 50


@pytest.mark.parametrize("benchmark", [tldr.BENCHMARK, arxiv.BENCHMARK], ids=["tldr", "arxiv"])
def test_all_pairs_of_drafts_earn_what_they_are_worth(benchmark: Benchmark) -> None:
    first, second = benchmark.roles
    pairs = [
        (draft, other)
        for task in benchmark.generate(0, 20)
        for draft in task.drafts[first]
        for other in task.drafts[second]
    ]
    assert set(agree(benchmark.name, pairs)) == ({1, 2, 3, 4} if first == "concise" else {1, 2, 4})


def noise(random: Random, words: int) -> str:
    bits = [*_PHRASES, *STOP_WORDS, "don’t", "_a_", "'quoted'", "x'y'z", "''", "été", "слово", "-"]
    bits += [f"word{i}" for i in range(random.choice((3, 30, 200)))]
    return random.choice((" ", "  ", "\n")).join(random.choices(bits, k=words))


def noises() -> Iterator[Pair]:
    random = Random(0)
    for _ in range(150):
        words = random.randint(5, 140)
        yield noise(random, words), noise(random, int(words * random.uniform(0.7, 3.5)))


@pytest.mark.parametrize("name", RULES)
def test_noise_earns_what_it_is_worth_and_never_more_than_298(name: str) -> None:
    assert set(agree(name, list(noises()))) >= {1, 4}
