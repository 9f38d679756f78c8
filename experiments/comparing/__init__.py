"""The parts of `experiments.compare`: entries, their layouts, how they are played and shown."""
