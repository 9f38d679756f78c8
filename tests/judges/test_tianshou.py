"""Tianshou's collector over the turn-based view, with a random policy that keeps to the mask.

Tianshou takes the turn-based interface: an agent's step is a step of its own, every step has the
rewards of all agents, and an episode ends when the first agent meets its end. What is accounted for
here:

- It finds a mask in the observation, and nowhere else: with one in the infos it believes that
  everything may be said, and what is off the menu is silence.
- `PettingZooEnv` hands text observations on as they are, but no policy can be made for actions that
  are text (cf. thu-ml/tianshou#1047).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.judge
pytest.importorskip("tianshou", reason="Tianshou is installed for `make judge-tianshou` only")

from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm  # noqa: E402
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm  # noqa: E402
from tianshou.data import Collector, VectorReplayBuffer  # noqa: E402
from tianshou.env import DummyVectorEnv, PettingZooEnv  # noqa: E402

from laconic import envs  # noqa: E402
from laconic.envs.wrappers import turn_based  # noqa: E402

CLIENT = ("Tianshou", "tianshou")
MASKED = "DiscreteMessages, mask in the observation"
FACES = (MASKED, "DiscreteMessages")
BENCHMARKS = ("signal", "gsm8k", "strategyqa")


@pytest.fixture
def collect() -> Callable[..., tuple[Any, Any, PettingZooEnv]]:
    """Plays six episodes in two copies with a random policy for each agent."""

    def play(make: Callable[[], Any], policy: Any = MARLRandomDiscreteMaskedOffPolicyAlgorithm):
        np.random.seed(0)
        env = PettingZooEnv(turn_based(make()))
        algorithm = MultiAgentOffPolicyAlgorithm(
            algorithms=[policy(env.action_space) for _ in env.agents], env=env
        )
        vector = DummyVectorEnv([lambda: PettingZooEnv(turn_based(make()))] * 2)
        vector.seed([1, 2])
        buffer = VectorReplayBuffer(400, 2)
        collector = Collector(algorithm, vector, buffer)
        collector.reset()
        return collector.collect(n_episode=6), buffer.sample(0)[0], env

    return play


def test_a_random_team_is_collected(face: str, show: Any, collect: Any, record: Any) -> None:
    stats, batch, env = collect(lambda: show(face, rounds=3))
    masked = face.startswith(MASKED)
    count = len(env.agents)
    assert stats.n_collected_episodes == 6
    assert set(np.unique(batch.obs.agent_id)) <= set(env.agents)
    assert batch.rew.shape == (len(batch), count) and np.isfinite(batch.rew).all()
    legal = batch.obs.mask[np.arange(len(batch)), batch.act]
    assert legal.all()
    # In the infos the mask is not seen.
    assert batch.obs.mask.all() != masked
    # Without a price a team is paid at the end of an episode, all agents alike.
    assert not batch.rew[~batch.done].any()
    assert (batch.rew[batch.done] == batch.rew[batch.done][:, :1]).all()
    record(
        face=face,
        check="turn_based, PettingZooEnv, Collector",
        outcome="passes",
        note="" if masked else "sees no mask in infos; off the menu is silence",
    )


def test_text_is_seen_but_not_said(collect: Any, record: Any) -> None:
    def make() -> Any:
        return envs.make("signal", free=True, tasks=4, information="split")

    observation, _ = PettingZooEnv(turn_based(make())).reset(seed=0)
    assert "What colour is" in observation["obs"]["text"]
    with pytest.raises(ValueError, match="Unsupported action space"):
        collect(make)
    record(
        face="text DialogueEnv signal",
        check="PettingZooEnv, policy",
        outcome="refused: a policy takes no text as action",
        note="observations of text are handed on (cf. thu-ml/tianshou#1047)",
    )
