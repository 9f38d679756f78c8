"""SuperSuit's vector environments and Stable-Baselines3's PPO, which learns on `signal`.

Every agent of every copy is an environment of its own to SB3, and all share one policy: independent
PPO with shared parameters. What is accounted for here:

- PPO knows no mask, and what is off the menu is silence: five of a helper's seven actions. With a
  bonus on entropy of 0.01 and a fifth of the price from the start, helpers said nothing after
  80,000 steps: nobody is told anything before the solver can make use of it. So talk is free at
  first, the price rises over the middle of the training, and the bonus, large until then, falls
  last.
- SB3 seeds its environments by `seed()`, which Gymnasium 1 took from vector environments and
  SuperSuit 3.11 still hands on to them: `PPO(seed=...)` is an AttributeError (no issue was found;
  SuperSuit#217 is of the same kind). The copies are reset with the seed instead.
- SuperSuit copies an environment by pickling. A copy that was never seeded draws from the system's
  entropy, so two unseeded runs differ.
- An episode ends for all agents at once, as SuperSuit asks; its `pad`, `black_death` and
  `agent_indicator` wrappers are not needed, for spaces are equal and observations name the agent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium.error import CustomSpaceError

pytestmark = pytest.mark.judge
torch = pytest.importorskip("torch")
pytest.importorskip("supersuit", reason="SuperSuit is installed for `make judge-sb3` only")
pytest.importorskip("stable_baselines3", reason="SB3 is installed for `make judge-sb3` only")

from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from supersuit import concat_vec_envs_v1, pettingzoo_env_to_vec_env_v1  # noqa: E402

from laconic import envs  # noqa: E402
from laconic.envs.dialogue.reward import Reward  # noqa: E402

CLIENT = ("SuperSuit + Stable-Baselines3", "stable-baselines3")
SEEDING = "copies seeded by reset: SuperSuit hands SB3's seed() on to an environment without it"
FACES = ("DiscreteMessages", "DiscreteMessages, mask in the observation", "TokenArrays")
BENCHMARKS = ("signal", "gsm8k")
STEPS, COPIES, ROLLOUT = 400_000, 16, 64
"""Agent steps to learn for, environments beside each other, their rounds between two updates."""
PRICE_RISES, BONUS_FALLS, BONUS = (0.4, 0.7), (0.5, 0.9), (0.05, 0.005)
"""Shares of the training between which the price rises from 0 and the entropy bonus falls."""


def vectorized(env: Any, copies: int, seed: int) -> Any:
    """Return each agent of each copy as an environment of SB3."""
    vector = concat_vec_envs_v1(
        pettingzoo_env_to_vec_env_v1(env), copies, base_class="stable_baselines3"
    )
    vector.seed = lambda seed: vector.venv.reset(seed=seed)
    vector.seed(seed)
    return vector


@pytest.fixture
def make(face: str, show: Any) -> Callable[[], Any]:
    """Makes a view of a benchmark."""
    return lambda: show(face, rounds=3)


def test_all_agents_end_at_once_and_the_last_observation_is_kept(
    face: str, make: Any, record: Any
) -> None:
    vector = vectorized(make(), 2, seed=0)
    count = 2 * len(make().possible_agents)
    observations = vector.reset()
    for _ in range(12):
        actions = np.stack([vector.action_space.sample() for _ in range(count)])
        observations, rewards, ended, infos = vector.step(actions)
        assert rewards.shape == ended.shape == (count,)
        assert np.isfinite(rewards).all()
        # A copy is over for all of its agents or for none.
        assert (ended.reshape(2, -1).all(1) == ended.reshape(2, -1).any(1)).all()
        for over, info in zip(ended, infos, strict=True):
            assert ("terminal_observation" in info) == over
            if over:
                assert info["terminal_observation"] in vector.observation_space
    record(face=face, check="vector environment", outcome="passes", note=SEEDING)


def test_ppo_trains(face: str, make: Any, record: Any) -> None:
    env = make()
    many = "mask in the observation" in face
    model = PPO(
        "MultiInputPolicy" if many else "MlpPolicy",
        vectorized(env, 2, seed=0),
        n_steps=16,
        batch_size=32,
        n_epochs=2,
        seed=0,
        device="cpu",
    )
    before = [weight.detach().clone() for weight in model.policy.parameters()]
    model.learn(2 * 2 * 16 * len(env.possible_agents))
    # Two rollouts of two epochs.
    assert model.logger.name_to_value["train/n_updates"] == 4
    assert all(np.isfinite(value) for value in model.logger.name_to_value.values())
    after = list(model.policy.parameters())
    assert any((weight != other).any() for weight, other in zip(before, after, strict=True))
    note = "" if "TokenArrays" in face else "knows no rule of masks; off the menu is silence"
    record(face=face, check="PPO", outcome="trains", note=note)


def test_text_is_refused(record: Any) -> None:
    with pytest.raises(CustomSpaceError, match="FreeText"):
        vectorized(envs.make("signal", free=True, tasks=4, information="split"), 1, seed=0)
    record(
        face="text DialogueEnv signal",
        check="vector environment",
        outcome="refused: SuperSuit cannot take a batch of texts apart",
    )


class Schedule(BaseCallback):
    """Sets the price and the entropy bonus before every rollout."""

    def __init__(self, full: Reward) -> None:
        super().__init__()
        self._full = full

    def _on_rollout_start(self) -> None:
        progress = self.num_timesteps / STEPS
        price = self._full.price * passed(progress, *PRICE_RISES)
        for copy in self.training_env.venv.vec_envs:
            copy.par_env.reward = replace(self._full, price=price)
        first, last = BONUS
        self.model.ent_coef = first + (last - first) * passed(progress, *BONUS_FALLS)

    def _on_step(self) -> bool:
        return True


def passed(progress: float, start: float, end: float) -> float:
    """Return the part of a stretch of the training that is over: 0 to 1."""
    return min(1.0, max(0.0, (progress - start) / (end - start)))


def learnt_by_ppo(env: Any, seed: int) -> Callable[[str, Any, Any], int]:
    """PPO learns `signal`; what each agent does most likely."""
    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy",
        vectorized(env, COPIES, seed),
        n_steps=ROLLOUT,
        batch_size=512,
        n_epochs=6,
        learning_rate=1e-3,
        gamma=1.0,
        gae_lambda=0.95,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device="cpu",
    )
    model.learn(STEPS, callback=Schedule(env.reward))

    def act(agent: str, observation: Any, info: Any) -> int:
        number, _ = model.predict(observation, deterministic=True)
        # What is off the menu is silence, and is counted as such.
        return int(number) if info["action_mask"][number] else 0

    return act


def test_ppo_learns_whom_to_believe_and_when_to_be_silent(
    seed: int, make_signal: Any, measure: Any, random_act: Any, record: Any
) -> None:
    start = time.process_time()
    act = learnt_by_ppo(make_signal(), seed)
    seconds = time.process_time() - start
    random, learnt = measure(random_act), measure(act)
    record(
        face="DiscreteMessages signal",
        check="PPO",
        outcome="learns",
        note=f"{SEEDING}; talk is free at first",
        seed=seed,
        random_return=random["return"],
        **learnt,
        seconds=round(seconds),
    )
    assert learnt["return"] > random["return"] + 0.6
    assert learnt["solved"] > 0.85
    # A random helper speaks as often with something to say as without. One colour in four may be
    # told by silence, the cheapest word there is, so even a perfect team speaks in 3/4 only.
    assert learnt["spoke_uninformed"] < 0.1
    assert learnt["spoke_informed"] > learnt["spoke_uninformed"] + 0.5
