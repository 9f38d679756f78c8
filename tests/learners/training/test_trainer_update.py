"""How an update is cut into steps, its learning rate, and log-probabilities computed again."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from updates import SGD, played

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.hf import HFTeam, SamplingSettings
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.errors import OutOfMemoryError
from laconic.learners.training.objective import mean_over_steps
from laconic.learners.training.sequences import TokenSequence
from laconic.learners.training.trainer import Trainer, UpdateSettings, microbatches_of_rank


def sequences(count: int) -> list[TokenSequence]:
    return [
        TokenSequence("t", "a", n, None, (1, 2), (False, True), (0.0, -1.0), 0.0)
        for n in range(count)
    ]


def test_nothing_is_split_into_nothing():
    assert UpdateSettings().split([], 0) == []


@pytest.mark.parametrize(("count", "sizes"), [(3, [1, 1, 1]), (4, [1] * 4), (10, [3, 3, 2, 2])])
def test_minibatches_are_of_about_one_size_and_hold_everything_once(count, sizes):
    batch = sequences(count)
    parts = UpdateSettings(minibatches=4).split(batch, 0)
    assert [len(part) for part in parts] == sizes
    assert sorted(sequence.episode for part in parts for sequence in part) == list(range(count))


def test_the_order_is_a_function_of_the_seed_and_the_update():
    batch = sequences(20)
    draws = [
        UpdateSettings(seed=seed).split(batch, updates)
        for seed, updates in ((0, 0), (0, 1), (1, 0))
    ]
    assert UpdateSettings(seed=0).split(batch, 0) == draws[0]
    assert draws[0] != draws[1] != draws[2] != draws[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"minibatches": 0},
        {"minibatches": True},
        {"microbatch_tokens": 1.5},
        {"decay_updates": -1},
        {"warmup_updates": -1},
        {"warmup_updates": None},
        {"max_grad_norm": float("nan")},
    ],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(SettingError, match=f"learner.{next(iter(settings))}"):
        UpdateSettings(**settings)


def test_rows_of_steps_add_up_to_one():
    rows = [
        {"loss": 1.0, "ratio_min": 0.9, "ratio_max": 1.1, "sequences": 2.0, "steps": 1.0},
        {"skipped_steps": 1.0},
        {"loss": 3.0, "ratio_min": 0.8, "ratio_max": 1.0, "sequences": 2.0, "steps": 1.0},
    ]
    assert mean_over_steps(rows) == {
        "steps": 2.0,
        "skipped_steps": 1.0,
        "loss": 2.0,
        "ratio_min": 0.8,
        "ratio_max": 1.1,
        "sequences": 4.0,
    }
    assert mean_over_steps([]) == {"steps": 0.0, "skipped_steps": 0.0}


@pytest.mark.parametrize(
    ("settings", "factors"),
    [
        ({}, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ({"decay_updates": 0}, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        # (4 - n) / 4, and nothing after the last.
        ({"decay_updates": 4}, [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]),
        # (n + 1) / 4 up to the fourth, then it stays.
        ({"warmup_updates": 4}, [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]),
        # A warm-up of one update is none.
        ({"warmup_updates": 1}, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ({"warmup_updates": 1, "decay_updates": 4}, [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]),
        # (n + 1) / 2, then from its peak at n = 1 on (5 - n) / 4.
        ({"warmup_updates": 2, "decay_updates": 5}, [0.5, 1.0, 0.75, 0.5, 0.25, 0.0]),
        # The same on half a cosine: (1 + cos(pi (n - 1) / 4)) / 2.
        (
            {"warmup_updates": 2, "decay_updates": 5, "decay": "cosine"},
            [0.5, 1.0, (2 + 2**0.5) / 4, 0.5, (2 - 2**0.5) / 4, 0.0],
        ),
        # A run that ends within its warm-up never gets to all of it.
        ({"warmup_updates": 8, "decay_updates": 4}, [0.125, 0.25, 0.375, 0.5, 0.0, 0.0]),
        # (1 + cos(pi n / 4)) / 2, and nothing after the last.
        (
            {"decay_updates": 4, "decay": "cosine"},
            [1.0, (2 + 2**0.5) / 4, 0.5, (2 - 2**0.5) / 4, 0.0, 0.0],
        ),
    ],
)
def test_the_learning_rate_rises_on_a_line_and_falls_on_a_curve(settings, factors):
    factor = UpdateSettings(**settings).schedule()
    assert [factor(updates) for updates in range(6)] == pytest.approx(factors, abs=1e-12)


def test_an_unknown_curve_is_refused():
    with pytest.raises(UnknownNameError, match=r"learner\.decay"):
        UpdateSettings(decay="stairs")


# Log-probabilities computed again


def test_behavior_computed_again_is_that_of_a_training_pass(make_policy, make_env):
    policy = make_policy(max_reply_tokens=6)
    policies = dict.fromkeys(make_env().possible_agents, policy)
    group = played(policies, make_env)
    learner = GroupLearner(policies, SGD, minibatches=1)
    (trainer,) = learner._trainers
    sequences = learner.sequences(group)
    policy.recompute_logprobs = True
    wrong = [
        replace(
            sequence, behavior_logprobs=tuple(9.0 * g for g in sequence.generated), advantage=1.0
        )
        for sequence in sequences
    ]
    for most in (16384, 1):
        trainer.settings = UpdateSettings(microbatch_tokens=most)
        again = trainer._recomputed(wrong)
        assert len(again) == len(sequences)
        for sequence, other in zip(again, sequences, strict=True):
            assert (sequence.token_ids, sequence.generated) == (other.token_ids, other.generated)
            assert sequence.behavior_logprobs == pytest.approx(other.behavior_logprobs, abs=1e-5)


def test_an_update_that_needs_too_much_memory_names_the_setting(make_policy, make_env):
    policy = make_policy(max_reply_tokens=6)
    policies = dict.fromkeys(make_env().possible_agents, policy)
    learner = GroupLearner(policies, SGD, minibatches=1)
    group = played(policies, make_env)
    # More than any machine has.
    policy.model.base_model.register_forward_pre_hook(lambda *_: torch.empty(2**52))
    with pytest.raises(OutOfMemoryError, match=r"lower learner\.microbatch_tokens"):
        learner._trainers[0].update(learner.sequences(group), 0)


def test_in_float32_sampling_and_training_passes_agree_on_every_token(saved, make_env):
    policies = HFTeam(str(saved), precision="float32").policies(make_env())
    group = played(policies, make_env)
    metrics = GroupLearner(policies, SGD, minibatches=1).update([group])
    assert metrics["approx_kl"] < 1e-8
    assert metrics["ratio_mean"] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.slow
def test_under_autocast_behavior_is_computed_again_by_itself(saved, make_env):
    policies = HFTeam(str(saved), precision="bfloat16_autocast").policies(make_env())
    group = played(policies, make_env)
    metrics = GroupLearner(policies, SGD, minibatches=1).update([group])
    assert metrics["approx_kl"] < 1e-8


def test_in_bfloat16_the_first_ratio_is_one_once_behavior_is_computed_again(saved, make_env):
    ranges = []
    for again in (False, True):
        sampling = SamplingSettings(max_reply_tokens=12)
        arguments = {"precision": "bfloat16", "recompute_logprobs": again, "sampling": sampling}
        team = HFTeam(str(saved), **arguments)
        policies = team.policies(make_env())
        group = played(policies, make_env)
        metrics = GroupLearner(policies, SGD, minibatches=1).update([group])
        ranges.append(max(metrics["ratio_max"] - 1, 1 - metrics["ratio_min"]))
    assert ranges[1] < 1e-6 < 1e-5 < ranges[0]


class ShardedRank(Processes):
    """One of two processes whose gradients are means, without the other one: it sums nothing."""

    count = 2
    sharded = True

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def sum_gradients(self, parameters):
        """Leave the gradients as they are."""


def test_gradients_of_sharded_processes_have_the_mean_of_one_process_alone(make_policy, make_env):
    policy = make_policy(max_reply_tokens=6)
    policies = dict.fromkeys(make_env().possible_agents, policy)
    group = played(policies, make_env)
    batch = [
        replace(sequence, advantage=1.0 + number)
        for number, sequence in enumerate(GroupLearner(policies, SGD).sequences(group))
    ]

    def gradient(sequences, processes) -> torch.Tensor:
        settings = UpdateSettings(minibatches=1, microbatch_tokens=1, max_grad_norm=math.inf)
        trainer = Trainer(policy, ("a",), partial(torch.optim.SGD, lr=0.0), settings, processes)
        trainer.update(sequences, 0)
        return torch.cat([parameter.grad.flatten() for parameter in trainer.parameters])

    # Of three rows process 0 has two; process 1 has one and repeats a pass that counts nothing.
    passes = [
        [factor for _, factor in microbatches_of_rank(batch[:3], 1, ShardedRank(rank))]
        for rank in (0, 1)
    ]
    assert passes == [[2.0, 2.0], [2.0, 0.0]]
    for sequences in (batch, batch[:3]):
        alone = gradient(sequences, SINGLE_PROCESS)
        first, second = (gradient(sequences, ShardedRank(rank)) for rank in (0, 1))
        torch.testing.assert_close((first + second) / 2, alone, rtol=1e-4, atol=1e-6)
