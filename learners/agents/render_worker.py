"""Program that renders chat templates: reads requests, one per line, and answers each with a line.

`learners.agents.render` starts it. A request is a JSON list of the template, the arguments of
`render_jinja_template`, the date that the template sees, and the maximum seconds of processor time.
An answer is a JSON list: the text and whether it shows the date, or null and the reason; then the
seconds of processor time that it took.

A template may hold one operation that never returns, such as `10 ** 10 ** 8`. No handler of Python
runs meanwhile, so the system kills this process.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

MAX_BYTES = 2**30
"""Maximum bytes that the process may map; without a template it maps 170 MB."""
MAX_CHARACTERS = 1_000_000
"""Maximum characters of a rendered conversation of a few words."""


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    # Output of a library must not be taken for an answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    try:
        library = _library()
    except Exception as error:
        answers.write(f"failed {type(error).__name__}: {error}\n")
        return
    answers.write("ready\n")
    for line in sys.stdin:
        template, arguments, today, seconds = json.loads(line)
        clock = _Clock(today)
        library.datetime = clock
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            answer = [_text(library, template, arguments), clock.read]
        except (MemoryError, RecursionError, OverflowError) as error:
            answer = [None, f"it does not come to an end ({type(error).__name__})"]
        except Exception as error:  # A template can raise any type of error.
            answer = [None, " ".join(str(error).split())[:1000] or type(error).__name__]
        left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(json.dumps([*answer, seconds - left]) + "\n")


class _Clock:
    """Stands for the class `datetime` where a template asks for the present date."""

    def __init__(self, today: str) -> None:
        self._today = datetime.fromisoformat(today)
        self.read = False

    def now(self) -> datetime:
        self.read = True
        return self._today


def _library() -> Any:
    """Import the part of transformers that renders templates, without its parents.

    The parents take 1.7 s, of which rendering needs nothing.
    """
    [root] = find_spec("transformers").submodule_search_locations  # type: ignore[union-attr, misc]
    for name, path in (("transformers", root), ("transformers.utils", f"{root}/utils")):
        parent = ModuleType(name)
        parent.__path__ = [path]
        sys.modules[name] = parent
    try:
        return import_module("transformers.utils.chat_template_utils")
    except (ImportError, AttributeError):
        # A version in which it needs its parents.
        for name in [name for name in sys.modules if name.startswith("transformers")]:
            del sys.modules[name]
        return import_module("transformers.utils.chat_template_utils")


def _text(library: Any, template: str, arguments: dict[str, Any]) -> str:
    rendered, _ = library.render_jinja_template(chat_template=template, **arguments)
    text = str(rendered[0])
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it makes {len(text):,} characters of a few words")
    return text


if __name__ == "__main__":
    main()
