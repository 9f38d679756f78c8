"""Everything this package raises on purpose, one class per kind of failure.

The policy: what a programmer or a config does wrong raises one of these, with what was expected,
what came and what to do; what a policy does wrong in an episode (an empty, endless or senseless
message) is data and never raises. Every class is also the built-in error a caller would expect.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SettingError(ValueError):
    """A setting is outside its range or contradicts another one."""


class UnknownNameError(ValueError):
    """A name (environment, agent, topology, task, ...) is not one of the known ones."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        """Say what was asked for, of which kind ("topology"), the nearest known name, and all."""
        names = sorted(known)
        near = get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        super().__init__(f"unknown {kind} {name!r}.{hint} Known: {shown or 'none'}")


class SourceError(ValueError):
    """A task source is missing, empty, or has a row that cannot be read.

    The message names the file and, for a row, its line.
    """


class SplitError(SourceError):
    """A task source has no such split, train or evaluation; it may have the other."""


class SandboxError(RuntimeError):
    """A program could not be run, twice, for reasons that have nothing to do with the program."""


class ContractError(AssertionError):
    """An environment breaks a rule of `envs.contract`."""

    def __init__(self, rule: str, came: object, agent: str = "") -> None:
        """Say the rule's sentence, on which agent it was seen broken, and what came instead."""
        shown = came if isinstance(came, str) else repr(came)
        at = f" Agent {agent!r}:" if agent else ""
        super().__init__(f"{rule}{at} got {shown[:500]}")
