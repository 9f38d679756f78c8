"""Every method made of the shared parts, from its config, through the cases that break one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_module
from hydra.utils import instantiate
from omegaconf import OmegaConf
from updates import replies

from laconic.envs.errors import SettingError
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Reply, Request

METHODS = (
    "agent_gspo",
    "dr_grpo",
    "dr_mas",
    "grpo",
    "gspo",
    "gspo_token",
    "magrpo",
    "mc_grpo",
    "rae",
    "reinforce",
    "reinforce_plus_plus",
    "rloo",
)
UNCENTRED = ("rae", "reinforce")
"""Methods that learn from equal rewards too."""
KINDS = ("grpo", "gspo", "magrpo", "mc_grpo", "rae")
"""One for each unit, sharing, kept state and kind of ratio; where a case is not a method's own, the
others are slow."""
of_each_kind = pytest.mark.parametrize(
    "method",
    [
        *KINDS,
        *(pytest.param(name, marks=pytest.mark.slow) for name in METHODS if name not in KINDS),
    ],
    indirect=True,
)
AGENTS = ("helper_0", "solver_0")
Policies = dict[str, HFPolicy]
Make = Callable[..., GroupLearner]


@cache
def composed(method: str) -> Any:
    with initialize_config_module("laconic.conf", version_base="1.3"):
        return compose("train", overrides=[f"learner={method}", "agent=tiny"])


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def policies(method: str, make_policy: Callable[..., HFPolicy]) -> Policies:
    """Return one policy for both agents, or one each if the method requires it."""
    separate = composed(method).learner.get("sharing") == "separate"
    first = make_policy(max_reply_tokens=6)
    other = make_policy(max_reply_tokens=6, model={"seed": 1}) if separate else first
    return {"helper_0": first, "solver_0": other}


@pytest.fixture
def learner(method: str, policies: Policies) -> Make:
    """Builds the learner that the config describes, with plain gradient descent."""

    def build(**settings: Any) -> GroupLearner:
        node = OmegaConf.create(OmegaConf.to_container(composed(method).learner, resolve=True))
        overrides = {"_partial_": False, "max_grad_norm": math.inf, **settings}

        def optimizer(parameters: Any) -> torch.optim.Optimizer:
            return torch.optim.SGD(parameters, lr=0.01)

        return instantiate(node, policies, optimizer, _convert_="all", **overrides)

    return build


def group(policies: Policies, pays: list[float], silent: bool = False) -> Group:
    """Episodes of two rounds in which both speak, or say the silence word; both get the pay."""
    turns: list[list[Turn]] = [[] for _ in pays]
    histories: list[dict[str, tuple[Reply, ...]]] = [dict.fromkeys(policies, ()) for _ in pays]
    for number in (0, 1):
        for agent, policy in policies.items():
            pasts = [history[agent] for history in histories]
            # Each has heard something else: what equal replies to equal prompts earn cancels out.
            texts = [f"Hello {agent}{'!' * index}" for index in range(len(pays))]
            requests = [
                Request(agent, text, past, (text,) * len(past))
                for text, past in zip(texts, pasts, strict=True)
            ]
            message = replies(policy, requests, 10 * number + AGENTS.index(agent))
            for index, reply in enumerate(message):
                if silent:
                    ids = policy.write("")
                    reply = replace(reply, reply_ids=ids, behavior_logprobs=(-3.0,) * len(ids))
                histories[index][agent] = (*pasts[index], reply)
                ids = (reply.prompt_ids, reply.reply_ids, reply.behavior_logprobs)
                turns[index].append(Turn(agent, number, "" if silent else "said", *ids))
    episodes = (
        Episode("t", tuple(own_turns), {agent: (0.0, pay) for agent in AGENTS})
        for own_turns, pay in zip(turns, pays, strict=True)
    )
    return Group("t", tuple(episodes))


def changed(group: Group, **settings: Any) -> Group:
    """Return the group with changed turns; a function gets the old value."""

    def made(turn: Turn) -> Turn:
        new = {
            name: value(getattr(turn, name)) if callable(value) else value
            for name, value in settings.items()
        }
        return replace(turn, **new)

    return replace(
        group,
        episodes=tuple(
            replace(episode, turns=tuple(map(made, episode.turns))) for episode in group.episodes
        ),
    )


def weights(policies: Policies) -> list[torch.Tensor]:
    return [p.detach().clone() for policy in policies.values() for p in policy.model.parameters()]


def equal(tensors: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(tensors, other, strict=True))


def finite(metrics: Mapping[str, float], policies: Policies) -> bool:
    return all(map(math.isfinite, metrics.values())) and all(
        policy.isfinite().all() for policy in weights(policies)
    )


@pytest.mark.slow
def test_every_config_here_is_a_group_learner_and_a_different_one():
    results = [OmegaConf.to_container(composed(method).learner, resolve=True) for method in METHODS]
    assert all(
        node["_target_"] == "laconic.learners.algorithms.group.GroupLearner" for node in results
    )
    assert all(results.count(node) == 1 for node in results)


def test_rewards_that_differ_are_learned_from(method, learner, policies):
    before = weights(policies)
    metrics = learner().update([group(policies, [1.0, 0.0, 0.25])])
    assert metrics["steps"] >= 1.0 and metrics["skipped_steps"] == 0.0
    assert finite(metrics, policies) and not equal(before, weights(policies))


@pytest.mark.parametrize("silent", [False, True])
def test_equal_rewards_teach_nothing_unless_nothing_is_compared(method, learner, policies, silent):
    before = weights(policies)
    metrics = learner().update([group(policies, [1.0, 1.0, 1.0], silent)])
    assert finite(metrics, policies)
    assert equal(before, weights(policies)) == (method not in UNCENTRED)


def test_where_everybody_is_silent_the_silence_word_is_trained(method, learner, policies):
    before = weights(policies)
    silence = group(policies, [1.0, 0.0, 0.25], silent=True)
    sequences = [sequence for agent in AGENTS for sequence in learner().sequences(silence, [agent])]
    # A word and no end token; the pivot of an agent is left out.
    times = 1 if sequences[0].round is not None else 2
    assert {sum(sequence.generated) for sequence in sequences} == {
        times * len(policies["helper_0"].write(""))
    }
    metrics = learner().update([silence])
    assert finite(metrics, policies) and not equal(before, weights(policies))


@of_each_kind
def test_without_any_token_no_step_is_taken(method, learner, policies):
    nothing = changed(group(policies, [1.0, 0.0, 0.25]), reply_ids=(), behavior_logprobs=())
    assert learner().update([nothing]) == {"steps": 0.0, "skipped_steps": 0.0}


@pytest.mark.parametrize("ratio", [1e6, 1e-6])
def test_ratios_of_a_million_and_a_millionth_leave_everything_finite(
    method, learner, policies, ratio
):
    shifted = changed(
        group(policies, [1.0, 0.0, 0.25]),
        behavior_logprobs=lambda values: tuple(value - math.log(ratio) for value in values),
    )
    metrics = learner(minibatches=1).update([shifted])
    assert metrics["skipped_steps"] == 0.0 and finite(metrics, policies)
    assert metrics["ratio_max"] == pytest.approx(ratio, rel=1e-3)


@of_each_kind
def test_weights_in_bfloat16_are_trained(method, learner, policies):
    for policy in policies.values():
        policy.model.to(torch.bfloat16)
    before = weights(policies)
    metrics = learner(max_grad_norm=1.0).update([group(policies, [1.0, 0.0, 0.25])])
    assert metrics["skipped_steps"] == 0.0 and finite(metrics, policies)
    assert not equal(before, weights(policies))


@of_each_kind
def test_weights_that_are_not_finite_are_never_stepped_on(method, learner, policies):
    played = group(policies, [1.0, 0.0, 0.25])
    for policy in policies.values():
        next(policy.model.parameters()).data.fill_(math.nan)
    metrics = learner().update([played])
    assert metrics["steps"] == 0.0 and metrics["skipped_steps"] >= 1.0


@of_each_kind
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_reward_that_is_not_finite_names_the_agent_and_the_task(method, learner, policies, bad):
    with pytest.raises(SettingError, match="return of agent '.*_0'.* in task 't'.*finite"):
        learner().update([group(policies, [1.0, bad])])


@of_each_kind
def test_a_loaded_state_goes_on_bit_for_bit(method, learner, policies):
    played = group(policies, [1.0, 0.0, 0.25])
    trained, again = learner(), learner()
    trained.update([played])
    state = {**trained.state_dict()}
    state["trainers"] = [
        {**trainer, "model": {name: value.clone() for name, value in trainer["model"].items()}}
        for trainer in state["trainers"]
    ]
    expected = trained.update([played])
    again.load_state_dict(state)
    assert again.update([played]) == expected


# What makes a method that method


def advantages_of(learner: GroupLearner, played: Group) -> dict[tuple[str, int, int | None], float]:
    return {
        (sequence.agent, sequence.episode, sequence.round): sequence.advantage
        for agent in AGENTS
        for sequence in learner.sequences(played, [agent])
    }


@pytest.fixture
def charged(policies: Policies) -> Group:
    """Three episodes in which the helper is charged in round 0 and the team paid in round 1."""
    played = group(policies, [0.0, 0.0, 0.0])
    rewards = (
        {"helper_0": (-0.5, 1.0), "solver_0": (0.0, 1.0)},
        {"helper_0": (-0.25, 0.0), "solver_0": (0.0, 0.0)},
        {"helper_0": (0.0, 1.0), "solver_0": (0.0, 1.0)},
    )
    return replace(
        played,
        episodes=tuple(
            replace(episode, rewards=paid)
            for episode, paid in zip(played.episodes, rewards, strict=True)
        ),
    )


@pytest.mark.parametrize("method", ["magrpo"], indirect=True)
def test_magrpo_compares_the_teams_return_from_each_round_on(learner, charged):
    result = advantages_of(learner(), charged)
    # From round 0: 0.5 + 1, -0.25 and 2 around their mean 1.0833333; from round 1: 2, 0, 2.
    first = [0.4166667, -1.3333333, 0.9166667]
    later = [2 / 3, -4 / 3, 2 / 3]
    for agent in AGENTS:
        assert [result[agent, n, 0] for n in range(3)] == pytest.approx(first, rel=1e-6)
        assert [result[agent, n, 1] for n in range(3)] == pytest.approx(later, rel=1e-6)


@pytest.mark.parametrize("method", ["dr_mas"], indirect=True)
def test_dr_mas_pays_all_calls_alike_and_counts_calls(learner, charged):
    result = advantages_of(learner(), charged)
    # Team: 1.5, -0.25, 2, each twice. Mean 1.0833333; squares 2 * (0.1736111 + 1.7777778 +
    # 0.8402778) = 5.5833333 over 5, std 1.0567245; eps 0.05.
    expected = [value / 1.1067245 for value in (0.4166667, -1.3333333, 0.9166667)]
    for agent in AGENTS:
        for number in (0, 1):
            assert [result[agent, n, number] for n in range(3)] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("method", ["mc_grpo"], indirect=True)
def test_mc_grpo_leaves_the_median_out_and_divides_by_the_mad(learner, charged):
    result = advantages_of(learner(), charged)
    # Helper: 0.5, -0.25, 1; median 0.5, distances 0, 0.75, 0.5, MAD 0.5.
    # Solver: 1, 0, 1; median 1, in order 0, 1, 1 that of the first; MAD 0, so std 0.5773503.
    assert result == pytest.approx(
        {
            ("helper_0", 1, None): -0.75 / 0.501,
            ("helper_0", 2, None): 0.5 / 0.501,
            ("solver_0", 1, None): -1.0 / 0.5783503,
            ("solver_0", 2, None): 0.0,
        },
        rel=1e-6,
    )


@pytest.mark.parametrize("method", ["rae"], indirect=True)
def test_rae_compares_with_what_came_before(learner, charged):
    trained = learner()
    assert advantages_of(trained, charged)["helper_0", 1, None] == -0.25
    trained.update([charged])
    # Helper 0.5, -0.25, 1 at decay 0.95: 0.025, 0.01125, 0.0606875.
    assert advantages_of(trained, charged)["helper_0", 1, None] == pytest.approx(-0.3106875)


@pytest.mark.parametrize("other, moved", [("gspo_token", True), ("grpo", False)])
def test_gspo_takes_the_same_step_as(other, moved, make_policy):
    """As its token form always; as GRPO where nothing has moved since the replies were sampled."""
    results = []
    for method in ("gspo", other):
        policy = make_policy(max_reply_tokens=6)
        policies = dict.fromkeys(AGENTS, policy)
        played = group(policies, [1.0, 0.0, 0.25])
        if moved:
            played = changed(played, behavior_logprobs=_moved)
        node = OmegaConf.create(OmegaConf.to_container(composed(method).learner, resolve=True))
        node.minibatches = 1
        node.advantages.scale = "none"
        built = instantiate(node, policies, _sgd, _convert_="all", _partial_=False)
        results.append((built.update([played]), weights(policies)))
    (metrics, stepped), (other_metrics, other_stepped) = results
    assert other_metrics == pytest.approx(metrics, rel=1e-5, abs=1e-7)
    for mine, another in zip(stepped, other_stepped, strict=True):
        torch.testing.assert_close(mine, another, rtol=1e-6, atol=1e-7)


def _moved(logprobs: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(value + 0.3 * (-1) ** index for index, value in enumerate(logprobs))


def _sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.01)
