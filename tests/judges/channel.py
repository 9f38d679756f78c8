"""What a numeric team says by silence: trains on `signal` over a channel, and probes it.

    python tests/judges/channel.py <ppo or mappo> <lose> <marked or unmarked> <seed> <file>

Adds a line of json to the file: what 500 tasks that were not trained on come to over the channel of
the training, and over a perfect one; there also when every silence that an agent chose is marked as
a loss. Reliance on silence is the difference. Teams and settings are those of `make judges`: PPO is
Stable-Baselines3's, MAPPO BenchMARL's. A numeric agent reads a mark as one half.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from conftest import measured, numeric_signal

PERFECT: dict[str, Any] = {"lose": 0.0, "mark": False}
PROBED: dict[str, Any] = {"lose": 0.0, "mark": True, "probe": True}


def learnt(client: str, env: Any, seed: int) -> Any:
    """Train a client's agents and return their most likely acts."""
    if client == "ppo":
        from test_sb3 import learnt_by_ppo

        return learnt_by_ppo(env, seed)
    import torch
    from conftest import quiet_settings
    from test_benchmarl_learning import mappo, policy_of

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        experiment = mappo(env, seed, lambda **changes: quiet_settings(Path(folder), **changes))
        experiment.run()
    return policy_of(experiment)


def main(client: str, lose: str, mark: str, seed: str, file: str) -> None:
    """Train one team, measure it three times, and write it down."""
    channel = {"lose": float(lose), "mark": {"marked": True, "unmarked": False}[mark]}
    act = learnt(client, numeric_signal(channel=channel), int(seed))
    row = {"client": client, **channel, "seed": int(seed)}
    for name, over in (("", channel), ("_perfect", PERFECT), ("_probed", PROBED)):
        figures_over = measured(act, numeric_signal("evaluation", channel=over))
        row |= {f"{figure}{name}": value for figure, value in figures_over.items()}
    with open(file, "a", encoding="utf-8") as rows:
        rows.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
