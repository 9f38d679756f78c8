"""Episodes of others, played again here: local prices, local tokens, local log-probabilities."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from laconic.envs.dialogue.reward import Reward
from laconic.envs.task import Task
from laconic.extras.swarm.exchange import SharedMessage, share
from laconic.extras.swarm.replay import replay_groups
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.rollout.play import Start, collect

TEAM = {"solver": 1, "helper": 1}


@pytest.fixture
def make_envs(make_env):
    """Make two environments of two agents and two rounds."""

    def make(**settings):
        defaults = {"team": TEAM, "rounds": 2, "reward": Reward(price=0.5, normalizer=8)}
        return [make_env(**{**defaults, **settings}) for _ in range(2)]

    return make


@pytest.fixture
def author(make_writer):
    """Make the policy of another node."""
    return make_writer(max_reply_tokens=6, model={"seed": 1})


@pytest.fixture
def reader(make_writer):
    """Make another policy, which learns from the author's groups."""
    return make_writer(max_reply_tokens=12, model={"seed": 2}, temperature=0.75)


@pytest.fixture
def played(make_envs, author):
    """Play a group of the author."""
    return collect(make_envs(), both(author), [Start(3, "fruit")], 2, seed=5)[0]


@pytest.fixture
def shared(make_envs, played):
    """Return the shared part of the group."""
    group = share("sums", played, make_envs()[0].tasks["fruit"], 3)
    return replace(group, task=replace(group.task, key="ann/fruit"))


def both(policy):
    return dict.fromkeys(("solver_0", "helper_0"), policy)


def replayed(environments, policies, shared, **settings):
    return replay_groups(environments, policies, [shared], max_tokens=4096, **settings)[0]


def test_the_reader_charges_the_share_of_its_own_update(make_envs, reader, shared):
    group = replayed(make_envs(), both(reader), shared, price_share=0.25)
    assert [episode.price_share for episode in group.episodes] == [0.25, 0.25]


def messages(group):
    return [
        [(turn.agent, turn.round, turn.message) for turn in episode.turns]
        for episode in group.episodes
    ]


def by_hand(policy, episode, agent):
    """Compute log-probabilities of an agent's reply tokens by a plain forward pass, one by one."""
    turns = [turn for turn in episode.turns if turn.agent == agent]
    ids = [token for turn in turns for token in (*turn.prompt_ids, *turn.reply_ids)]
    with torch.no_grad():
        logits = policy.model(torch.tensor([ids])).logits[0] / policy.sampling.temperature
    logprobs = torch.log_softmax(logits, -1)
    logprobs_of_reply, place = [], 0
    for turn in turns:
        place += len(turn.prompt_ids)
        for token in turn.reply_ids:
            logprobs_of_reply.append(float(logprobs[place - 1, token]))
            place += 1
    return logprobs_of_reply


def test_messages_are_replayed_at_local_prices(make_envs, played, shared, reader):
    # Four times the price, and the author's had 0.5 / 8 a token.
    dear = make_envs(reward=Reward(price=2.0, normalizer=8))
    group = replayed(dear, both(reader), shared)
    assert group.task == "ann/fruit"
    assert messages(group) == messages(played)
    for here, there in zip(group.episodes, played.episodes, strict=True):
        assert here.tokens_said == there.tokens_said and here.score == there.score
        for agent, rewards in here.rewards.items():
            priced = there.score * 1.0
            # The last reward holds the score, which no price touches.
            mine = [*rewards[:-1], rewards[-1] - priced]
            other = [*there.rewards[agent][:-1], there.rewards[agent][-1] - priced]
            assert mine == pytest.approx([4 * amount for amount in other], abs=1e-12)
            local = [4 * amount for amount in there.bills[agent]]
            assert here.bills[agent] == pytest.approx(local, rel=1e-12)
        assert here.task_rewards == there.task_rewards and here.common
    assert any(turn.message for turn in group.episodes[0].turns)


def test_replies_are_tokens_of_the_reader_with_its_own_log_probabilities(make_envs, shared, reader):
    group = replayed(make_envs(), both(reader), shared)
    for episode in group.episodes:
        for turn in episode.turns:
            assert reader.parse(turn.reply_ids)[0] == turn.message
            assert turn.prompt_ids and turn.reply_ids == reader.write(turn.message)
        for agent in both(reader):
            turns = [turn for turn in episode.turns if turn.agent == agent]
            recorded = [logprob for turn in turns for logprob in turn.behavior_logprobs]
            assert recorded == pytest.approx(by_hand(reader, episode, agent), abs=1e-5)


def test_the_first_text_is_read_as_it_stands_here(make_envs, shared, reader, played):
    split = replayed(make_envs(information="split"), both(reader), shared)
    # Statements are dealt here and were shown to all there, so the solver, who holds none, reads
    # less of them.
    here, there = split.episodes[0].turns[0], played.episodes[0].turns[0]
    assert here.agent == there.agent == "solver_0"
    assert len(here.prompt_ids) < len(there.prompt_ids)


