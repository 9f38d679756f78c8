"""Errors that this package raises on purpose, one class per kind of failure.

A mistake of a programmer or a configuration raises one of these. The message gives the expected
value, the received value and the remedy. A mistake of a policy in an episode (an empty, endless or
senseless message) is data and never raises. Each class is also the built-in error that a caller
would expect.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

DISTRIBUTION = "laconic-marl"
"""Name on the package index, where `laconic` is another project's. Import and command have it."""

__all__ = [
    "DISTRIBUTION",
    "ContractError",
    "SandboxError",
    "SettingError",
    "SourceError",
    "SplitError",
    "UnknownNameError",
    "install",
]


def install(extra: str) -> str:
    """Return the command that brings an extra, as the remedy of a message."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


class SettingError(ValueError):
    """A setting is outside its range or contradicts another one."""


class UnknownNameError(ValueError):
    """A name (environment, agent, topology, task, ...) is not one of the known ones."""

    def __init__(self, kind: str, name: object, options: Iterable[str], instead: str = "") -> None:
        """Write the message: the kind of name, the name, the nearest known name, and all of them.

        Args:
            kind: kind of name, such as `topology`.
            name: the unknown name.
            options: names that exist.
            instead: what to write instead; empty for the nearest of the options.
        """
        names = sorted(options)
        near = get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        hint = f" Write {instead}." if instead else hint
        text = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        super().__init__(f"unknown {kind} {name!r}.{hint} Known: {text or 'none'}")


class SourceError(ValueError):
    """A task source is missing, empty, or has a row that cannot be read.

    The message names the file and, for a row, its line.
    """


class SplitError(SourceError):
    """A task source lacks a split, train or evaluation; it may have the other one."""


class SandboxError(RuntimeError):
    """A program could not be run, twice, for reasons outside the program."""


class ContractError(SettingError, AssertionError):
    """An environment breaks a rule of `envs.contract`.

    `check_env` raises it, and so does a rollout: the environment is a setting of the run.
    """

    def __init__(self, rule: str, received: object, agent: str = "") -> None:
        """Write the message: the rule, the agent if there is one, and the received value."""
        text = received if isinstance(received, str) else repr(received)
        at = f" Agent {agent!r}:" if agent else ""
        super().__init__(f"{rule}{at} got {text[:500]}")
