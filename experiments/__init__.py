"""Programs under Hydra: train, evaluate, compare, warm start, report."""
