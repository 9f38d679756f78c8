"""Collectors: ways to play the groups of a step, each a `base.Collector`."""
