"""Measures the graders of `math` and `gsm8k` on re-forms of real answers; writes a page.

    python tests/graders/table.py <folder of real rows> <page> [step]

Every row (or every `step`th one) of the test files of MATH, MATH-500 and GSM8K gives one message in
each family that its answer is fit for, drawn by the row's key. Beside our graders stands
math-verify as its users call it, on the same messages. What ours misjudges goes to standard output.
"""

from __future__ import annotations

import csv
import io
import logging
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

# What makes the re-forms stands where tests find it too.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import math_equal
import math_styles
import math_wrong
import number_forms
from expressions import agree, expression
from math_answers import Gold, number

from laconic import envs

MATH_EQUAL = math_equal.EQUAL | math_styles.EQUAL
MATH_WRONG = math_wrong.WRONG | math_styles.WRONG
"""The families of MATH by their names."""
MOST = 0.005
"""The share of a benchmark's right messages, and of its wrong ones, that may be misjudged."""
SAMPLED = 5
"""One row in this number is given to math-verify, which is slow."""
_LONGEST_COPY = 120
_FORMULA = re.compile(r"\$([^$]+)\$|\\\[(.+?)\\\]", re.DOTALL)
_LAYOUT = re.compile(r"\s|\\left|\\right")

INTRODUCTION = """\
# Graders

How often the graders of `math` and `gsm8k` are wrong. {rows} gives one message in each family that
fits its reference answer, equal or wrong by construction; {own} answers of our own are added.
`make graders` measures and writes this page from the original files (a folder in `LACONIC_DATA`).
[All families](evidence/graders.csv) are in a table of their own.

Beside ours stands math-verify {version}, as `verify(parse(reference), parse(message))`, on one row
in {sampled}. It is not made for all of this: it does not see the problem, and knows no marks of
GSM8K.
"""


NOTES = """
The graders were corrected on these families, so other forms may still be misjudged.

- **Refused on purpose**: unfinished numbers (`6!` for 720, `10^5`, `6 x 7`), remainders that are
  not reduced (`21 \\pmod{13}` for 8), shares for percentages (`0.25` for `25\\%`), number words.
- **Accepted on purpose**: a column vector as a tuple between any brackets. An empty or open box is
  no answer, so an earlier one counts: `\\boxed{7}. No: \\boxed{8` says 7.
- **Refused though equal**: `(1;2)` for `(1,2)`, a matrix with a factor, a complement without
  several points of which one is irrational.
- **Accepted though wrong or copied**: another power of an unknown unit (`units^3` for `units^2`),
  and an expression of the problem after a useless step.
"""


@dataclass(frozen=True)
class Case:
    """One message and what has to become of it."""

    benchmark: str
    family: str
    right: bool
    reference: str
    problem: str
    message: str


def cases(data: Path, step: int = 1) -> Iterator[Case]:
    """Yield all messages, in the order of rows; each is drawn from those of its family."""
    for name in ("math", "math500"):
        for task in envs.benchmark("math").load(data / name)[::step]:
            yield from of_math(task)
    for place, answer in enumerate(math_styles.OWN_ANSWERS):
        yield from of_math(envs.Task(f"own/{place}", "What is it?", (), answer))
    for task in envs.benchmark("gsm8k").load(data / "gsm8k")[::step]:
        yield from of_gsm8k(task)


def of_math(task: envs.Task, every: bool = False) -> Iterator[Case]:
    """Yield the messages of one problem of MATH: one of each family, or all."""
    gold = Gold(task.answer, task.text, copies(task))
    for right, families in ((True, MATH_EQUAL), (False, MATH_WRONG)):
        for family, reform in families.items():
            texts = reform(gold)
            forms = [form for form in texts if not (right and _stands_in(form, task.text))]
            for form in forms if every else _drawn(forms, f"{task.key} {family}"):
                message = rf"So it is \boxed{{{form}}}."
                yield Case("math", family, right, task.answer, task.text, message)


def of_gsm8k(task: envs.Task, every: bool = False) -> Iterator[Case]:
    """Yield the messages of one problem of GSM8K: one of each family, or all."""
    for right, families in ((True, number_forms.EQUAL), (False, number_forms.WRONG)):
        for family, reform in families.items():
            forms = [*reform(int(task.answer))]
            for message in forms if every else _drawn(forms, f"{task.key} {family}"):
                yield Case("gsm8k", family, right, task.answer, task.text, message)


def copies(task: envs.Task) -> tuple[str, ...]:
    """Expressions of the problem that equal its answer, with something left to work out.

    That is another form in letters, and a number that is not written more shortly.
    """
    value, answer = expression(task.answer), _LAYOUT.sub("", task.answer)
    formulas = ["".join(groups) for groups in _FORMULA.findall(task.text)]
    sides = {side.strip(" .,?") for formula in formulas for side in formula.split("=")}
    return tuple(
        side
        for side in sorted(sides)
        if len(side) <= _LONGEST_COPY
        and value is not None
        and (worked := expression(side)) is not None
        and (
            worked != value or len(answer) <= len(bare := _LAYOUT.sub("", side)) and bare != answer
        )
        and number(side) is None
        and agree(worked, value)
    )


