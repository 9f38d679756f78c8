"""Share the policies of a run, with a model card of its figures: the program `laconic share`."""

from laconic.experiments.command_line.programs import Program

SHARE = Program("send a trained team to the hub, or write its folder", "laconic.extras.share.share")
"""Registered as `share`."""
