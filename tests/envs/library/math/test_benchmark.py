from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pettingzoo.test import parallel_api_test
from places import DATA
from written import check_refused, write

from laconic import envs
from laconic.envs.benchmarks.sources import rows
from laconic.envs.contract import check_env
from laconic.envs.errors import SourceError, UnknownNameError
from laconic.envs.library.math.benchmark import BENCHMARK, MATH
from laconic.envs.library.math.grading.boxed import commitment
from laconic.envs.library.math.grading.grade import plain
from laconic.envs.task import Task

needs_data = pytest.mark.skipif(
    not (DATA / "math").is_dir() or not (DATA / "math500").is_dir(),
    reason=f"no MATH files in {DATA}",
)
# (folder, part, rows that are read, every which row the quick test takes)
SOURCES = [
    ("math", "train", 5585, 60),
    ("math", "evaluation", 2250, 25),
    ("math500", "evaluation", 250, 3),
]
ROW = {"problem": "Find $1+1$.", "level": "Level 2", "type": "Algebra", "solution": r"\boxed{2}"}


def task(answer: str = "12", question: str = "?") -> Task:
    return Task(key="t", question=question, statements=(), answer=answer)


def score(*messages: str, answer: str = "12") -> tuple[float, bool, str]:
    score = BENCHMARK.score(task(answer), {f"solver_{i}": text for i, text in enumerate(messages)})
    return score.value, score.solved, score.answer


def right(task: Task, answer: str) -> bool:
    return BENCHMARK.score(task, {"solver_0": rf"So it is \boxed{{{answer}}}."}).solved


def in_threads(pairs: list[tuple[Task, str]]) -> list[bool]:
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(lambda pair: right(*pair), pairs))


def test_it_is_the_benchmark_of_its_name() -> None:
    assert isinstance(envs.benchmark("math"), MATH)
    assert (BENCHMARK.name, BENCHMARK.roles) == ("math", ("solver", "helper", "critic"))


def test_a_row_of_the_original_form_is_read(tmp_path: Path) -> None:
    text = "Let $x = 2.$ Let $y = 3.5$. What is\n$\\frac{x}{y}$?"
    solution = r"First \boxed{1}, no, $\frac{x}{y} = \boxed{\frac{4}{7}}$."
    row = {"problem": text, "level": "Level 5", "type": "Algebra", "solution": solution}
    (read,) = BENCHMARK.load(write(tmp_path / "own.jsonl", row))
    assert read == Task(
        key="own/1",
        question="What is\n$\\frac{x}{y}$?",
        statements=("Let $x = 2.$", "Let $y = 3.5$."),
        answer=r"\frac{4}{7}",
        solution=solution,
        answer_text=r"\boxed{\frac{4}{7}}",
        source_text=text,
        details={"level": 5, "subject": "Algebra"},
    )


def test_a_row_of_math_500_is_read(tmp_path: Path) -> None:
    row = {**ROW, "answer": "2", "subject": "Algebra", "level": 3, "unique_id": "test/algebra/1"}
    del row["type"]
    (read,) = BENCHMARK.load(write(tmp_path / "test.jsonl", row))
    assert (read.answer, read.question) == ("2", "Find $1+1$.")
    assert read.details == {"level": 3, "subject": "Algebra", "id": "test/algebra/1"}


def test_rows_without_solutions_are_read_and_those_without_an_answer_left_out(
    tmp_path: Path,
) -> None:
    row = {"prompt": "Find $1+1$.", "answer": "2", "source": "MATH-Level3", "id": "train/a/0.json"}
    write(tmp_path / "train_answers.jsonl", {**row, "answer": " "}, row)
    (read,) = BENCHMARK.load(tmp_path, "train")
    assert (read.key, read.answer, read.solution) == ("train_answers/2", "2", "")
    assert read.details == {"level": 3, "id": "train/a/0.json"}


def test_the_folders_of_the_original_distribution_are_read(tmp_path: Path) -> None:
    for name in ("train/algebra/10", "train/algebra/2", "test/geometry/1"):
        file = tmp_path / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(ROW))
    keys = [read.key for read in BENCHMARK.load(tmp_path, "train")]
    assert keys == ["train/algebra/2", "train/algebra/10"]
    assert [read.key for read in BENCHMARK.load(tmp_path)] == ["test/geometry/1"]
    bad = tmp_path / "test/geometry/1.json"
    bad.write_text("{")
    with pytest.raises(SourceError, match=f"^{re.escape(str(bad))}:1: expected a JSON object"):
        BENCHMARK.load(tmp_path)


