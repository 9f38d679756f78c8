"""Teaches a policy to speak in an environment, by imitation, before it learns from reward.

    laconic warm-start env=gsm8k agent=smollm2

It is `laconic train experiment=warm_start`, so it shows progress, is evaluated before and after,
leaves checkpoints and a run folder, and is resumed as any training is.
"""

from __future__ import annotations

import sys

from laconic.experiments.command_line.console import start


def main() -> None:
    """Train as `conf/experiment/warm_start.yaml` and the command line say."""
    sys.argv.insert(1, "experiment=warm_start")
    start("train")


if __name__ == "__main__":
    main()
