"""A policy that keeps keys and values between rounds replies as without them."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from transformers import AutoModelForCausalLM, Gemma3TextConfig, MambaConfig

from laconic.learners.agents import cache, folders, smollm2
from laconic.learners.agents.hf import HFPolicy, SamplingSettings
from laconic.learners.interfaces import Remembering, Reply, Request

RULES = "Anna has 12 apples and 7 pears. There are 3 birds in the tree. "
NEWS = ("Hello team", "There are 3", "in all there are 15 of them, so 7 birds", "15", "7 pears")
Talks = list[tuple[Reply, ...]]


def asked(talks: Talks, limit: int = 4) -> list[Request]:
    """Rows 0 to 2 begin alike, as a group does; the others begin with the same rules."""
    rounds = len(talks[0])
    return [
        Request(
            "solver_0",
            RULES + NEWS[max(0, row - 2)] if not rounds else NEWS[(row * rounds) % len(NEWS)],
            history=history,
            max_tokens=limit + row,
        )
        for row, history in enumerate(talks)
    ]


def converse(
    policy: HFPolicy, rounds: int = 3, rows: int = 6, greedy: bool = True, keep: bool = True
) -> Talks:
    """Return the replies of each row in all rounds; first replies are sampled, so rows differ."""
    talks: Talks = [()] * rows
    with policy.remembering() if keep else nullcontext():
        for number in range(rounds):
            replies = policy.reply(asked(talks), seed=number, greedy=greedy and number > 0)
            talks = [(*talk, reply) for talk, reply in zip(talks, replies, strict=True)]
    return talks


def assert_alike(talks: Talks, others: Talks) -> None:
    for talk, its in zip(talks, others, strict=True):
        assert [reply.reply_ids for reply in talk] == [reply.reply_ids for reply in its]
        for reply, its_reply in zip(talk, its, strict=True):
            expected = pytest.approx(its_reply.behavior_logprobs, abs=1e-5)
            assert reply.behavior_logprobs == expected


@torch.no_grad()
def assert_recorded(policy: HFPolicy, talks: Talks, atol: float = 1e-5) -> None:
    """Log-probabilities are those of a forward pass over the whole conversation."""
    for talk in talks:
        ids = [token for reply in talk for token in (*reply.prompt_ids, *reply.reply_ids)]
        is_reply = [
            flag
            for reply in talk
            for flag in (*[0] * len(reply.prompt_ids), *[1] * len(reply.reply_ids))
        ]
        logits = policy.model(input_ids=torch.tensor([ids])).logits[0, :-1].double()
        logprobs = torch.log_softmax(logits, -1).gather(-1, torch.tensor(ids[1:])[:, None])[:, 0]
        expected = logprobs[torch.tensor(is_reply[1:], dtype=torch.bool)]
        recorded = [logprob for reply in talk for logprob in reply.behavior_logprobs]
        torch.testing.assert_close(torch.tensor(recorded).double(), expected, rtol=1e-5, atol=atol)


@pytest.fixture
def passed():
    """Counts the tokens of every pass through a policy's model."""

    def watch(policy: HFPolicy) -> list[int]:
        counts: list[int] = []

        def count(_, arguments, keywords):
            ids, mask = keywords["input_ids"], keywords["attention_mask"]
            counts.append(ids.numel() if mask is None else int(mask[:, -ids.shape[1] :].sum()))

        policy.model.base_model.register_forward_pre_hook(count, with_kwargs=True)
        return counts

    return watch


def test_greedy_conversations_are_those_of_a_policy_that_keeps_nothing(make_policy, architecture):
    cached = converse(make_policy(architecture))
    assert_alike(cached, converse(make_policy(architecture), keep=False))
    # The members of the group have parted.
    assert len({talk[0].reply_ids for talk in cached[:3]}) == 3


def test_what_is_recorded_is_what_a_pass_over_the_conversation_says(make_policy, architecture):
    policy = make_policy(architecture)
    assert_recorded(policy, converse(policy, greedy=False))


@pytest.mark.parametrize("tied", [False, True])
def test_models_with_tied_and_untied_embeddings(make_policy, tied):
    settings = {"tie_word_embeddings": tied}
    cached = converse(make_policy("qwen3", model=settings))
    assert_alike(cached, converse(make_policy("qwen3", model=settings), keep=False))


