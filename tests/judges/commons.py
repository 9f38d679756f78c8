"""Five numeric agents share a commons: BenchMARL's MAPPO on a team's mean reward, or on each one's.

    python tests/judges/commons.py <team or own> <seed> <file>

Adds a line of json to the file: what the trained team comes to in the evaluation when every agent
does what it holds best. They may talk after every month, at a price.

A unit of catch is worth 1/120, and a fifth of that where the team's mean is paid. With a bonus on
entropy of 0.01, a third of what `signal` takes, a team stopped at half of what there is to be had.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from benchmarl.algorithms import MappoConfig
from benchmarl.experiment import Experiment
from benchmarl.models.mlp import MlpConfig
from conftest import Act, quiet_settings
from test_benchmarl_learning import Side, SideBySide, policy_of

from laconic import envs
from laconic.envs.wrappers import DiscreteMessages

SETTINGS: dict[str, Any] = {"talk_rounds": 1, "reward": {"price": 0.5, "normalizer": 50}}
"""One round of talk a month, at the price of the dialogues."""
MONTHS, COPIES, ITERATIONS, BONUS = 12, 50, 80, 3e-4


class Shared(Side):
    """Copies in which each agent is paid the mean of what all earned."""

    def _step(self, tensordict: Any) -> Any:
        result = super()._step(tensordict)
        for group in self.group_map:
            paid = result[group, "reward"]
            result[group, "reward"] = paid.mean(-2, keepdim=True).expand_as(paid).clone()
        return result


class Commons(SideBySide):
    """The task; its config says whose earnings pay an agent."""

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], Any]:
        side = {"team": Shared, "own": Side}[self.config["credit"]]
        return lambda: side(self.config["env"], num_envs, seed)

    def max_steps(self, env: Any) -> int:
        return 2 * MONTHS


def numeric_commons(split: str = "train") -> DiscreteMessages:
    """Return the numeric face of `commons`."""
    return DiscreteMessages(envs.make("commons", free=True, split=split, tasks=1000, **SETTINGS))


def learnt(credit: str, seed: int, folder: Path) -> Act:
    """Train the agents and return their most likely acts."""
    algorithm, network = MappoConfig.get_from_yaml(), MlpConfig.get_from_yaml()
    network.num_cells = [64, 64]
    algorithm.entropy_coef, algorithm.lmbda = BONUS, 0.95
    settings = quiet_settings(
        folder,
        max_n_iters=ITERATIONS,
        gamma=1.0,
        lr=1e-3,
        on_policy_collected_frames_per_batch=2 * 2 * MONTHS * COPIES,
        on_policy_n_envs_per_worker=COPIES,
        on_policy_minibatch_size=600,
        on_policy_n_minibatch_iters=8,
    )
    experiment = Experiment(
        task=Commons("commons", {"env": numeric_commons(), "credit": credit}),
        algorithm_config=algorithm,
        model_config=network,
        seed=seed,
        config=settings,
    )
    experiment.run()
    return policy_of(experiment)


def measured(act: Act, env: DiscreteMessages, episodes: int) -> dict[str, float]:
    """Means over evaluation episodes; gains in units."""
    figures: dict[str, list[float]] = {"months": [], "gain": [], "survived": [], "tokens": []}
    for number in range(episodes):
        observations, infos = env.reset(seed=number, options={"task": number})
        while env.agents:
            acts = {a: int(act(a, observations[a], infos[a])) for a in env.agents}
            observations, _, _, _, infos = env.step(acts)
        last = next(iter(infos.values()))
        # The fair share of all months, 120 units, is a gain of 1.
        figures["gain"].append(120 * last["score"])
        figures["months"].append(last["round"] / 2)
        figures["survived"].append(lasted(env))
        figures["tokens"].append(sum(info["tokens_said"] for info in infos.values()))
    return {name: fmean(values) for name, values in figures.items()}


def lasted(env: DiscreteMessages) -> bool:
    """Return whether the stock was never lost in the episode that has ended."""
    state = env.unwrapped.world_state
    return len(state.months) == MONTHS and not state.collapsed


def main(credit: str, seed: str, file: str) -> None:
    """Train one team, measure it, and write it down."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        act = learnt(credit, int(seed), Path(folder))
    row = {"credit": credit, "seed": int(seed), **measured(act, numeric_commons("evaluation"), 20)}
    with open(file, "a", encoding="utf-8") as rows:
        rows.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
