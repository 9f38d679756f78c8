"""Conditions for a program to pass: the names it defines and its tests."""

from __future__ import annotations

from dataclasses import dataclass

from laconic.envs import sandbox
from laconic.envs.families.coding import extract

SECONDS = 2.0
"""Processor time of a program; no reference solution of HumanEval takes a third of a second."""


@dataclass(frozen=True, slots=True)
class Exam:
    """Everything needed to find the program in a reply and to test it."""

    name: str
    """Name of the requested function."""
    tests: tuple[str, ...]
    """Pieces of Python source; each passes if it runs without an exception."""
    called: tuple[str, ...]
    """Functions of the program that the tests call, the requested one first; no classes."""
    prompt: str = ""
    """Module that ends in the function's head, for a body to complete; empty if there is none."""
    preamble: str = ""
    """Imports and functions of the prompt, for programs and tests to use."""
    setup: str = ""
    """Source that runs after the program and before the tests."""
    imports: str = ""
    """Further source that the tests need, such as imports."""
    seconds: float = SECONDS
    """Maximum processor time of a program, in seconds."""

    @property
    def limits(self) -> sandbox.Limits:
        """Limits of the sandbox; wall time is twice the processor time, for a busy machine."""
        return sandbox.Limits(seconds=2 * self.seconds, cpu_seconds=self.seconds)

    def find(self, reply: str) -> str | None:
        """Return the program in a reply, completed by the given code; None without one."""
        return extract.program(reply, self.name, prompt=self.prompt, preamble=self.preamble)

    def sheet(self, code: str) -> sandbox.Program:
        """Join a program and its tests, for the sandbox."""
        helpers = "\n".join(filter(None, (self.imports, self.preamble)))
        return sandbox.Program(code, self.tests, self.called, self.setup, helpers)