def gemma3(tokenizer) -> HFPolicy:
    """Five layers in six look back 8 tokens."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = Gemma3TextConfig(
            vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=6,
            num_attention_heads=2, num_key_value_heads=1, head_dim=8, sliding_window=8,
            bos_token_id=None, eos_token_id=None, pad_token_id=None,
        )  # fmt: skip
        model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8.0 if parameter.dim() > 1 else 1.0)
    return HFPolicy(model, tokenizer, SamplingSettings(max_reply_tokens=24, explain_silence=False))


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_windows_are_those_of_the_mask(tiny_tokenizer, implementation):
    policy = gemma3(tiny_tokenizer)
    policy.model.set_attn_implementation(implementation)
    assert "sliding_attention" in policy.model.config.layer_types
    cached = converse(policy)
    assert_alike(cached, converse(policy, keep=False))
    assert_recorded(policy, cached)


def test_no_token_goes_through_the_model_twice(make_policy, passed):
    policy = make_policy(max_reply_tokens=6)
    counts = passed(policy)
    [talk] = converse(policy, rounds=6, rows=1)
    tokens = sum(len(reply.prompt_ids) + len(reply.reply_ids) for reply in talk)
    # The last token of all is drawn and never read.
    assert sum(counts) == tokens - 1
    counts.clear()
    converse(policy, rounds=6, rows=1, keep=False)
    assert sum(counts) > 3 * tokens


def test_equal_beginnings_go_through_the_model_once(make_policy, passed):
    policy = make_policy(max_reply_tokens=1)
    counts = passed(policy)
    with policy.remembering():
        policy.reply(asked([()] * 6), seed=0, greedy=False)
    starts = {policy.read(request) for request in asked([()] * 6)}
    common = next(n for n in range(99) if len({start[: n + 1] for start in starts}) > 1)
    rest = [len(start) - 1 - common for start in starts]
    # The rules, what else is in each of four prompts, and the last token of each of six.
    assert counts[0] == common and sum(counts[1:-1]) == sum(rest) and counts[-1] == 6


def test_a_reply_that_was_given_is_read(make_policy):
    """In place of what was said, as in a replay: the beginning before it is still held."""
    policy, other = make_policy(), make_policy()
    talks = converse(policy, rounds=3, keep=False)
    changed = [
        (talk[0], replace(talk[1], reply_ids=policy.write("7 birds")), talk[2]) for talk in talks
    ]
    expected = other.reply(asked(changed), seed=0, greedy=True)
    with policy.remembering():
        for number in range(3):
            policy.reply(asked([talk[:number] for talk in talks]), seed=number, greedy=number > 0)
        assert policy.reply(asked(changed), seed=0, greedy=True) == [
            replace(reply, behavior_logprobs=pytest.approx(reply.behavior_logprobs, abs=1e-5))
            for reply in expected
        ]


def test_replies_are_cut_at_their_own_limit_and_go_on_from_there(make_policy, passed):
    """Limits are 5 to 10 tokens; a random model hardly ever ends its reply sooner."""
    policy = make_policy()
    cached = converse(policy)
    assert [len(talk[1].reply_ids) for talk in cached] == [5, 6, 7, 8, 9, 10]
    assert_alike(cached, converse(make_policy(), keep=False))


def test_agents_that_leave_early_change_nothing_for_the_others(make_policy):
    policy, other = make_policy(), make_policy()
    talks: Talks = [()] * 6
    with policy.remembering():
        for number in range(4):
            talks = talks[: 6 - number]
            replies = policy.reply(asked(talks), seed=0, greedy=True)
            expected = other.reply(asked(talks), seed=0, greedy=True)
            assert [reply.reply_ids for reply in replies] == [reply.reply_ids for reply in expected]
            talks = [(*talk, reply) for talk, reply in zip(talks, replies, strict=True)]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_conversations_that_fill_their_positions_end_alike(make_policy, kind):
    name = "n_positions" if kind == "gpt2" else "max_position_embeddings"
    settings = {name: 120}
    cached = converse(make_policy(kind, model=settings), rounds=6)
    assert_alike(cached, converse(make_policy(kind, model=settings), rounds=6, keep=False))
    assert any(not talk[-1].reply_ids for talk in cached)


def test_nothing_is_kept_outside_so_weights_may_change_between_plays(make_policy):
    policy = make_policy()
    before = converse(policy)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(0.9)
    after = converse(policy)
    assert_alike(after, converse(policy, keep=False))
    assert [talk[-1].reply_ids for talk in before] != [talk[-1].reply_ids for talk in after]


def test_beyond_its_bound_conversations_are_read_again_which_is_said_once(make_policy, caplog):
    cache.warn_once.cache_clear()
    policy = make_policy(generate_tokens=260)
    with caplog.at_level(logging.WARNING), policy.remembering():
        cached = converse(policy, keep=False)
        assert policy._cache is not None
        assert policy._cache._used <= 260
    assert_alike(cached, converse(make_policy(generate_tokens=260), keep=False))
    [log_messages] = [message for message in caplog.messages if "read again" in message]
    assert "260 tokens" in log_messages and "agent.sampling.generate_tokens" in log_messages


def test_parts_of_a_round_keep_what_they_have_in_common(make_policy, passed):
    """In two calls a round as in one: the group's prompt and the rules are read once."""
    policy = make_policy(generate_tokens=260, max_reply_tokens=2)
    counts = passed(policy)
    converse(policy, rounds=1)
    whole = make_policy(max_reply_tokens=2)
    expected = passed(whole)
    converse(whole, rounds=1)
    assert len(counts) > len(expected)
    assert sum(counts) == sum(expected)


def test_a_model_whose_states_have_no_tokens_reads_all_again_and_says_so(tiny_tokenizer, caplog):
    config = MambaConfig(
        vocab_size=len(tiny_tokenizer), hidden_size=16, num_hidden_layers=2, state_size=4
    )
    sampling = SamplingSettings(max_reply_tokens=6, explain_silence=False)
    model = AutoModelForCausalLM.from_config(config)
    policy = HFPolicy(model, tiny_tokenizer, sampling)
    cache.warn_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        cached = converse(policy, rows=3)
        converse(policy, rows=3)
    assert_alike(cached, converse(policy, rows=3, keep=False))
    assert len([message for message in caplog.messages if "MambaForCausalLM" in message]) == 1


def test_a_policy_says_that_it_can_remember(make_policy):
    assert isinstance(make_policy(), Remembering)


@pytest.mark.slow
@pytest.mark.skipif(folders.find_smollm2() == folders.SMOLLM2_HUB, reason="needs `make smollm2`")
def test_a_pretrained_model_says_the_same(make_env):
    sampling = SamplingSettings(explain_silence=False, max_reply_tokens=9)
    team = smollm2.SmolLM2Team(sampling=sampling, device="cpu", precision="float32")
    policy = team.policies(make_env())["solver_0"]
    cached, alone = (
        converse(policy, rounds=3, rows=4),
        converse(policy, rounds=3, rows=4, keep=False),
    )
    assert_alike(cached, alone)
    # Thirty layers of float32 round by more, whether anything is kept or not.
    for talks in (cached, alone):
        assert_recorded(policy, talks, atol=1e-4)
