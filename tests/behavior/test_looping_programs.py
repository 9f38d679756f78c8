"""Programs that never end cost a grade the time of one test, whatever they wait for and when."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from laconic import envs
from laconic.envs import sandbox
from laconic.envs.families.coding.exam import SECONDS
from laconic.envs.families.cooperation.testing import run
from laconic.envs.sandbox.processes import cores

COUNT = 8
KINDS = {
    "busy": "def {name}(*given):\n    while True: pass\n",
    "asleep": "import time\ndef {name}(*given):\n    time.sleep(999)\n",
    "at once": "while True: pass\ndef {name}(*given): pass\n",
    "late": "{right}\n_calls = []\ndef {name}(*given):\n    _calls.append(1)\n"
    "    while len(_calls) > 1: pass\n    return _right(*given)\n",
}


def looping(task, kind):
    """Return a program of a kind; the late one answers the first call correctly."""
    name = task.details["exam"].name
    right = task.answer.replace(f"def {name}(", "def _right(")
    return KINDS[kind].replace("{name}", name).replace("{right}", right)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["humaneval", "mbpp", "coop_humaneval"])
def test_looping_programs_end_at_the_pace_of_128_in_three_minutes_on_two_cores(name):
    benchmark = envs.benchmark(name)
    agent = f"{benchmark.roles[1 if name.startswith('coop') else 0]}_0"
    tasks = benchmark.generate(0, COUNT)
    answers = [
        f"```python\n{looping(task, kind)}\n```"
        for task, kind in zip(tasks, list(KINDS) * COUNT, strict=False)
    ]
    sandbox.conditions()
    start_time = time.monotonic()
    with ThreadPoolExecutor(32) as threads:
        scores = list(
            threads.map(
                lambda pair: benchmark.score(pair[0], {agent: pair[1]}),
                zip(tasks, answers, strict=True),
            )
        )
    seconds = time.monotonic() - start_time
    assert not any(score.solved for score in scores)
    assert {score.detail["outcome"] for score in scores} == {"timeout"}
    assert seconds < COUNT * 180 / 128 * 2 / min(2, cores())


def test_the_processor_time_of_a_grade_is_bounded_by_that_of_one_test_and_a_moment():
    benchmark = envs.benchmark("coop_humaneval")
    (task,) = benchmark.generate(0, 1)
    exam = task.details["exam"]
    verdict = run(exam, looping(task, "late"))
    assert verdict.outcome == "timeout" and verdict.cpu_seconds < SECONDS + 1
