"""TorchRL's PettingZooWrapper and check_env_specs on every numeric view of every benchmark.

Agents end together, so `use_mask` is not needed; both settings are tried. Text is refused: a space
of text actions has no conversion. An agent that had left broke the action mask (pytorch/rl#3702);
0.14.1 looks first, and the 0.11 that BenchMARL needs does not, but ours stay until the end.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torchrl", minversion="0.12")

from torchrl.envs import PettingZooWrapper  # noqa: E402
from torchrl.envs.utils import check_env_specs  # noqa: E402

pytestmark = [pytest.mark.judge, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
CLIENT = ("TorchRL", "torchrl")
FACES = ("TokenArrays", "DiscreteMessages", "DiscreteMessages, mask in the observation")


@pytest.fixture(params=[False, True], ids=["use_mask=False", "use_mask=True"])
def env(request: pytest.FixtureRequest, face: str, show: Any) -> Any:
    return PettingZooWrapper(
        show(face),
        categorical_actions=True,
        use_mask=request.param,
        return_state=True,
        seed=0,
    )


def test_specs_hold(env: Any, face: str, record: Any) -> None:
    check_env_specs(env)
    record(face=face, check=f"check_env_specs, use_mask={env.use_mask}", outcome="passes")


def test_a_rollout_ends_and_keeps_to_the_menu(env: Any, face: str, record: Any) -> None:
    steps = env.rollout(64)
    ended = steps["next", "done"].squeeze(-1)
    assert ended[-1] and not ended[:-1].any()
    for group in env.group_map:
        assert steps["next", group, "reward"].isfinite().all()
        if face.startswith("DiscreteMessages"):
            masks, actions = steps[group, "action_mask"], steps[group, "action"]
            assert masks.gather(-1, actions.unsqueeze(-1)).all()
    record(face=face, check=f"rollout, use_mask={env.use_mask}", outcome="passes")


@pytest.mark.parametrize("view", ["text DialogueEnv", "FullTranscript"])
def test_text_is_refused(view: str, show: Any, record: Any) -> None:
    env = show(f"{view} signal")
    with pytest.raises(Exception) as refusal:  # noqa: PT011
        check_env_specs(PettingZooWrapper(env, categorical_actions=True))
    outcome = f"refused: no text as an action ({type(refusal.value).__name__})"
    note = "TokenArrays and DiscreteMessages are for such clients"
    record(face=f"{view} signal", check="PettingZooWrapper", outcome=outcome, note=note)
