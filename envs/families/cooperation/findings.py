"""Level feedback in plain words, to the agent whose work it is about."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import Any

from laconic.envs.dialogue.messages import indented
from laconic.envs.families.cooperation.assemble import AUXILIARY

_LONGEST = 200
"""Characters of an exception's text that its author is told."""


def told(role: str, name: str, detail: Mapping[str, Any]) -> str:
    """Return feedback on a graded program: one or two sentences for each level reached.

    The roles are `auxiliary` and `main`; others read about both functions together. `name` is the
    requested function, `detail` that of the score.
    """
    points: Mapping[str, float] = detail["points"]
    own, lacking = {
        "auxiliary": (AUXILIARY, " that returns something"),
        "main": (name, ", so nothing was tested"),
    }.get(role, ("", ""))
    sentences = []
    if own:
        success, missing = (
            f"Your function {own} was found.",
            f"You wrote no function {own}{lacking}.",
        )
        sentences.append(success if points[role] else missing)
    sentences += _together(points, detail, role)
    if role == "main":
        sentences += _cooperation(name, points)
    return " ".join(sentences)


def _together(points: Mapping[str, float], detail: Mapping[str, Any], role: str) -> Iterator[str]:
    if not points["main"]:
        return
    if not points["syntax"]:
        yield "The two functions together are not valid Python, so nothing was tested."
        return
    yield f"{detail['passed']} of {detail['total']} tests passed."
    if detail["passed"] < detail["total"]:
        number, outcome = detail["first_failed"], detail["outcome"]
        yield f"The first failure, test {number}: {outcome}{_kind(detail)}{_text(detail, role)}."


def spelled(message: str, written: Mapping[str, str]) -> list[str]:
    """Return the roles whose messages contain the text of an exception, letter for letter.

    The program writes the text, so it could carry a message to an agent that may not hear the
    author. A program can forge which function raised the exception, but not an agent's message.
    """
    text = _said(message)
    return [role for role, words in written.items() if text and text in words]


def _kind(detail: Mapping[str, Any]) -> str:
    """Return the built-in exception that was raised, which all agents may know."""
    name = str(detail["message"]).partition(":")[0]
    raised = getattr(builtins, name, None)
    is_exception = isinstance(raised, type) and issubclass(raised, BaseException)
    return f", {name}" if is_exception else ""


def _text(detail: Mapping[str, Any], role: str) -> str:
    """Return the text of the exception, for its author only; further lines are indented."""
    if role not in detail.get("spelled_by", ()):
        return ""
    return f", {indented(_said(detail['message']))}"


def _said(message: str) -> str:
    return message.partition(": ")[2][:_LONGEST].strip()


def _cooperation(name: str, points: Mapping[str, float]) -> Iterator[str]:
    if points.get("calls") == 0:
        yield f"Your {name} does not call {AUXILIARY}."
    if points.get("substance") == 0:
        yield f"Your {name} only passes on what {AUXILIARY} returns; do part of the work in it."
    if points.get("ignored"):
        yield f"Your {name} ignores what {AUXILIARY} returns; use it."
