"""Rendering of a stranger's chat template, in a process with limits of time and memory.

transformers renders templates in a sandbox that reaches nothing outside but limits neither. Nothing
within this process could stop a single operation that does not return. Conversations are rendered
when a policy is built; a step renders none. The template of the tiny model is our own, and is
rendered here: starting a process takes 0.3 s.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from laconic.envs.sandbox.processes import HelperProcess, ProcessPool
from laconic.learners.agents.cache import warn_once
from laconic.learners.agents.recipes import TEMPLATE

MAX_SECONDS = 2.0
"""Maximum processor time to render a conversation; usual templates take some milliseconds."""
MAX_TOTAL_SECONDS = 10.0
"""Maximum processor time of all conversations of a `Budget`."""
_WALL_SECONDS = 60.0
"""Maximum wall time to render a conversation; long, for busy machines."""
_START_SECONDS = 300.0
TODAY = "2026-01-01"
"""Date that chat templates show, unless `agent.sampling.template.today` sets another one."""
_PROGRAM = Path(__file__).with_name("render_worker.py")


class SlowTemplateError(TemplateError):
    """A template takes too long, so that rendering more with it would take longer still."""


class Budget:
    """Processor time that is left for the conversations of one tokenizer."""

    def __init__(self) -> None:
        """Begin with `MAX_TOTAL_SECONDS`."""
        self._left = MAX_TOTAL_SECONDS

    def spend(self, seconds: float) -> None:
        """Take off the time of one conversation.

        Raises:
            SlowTemplateError: nothing is left.
        """
        self._left -= seconds
        if self._left <= 0:
            raise SlowTemplateError(f"it takes more than {MAX_TOTAL_SECONDS:g} s for a few texts")


def render(
    tokenizer: PreTrainedTokenizerBase,
    messages: Sequence[Mapping[str, Any]],
    budget: Budget | None = None,
    **settings: Any,
) -> str:
    """Render a short conversation with the tokenizer's chat template.

    Args:
        tokenizer: a tokenizer with a chat template.
        messages: the conversation.
        budget: time for this conversation and others. None: each has `MAX_SECONDS` of its own.
        **settings: further arguments of the template; `today` is the date that it shows.

    Raises:
        TemplateError: the template refuses the conversation or the settings, or does not come to an
            end (`SlowTemplateError` if time ran out).
    """
    today = settings.pop("today", TODAY)
    try:
        template = tokenizer.get_chat_template(settings.pop("chat_template", None))
    except ValueError as error:
        raise TemplateError(str(error)) from error
    arguments = {
        "conversations": [[*map(dict, messages)]],
        **tokenizer.special_tokens_map,
        **settings,
    }
    if template == TEMPLATE:
        from transformers.utils.chat_template_utils import render_jinja_template

        rendered = render_jinja_template(chat_template=template, **arguments)
        return str(rendered[0][0])
    # With today's date, prompts would change from day to day, and a resumed run would differ from
    # an uninterrupted one.
    text, detail, seconds = _rendered(
        json.dumps([template, arguments, today, MAX_SECONDS], default=str)
    )
    if budget is not None:
        budget.spend(seconds)
    if text is None:
        raise TemplateError(detail)
    if detail:
        warn_once(
            "the chat template of %s shows the date; it is %s in every run, so that prompts stay"
            " the same (agent.sampling.template.today)",
            tokenizer.name_or_path or "this tokenizer",
            today,
        )
    return text


@lru_cache(maxsize=1024)
def _rendered(request: str) -> tuple[str | None, Any, float]:
    """Return a rendered text, whether it shows the date, and its seconds of processor time.

    Where the template refuses, the text is None, and its reason stands second.

    Policies of a team have one template, so most requests are repeated.
    """
    with _POOL.lend() as worker:
        try:
            text, detail, seconds = json.loads(worker.ask(request, _WALL_SECONDS))
        except TimeoutError as error:
            raise SlowTemplateError("it takes too long for a few words") from error
        except OSError as error:
            raise _failure(worker.end()) from error
    return text, detail, seconds


def _failure(code: int) -> TemplateError:
    """Return why a process that rendered ended with an exit code."""
    if code == -signal.SIGPROF:
        return SlowTemplateError(f"it takes more than {MAX_SECONDS:g} s for a few words")
    return TemplateError(f"the process that rendered it ended with code {code}")


def _start() -> HelperProcess:
    command = [sys.executable, "-P", str(_PROGRAM)]
    # Each thread of a linear algebra that nobody uses maps memory.
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    worker = HelperProcess(command, {**os.environ, **single})
    try:
        line = worker.line(_START_SECONDS)
    except OSError as error:
        line = str(error)
    if line != "ready":
        worker.end()
        raise RuntimeError(
            f"expected a process that renders chat templates within {_START_SECONDS:.0f} s; it"
            f" wrote {line!r}. Run `{' '.join(command)}` to see why"
        )
    return worker


_POOL = ProcessPool(_start, 1)
