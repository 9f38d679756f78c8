"""How weights are kept and passes computed, by name and by size."""

from __future__ import annotations

import logging

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from laconic.envs.errors import UnknownNameError
from laconic.learners.agents.hf import HFTeam
from laconic.learners.agents.load import count_parameters
from laconic.learners.agents.precision import (
    AUTOCAST,
    FLOAT32,
    LARGE,
    Precision,
    choose,
    multiplies_bfloat16,
)
from laconic.learners.interfaces import Request

ASKED = Request("solver_0", "How many?")


@pytest.mark.parametrize(
    ("name", "count", "trained", "expected"),
    [
        ("auto", LARGE, True, FLOAT32),
        ("auto", LARGE + 1, True, Precision("float32", autocast=True)),
        ("auto", LARGE + 1, False, Precision("bfloat16", autocast=True)),
        ("auto", LARGE, False, FLOAT32),
        (AUTOCAST, 1, True, Precision("float32", autocast=True)),
        ("float32", 10 * LARGE, True, FLOAT32),
        ("bfloat16", 1, False, Precision("bfloat16")),
    ],
)
def test_the_precision_follows_name_size_and_whether_weights_take_steps(
    name, count, trained, expected
):
    # A device that multiplies in bfloat16.
    assert choose(name, lambda: count, trained, device="cuda") == expected


def test_a_processor_without_bfloat16_computes_in_float32_by_itself(monkeypatch):
    for able, expected in ((False, FLOAT32), (True, Precision("float32", autocast=True))):
        monkeypatch.setattr(
            torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda able=able: able, raising=False
        )
        assert choose("auto", lambda: LARGE + 1, True, device="cpu") == expected
        # Who asks for it by name gets it.
        assert choose(AUTOCAST, lambda: 1, True, device="cpu").autocast
    assert multiplies_bfloat16("cuda:0") and multiplies_bfloat16("mps")


def test_the_size_is_asked_for_only_where_it_decides():
    assert choose("float32", lambda: pytest.fail("counted"), True) == FLOAT32


def test_what_does_not_exist_is_refused(saved):
    with pytest.raises(UnknownNameError, match=r"agent\.precision 'bflaot16'.*'bfloat16'"):
        HFTeam(str(saved), precision="bflaot16")
    with pytest.raises(UnknownNameError, match=r"agent\.precision"):
        choose("float8", lambda: 1, True)


def test_coarse_weights_that_take_steps_are_warned_of(caplog):
    with caplog.at_level(logging.WARNING):
        choose("bfloat16", lambda: 1, False)
        choose(AUTOCAST, lambda: 1, True)
        assert not caplog.records
        choose("bfloat16", lambda: 1, True)
    assert "rounded away" in caplog.text and "agent.precision=bfloat16_autocast" in caplog.text


def test_only_float32_computes_alike_in_sampling_and_training():
    assert FLOAT32.exact and Precision("float64").exact
    assert not Precision("float32", autocast=True).exact
    assert not Precision("bfloat16").exact


def test_a_policy_computes_products_in_bfloat16_under_autocast_only(make_policy):
    layer, inputs, policy = torch.nn.Linear(4, 4), torch.ones(1, 4), make_policy()
    policy.precision = Precision("float32", autocast=True)
    with policy.computing():
        assert layer(inputs).dtype == torch.bfloat16
    policy.precision = FLOAT32
    with policy.computing():
        assert layer(inputs).dtype == torch.float32


def test_sampling_under_autocast_converts_each_weight_once(make_policy):
    policy = make_policy(max_reply_tokens=8)
    policy.precision = Precision("float32", autocast=True)
    weights = {
        parameter.data_ptr() for parameter in policy.model.parameters() if parameter.ndim == 2
    }
    converted = []

    class Conversions(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            output = function(*arguments, **(keywords or {}))
            whole = arguments[0] if arguments else None
            if isinstance(whole, torch.Tensor) and whole.dtype == torch.float32:
                halved = isinstance(output, torch.Tensor) and output.dtype == torch.bfloat16
                if halved and whole.data_ptr() in weights:
                    converted.append(whole.data_ptr())
            return output

    with Conversions():
        (reply,) = policy.reply([ASKED], seed=0, greedy=False)
    assert len(reply.reply_ids) > 2
    assert converted
    assert len(converted) == len(set(converted))


def test_parameters_are_counted_without_reading_weights(saved):
    model = HFTeam(str(saved), device="cpu").policies(_Env())["solver_0"].model
    (saved / "model.safetensors").unlink()
    assert count_parameters(str(saved)) == sum(
        parameter.numel() for parameter in model.parameters()
    )


@pytest.mark.parametrize(
    ("precision", "frozen", "weights", "again"),
    [
        ("auto", False, torch.float32, False),
        (AUTOCAST, False, torch.float32, True),
        (AUTOCAST, True, torch.bfloat16, True),
        ("bfloat16", True, torch.bfloat16, True),
    ],
)
def test_a_policy_is_kept_and_recomputed_as_its_precision_asks(
    saved, precision, frozen, weights, again
):
    team = HFTeam(str(saved), precision=precision, frozen=frozen, device="cpu")
    policy = team.policies(_Env())["solver_0"]
    assert policy.model.dtype == weights
    assert policy.recompute_logprobs is again
    [reply] = policy.reply([ASKED], seed=0, greedy=False)
    assert all(logprob <= 0 for logprob in reply.behavior_logprobs)
    chosen = HFTeam(str(saved), precision=precision, frozen=frozen, recompute_logprobs=False)
    assert chosen.policies(_Env())["solver_0"].recompute_logprobs is False


class _Env:
    possible_agents = ["solver_0"]
