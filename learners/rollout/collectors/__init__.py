"""Ways to play the groups of a step beyond independent episodes, each a `base.Collector`."""
