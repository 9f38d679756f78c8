"""Rare methods: learners, their parts and teams that a config names by `_target_`."""
