"""BenchMARL: IPPO, MAPPO, IQL and QMIX train on the numeric face.

What has to be known (benchmarl 1.5.2):
- Groups must be those that PettingZooWrapper makes of the agents' names; others break the keys that
  the collector resets by (BenchMARL#202). `PettingZooClass.group_map` keeps to them.
- That the sum of rewards does not find the rewards of groups (BenchMARL#236) does not show with
  torchrl 0.11.1; the task class gets its config as a dict all the same, for ours has no yaml.
- Agents that end early are not supported (BenchMARL#177); ours end together.
- It needs torchrl before 0.12, and asks for torchvision and an old av, which it does not use here
  (`make .venv-judge-benchmarl/installed` installs it with `--no-deps`).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

pytest.importorskip("benchmarl", reason="it is installed for `make judge-benchmarl` only")

from benchmarl.algorithms import IppoConfig, IqlConfig, MappoConfig, QmixConfig  # noqa: E402
from benchmarl.environments.pettingzoo.common import PettingZooClass  # noqa: E402
from benchmarl.experiment import Callback, Experiment  # noqa: E402
from benchmarl.models.mlp import MlpConfig  # noqa: E402
from torchrl.envs import PettingZooWrapper  # noqa: E402

from laconic import envs  # noqa: E402
from laconic.envs.wrappers import DiscreteMessages  # noqa: E402

# Warnings about its own dependencies' next versions.
pytestmark = [pytest.mark.judge, pytest.mark.filterwarnings("ignore")]
CLIENT = ("BenchMARL", "benchmarl")
NOTE = "groups as the wrapper makes them (BenchMARL#202), no agent ends early (BenchMARL#177)"


class Dialogue(PettingZooClass):
    """A task of ours; its config has the environment, for a config is pickled."""

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], Any]:
        return lambda: PettingZooWrapper(
            deepcopy(self.config["env"]),
            categorical_actions=True,
            return_state=True,
            seed=seed,
            device=device,
        )

    def supports_discrete_actions(self) -> bool:
        return True

    def has_state(self) -> bool:
        return True

    def has_render(self, env: Any) -> bool:
        return False

    def max_steps(self, env: Any) -> int:
        return 8


class Losses(Callback):
    """Keeps every loss, to see that all are finite."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    def on_train_end(self, training_td: Any, group: str) -> None:
        losses = [value for name, value in training_td.items() if name.startswith("loss")]
        self.losses += [value.float().mean().item() for value in losses]


@pytest.mark.parametrize("name", ["signal", "gsm8k"])
@pytest.mark.parametrize("algorithm", [IppoConfig, MappoConfig, IqlConfig, QmixConfig])
def test_it_trains(algorithm: Any, name: str, benchmarl_settings: Any, record: Any) -> None:
    split = {"information": "split", "schedule": ["helper", "solver"], "topology": "star"}
    sizes = {
        **{f"{kind}_policy_collected_frames_per_batch": 64 for kind in ("on", "off")},
        **{f"{kind}_policy_n_envs_per_worker": 2 for kind in ("on", "off")},
        "on_policy_minibatch_size": 32,
        "on_policy_n_minibatch_iters": 2,
        "off_policy_train_batch_size": 32,
        "off_policy_n_optimizer_steps": 4,
    }
    losses = Losses()
    experiment = Experiment(
        task=Dialogue(
            name, {"env": DiscreteMessages(envs.make(name, free=True, tasks=50, **split))}
        ),
        algorithm_config=algorithm.get_from_yaml(),
        model_config=MlpConfig.get_from_yaml(),
        seed=0,
        config=benchmarl_settings(max_n_iters=2, **sizes),
        callbacks=[losses],
    )
    experiment.run()
    assert experiment.total_frames == 128
    assert losses.losses and np.isfinite(losses.losses).all()
    check = f"{algorithm.associated_class().__name__.upper()}, 2 iterations"
    record(face=f"DiscreteMessages {name}", check=check, outcome="trains", note=NOTE)