def test_a_message_longer_than_a_local_reply_is_cut(make_envs, make_policy, shared):
    messages = ((SharedMessage("helper_0", 0, "3 apples"), SharedMessage("solver_0", 0, "")),) * 2
    short = make_policy(max_reply_tokens=3)
    group = replayed(make_envs(rounds=1), both(short), replace(shared, episodes=messages))
    silent, cut = group.episodes[0].turns
    assert cut.agent == "helper_0" and cut.reply_ids == short.write("3 apples")[:3]
    assert cut.message and "3 apples".startswith(cut.message) and cut.message != "3 apples"
    # Silence is trained like a message: by its word.
    assert silent.message == "" and silent.reply_ids == short.write("") and silent.trained


def test_a_group_that_does_not_fit_is_none(make_envs, make_policy, word_tokenizer, shared, reader):
    environments, policies = make_envs(), both(reader)
    fine, unfit = (
        replay_groups(environments, policies, [shared, group], max_tokens=4096)
        for group in (shared, replace(shared, agents=("solver_0",)))
    )
    assert None not in fine
    assert unfit == [fine[0], None]
    assert replayed(environments, policies, replace(shared, benchmark="chess")) is None
    untold = (shared.episodes[0][:-1], shared.episodes[1])
    assert replayed(environments, policies, replace(shared, episodes=untold)) is None
    # Three rounds here, two there: nobody knows what would have been said in the third.
    assert replayed(make_envs(rounds=3), policies, shared) is None
    # A tokenizer of whole words cannot write most of what was said.
    strange = make_policy(tokenizer=word_tokenizer)
    words = ((SharedMessage("helper_0", 0, "zebra"), SharedMessage("solver_0", 0, "w3")),) * 2
    one_round = make_envs(rounds=1)
    assert replayed(one_round, both(strange), replace(shared, episodes=words)) is None
    # Somebody else's silence word must not become a message, nor a message silence.
    words = ((SharedMessage("helper_0", 0, "<silence>"), SharedMessage("solver_0", 0, "7")),) * 2
    assert replayed(one_round, policies, replace(shared, episodes=words)) is None


def test_a_conversation_longer_than_the_model_does_not_fit(make_envs, make_policy, shared):
    narrow = make_policy(model={"max_position_embeddings": 8})
    assert replayed(make_envs(), both(narrow), shared) is None


def test_details_that_stayed_at_home_are_those_of_an_equal_task_here(make_envs, shared, reader):
    at_home = replace(shared, has_details=False)
    exam = object()
    fruit = replace(shared.task, key="fruit", details={"exam": exam})
    # The tasks of `make_envs` have no details, which are details too.
    assert replayed(make_envs(), both(reader), at_home) is not None
    with_exam = make_envs(tasks=(fruit,))
    assert replayed(with_exam, both(reader), at_home) is not None
    assert with_exam[0].task.details == {"exam": exam}
    other = make_envs(tasks=(replace(fruit, question="How few?"), Task("x", "?", (), "1")))
    assert replayed(other, both(reader), at_home) is None
    assert replayed(make_envs(tasks=(Task("x", "?", (), "1"),)), both(reader), at_home) is None


def test_scripts_are_replayed_as_text_and_frozen_weights_are_measured(make_envs, shared, reader):
    environments = make_envs()
    script = ScriptedPolicy("silent", environments[0])
    group = replayed(environments, {"solver_0": reader, "helper_0": script}, shared)
    for turn in group.episodes[0].turns:
        assert bool(turn.reply_ids) == (turn.agent == "solver_0")


def test_correcting_counts_from_the_author_and_truncates_at_one(make_envs, shared, reader):
    plain = replayed(make_envs(), both(reader), shared)
    here = [sum(turn.behavior_logprobs) for turn in plain.episodes[0].turns]
    lengths = [len(turn.reply_ids) for turn in plain.episodes[0].turns]
    # Likelier there by a factor e^3 than here; in the other turns less likely by e.
    there = [here[0] + 3.0, *(each - 1.0 for each in here[1:])]
    messages = tuple(
        replace(message, logprob=logprob)
        for message, logprob in zip(shared.episodes[0], there, strict=True)
    )
    episodes = (messages, shared.episodes[1])
    group = replayed(make_envs(), both(reader), replace(shared, episodes=episodes), correct=True)
    first, *others = group.episodes[0].turns
    before = plain.episodes[0].turns[0].behavior_logprobs
    # The ratio of every token of the first reply begins at e^(-3 / tokens).
    steps = [new - old for new, old in zip(first.behavior_logprobs, before, strict=True)]
    assert steps == pytest.approx([3.0 / lengths[0]] * lengths[0], abs=1e-6)
    assert [sum(turn.behavior_logprobs) for turn in others] == pytest.approx(here[1:], abs=1e-6)
    unknown = (tuple(replace(message, logprob=None) for message in messages), shared.episodes[1])
    group = replace(shared, episodes=unknown)
    assert replayed(make_envs(), both(reader), group, correct=True) is None
    assert replayed(make_envs(), both(reader), group) is not None


def test_nothing_shared_gives_nothing(make_envs, reader):
    assert replay_groups(make_envs(), both(reader), [], max_tokens=4096) == []