def ours(case: Case) -> bool:
    """Return the verdict of our benchmark."""
    task = envs.Task("own", case.problem, (), case.reference)
    return envs.benchmark(case.benchmark).score(task, {"solver_0": case.message}).solved


def theirs(case: Case) -> bool:
    """Return the verdict of math-verify with its own defaults."""
    from math_verify import parse, verify

    logging.disable(logging.CRITICAL)
    return bool(verify(_reference(case.reference), parse(case.message)))


def sampled(case: Case) -> bool:
    """Return whether math-verify judges a case: it judges all messages of a row, or none."""
    return zlib.crc32(f"{case.reference} {case.problem}".encode()) % SAMPLED == 0


@lru_cache(maxsize=1)
def _reference(answer: str) -> list[object]:
    from math_verify import parse

    return parse(rf"\boxed{{{answer}}}")


def page(
    messages: Sequence[Case], verdicts: Mapping[str, Sequence[bool | None]], step: int = 1
) -> str:
    """Return the page: per kind and benchmark the messages and the shares of misjudged ones.

    Args:
        messages: the messages.
        verdicts: verdicts of each grader, one per message; None where it was not asked.
        step: one row in this number was taken.
    """
    rows = "Every real test row at hand" if step == 1 else f"One real test row in {step}"
    own = len(math_styles.OWN_ANSWERS)
    text = INTRODUCTION.format(rows=rows, version=version("math-verify"), own=own, sampled=SAMPLED)
    for right, title in ((True, "Equal, and refused"), (False, "Wrong, and accepted")):
        text += f"\n## {title}\n\n| benchmark | messages | {' | '.join(verdicts)} |\n"
        text += "|---|---|" + "---|" * len(verdicts) + "\n"
        for benchmark, family, count, shares in families(messages, verdicts, right):
            if family in ("", "all"):
                text += f"| {benchmark} | {count} | {' | '.join(shares)} |\n"
    return text + NOTES


def table(messages: Sequence[Case], verdicts: Mapping[str, Sequence[bool | None]]) -> str:
    """Return the shares of all families as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["kind", "benchmark", "family", "messages", *verdicts])
    for right, kind in ((True, "equal"), (False, "wrong")):
        for benchmark, family, count, shares in families(messages, verdicts, right):
            writer.writerow([kind, benchmark.strip("*`"), family, count, *shares])
    return text.getvalue()


def families(
    messages: Sequence[Case], verdicts: Mapping[str, Sequence[bool | None]], right: bool
) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield benchmark, family, number of messages and shares of misjudged ones, sums first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, case in enumerate(messages):
        if case.right == right:
            name = f"`{case.benchmark}`"
            for group in (("**all**", ""), (name, "all"), (name, case.family)):
                groups.setdefault(group, []).append(index)
    for (benchmark, family), members in groups.items():
        rates = [_misjudged(messages, each, members) for each in verdicts.values()]
        shares = ["-" if rate is None else f"{rate:.2%}" for rate in rates]
        yield benchmark, family, len(members), shares


def _misjudged(
    messages: Sequence[Case], verdicts: Sequence[bool | None], members: Sequence[int]
) -> float | None:
    """Return the share of misjudged messages among the judged ones; None if there are none."""
    judged = [index for index in members if verdicts[index] is not None]
    wrong = sum(verdicts[index] != messages[index].right for index in judged)
    return wrong / len(judged) if judged else None


def _drawn(forms: Sequence[str], key: str) -> Sequence[str]:
    kinds = list(dict.fromkeys(forms))
    return kinds and [kinds[zlib.crc32(key.encode()) % len(kinds)]]


def _stands_in(form: str, problem: str) -> bool:
    """Return whether an equal form is the problem's own, which is no answer."""
    bare = _LAYOUT.sub("", form)
    return len(bare) > 4 and bare in _LAYOUT.sub("", problem)


def main(data: Path, target: Path, step: int = 1) -> int:
    """Measure both, write the page; 1 where ours misjudges more than it may."""
    messages = list(cases(data, step))
    with ProcessPoolExecutor() as pool:
        answers = iter(pool.map(theirs, filter(sampled, messages), chunksize=64))
        verdicts: dict[str, list[bool | None]] = {
            "ours": list(pool.map(ours, messages, chunksize=64)),
            "math-verify": [next(answers) if sampled(case) else None for case in messages],
        }
    target.write_text(page(messages, verdicts, step), encoding="utf-8")
    (target.parent / "evidence" / "graders.csv").write_text(table(messages, verdicts), "utf-8")
    judged = zip(messages, verdicts["ours"], strict=True)
    wrong = [case for case, verdict in judged if verdict != case.right]
    for case in wrong:
        print(f"{case.benchmark}, {case.family}: {case.message!r} for {case.reference!r}")
    return int(not within_bars(messages, wrong))


def within_bars(messages: Sequence[Case], wrong: Sequence[Case]) -> bool:
    """Return whether few enough right and wrong messages of each benchmark are misjudged."""
    kinds = Counter((case.benchmark, case.right) for case in messages)
    bad = Counter((case.benchmark, case.right) for case in wrong)
    return all(bad[kind] <= MOST * count for kind, count in kinds.items())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:])))
