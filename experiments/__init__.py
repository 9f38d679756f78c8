"""Programs under Hydra: train, evaluate, compare, warm start, report."""

if __name__ == "experiments":
    raise ImportError(
        "this folder is imported as laconic.experiments: write `from laconic import experiments`,"
        " or run `laconic train`"
    )

# Every configuration may refer to it, whoever composes it.
from laconic.experiments.command_line import room as room
