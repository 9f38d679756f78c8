"""Program of a grader process: reads pairs of answers, one per line, and writes `yes` or `no`.

`envs.library.math.grading.grade` starts it with the folder of the package as its argument.
An input line is a JSON list of the reference answer, the answer, and the maximum seconds of
processor time. A fourth item `true` asks about the form instead of the value. The system kills the
process if an answer takes longer or needs gigabytes. Without its parent, the process ends itself.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import time

MAX_BYTES = 2 * 2**30
"""Maximum bytes that a grader process may map."""


def main() -> None:
    """Answer requests until the input ends."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    silence = os.open(os.devnull, os.O_WRONLY)
    # Output of a library must not be taken for a verdict.
    os.dup2(silence, 1)
    sys.path.insert(0, sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    try:
        from laconic.envs.library.math.grading.compare import same
        from laconic.envs.library.math.grading.verify import expressions_equal, same_form

        expressions_equal(r"\frac{\sqrt{8}}{2}", r"\sqrt{2}")
    except Exception as error:
        replies.write(f"failed {type(error).__name__}: {error}\n")
        return
    replies.write("ready\n")
    for line in sys.stdin:
        gold, answer, seconds, *form = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            verdict = (
                same_form(gold, answer) if any(form) else same(gold, answer, expressions_equal)
            )
        except (Exception, RecursionError, MemoryError):
            verdict = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        replies.write("yes\n" if verdict else "no\n")


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


if __name__ == "__main__":
    main()