def test_a_folder_over_both_parts_is_refused_for_want_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with pytest.raises(SourceError, match=r"expected test\.jsonl or test\.jsonl\.gz"):
        BENCHMARK.load(tmp_path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"level": "Level 1"}, "expected the field 'problem'"),
        ({"problem": "Find $x$."}, "expected the field 'solution'"),
        ({**ROW, "problem": 3}, "field 'problem' to be a str; got int 3"),
        ({**ROW, "problem": " "}, "the field 'problem' is empty"),
        ({**ROW, "solution": "It is 2."}, r"to hold its answer in a \boxed{}"),
        ({**ROW, "solution": r"\boxed{}"}, r"to hold its answer in a \boxed{}"),
        ({"prompt": "Find $x$."}, "expected the field 'answer'"),
        ([1], "expected a JSON object"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    check_refused(BENCHMARK, tmp_path, ROW, row, message)


@needs_data
@pytest.mark.parametrize(("folder", "split", "count", "_"), SOURCES)
def test_all_real_rows_load_and_lose_no_word(folder: str, split: Any, count: int, _: int) -> None:
    tasks = BENCHMARK.load(DATA / folder, split)
    assert len(tasks) == len({read.key for read in tasks}) == count
    for read in tasks:
        assert " ".join((*read.statements, read.question)).split() == read.text.split()
        # No formula and no figure is cut.
        for piece in (*read.statements, read.question):
            assert len(re.findall(r"(?<!\\)\$", piece)) % 2 == 0 or not read.statements
            assert piece.count("[asy]") == piece.count("[/asy]")
    assert sum(bool(read.statements) for read in tasks) > 0.45 * count


@needs_data
def test_the_last_box_is_the_given_answer_on_all_of_math_500() -> None:
    for _, row in rows(DATA / "math500"):
        result = commitment(row["solution"])
        assert result is not None and result[1] == row["answer"]


@needs_data
@pytest.mark.parametrize(("folder", "split", "count", "step"), SOURCES)
def test_real_answers_are_right_however_written_and_corrupted_ones_wrong(
    folder: str, split: Any, count: int, step: int
) -> None:
    assert misjudged(BENCHMARK.load(DATA / folder, split), step) == ([], [])


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(("folder", "split", "count", "_"), SOURCES)
def test_this_holds_on_every_real_row(folder: str, split: Any, count: int, _: int) -> None:
    assert misjudged(BENCHMARK.load(DATA / folder, split), 1) == ([], [])


Pairs = list[tuple[Task, str]]


def misjudged(tasks: tuple[Task, ...], step: int) -> tuple[Pairs, Pairs]:
    """Return rewritten answers that are refused, and corrupted ones that are taken."""
    chosen = [(read, tasks[index - 1].answer) for index, read in enumerate(tasks)][::step]
    right = [(read, new) for read, _ in chosen for new in dict.fromkeys(rewrites(read.answer))]
    wrong = [(read, new) for read, other in chosen for new in different(read, other)]
    return (
        [pair for pair, ok in zip(right, in_threads(right), strict=True) if not ok],
        [pair for pair, ok in zip(wrong, in_threads(wrong), strict=True) if ok],
    )


def different(read: Task, other: str) -> list[str]:
    """Return the corruptions of an answer that differ from it, at least three."""
    texts = set(corruptions(read.answer, other))
    results = {text for text in texts if plain(text) != plain(read.answer)}
    assert len(results) >= 3, read
    return sorted(results)


def rewrites(answer: str) -> Iterator[str]:
    """Yield the same answer in other notations."""
    yield answer
    yield f"${answer}$"
    yield f" {answer}."
    yield re.sub(r"\\[dt]frac", r"\\frac", answer)
    yield re.sub(r"\\[dt]?frac(?![a-z])", r"\\dfrac", answer)
    yield re.sub(r"\\frac\{(\w)\}\{(\w)\}", r"\\frac\1\2", answer)
    yield re.sub(r"\\left(?![a-z])|\\right(?![a-z])", "", answer)
    if "text" not in answer and "left" not in answer and "mbox" not in answer:
        yield answer.replace("(", r"\left(").replace(")", r"\right)")
    if "\\," not in answer and "\\!" not in answer and "{,}" not in answer:
        yield re.sub(r"\s*([,+=])\s*", r" \1 ", answer)
    if re.fullmatch(r"-?\d{1,15}", answer):
        yield from (f"{answer}.0", f"{int(answer):,}", f"x={answer}", f"{2 * int(answer)}/2")
        yield from (rf"{answer}\%", rf"{answer}\text{{ cm}}", rf"\${answer}", f"{answer} units")
    if match := re.fullmatch(r"(-?)\\[dt]?frac\{(\d+)\}\{(\d+)\}", answer):
        sign, above, below = match[1], int(match[2]), int(match[3])
        yield f"{sign}{above}/{below}"
        yield rf"{sign}\tfrac{{{3 * above}}}{{{3 * below}}}"
        if 10**6 % Fraction(above, below).denominator == 0:
            yield f"{sign}{Decimal(above) / Decimal(below)}"


def corruptions(answer: str, other: str) -> Iterator[str]:
    """Other answers that look like it; the answer of another row is the last."""
    yield re.sub(r"\d+", lambda result: str(int(result.group()) + 1), answer, count=1)
    yield re.sub(r"\d(?=\D*$)", lambda match: match.group() + "7", answer)
    yield f"{answer}+1"
    if plain(answer) != "0" and not re.match(r"0\D", answer) and "=" not in answer:
        yield answer[1:] if answer.startswith("-") else f"-{answer}"
    if match := re.fullmatch(r"([(\[])([^()\[\]]*,[^()\[\]]*)([)\]])", answer.strip()):
        parts = [part.strip() for part in match[2].split(",")]
        if parts != parts[::-1]:
            yield f"{match[1]}{','.join(parts[::-1])}{match[3]}"
        yield f"{match[1]}{','.join(parts[:-1])}{match[3]}"
        yield f"{'[' if match[1] == '(' else '('}{match[2]}{match[3]}"
    yield other


def test_no_answer_is_worth_nothing() -> None:
    assert score() == (0.0, False, "")
    for message in ("", "no idea", r"\boxed{}", r"\boxed{ }", "#### ?", "$$"):
        assert score(message) == (0.0, False, "")


@pytest.mark.parametrize(
    "message",
    [
        r"\boxed{12}",
        r"\boxed 12",
        r"\fbox{12}",
        r"\boxed{\frac{24}{2}}",
        r"\boxed{5}, no: $\boxed{x = 12}$.",
        "#### 12",
        "The answer is 12.",
        "The final answer is: $12$. I hope it is correct.",
        "3 * 4 = 12",
        "So $n = 12$.",
        r"\boxed{12} or \boxed{}",
    ],
)
def test_the_right_answer_counts_in_every_accepted_form(message: str) -> None:
    assert score(message)[:2] == (1.0, True)


@pytest.mark.parametrize(
    "message",
    [r"\boxed{13}", r"\boxed{12}, or \boxed{13}", "#### 13", r"\boxed{1}2", "-12", "1/12"],
)
def test_another_answer_is_worth_nothing(message: str) -> None:
    assert score(message)[:2] == (0.0, False)


def test_the_majority_counts_and_ways_of_writing_vote_together() -> None:
    half = r"\frac{1}{2}"
    assert score(r"\boxed{2}", r"\boxed{0.5}", r"\boxed{\frac12}", answer=half) == (
        1.0,
        True,
        "1/2",
    )
    assert score(r"\boxed{0.5}", r"\boxed{2}", "#### 2", answer=half) == (0.0, False, "2")
    assert score("hm", r"\boxed{0.5}", r"\boxed{2}", answer=half) == (1.0, True, "1/2")


def test_a_copied_problem_is_no_answer() -> None:
    # All of these equal the reference; only the last one was worked out.
    factor = task("(x+3)(x-3)", "Factor $x^2-9$.")
    assert not right(factor, "x^2 - 9")
    assert right(factor, "(x-3)(x+3)")
    for dressed in (r"\frac{3(x^2-9)}{3}", "(x^2-9)+x-x", "-9+x^2", r"-\left(9-x^2\right)"):
        assert not right(factor, dressed)
    # As long as what is to be factored, and right.
    assert right(task("(a+5)(b+2)", "Factor $ab+5b+2a+10$."), r"(b+2) \cdot (a+5)")
    root = task(r"11\sqrt{2}", r"Simplify $\sqrt{242}$.")
    assert not right(root, r"\sqrt{242} + 0") and right(root, r"\sqrt{2} \cdot 11")
    product = task("144", r"Compute $3^2 \cdot 2^4$.")
    assert not right(product, r"3^2 \cdot 2^4")
    assert right(product, "144")


@pytest.mark.parametrize(
    "text",
    [
        "9" * 10**6,
        r"\boxed{" * 10**5,
        r"\boxed" + "{" * 10**6 + "1" + "}" * 10**6,
        r"\boxed{" + "{" * 9000 + "1" + "}" * 9001,
        "####" * 250_000,
        "$" * 10**6,
        "answer is " * 10**5,
        "\ud800\x00" * 10**5,
        "١٢ NaN",
        r"\boxed{" + "(" * 400 + "x" + ")" * 400 + "}",
        r"\boxed{" + r"\frac{1}{" * 39 + "2" + "}" * 40,
        r"\boxed{\frac{1}{0}}",
        r"\boxed{" + "1," * 400 + "1}",
    ],
)
def test_hostile_texts_are_read_quickly_and_never_raise(text: str) -> None:
    started = time.perf_counter()
    assert score(text, answer="x+7")[0] == 0.0
    # Measured at a few hundredths of a second; the bound leaves room for a busy machine.
    assert time.perf_counter() - started < 5


def test_a_commitment_is_the_last_marked_answer_letter_for_letter() -> None:
    assert BENCHMARK.committed(r"#### 3, no: \boxed{ \{1, 2\} } so") == r"\boxed{ \{1, 2\} }"
    assert BENCHMARK.committed("so\n#### 12 cm\nyes") == "#### 12 cm"
    assert BENCHMARK.committed(r"\boxed 5, then") == r"\boxed 5"
    assert BENCHMARK.committed("the answer is 12") is None
    assert BENCHMARK.committed("#### ?") is None
    assert BENCHMARK.committed(r"\boxed{12") is None


def test_generated_tasks_are_solved_by_their_own_commitment() -> None:
    for task in BENCHMARK.generate(0, 200):
        score = BENCHMARK.score(task, {"solver_0": f"{task.solution} {task.answer_text}"})
        assert score.solved, task

    with pytest.raises(UnknownNameError, match="Did you mean 'algebra'"):
        BENCHMARK.generate(0, 1, subjects="algebar")


def test_every_role_gets_instructions() -> None:
    assert r"\boxed{answer}" in BENCHMARK.instructions("solver")
    assert "solver" in BENCHMARK.instructions("critic")


SETTINGS = {
    "split": {"information": "split", "topology": "star", "schedule": ["helper", "solver"]},
    "critic": {
        "team": {"solver": 1, "critic": 1},
        "rounds": 3,
        "schedule": ["solver", "critic", "solver"],
    },
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_contract_holds_in_both_information_modes(settings: dict[str, Any]) -> None:
    def make(**more: Any) -> envs.DialogueEnv:
        return envs.make(
            "math", free=True, tasks=20, generator={"level": (1, 5)}, **settings, **more
        )

    parallel_api_test(make(), num_cycles=200)
    check_env(make)


@pytest.mark.parametrize(
    "dressed",
    [
        r"\sqrt{8}+\sqrt{2}+0",
        r"\left(\sqrt{8}+\sqrt{2}\right)^1",
        r"\frac{2(\sqrt{8}+\sqrt{2})}{2}",
        r"\sqrt{2}+\sqrt{8}",
    ],
)
def test_the_problems_own_expression_dressed_up_is_no_answer(dressed):
    question = r"Simplify $\sqrt{8}+\sqrt{2}$."
    task = Task(key="own", question=question, statements=(), answer=r"3\sqrt{2}")
    score = BENCHMARK.score(task, {"solver_0": rf"\boxed{{{dressed}}}"})
    assert (score.solved, score.detail["graded_by"]) == (False, "copied")
    assert BENCHMARK.score(task, {"solver_0": r"\boxed{\sqrt{18}}"}).solved


def test_an_answer_without_the_box_is_right_but_not_strictly() -> None:
    def strict(*texts: str) -> tuple[bool, dict[str, float]]:
        score = BENCHMARK.score(task(), {f"solver_{i}": text for i, text in enumerate(texts)})
        return score.solved, dict(score.measures)

    assert strict(r"\boxed{12}") == (True, {"stated": 1.0, "strict": 1.0})
    assert strict("#### 12") == (True, {"stated": 0.0, "strict": 0.0})
    assert strict("hm") == (False, {"stated": 0.0, "strict": 0.0})
    # 12 wins over 13 with two votes, one of them in a box.
    assert strict(r"\boxed{13}", "#### 12", r"\boxed{12}") == (
        True,
        {"stated": 2 / 3, "strict": 1.0},
    )
