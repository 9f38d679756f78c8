"""RLlib's PPO on the numeric face, one policy for all agents.

RLlib 2.60 asks for gymnasium 1.2.2, so this also shows that we run on an older one. What is
accounted for here:

- PPO takes its default networks for a Box; a mask in the observation makes it a Dict, for which
  RLlib has none. A mask in the infos stays unseen: what is off the menu is silence.
- `ParallelPettingZooEnv` asks the environment for its agents after a reset without a seed; episodes
  of PPO are seeded by its own `debugging(seed=...)`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import gymnasium
import pytest
from places import ROOT

# On a busy machine Ray's first process takes its time; a token would be written to the home folder.
if find_spec("ray"):
    os.environ |= {"RAY_raylet_start_wait_time_s": "300", "RAY_AUTH_MODE": "disabled"}

pytestmark = pytest.mark.judge
ray = pytest.importorskip("ray", reason="RLlib is installed for `make judge-rllib` only")

from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv  # noqa: E402
from ray.tune.registry import register_env  # noqa: E402

CLIENT = ("RLlib", "ray")
FACES = ("DiscreteMessages",)
BENCHMARKS = ("signal", "gsm8k", "strategyqa")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Ray on one core of this machine; left to itself it would start a dashboard too."""
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=10**8)
    yield
    ray.shutdown()


@pytest.fixture
def ppo() -> Callable[..., PPOConfig]:
    """Makes the config of a PPO with one policy, in this process."""

    def configure(env: Any) -> PPOConfig:
        register_env("dialogue", lambda config: ParallelPettingZooEnv(env))
        return (
            PPOConfig()
            .environment("dialogue")
            .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode: "shared")
            .env_runners(num_env_runners=0)
            .training(train_batch_size_per_learner=256, minibatch_size=64, num_epochs=2)
            .debugging(seed=0)
        )

    return configure


def test_the_older_gymnasium_is_the_one_rllib_asks_for() -> None:
    assert gymnasium.__version__.startswith("1.2.")


def test_ppo_trains(face: str, show: Any, ppo: Any, record: Any) -> None:
    env = show(face, rounds=3)
    algorithm = ppo(env).build_algo()
    try:
        before = weights(algorithm)
        result = algorithm.train()
        after = weights(algorithm)
    finally:
        algorithm.stop()
    played = result["env_runners"]
    assert played["num_env_steps_sampled"] >= 256 / len(env.possible_agents)
    assert played["num_episodes"] > 0 and math.isfinite(played["episode_return_mean"])
    assert 1 <= played["episode_len_max"] <= 3
    learnt = result["learners"]["shared"]
    assert all(math.isfinite(learnt[key]) for key in ("policy_loss", "vf_loss", "entropy"))
    assert any((before[key] != after[key]).any() for key in before)
    record(
        face=face,
        check="ParallelPettingZooEnv, PPO train()",
        outcome="trains",
        note=f"on gymnasium {gymnasium.__version__}; knows no mask, off the menu is silence",
    )


def test_the_example_of_the_wrappers_page_trains(
    code_blocks: Any, tmp_path: Any, monkeypatch: Any, record: Any
) -> None:
    for block in code_blocks(ROOT / "docs" / "wrappers.md"):
        if block.file in ("train_signal.py", "train_rllib.py"):
            (tmp_path / block.file).write_text(block.code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    earned = list(import_module("train_rllib").train(iterations=3))
    # Four agents earn at most 1 each, and a team that guesses a quarter of that.
    assert len(earned) == 3 and all(-1 <= value <= 4 for value in earned)
    record(
        face="DiscreteMessages signal",
        check="docs/wrappers.md, PPO",
        outcome="trains",
        note="the page's own code",
    )


def weights(algorithm: Any) -> dict[str, Any]:
    """Copies of the policy's arrays."""
    state = algorithm.get_module("shared").get_state()
    return {key: value.copy() for key, value in state.items()}


@pytest.mark.parametrize("view", ["DiscreteMessages, mask in the observation", "text DialogueEnv"])
def test_what_is_no_plain_array_is_refused(view: str, show: Any, ppo: Any, record: Any) -> None:
    face = f"{view} signal"
    with pytest.raises(ValueError, match="[Nn]o default encoder"):
        ppo(show(face, tasks=4)).build_algo()
    record(face=face, check="PPO", outcome="refused: no default network for a Dict of observations")
