"""Replies that their limit stopped can be left out of the loss."""

from __future__ import annotations

from dataclasses import replace

import torch
from updates import SGD, equal, group_of, weights

from laconic.learners.advantages.group import Advantages
from laconic.learners.algorithms.group import GroupLearner


def marked(group, marks):
    """Return the group with `truncated` set on every reply for which `marks(turn)` is True."""
    episodes = [
        replace(
            episode, turns=tuple(replace(turn, truncated=marks(turn)) for turn in episode.turns)
        )
        for episode in group.episodes
    ]
    return replace(group, episodes=tuple(episodes))


def made(make_policy, pays=((1.0,), (0.0,))):
    policy = make_policy()
    return policy, group_of({"a_0": policy}, pays)


def test_without_the_setting_a_mark_changes_nothing(make_policy):
    policy, group = made(make_policy)
    other, _ = made(make_policy)
    plain = GroupLearner({"a_0": policy}, SGD).update([group])
    cut = GroupLearner({"a_0": other}, SGD).update([marked(group, lambda turn: True)])
    assert plain == cut and equal(weights(policy), weights(other))


def test_with_all_replies_truncated_no_step_is_taken(make_policy):
    policy, group = made(make_policy)
    before = weights(policy)
    learner = GroupLearner({"a_0": policy}, SGD, mask_truncated=True)
    assert learner.update([marked(group, lambda turn: True)])["steps"] == 0
    assert equal(before, weights(policy))


def test_the_loss_is_that_of_the_other_replies(make_policy):
    """Masking the second round is learning from episodes whose second reply is given, not said."""
    policy, group = made(make_policy)
    other, _ = made(make_policy)
    second = marked(group, lambda turn: turn.round == 1)
    unspoken = [
        replace(e, turns=tuple(replace(t, trained=t.round == 0) for t in e.turns))
        for e in group.episodes
    ]
    GroupLearner({"a_0": policy}, SGD, mask_truncated=True).update([second])
    GroupLearner({"a_0": other}, SGD).update([replace(group, episodes=tuple(unspoken))])
    untouched, _ = made(make_policy)
    # The masked tokens stand in the row and change no gradient, but for rounding.
    for name, tensor in weights(policy).items():
        torch.testing.assert_close(tensor, weights(other)[name], rtol=1e-5, atol=1e-7)
    assert not equal(weights(policy), weights(untouched))
    assert all(torch.isfinite(tensor).all() for tensor in weights(policy).values())


def test_masked_replies_count_in_the_mean(make_policy):
    """Two of four episodes are cut: the step is half of that of the other two by themselves."""
    steps = []
    for pays, cut in (((1.0,), (0.0,), (1.0,), (0.0,)), True), (((1.0,), (0.0,)), False):
        policy, group = made(make_policy, pays)
        before = weights(policy)
        if cut:
            last = marked(replace(group, episodes=group.episodes[2:]), lambda turn: True)
            group = replace(group, episodes=(*group.episodes[:2], *last.episodes))
        settings = {"minibatches": 1, "max_grad_norm": 1e9, "advantages": Advantages(scale="none")}
        metrics = GroupLearner({"a_0": policy}, SGD, mask_truncated=cut, **settings).update([group])
        assert metrics["sequences"] == 2.0
        steps.append({name: tensor - before[name] for name, tensor in weights(policy).items()})
    for name, step in steps[0].items():
        torch.testing.assert_close(2 * step, steps[1][name], rtol=1e-4, atol=1e-6)
