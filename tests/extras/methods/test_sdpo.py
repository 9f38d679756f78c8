"""Learning from follow-ups: hand-worked cases, an independent implementation, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from updates import SGD, Speakers, distance, equal, group_of, played, reply_logprobs, weights

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.extras.methods.sdpo import (
    BLOCK,
    HindsightLearner,
    HindsightScores,
    feedback,
    hindsight_metrics,
    next_round,
    outcome,
    with_follow_up,
)
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training.objective import Objective
from laconic.learners.training.sequences import TokenSequence

Make = Callable[..., HFPolicy]


def learner(policies: Speakers, **settings: Any) -> HindsightLearner:
    return HindsightLearner(policies, SGD, **{"minibatches": 1, **settings})


def commented(group: Group, text: str) -> Group:
    """Return a group in which the environment says a text after every turn."""
    return replace(
        group,
        episodes=tuple(
            replace(episode, turns=tuple(replace(turn, feedback=text) for turn in episode.turns))
            for episode in group.episodes
        ),
    )


def spoken(policy: HFPolicy, ids: Sequence[int], logprobs: Sequence[float], text: str) -> Group:
    """One reply of given tokens to a short text, and what the environment says about it."""
    prompt = policy._template.first_prompt("Hello solver_0.")
    message, _ = policy.parse(ids)
    turn = Turn("solver_0", 0, message, prompt, tuple(ids), tuple(logprobs), feedback=text)
    return Group("t", (Episode("t", (turn,), {"solver_0": (1.0,)}),))


def values(reply: TokenSequence) -> list[float]:
    """Return the advantages of the generated tokens."""
    pairs = zip(reply.token_advantages, reply.generated, strict=True)
    return [value for value, generated in pairs if generated]


# What followed


def test_the_next_round_is_what_the_agent_read_until_its_next_turn_or_the_end():
    turns = (
        Turn("a_0", 0, "x", read="first"),
        Turn("b_0", 0, "y", read="other"),
        Turn("b_0", 1, "y", read="b reads x"),
        Turn("a_0", 2, "z", read="a reads y twice"),
    )
    episode = Episode("t", turns, {}, unread={"a_0": "a reads the end"})
    texts = [next_round(episode, turn) for turn in turns]
    assert texts == ["a reads y twice", "b reads x", "", "a reads the end"]


@pytest.mark.parametrize(
    ("solved", "line"),
    [(True, "The answer is right."), (False, "The answer is wrong."), (None, "Score: 0.25.")],
)
def test_the_outcome_is_one_line_and_feedback_is_the_comment_of_the_environment(solved, line):
    turn = Turn("a_0", 0, "x", feedback="Too long.")
    episode = Episode("t", (turn,), {}, score=0.25, solved=solved)
    assert (outcome(episode, turn), feedback(episode, turn)) == (line, "Too long.")


# Where the follow-up stands


def test_it_stands_in_the_last_text_before_the_reply_and_no_token_is_made_again(make_policy: Make):
    policy = make_policy(max_reply_tokens=6)
    group = group_of({"solver_0": policy}, [[1.0]], rounds=2)
    first, second = GroupLearner({"solver_0": policy}, SGD, unit="reply").sequences(group)
    longer = with_follow_up(second, "Be #### brief.", policy)
    assert longer is not None
    begin, end = second.generated.index(True), len(longer.token_ids) - len(second.token_ids)
    asked = len(policy._template._asking_ids)
    block = policy._template.encode(BLOCK.format("Be #### brief."))
    # Earlier texts, replies and this turn's own text; the follow-up; what asks for the reply; it.
    place = begin - asked
    assert longer.token_ids[:place] == second.token_ids[:place]
    assert longer.token_ids[place : place + end] == block
    assert longer.token_ids[place + end :] == second.token_ids[place:]
    assert longer.token_ids[: len(first.token_ids)] == first.token_ids
    assert longer.generated[begin + end :] == second.generated[begin:]
    assert not any(longer.generated[: begin + end])
    # The text reads as if the user had written it in the same turn.
    turn = group.episodes[0].turns[1]
    text = policy.tokenizer.decode(policy.extend_prompt(turn.prompt_ids, BLOCK.format("Oh.")))
    whole = f"<read>Hello solver_0, this is round 1.{BLOCK.format('Oh.')}<speak>"
    assert text.endswith(whole)


def test_a_prompt_of_another_template_is_refused(make_policy: Make):
    with pytest.raises(SettingError, match="ends with the tokens"):
        make_policy().extend_prompt((7, 8), "Oh.")


def test_a_conversation_too_long_for_the_model_goes_without(make_policy: Make):
    policy = make_policy(max_reply_tokens=4)
    group = spoken(policy, (10, 11), (-1.0, -1.0), "Oh. " * 600)
    metrics = learner({"solver_0": policy}, follow_up="feedback").update([group])
    assert metrics["follow_up_share"] == 0.0 and metrics["groups_without_contrast"] == 1.0
    assert "hindsight_gain" not in metrics


# Hand-worked cases


@pytest.fixture
def flat(make_policy: Make) -> HFPolicy:
    """A policy that finds every token equally likely, whatever it read."""
    policy = make_policy(max_reply_tokens=6)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.zero_()
    return policy


def test_two_tokens_by_hand(flat):
    # With o each token has -ln V, without it -1 and -3: r = (1 - ln V, 3 - ln V), whose mean is
    # 2 - ln V, so A = (-1, 1).
    group = spoken(flat, (10, 11), (-1.0, -3.0), "Too long.")
    hindsight = learner({"solver_0": flat}, follow_up="feedback")
    (reply,) = hindsight.sequences(group)
    assert values(reply) == pytest.approx([-1.0, 1.0], abs=1e-6)
    assert reply.token_advantages[:-2] == (0.0,) * (len(reply.token_ids) - 2)
    # The pass of training finds -ln V too: ratios e^(1 - ln V) and e^(3 - ln V), both below the
    # lower clip of 0.8. The first loses 0.8, the second gains its ratio.
    metrics = hindsight.update([group])
    log_v = math.log(len(flat.tokenizer))
    assert metrics["loss"] == pytest.approx((0.8 - math.exp(3 - log_v)) / 2, abs=1e-6)
    assert metrics["hindsight_gain"] == pytest.approx(2 - log_v, abs=1e-5)
    assert metrics["hindsight_advantage"] == pytest.approx(1.0, abs=1e-6)
    assert metrics["follow_up_share"] == 1.0 and metrics["groups_without_contrast"] == 0.0


@pytest.mark.parametrize("center", ["mean", "messages", "none"])
def test_two_tokens_and_the_one_of_silence_by_hand(flat, center):
    # r = (1 - ln V, 3 - ln V) for the words, whose center leaves (-1, 1); 1 - ln V for silence.
    first, second = (surprise - math.log(len(flat.tokenizer)) for surprise in (1, 3))
    expected = {"mean": [-1, 1, 0], "messages": [-1, 1, first], "none": [first, second, first]}
    found = []
    for ids in ((10, 11), flat.write("")):
        group = spoken(flat, ids, (-1.0, -3.0)[: len(ids)], "Too long.")
        hindsight = learner({"solver_0": flat}, follow_up="feedback", center=center)
        (reply,) = hindsight.sequences(group)
        found += values(reply)
    assert found == pytest.approx(expected[center], abs=1e-5)


@pytest.mark.parametrize("center", ["mean", "none", "messages"])
def test_silence_of_one_token_trains_unless_it_is_centered(make_policy: Make, center):
    policy = make_policy(max_reply_tokens=6)
    ids = policy.write("")
    assert len(ids) == 1
    (logprob,) = reply_logprobs(
        policy, Turn("a", 0, "", policy._template.first_prompt("Hello solver_0."), ids, (0.0,))
    ).tolist()
    group = spoken(policy, ids, (logprob,), "Too long.")
    before = weights(policy)
    hindsight = learner({"solver_0": policy}, follow_up="feedback", center=center)
    (reply,), trains = hindsight.sequences(group), center != "mean"
    assert (values(reply) != [0.0]) == trains
    metrics = hindsight.update([group])
    assert metrics["steps"] == 1.0 and equal(before, weights(policy)) != trains


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_follows_and_nothing_is_learned(make_policy: Make, text):
    policy = make_policy(max_reply_tokens=6)
    group = commented(group_of({"solver_0": policy}, [[1.0], [0.0]]), text)
    before = weights(policy)
    hindsight = learner({"solver_0": policy}, follow_up="feedback")
    metrics = hindsight.update([group])
    assert equal(before, weights(policy)) and metrics["grad_norm"] == 0.0
    assert metrics["follow_up_share"] == 0.0
    for reply in hindsight.sequences(group):
        assert not reply.token_advantages and reply.advantage == 0.0


# Against an independent implementation


def by_hand(policy: HFPolicy, turns: Sequence[Turn], place: int, text: str) -> list[float]:
    """Compute A_t of the reply of a turn in whole passes of the model, in float64."""
    model, end = policy.model.double(), "<speak>"
    asking = policy.tokenizer.convert_tokens_to_ids(end)
    *history, prompt = [
        token for turn in turns[:place] for token in (*turn.prompt_ids, *turn.reply_ids)
    ] + list(turns[place].prompt_ids)
    assert prompt == asking
    # A message that spells a control token is text.
    block = policy.tokenizer.encode(
        f"\nAfter your reply you will read:\n{text}",
        add_special_tokens=False,
        split_special_tokens=True,
    )
    reply = turns[place].reply_ids
    logprobs = []
    for context in ([*history, asking], [*history, *block, asking]):
        ids = torch.tensor([[*context, *reply]])
        with torch.no_grad():
            rows = torch.log_softmax(model(input_ids=ids).logits[0], dim=-1)
        logprobs.append([rows[len(context) - 1 + t, token].item() for t, token in enumerate(reply)])
    ratios = [seen - unseen for unseen, seen in zip(*logprobs, strict=True)]
    model.float()
    return [ratio - sum(ratios) / len(ratios) for ratio in ratios]


@pytest.mark.parametrize("recompute", [False, True])
def test_the_advantages_equal_an_independent_implementation(
    make_policy: Make, make_env: Callable[..., Any], recompute
):
    policy = make_policy(max_reply_tokens=8)
    policy.recompute_logprobs = recompute
    policies = dict.fromkeys(make_env().possible_agents, policy)
    group = played(policies, make_env)
    replies = learner(policies).sequences(group)
    assert len(replies) == len(policies) * 2 * len(group.episodes)
    count = [0, 0]
    for reply in replies:
        turns = [turn for turn in group.episodes[reply.episode].turns if turn.agent == reply.agent]
        place = reply.round or 0
        texts = [turns[1].read, group.episodes[reply.episode].unread[reply.agent]]
        expected = by_hand(policy, turns, place, texts[place].strip())
        assert values(reply) == pytest.approx(expected, abs=2e-5)
        assert sum(reply.token_advantages) == pytest.approx(0.0, abs=1e-6)
        count[place] += len(expected) > 1 and max(map(abs, expected)) > 1e-3
    assert min(count) > 2


def test_each_policy_judges_its_own_replies(make_policy: Make):
    policies = {
        name: make_policy(max_reply_tokens=5, model={"seed": seed})
        for seed, name in enumerate(("a_0", "b_0"))
    }
    group = commented(group_of(policies, [[1.0, 0.0], [0.0, 1.0]], rounds=1), "Oh.")
    replies = learner(policies, follow_up="feedback").sequences(group)
    assert [reply.agent for reply in replies] == ["a_0", "b_0"] * 2
    for reply in replies:
        turns = group.episodes[reply.episode].turns
        turn = next(turn for turn in turns if turn.agent == reply.agent)
        expected = by_hand(policies[reply.agent], [turn], 0, "Oh.")
        assert values(reply) == pytest.approx(expected, abs=2e-5)


def test_a_step_makes_the_tokens_likelier_that_hindsight_prefers(make_policy: Make):
    policy = make_policy(max_reply_tokens=8)
    group = commented(group_of({"solver_0": policy}, [[0.0], [0.0]], rounds=1), "Oh.")
    hindsight = HindsightLearner(
        {"solver_0": policy},
        lambda parameters: torch.optim.SGD(parameters, lr=1e-4),
        follow_up="feedback",
        minibatches=1,
    )
    replies = hindsight.sequences(group)
    turns = [episode.turns[0] for episode in group.episodes]
    before = [reply_logprobs(policy, turn) for turn in turns]
    hindsight.update([group])
    gains = [
        (torch.tensor(values(reply)) * (reply_logprobs(policy, turn) - old)).mean().item()
        for reply, turn, old in zip(replies, turns, before, strict=True)
    ]
    assert sum(gains) > 0


def test_padding_changes_no_step(make_policy: Make):
    results = []
    for tokens in (1, 16384):
        policy = make_policy(max_reply_tokens=8)
        group = commented(group_of({"solver_0": policy}, [[0.0]] * 4, rounds=1), "Oh.")
        episodes = []
        # Rows end at different places.
        for episode, size in zip(group.episodes, (8, 3, 6, 1), strict=True):
            (turn,) = episode.turns
            ids, logprobs = turn.reply_ids[:size], turn.behavior_logprobs[:size]
            turn = replace(turn, reply_ids=ids, behavior_logprobs=logprobs)
            episodes.append(replace(episode, turns=(turn,)))
        settings = {"follow_up": "feedback", "center": "none", "microbatch_tokens": tokens}
        metrics = learner({"solver_0": policy}, **settings).update([Group("t", tuple(episodes))])
        results.append((metrics["grad_norm"], weights(policy)))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5) and results[0][0] > 1e-3
    for name, tensor in results[0][1].items():
        torch.testing.assert_close(tensor, results[1][1][name], rtol=1e-5, atol=1e-6)


# With the advantage of the group


def test_mix_adds_weighed_tokens_to_the_advantage_of_the_group(make_policy: Make):
    policy = make_policy(max_reply_tokens=6)
    group = commented(group_of({"solver_0": policy}, [[1.0], [0.0], [0.5]]), "Oh.")
    alone = learner({"solver_0": policy}, follow_up="feedback").sequences(group)
    mixed = learner({"solver_0": policy}, follow_up="feedback", mix=0.25).sequences(group)
    compared = GroupLearner({"solver_0": policy}, SGD, unit="reply").sequences(group)
    assert any(reply.advantage for reply in compared)
    for one, both, reply in zip(alone, mixed, compared, strict=True):
        assert one.advantage == 0.0 and both.advantage == reply.advantage
        assert both.token_advantages == tuple(0.25 * value for value in one.token_advantages)
        assert any(both.token_advantages)


def test_without_mix_rewards_have_no_effect(make_policy: Make):
    results = []
    for pays in ([[1.0], [0.0]], [[0.0], [3.0]]):
        policy = make_policy(max_reply_tokens=6)
        before = weights(policy)
        group = commented(group_of({"solver_0": policy}, pays), "Oh.")
        learner({"solver_0": policy}, follow_up="feedback").update([group])
        assert distance(before, policy) > 0
        results.append(weights(policy))
    assert equal(*results)


def test_cut_replies_are_left_out_on_request(make_policy: Make):
    policy = make_policy(max_reply_tokens=4)
    group = commented(group_of({"solver_0": policy}, [[1.0], [0.0]], rounds=1), "Oh.")
    episodes = tuple(
        replace(episode, turns=tuple(replace(turn, truncated=True) for turn in episode.turns))
        for episode in group.episodes[:1]
    )
    group = replace(group, episodes=(*episodes, *group.episodes[1:]))
    hindsight = learner({"solver_0": policy}, follow_up="feedback", mask_truncated=True)
    cut, whole = hindsight.sequences(group)
    assert not cut.token_advantages and any(whole.token_advantages)


# Settings and metrics


def test_one_episode_is_enough_unless_episodes_are_compared(make_policy: Make):
    policies = {"solver_0": make_policy()}
    learner(policies).check(1)
    with pytest.raises(SettingError, match="group_size must be at least 2"):
        learner(policies, mix=1.0).check(1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"unit": "episode"}, r"learner\.unit must be 'reply'.*got 'episode'"),
        ({"objective": Objective("sequence")}, "token, sequence_token or none"),
        ({"mix": 0}, r"learner\.mix"),
        ({"mix": -1.0}, r"learner\.mix"),
    ],
)
def test_settings_that_cannot_work_are_refused(make_policy: Make, settings, words):
    with pytest.raises(SettingError, match=words):
        learner({"solver_0": make_policy()}, **settings)


@pytest.mark.parametrize("key", ["follow_up", "center"])
def test_unknown_words_are_refused(make_policy: Make, key):
    with pytest.raises(UnknownNameError, match=rf"learner\.{key}"):
        learner({"solver_0": make_policy()}, **{key: "later"})


def reply_of(episode: int) -> TokenSequence:
    return TokenSequence("t", "a_0", episode, 0, (1, 2), (False, True), (0.0, -1.0), 0.0)


def test_metrics_by_hand():
    # Means of r: 1 and 3. Without the other one: -2 and 2. Squares of A: 1, 1, 4.
    judged = [
        HindsightScores(reply_of(0), (0.0, 2.0), (-1.0, 1.0)),
        HindsightScores(reply_of(1), (3.0,), (2.0,)),
        HindsightScores(reply_of(2), ()),
        HindsightScores(reply_of(3), ()),
    ]
    assert hindsight_metrics(judged) == {
        "follow_up_share": 0.5,
        "hindsight_gain": 2.0,
        "hindsight_advantage": pytest.approx(math.sqrt(2.0)),
        "hindsight_contrast": pytest.approx(2.0),
    }
    assert hindsight_metrics(judged[2:]) == {"follow_up_share": 0.0}
    assert hindsight_metrics([]) == {}
