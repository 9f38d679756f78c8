"""The tests' interpreter: runs trusted source over the link to the program.

It reports one event per result, so that results before a time limit count. Results are
decided by whether trusted source raised, and by the link's faults, which no test can swallow.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import CodeType
from typing import Any, cast

from laconic.envs.sandbox.forms import Needs, needs
from laconic.envs.sandbox.link import FaultError, Link
from laconic.envs.sandbox.quiet import NOTE, NOTE_ERROR, quiet

Report = Callable[[Mapping[str, Any]], None]


def judge(job: Mapping[str, Any], link: Link, report: Report) -> None:
    """Run the program, then its tests one by one.

    Args:
        job: `code`, `tests`, `entry_points`, `setup`, `helpers`.
        link: link to a fresh interpreter that holds only `program_side`.
        report: takes `{"result": bool, "kind": ..., "message": ...}` for every piece of tests (for
            all at once where the program itself does not run), and `{"form": "shared"}`.
    """
    namespace: dict[str, Any] = {"__name__": "tests"}
    try:
        sources = (job["helpers"], job["setup"], *job["tests"])
        helpers, setup = compiled(job["helpers"]), compiled(job["setup"])
        pieces = [compiled(quiet(source)) for source in job["tests"]]
        needed = needs(sources, job["entry_points"])
        link.objects = needed.objects
        if needed.objects:
            report({"form": "shared"})
        link.run(job["code"])
        namespace.update((name, import_module(name)) for name in needed.modules)
        exec(helpers, namespace)
        namespace.update(_entries(job["entry_points"], needed, link))
        exec(setup, namespace)
    except BaseException as error:
        report({"result": False, "all": True, **_why(error, link, tested=False)})
        return
    for piece in pieces:
        report(_run_piece(piece, namespace, link))
    if link.called_back:
        report({"form": "shared"})


def compiled(source: str | ast.Module) -> CodeType:
    """Compile trusted source, free of this module's own compiler settings."""
    return compile(source, "<tests>", "exec", dont_inherit=True)


def _entries(names: Sequence[str], needed: Needs, link: Link) -> dict[str, Any]:
    if not needed.objects:
        return {name: _entry(link, name) for name in names}
    return {name: link.named(name) for name in (*names, *needed.foreign) if link.has(name)}


def _entry(link: Link, name: str) -> Callable[..., Any]:
    def entry(*arguments: Any, **options: Any) -> Any:
        return link.call(name, arguments, options)

    entry.__name__ = name
    return entry


def _run_piece(piece: CodeType, namespace: dict[str, Any], link: Link) -> dict[str, Any]:
    failures: list[dict[str, str]] = []

    def fail(error: BaseException) -> None:
        if not failures:
            failures.append(_why(error, link, tested=True))

    namespace[NOTE] = lambda message: fail(AssertionError(message))
    namespace[NOTE_ERROR] = lambda: fail(cast(Exception, sys.exception()))
    link.fault = ""
    try:
        if link.gone:
            raise link.fail("the program ended")
        exec(piece, namespace)
    except BaseException as error:
        fail(error)
    if link.fault:
        fail(FaultError(link.fault))
    return {"result": False, **failures[0]} if failures else {"result": True}


def _why(error: BaseException, link: Link, *, tested: bool) -> dict[str, str]:
    if link.fault or isinstance(error, FaultError):
        return {"kind": "error", "message": link.fault or str(error)}
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError):
        return {"kind": "memory", "message": text}
    if tested and isinstance(error, AssertionError):
        return {"kind": "failed", "message": text}
    return {"kind": "error", "message": text}
