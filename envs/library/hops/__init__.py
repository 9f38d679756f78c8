"""Hops: a chain of names whose links lie with different agents; who matters depends on the talk."""

from laconic.envs.library.hops.rules import Hops

__all__ = ["ENVIRONMENT", "Hops"]

ENVIRONMENT = Hops
