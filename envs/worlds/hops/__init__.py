"""Hops: a chain of names whose links lie with different agents; who matters depends on the talk."""

from laconic.envs.worlds.hops.rules import Hops

__all__ = ["Hops"]
