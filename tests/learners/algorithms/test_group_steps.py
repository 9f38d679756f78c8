"""Effect of one update on the weights: direction, size, and skipped sequences."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

import pytest
import torch
from updates import (
    ADAMW,
    INF,
    SGD,
    UNIT_SGD,
    distance,
    equal,
    group_of,
    learner,
    reply_logprobs,
    weights,
)

from laconic.learners.advantages.group import Advantages
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Request
from laconic.learners.training.objective import Objective

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
    good, bad = (episode.turns[0] for episode in group.episodes)
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
        turns = [
            Turn("solver_0", 0, "", reply.prompt_ids, reply.reply_ids, reply.behavior_logprobs)
            for reply in replies
        ]
        lead = replace(
            turns[0],
            reply_ids=(silence,),
            behavior_logprobs=(
                float(
                    reply_logprobs(
                        policy, replace(turns[0], reply_ids=(silence,), behavior_logprobs=(0.0,))
                    )
                ),
            ),
        )
        episodes = tuple(
            Episode("t", (turn,), {"solver_0": (float(turn.reply_ids == (silence,)),)})
            for turn in (lead, *turns)
        )
        teacher.update([Group("t", episodes)])
    assert probability() > max(10 * before, 0.2)


def billed(turn: Turn, pay: float, bill: float) -> Episode:
    """Return an episode of one turn whose words cost a bill."""
    bills = {"solver_0": (bill if turn.message else 0.0,)}
    paid = {"solver_0": (pay,)}
    return Episode("t", (turn,), paid, task_rewards=paid, bills=bills)


def test_silence_on_balance_is_made_rarer_only_by_what_is_said(make_policy):
    """Of two members the silent one earned less, and nowhere did a silent one earn more."""

    def fall(balance: bool, bill: float = 0.1) -> float:
        policy = make_policy(model={"num_hidden_layers": 2})
        request = Request("solver_0", "Hello")
        quoted = [policy.quote(request, message) for message in ("3", "")]
        turns = [
            Turn("solver_0", 0, r.message, r.prompt_ids, r.reply_ids, r.behavior_logprobs)
            for r in quoted
        ]
        loud, silent = (
            replace(turn, behavior_logprobs=tuple(reply_logprobs(policy, turn).tolist()))
            for turn in turns
        )
        pays = ((loud, 1.0), (silent, 0.0))
        members = tuple(billed(turn, pay, bill) for turn, pay in pays)
        trained = learner({"solver_0": policy}, UNIT_SGD, balance_silence=balance)
        before = reply_logprobs(policy, silent).mean()
        metrics = trained.update([Group("t", members)])
        assert metrics.get("silence_balance") == (0.0 if balance and bill else None)
        return float(before - reply_logprobs(policy, silent).mean())

    assert 0 < 2 * fall(True) < fall(False)
    # Where nothing is charged, nothing is balanced.
    assert fall(True, bill=0.0) == fall(False, bill=0.0)


def test_silence_is_balanced_after_whitening(policy):
    """One reply of two tokens is paid 4 and charged 1, a silence of one token 0."""
    turns = Turn("solver_0", 0, "3", (1,), (2, 3), (-0.5, -0.5))
    silent = Turn("solver_0", 0, "", (1,), (4,), (-0.5,))
    pays = ((turns, 4.0), (silent, 0.0))
    group = Group("t", tuple(billed(turn, pay, 1.0) for turn, pay in pays))
    plain = Advantages(center="none", scale="none")
    trained = learner({"solver_0": policy}, advantages=plain, whiten=True, balance_silence=True)
    learned = []
    trained._trainers[0].update = lambda sequences, updates: learned.extend(sequences) or []
    trained.update([group])
    # Over tokens 3, 3, 0: mean 2, sample variance (1 + 1 + 4) / 2 = 3. So (3 - 2) / sqrt(3), and
    # -2 / sqrt(3) for the silence, which nothing speaks for: it is scaled down to 0.
    assert [each.advantage for each in learned] == pytest.approx([3**-0.5, 0.0])


@pytest.mark.parametrize("word", ["<silence>", "<end>"])
def test_control_tokens_are_trained_like_any_other(policy, tiny_tokenizer, word):
    """Two replies that differ in nothing but their last token, which is a control token."""
    alone = {"solver_0": policy}
    ids = tiny_tokenizer.encode(f"Anna{word}")
    prompt = policy.read(Request("solver_0", "Hello"))
    turns = []
    for reply in (tuple(ids), (*ids[:-1], 50)):
        turn = Turn("solver_0", 0, "", prompt, reply, (0.0,) * len(reply))
        turns.append(replace(turn, behavior_logprobs=tuple(reply_logprobs(policy, turn).tolist())))
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
            logprobs[place - 1, token] - sequence.behavior_logprobs[place]
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
    paper = Objective(epsilon=3e-4, epsilon_high=4e-4)
    metrics = learner(speakers, ADAMW, minibatches=4, objective=paper).update([group])
    assert metrics["steps"] == 4.0 and metrics["sequences"] == 8.0
    assert metrics["ratio_max"] - metrics["ratio_min"] > 1e-3
    assert metrics["clip_fraction"] > 0.0


def test_more_minibatches_than_sequences_are_as_many_as_sequences(policy):
    alone = {"solver_0": policy}
    group = group_of(alone, [(1.0,), (0.0,)], rounds=1)
    assert learner(alone, minibatches=7).update([group])["steps"] == 2.0


def test_the_order_of_minibatches_is_a_function_of_the_seed(make_policy):
    results = []
    for seed in (0, 0, 1):
        policy = make_policy(max_reply_tokens=8)
        alone = {"solver_0": policy}
        group = group_of(alone, [(1.0,), (0.0,), (0.25,), (0.5,)])
        learner(alone, ADAMW, minibatches=4, seed=seed).update([group])
        results.append(weights(policy))
    assert equal(results[0], results[1]) and not equal(results[0], results[2])


# Parts of a minibatch


@pytest.mark.parametrize(
    ("average", "kl"),
    [
        ("sequence", 0.1),
        ("token", 0.0),
        pytest.param("sum", 0.1, marks=pytest.mark.slow),
        pytest.param("sequence", 0.0, marks=pytest.mark.slow),
        pytest.param("token", 0.1, marks=pytest.mark.slow),
        ("sum", 0.0),
    ],
)
def test_the_size_of_forward_passes_changes_neither_gradient_nor_metrics(
    make_policy, off_policy, average, kl
):
    objective = Objective(epsilon=0.05, epsilon_high=0.05, average=average, beta=kl)
    results = []
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
        results.append((trained.update([off_policy]), weights(policy)))
    metrics, expected = results[-1]
    assert 0 < metrics["clip_fraction"] < 1
    for other_metrics, other in results[:-1]:
        assert other_metrics.keys() == metrics.keys()
        assert other_metrics == pytest.approx(metrics, rel=1e-3, abs=1e-5)
        for name in expected:
            torch.testing.assert_close(other[name], expected[name], rtol=1e-4, atol=1e-5)


# Steps that are not finite


def spoiled(group: Group) -> Group:
    """Its first reply has no log-probability that a number could be."""
    first, *others = group.episodes[0].turns
    turn = replace(first, behavior_logprobs=(float("nan"),) * len(first.reply_ids))
    return replace(
        group, episodes=(replace(group.episodes[0], turns=(turn, *others)), *group.episodes[1:])
    )


def test_a_loss_that_is_not_finite_skips_the_step_and_training_goes_on(policy, speakers, group):
    trained = learner(speakers, ADAMW)
    trained.update([group])
    before, momentum = weights(policy), copy.deepcopy(trained.state_dict()["trainers"])
    metrics = trained.update([spoiled(group)])
    assert (metrics["steps"], metrics["skipped_steps"], "loss" in metrics) == (0.0, 1.0, False)
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
    metrics = trained.update([group])
    assert (metrics["steps"], metrics["skipped_steps"], "loss" in metrics) == (0.0, 1.0, False)
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
    trained = learner(
        speakers, ADAMW, objective=Objective(beta=1e-3, epsilon=0.5, epsilon_high=0.5)
    )
    reference = copy.deepcopy(trained.state_dict()["trainers"][0]["reference"])
    results = [trained.update([group])["reference_kl"] for _ in range(4)]
    assert results[0] == pytest.approx(0.0, abs=1e-9)
    assert results[0] < results[1] < results[3]
    assert equal(reference, trained.state_dict()["trainers"][0]["reference"])


def test_without_a_kl_there_is_no_reference(speakers, group):
    trained = learner(speakers, SGD)
    assert "reference_kl" not in trained.update([group])
    assert "reference" not in trained.state_dict()["trainers"][0]


def test_a_kl_pulls_back_to_the_reference_without_any_advantage(policy, speakers):
    small = partial(torch.optim.AdamW, lr=1e-3, weight_decay=0.0)
    trained = learner(speakers, small, objective=Objective(beta=1.0, epsilon=1.0, epsilon_high=INF))
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(1.1)
    flat = group_of(speakers, [(1.0, 1.0)] * 4)
    results = [trained.update([flat])["reference_kl"] for _ in range(6)]
    assert results[0] > results[3] > results[5] > 0
