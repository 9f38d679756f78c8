"""Runs programs in processes of their own that need no time to import: children of this one.

Reads one JSON object a line and answers with one. A request for a program forks a child that runs
it; the child may be told to send itself a signal (SIGKILL by default) at a given call of a
function, to have no more than so many bytes in a file, to find something in its environment, or to
have other patience after a signal. A request to wait is answered with the exit code, -9 after a
SIGKILL.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
from typing import Any

from hydra.utils import get_object
from parsed import remember

PROGRAMS = ("experiments.train", "experiments.evaluate", "extras.report.write", "extras.share.card")
LAZY = (
    "laconic.envs.library.gsm8k.benchmark",
    "laconic.learners.algorithms.group",
    "peft",
    "scipy.stats",
    "transformers.generation.utils",
    "transformers.models.llama.modeling_llama",
)
"""Modules that programs import when they first need them, a second in each child."""
for module in (*(f"laconic.{name}" for name in PROGRAMS), *LAZY):
    importlib.import_module(module)
remember()
# So children have no garbage to look for in what they share with this process.
gc.freeze()


def replace(name: str, make: Any) -> None:
    """Put `make(old)` in the place of a function or method."""
    owner, attribute = name.rsplit(".", 1)
    place = get_object(owner) if owner[0].isupper() or "." in owner else sys.modules[owner]
    setattr(place, attribute, make(getattr(place, attribute)))


def die_at(number: int, name: str, call: int, when: str) -> None:
    """Send a signal before, after, or half-way through the given call of a function."""
    countdown = [call]

    def kill() -> None:
        os.kill(os.getpid(), number)

    def make(old: Any) -> Any:
        @functools.wraps(old)
        def new(*args: Any, **settings: Any) -> Any:
            countdown[0] -= 1
            if countdown[0] == 0 and when == "before":
                kill()
            if countdown[0] == 0 and when == "torn":
                tear(*args)
                kill()
            result = old(*args, **settings)
            if countdown[0] == 0 and when == "after":
                kill()
            return result

        return new

    replace(name, make)


def tear(path: Any, rows: Any) -> None:
    """Write half of what `experiments.run_folder.folder._append` was to write."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    with open(path, "a") as file:
        file.write(text[: len(text) // 2])


def run(request: dict[str, Any]) -> None:
    """Be the child: become the program and never return."""
    code = 1
    try:
        for descriptor, path in ((1, request["out"]), (2, request["err"])):
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, descriptor)
        os.chdir(request["folder"])
        sys.path[:0] = request["path"]
        os.environ.update(request.get("environment", {}))
        if request.get("limit"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["limit"], request["limit"]))
        if "patience" in request:
            sys.modules["laconic.experiments.command_line.interrupt"].PATIENCE_SECONDS = request[
                "patience"
            ]
        if request.get("die"):
            die_at(request.get("number", signal.SIGKILL), *request["die"])
        sys.argv = [request["program"], *request["arguments"]]
        importlib.import_module(request["program"]).main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait(process: int, seconds: float) -> int | None:
    """Return the exit code of a child, negative for a signal; None if it has not ended in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer: Any = wait(request["wait"], request["seconds"])
        else:
            answer = os.fork()
            if answer == 0:
                run(request)
        print(json.dumps(answer), flush=True)


main()
