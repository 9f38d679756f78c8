"""The parts of `experiments.compare`: entries, their shapes, how they are played and shown."""
