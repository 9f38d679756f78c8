"""Programs under Hydra: train, evaluate, compare, warm start, report."""

from experiments.shadows import refuse_shadows

refuse_shadows()
