"""Programs under Hydra: train, evaluate, compare, warm start, report."""

import os

if __name__ == "experiments":
    raise ImportError(
        "this folder is imported as laconic.experiments: write `from laconic import experiments`,"
        " or run `laconic train`"
    )

# Read once, when torch loads its threads. By default threads spin while they wait for each other,
# and two programs on one machine then take ten times as long as one after the other.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
