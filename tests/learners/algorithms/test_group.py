"""What one update does to the weights: direction, size, what it skips, and what it leaves alone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest
import torch

from laconic.envs.errors import SettingError
from laconic.learners.advantages.group import Advantages
from laconic.learners.advantages.role_average import RoleAverage
from laconic.learners.agents.base import Request
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.collectors.extra import Extra
from laconic.learners.training.objective import Objective

SGD = partial(torch.optim.SGD, lr=0.1)
UNIT_SGD = partial(torch.optim.SGD, lr=1.0)
ADAMW = partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.0)
INF = float("inf")

Speakers = dict[str, HFPolicy]


def episode(speakers: Speakers, pays: Sequence[float], seed: int, rounds: int = 2) -> Episode:
    """Everybody speaks in every round and is paid its number in the last one."""
    turns: list[Turn] = []
    histories: dict[str, list] = {agent: [] for agent in speakers}
    for number in range(rounds):
        for place, (agent, policy) in enumerate(speakers.items()):
            text = f"Hello {agent}, this is round {number}."
            history = tuple(histories[agent])
            request = Request(agent, text, history, (text,) * len(history))
            draw = seed * 100 + number * 10 + place
            reply = policy.reply([request], seed=draw, greedy=False)[0]
            histories[agent].append(reply)
            turns.append(
                Turn(
                    agent,
                    number,
                    reply.message,
                    reply.prompt_ids,
                    reply.reply_ids,
                    reply.behaviour_logprobs,
                )
            )
    rewards = {
        agent: (*([0.0] * (rounds - 1)), pay) for agent, pay in zip(speakers, pays, strict=True)
    }
    return Episode("t", tuple(turns), rewards)


def group_of(speakers: Speakers, pays: Sequence[Sequence[float]], **settings: int) -> Group:
    """One episode per row of pays, each of its own replies."""
    return Group(
        "t",
        tuple(episode(speakers, row, seed, **settings) for seed, row in enumerate(pays)),
    )


def weights(policy: HFPolicy) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in policy.model.state_dict().items()}


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def distance(one: dict[str, torch.Tensor], policy: HFPolicy) -> float:
    """Euclidean distance over all parameters, tied ones counted once."""
    moved = (one[name] - parameter for name, parameter in policy.model.named_parameters())
    return sum(difference.square().sum().item() for difference in moved) ** 0.5


@torch.no_grad()
def reply_logprobs(policy: HFPolicy, turn: Turn) -> torch.Tensor:
    ids = torch.tensor([[*turn.prompt_ids, *turn.reply_ids]])
    logprobs = torch.log_softmax(policy.model(input_ids=ids).logits[0], dim=-1)
    place = len(turn.prompt_ids) - 1
    return logprobs[place:-1].gather(-1, torch.tensor(turn.reply_ids)[:, None]).squeeze(-1)


@pytest.fixture
def policy(make_policy) -> HFPolicy:
    return make_policy(max_reply_tokens=8)


@pytest.fixture
def speakers(policy) -> Speakers:
    return {"solver_0": policy, "helper_0": policy}


@pytest.fixture
def group(speakers) -> Group:
    """Four episodes of a solver and a helper who share one policy."""
    return group_of(speakers, [(1.0, 0.5), (0.0, 0.0), (0.5, -1.0), (0.0, 0.25)])


@pytest.fixture
def off_policy(group) -> Group:
    """The same with behaviour log-probabilities moved about, so that ratios differ and clip."""
    shifts = (0.0, 0.06, -0.06, 0.3, -0.3)

    def moved(turn: Turn, index: int) -> Turn:
        shift = shifts[index % len(shifts)]
        return replace(turn, behaviour_logprobs=tuple(x + shift for x in turn.behaviour_logprobs))

    episodes = tuple(
        replace(
            one,
            turns=tuple(moved(turn, place * 3 + n) for n, turn in enumerate(one.turns)),
        )
        for place, one in enumerate(group.episodes)
    )
    return replace(group, episodes=episodes)


def learner(speakers: Speakers, optimizer: Callable = SGD, **settings) -> GroupLearner:
    return GroupLearner(speakers, optimizer, **{"minibatches": 1, **settings})


# Nothing to learn


def test_no_groups_and_silent_groups_take_no_step(policy, speakers):
    before = weights(policy)
    nobody = Episode("t", (), {"solver_0": (1.0,), "helper_0": (0.0,)})
    learner_ = learner(speakers, ADAMW)
    for groups in ([], [Group("t", (nobody, nobody))]):
        assert learner_.update(groups) == {"steps": 0.0, "skipped_steps": 0.0}
    assert equal(before, weights(policy))


@pytest.mark.parametrize("optimizer", [SGD, ADAMW])
def test_equal_rewards_change_no_bit(policy, speakers, optimizer):
    """Holds for an optimiser without weight decay that carries no momentum yet."""
    before = weights(policy)
    metrics = learner(speakers, optimizer, minibatches=2).update(
        [group_of(speakers, [(0.5, 1.0)] * 3)]
    )
    assert metrics["grad_norm"] == metrics["loss"] == 0.0
    assert metrics["steps"] == 2.0
    assert equal(before, weights(policy))


def test_momentum_and_weight_decay_act_without_any_signal(policy, speakers, group):
    """As in any other use of these optimisers: a gradient of zero is not the same as no step."""
    flat = group_of(speakers, [(0.5, 1.0)] * 3)
    carried = learner(speakers, ADAMW)
    carried.update([group])
    before = weights(policy)
    carried.update([flat])
    assert not equal(before, weights(policy))
    before = weights(policy)
    learner(speakers, partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.1)).update([flat])
    assert not equal(before, weights(policy))


# Direction and size


def test_an_update_makes_what_was_rewarded_likelier(policy):
    alone = {"solver_0": policy}
    group = group_of(alone, [(1.0,), (0.0,)], rounds=1)
    good, bad = (one.turns[0] for one in group.episodes)
    assert good.reply_ids != bad.reply_ids
    before = [reply_logprobs(policy, turn).mean() for turn in (good, bad)]
    learner(alone, partial(torch.optim.SGD, lr=0.01)).update([group])
    after = [reply_logprobs(policy, turn).mean() for turn in (good, bad)]
    assert after[0] > before[0] and after[1] < before[1]


def test_repeated_updates_teach_the_policy_to_keep_silent(policy, tiny_tokenizer):
    """Silence, a single control token, earns more than anything else said."""
    alone = {"solver_0": policy}
    silence = tiny_tokenizer.convert_tokens_to_ids("<silence>")
    teacher = learner(alone, ADAMW, minibatches=2)

    def probability() -> float:
        prompt = policy.read(Request("solver_0", "Hello"))
        logits = policy.model(input_ids=torch.tensor([prompt])).logits[0, -1]
        return torch.softmax(logits, -1)[silence].item()

    before = probability()
    for step in range(12):
        requests = [Request("solver_0", "Hello")] * 32
        replies = policy.reply(requests, seed=step, greedy=False)
        said = [
            Turn("solver_0", 0, "", one.prompt_ids, one.reply_ids, one.behaviour_logprobs)
            for one in replies
        ]
        lead = replace(
            said[0],
            reply_ids=(silence,),
            behaviour_logprobs=(
                float(
                    reply_logprobs(
                        policy, replace(said[0], reply_ids=(silence,), behaviour_logprobs=(0.0,))
                    )
                ),
            ),
        )
        episodes = tuple(
            Episode("t", (turn,), {"solver_0": (float(turn.reply_ids == (silence,)),)})
            for turn in (lead, *said)
        )
        teacher.update([Group("t", episodes)])
    assert probability() > max(10 * before, 0.2)


@pytest.mark.parametrize("word", ["<silence>", "<end>"])
def test_control_tokens_are_trained_like_any_other(policy, tiny_tokenizer, word):
    """Two replies that differ in nothing but their last token, which is a control token."""
    alone = {"solver_0": policy}
    ids = tiny_tokenizer.encode(f"Anna{word}")
    prompt = policy.read(Request("solver_0", "Hello"))
    turns = []
    for reply in (tuple(ids), (*ids[:-1], 50)):
        turn = Turn("solver_0", 0, "", prompt, reply, (0.0,) * len(reply))
        turns.append(replace(turn, behaviour_logprobs=tuple(reply_logprobs(policy, turn).tolist())))
    pays = (1.0, 0.0)
    episodes = tuple(
        Episode("t", (turn,), {"solver_0": (pay,)}) for turn, pay in zip(turns, pays, strict=True)
    )
    before = reply_logprobs(policy, turns[0])[-1]
    learner(alone, partial(torch.optim.SGD, lr=0.01)).update([Group("t", episodes)])
    assert reply_logprobs(policy, turns[0])[-1] > before


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_step_is_the_gradient_of_gspo_written_out_slowly(make_policy, temperature):
    policy = make_policy(max_reply_tokens=8, temperature=temperature)
    alone = {"solver_0": policy}
    group = group_of(alone, [(1.0,), (0.0,), (0.25,)])
    twin = copy.deepcopy(policy.model)
    sequences = learner(alone).sequences(group)
    losses = []
    for sequence in sequences:
        logits = twin(input_ids=torch.tensor([sequence.token_ids])).logits[0] / temperature
        logprobs = torch.log_softmax(logits, -1)
        differences = [
            logprobs[place - 1, token] - sequence.behaviour_logprobs[place]
            for place, token in enumerate(sequence.token_ids)
            if sequence.generated[place]
        ]
        losses.append(-torch.exp(torch.stack(differences).mean()) * sequence.advantage)
    torch.stack(losses).mean().backward()
    before = weights(policy)
    learner(alone, UNIT_SGD, max_grad_norm=INF).update([group])
    for name, parameter in twin.named_parameters():
        stepped = before[name] - policy.model.state_dict()[name]
        torch.testing.assert_close(stepped, parameter.grad, rtol=1e-3, atol=1e-5)


# Ratios


def test_at_the_first_minibatch_the_ratio_is_one_and_nothing_is_clipped(make_policy, architecture):
    """Also with dropout in the configuration, as GPT-2 has it, and at another temperature."""
    policy = make_policy(architecture, max_reply_tokens=8, temperature=0.8)
    speakers = {"solver_0": policy, "helper_0": policy}
    metrics = learner(speakers).update([group_of(speakers, [(1.0, 0.5), (0.0, 0.0)])])
    assert metrics["ratio_min"] == pytest.approx(1.0, abs=1e-5)
    assert metrics["ratio_max"] == pytest.approx(1.0, abs=1e-5)
    assert metrics["clip_fraction"] == 0.0
    assert metrics["approx_kl"] == pytest.approx(0.0, abs=1e-8)
    assert metrics["steps"] == 1.0 and metrics["sequences"] == 4.0


def test_later_minibatches_have_other_ratios_and_clip(speakers, group):
    metrics = learner(speakers, ADAMW, minibatches=4).update([group])
    assert metrics["steps"] == 4.0 and metrics["sequences"] == 8.0
    assert metrics["ratio_max"] - metrics["ratio_min"] > 1e-3
    assert metrics["clip_fraction"] > 0.0


def test_more_minibatches_than_sequences_are_as_many_as_sequences(policy):
    alone = {"solver_0": policy}
    group = group_of(alone, [(1.0,), (0.0,)], rounds=1)
    assert learner(alone, minibatches=7).update([group])["steps"] == 2.0


def test_the_order_of_minibatches_is_a_function_of_the_seed(make_policy):
    found = []
    for seed in (0, 0, 1):
        policy = make_policy(max_reply_tokens=8)
        alone = {"solver_0": policy}
        group = group_of(alone, [(1.0,), (0.0,), (0.25,), (0.5,)])
        learner(alone, ADAMW, minibatches=4, seed=seed).update([group])
        found.append(weights(policy))
    assert equal(found[0], found[1]) and not equal(found[0], found[2])


# Parts of a minibatch


@pytest.mark.parametrize("average", ["sequence", "token", "sum"])
@pytest.mark.parametrize("kl", [0.0, 0.1])
def test_the_size_of_forward_passes_changes_neither_gradient_nor_metrics(
    make_policy, off_policy, average, kl
):
    objective = Objective(clip_low=0.05, clip_high=0.05, average=average, kl=kl)
    found = []
    for tokens in (1, 70, 10**9):
        policy = make_policy(max_reply_tokens=8)
        shared = {"solver_0": policy, "helper_0": policy}
        trained = learner(
            shared,
            UNIT_SGD,
            objective=objective,
            microbatch_tokens=tokens,
            max_grad_norm=INF,
        )
        with torch.no_grad():  # away from the reference, so that the KL has something to say
            for parameter in policy.model.parameters():
                parameter.mul_(1.01)
        found.append((trained.update([off_policy]), weights(policy)))
    metrics, expected = found[-1]
    assert 0 < metrics["clip_fraction"] < 1
    for other_metrics, other in found[:-1]:
        assert other_metrics.keys() == metrics.keys()
        assert other_metrics == pytest.approx(metrics, rel=1e-3, abs=1e-5)
        for name in expected:
            torch.testing.assert_close(other[name], expected[name], rtol=1e-4, atol=1e-5)


# Steps that are not finite


def spoiled(group: Group) -> Group:
    """Its first reply has no log-probability that a number could be."""
    first, *others = group.episodes[0].turns
    turn = replace(first, behaviour_logprobs=(float("nan"),) * len(first.reply_ids))
    return replace(
        group, episodes=(replace(group.episodes[0], turns=(turn, *others)), *group.episodes[1:])
    )


def test_a_loss_that_is_not_finite_skips_the_step_and_training_goes_on(policy, speakers, group):
    trained = learner(speakers, ADAMW)
    trained.update([group])
    before, momentum = weights(policy), copy.deepcopy(trained.state_dict()["trainers"])
    assert trained.update([spoiled(group)]) == {"steps": 0.0, "skipped_steps": 1.0}
    assert equal(before, weights(policy))
    for name, state in trained.state_dict()["trainers"][0]["optimizer"]["state"].items():
        expected = momentum[0]["optimizer"]["state"][name]
        assert all(torch.equal(state[key], expected[key]) for key in state)
    metrics = trained.update([group])
    assert (metrics["steps"], metrics["skipped_steps"]) == (1.0, 0.0)
    assert torch.tensor(list(metrics.values())).isfinite().all()
    assert all(tensor.isfinite().all() for tensor in weights(policy).values())


def test_only_the_minibatch_that_is_not_finite_is_skipped(policy, speakers, group):
    metrics = learner(speakers, ADAMW, minibatches=4).update([spoiled(group)])
    assert (metrics["steps"], metrics["skipped_steps"]) == (3.0, 1.0)
    assert torch.tensor(list(metrics.values())).isfinite().all()
    assert all(tensor.isfinite().all() for tensor in weights(policy).values())


@pytest.mark.parametrize("value", [float("nan"), INF])
def test_a_gradient_that_is_not_finite_skips_the_step(policy, speakers, group, value):
    before = weights(policy)
    parameter = next(policy.model.parameters())
    handle = parameter.register_hook(lambda gradient: gradient * value)
    trained = learner(speakers, ADAMW)
    assert trained.update([group]) == {"steps": 0.0, "skipped_steps": 1.0}
    assert equal(before, weights(policy))
    handle.remove()
    assert trained.update([group])["steps"] == 1.0
    assert not equal(before, weights(policy))


def test_the_gradient_norm_is_measured_before_clipping(make_policy):
    norms, moves = [], []
    for most in (INF, 1e-3):
        policy = make_policy(max_reply_tokens=8)
        alone = {"solver_0": policy}
        group = group_of(alone, [(1.0,), (0.0,)])
        before = weights(policy)
        norms.append(learner(alone, UNIT_SGD, max_grad_norm=most).update([group])["grad_norm"])
        moves.append(distance(before, policy))
    assert norms[0] == norms[1] == pytest.approx(moves[0], rel=1e-3)
    assert norms[0] > 0.01
    assert moves[1] == pytest.approx(1e-3, rel=1e-2)


# KL


def test_the_kl_to_the_start_is_zero_at_first_and_grows(policy, speakers, group):
    trained = learner(speakers, ADAMW, objective=Objective(kl=1e-3, clip_low=0.5, clip_high=0.5))
    reference = copy.deepcopy(trained.state_dict()["trainers"][0]["reference"])
    found = [trained.update([group])["reference_kl"] for _ in range(4)]
    assert found[0] == pytest.approx(0.0, abs=1e-9)
    assert found[0] < found[1] < found[3]
    assert equal(reference, trained.state_dict()["trainers"][0]["reference"])


def test_without_a_kl_there_is_no_reference(speakers, group):
    trained = learner(speakers, SGD)
    assert "reference_kl" not in trained.update([group])
    assert "reference" not in trained.state_dict()["trainers"][0]


def test_a_kl_pulls_back_to_the_reference_without_any_advantage(policy, speakers):
    small = partial(torch.optim.AdamW, lr=1e-3, weight_decay=0.0)
    trained = learner(speakers, small, objective=Objective(kl=1.0, clip_low=1.0, clip_high=INF))
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(1.1)
    flat = group_of(speakers, [(1.0, 1.0)] * 4)
    found = [trained.update([flat])["reference_kl"] for _ in range(6)]
    assert found[0] > found[3] > found[5] > 0


# Teams


def test_separate_policies_learn_from_their_own_agents_alone(make_policy):
    solver, helper = (make_policy(max_reply_tokens=8, model={"seed": n}) for n in (1, 2))
    speakers = {"solver_0": solver, "helper_0": helper, "helper_1": helper}
    before = {"solver": weights(solver), "helper": weights(helper)}
    # Only the solver's pay differs between episodes.
    group = group_of(speakers, [(1.0, 0.5, 0.5), (0.0, 0.5, 0.5)])
    metrics = learner(speakers, ADAMW, minibatches=2).update([group])
    assert metrics["steps"] == 4.0 and metrics["sequences"] == 6.0
    norms = {name: value for name, value in metrics.items() if name.startswith("grad_norm/")}
    assert set(norms) == {"grad_norm/solver_0", "grad_norm/helper_0+helper_1"}
    assert norms["grad_norm/solver_0"] == pytest.approx(2 * metrics["grad_norm"])
    assert norms["grad_norm/helper_0+helper_1"] == 0.0
    assert not equal(before["solver"], weights(solver))
    assert equal(before["helper"], weights(helper))


def test_a_policy_whose_agents_never_spoke_is_left_alone(make_policy):
    solver, helper = (make_policy(max_reply_tokens=8, model={"seed": n}) for n in (1, 2))
    before = weights(helper)
    spoke = group_of({"solver_0": solver}, [(1.0,), (0.0,)])
    both = learner({"solver_0": solver, "helper_0": helper}, ADAMW, minibatches=2)
    assert both.update([spoke])["steps"] == 2.0
    assert equal(before, weights(helper))


def test_an_agent_that_spoke_in_some_episodes_is_compared_within_them(policy, speakers, group):
    first, *others = group.episodes
    quiet = replace(first, turns=tuple(t for t in first.turns if t.agent == "solver_0"))
    metrics = learner(speakers, ADAMW).update([replace(group, episodes=(quiet, *others))])
    assert metrics["sequences"] == 7.0 and metrics["steps"] == 1.0


def test_shared_weights_have_one_optimiser_and_tied_ones_are_counted_once(make_policy):
    policy = make_policy("gpt2")
    trained = learner({"solver_0": policy, "helper_0": policy}, ADAMW)
    (trainer,) = trained.state_dict()["trainers"]
    assert len(trainer["optimizer"]["param_groups"][0]["params"]) == len(
        {id(parameter) for parameter in policy.model.parameters()}
    )


def test_frozen_weights_stay(policy, speakers, group):
    for name, parameter in policy.model.named_parameters():
        parameter.requires_grad_("mlp" in name)
    before = weights(policy)
    learner(speakers, ADAMW).update([group])
    changed = {name for name, tensor in weights(policy).items() if not tensor.equal(before[name])}
    assert changed and all("mlp" in name for name in changed)


def test_a_team_without_anybody_to_train_is_refused(policy):
    scripted = ScriptedPolicy(lambda task, request, generator: "", {})
    policy.model.requires_grad_(False)
    with pytest.raises(SettingError, match="solver_0: frozen, helper_0: ScriptedPolicy"):
        GroupLearner({"solver_0": policy, "helper_0": scripted}, SGD)


def test_with_the_unit_reply_every_reply_is_a_sequence(policy, speakers, group):
    trained = learner(
        speakers, ADAMW, unit="reply", advantages=Advantages(("task", "agent", "round"))
    )
    metrics = trained.update([group])
    assert metrics["sequences"] == 16.0  # four episodes of two agents and two rounds
    assert metrics["clip_fraction"] == 0.0
    assert metrics["ratio_max"] == pytest.approx(1.0, abs=1e-5)


# What a method asks for


def test_separate_policies_are_asked_for_by_saying_what_to_change(make_policy, policy, speakers):
    with pytest.raises(SettingError, match="solver_0, helper_0 share theirs; set agent.sharing"):
        learner(speakers, sharing="separate")
    with pytest.raises(SettingError, match="single agent 'solver_0'. Add agents to env.team"):
        learner({"solver_0": policy}, sharing="separate")
    learner({"solver_0": policy, "helper_0": make_policy()}, sharing="separate")
    learner(speakers, sharing="shared")


def test_a_median_needs_an_odd_group_counting_what_the_collector_adds(speakers):
    median = Advantages(centre="median")
    learner(speakers, advantages=median).check(3)
    learner(speakers, advantages=median, collect=Extra()).check(4)
    learner(speakers).check(4)
    for settings, size in (({}, 4), ({"collect": Extra()}, 3)):
        with pytest.raises(SettingError, match="got 4 episodes. Change train.group_size by one"):
            learner(speakers, advantages=median, **settings).check(size)


def test_a_role_average_moves_once_an_update_and_survives_a_reload(speakers, group):
    advantages = RoleAverage(decay=0.5)
    trained = learner(speakers, advantages=advantages)
    trained.update([group])
    # Solver 1, 0, 0.5, 0: 0.5, 0.25, 0.375, 0.1875. Helper 0.5, 0, -1, 0.25: 0.25, 0.125,
    # -0.4375, -0.09375.
    expected = {"solver": 0.1875, "helper": -0.09375}
    assert trained.state_dict()["advantages"] == {"averages": expected}
    again = learner(speakers, advantages=RoleAverage(decay=0.5))
    again.load_state_dict(trained.state_dict())
    assert again.sequences(group) == trained.sequences(group)
    assert trained.sequences(group)[0].advantage == 1.0 - 0.1875


def test_whitened_advantages_are_those_of_the_whole_update(policy):
    alone = {"solver_0": policy}
    flat = Advantages(centre="none", scale="none")
    trained = learner(alone, UNIT_SGD, advantages=flat, whiten=True)
    before = weights(policy)
    # Equal pay for everybody, in however many groups, is nothing to learn from.
    metrics = trained.update([group_of(alone, [(1.0,), (1.0,)]), group_of(alone, [(1.0,)] * 3)])
    assert metrics["grad_norm"] == 0.0 and equal(before, weights(policy))
    metrics = trained.update([group_of(alone, [(1.0,), (1.0,)]), group_of(alone, [(0.0,)] * 3)])
    assert metrics["grad_norm"] > 0.0


# Going on


@pytest.mark.parametrize("kl", [0.0, 0.1])
def test_a_loaded_state_goes_on_bit_for_bit(make_policy, kl):
    def built() -> tuple[dict[str, HFPolicy], GroupLearner]:
        one, other = (make_policy(max_reply_tokens=8, model={"seed": n}) for n in (1, 2))
        team = {"solver_0": one, "helper_0": other}
        return team, learner(team, ADAMW, minibatches=2, objective=Objective(kl=kl))

    team, trained = built()
    group = group_of(team, [(1.0, 0.5), (0.0, 0.0), (0.5, -1.0)])
    trained.update([group])
    state = copy.deepcopy(trained.state_dict())
    expected = trained.update([group])
    fresh, loaded = built()
    loaded.load_state_dict(state)
    assert loaded.update([group]) == expected
    for agent in team:
        assert equal(weights(team[agent]), weights(fresh[agent]))


@pytest.mark.parametrize(
    "settings",
    [
        {"minibatches": 0},
        {"minibatches": True},
        {"minibatches": 1.5},
        {"microbatch_tokens": 0},
        {"max_grad_norm": 0.0},
        {"max_grad_norm": float("nan")},
    ],
)
def test_settings_out_of_range_are_refused(speakers, settings):
    with pytest.raises(SettingError, match=f"learner.{next(iter(settings))}"):
        learner(speakers, **settings)


def test_rounds_are_compared_only_where_replies_are_sequences(speakers):
    with pytest.raises(SettingError, match="unit"):
        learner(speakers, advantages=Advantages(("task", "agent", "round")))


def test_the_learning_rate_falls_on_a_straight_line_and_survives_a_reload(speakers, group):
    # Plain gradient descent at rate r(u) = r(0) * (1 - u/2): the first update moves, the third
    # (u = 2) does not.
    deciding = learner(speakers, UNIT_SGD, minibatches=1, decay_updates=2)
    policy = next(iter(speakers.values()))
    for _ in range(2):
        deciding.update([group])
    again = learner(speakers, UNIT_SGD, minibatches=1, decay_updates=2)
    again.load_state_dict(deciding.state_dict())
    for each in (deciding, again):
        before = weights(policy)
        each.update([group])
        assert equal(before, policy.model.state_dict())
        each.load_state_dict({**each.state_dict(), "updates": 0})
        each.update([group])
        assert distance(before, policy) > 0
