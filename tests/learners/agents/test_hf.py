"""A policy: silence, messages, limits, budgets, and tokenizers that lack something."""

from __future__ import annotations

import pytest
import torch
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from laconic.envs import Budget
from laconic.envs.errors import SettingError
from laconic.learners.agents.chat import tokenize_with
from laconic.learners.agents.hf import HFPolicy, SamplingSettings
from laconic.learners.interfaces import Policy, Reply, Request
from laconic.learners.rollout.play import Start, play


def request(text: str = "How many?", **fields) -> Request:
    return Request(agent="solver_0", text=text, **fields)


def continued(policy: HFPolicy, first: Request, seed: int = 0) -> Request:
    reply = policy.reply([first], seed=seed, greedy=False)[0]
    return request("And now?", history=(reply,), texts=(first.text,))


@pytest.fixture
def policy(make_policy) -> HFPolicy:
    return make_policy()


# Replies


def test_a_policy_is_a_policy(policy):
    assert isinstance(policy, Policy)
    assert policy.reply([], seed=0, greedy=False) == []


def test_replies_carry_the_tokens_read_and_said(policy):
    requests = [request("Hello"), request("There are 3"), request("Hello")]
    replies = policy.reply(requests, seed=0, greedy=False)
    for sent, reply in zip(requests, replies, strict=True):
        assert reply.prompt_ids == policy.read(sent)
        assert len(reply.reply_ids) == len(reply.behavior_logprobs) > 0
        assert reply.message == policy.parse(reply.reply_ids)[0]
    assert replies == policy.reply(requests, seed=0, greedy=False)
    assert replies != policy.reply(requests, seed=1, greedy=False)


def test_a_later_turn_is_read_after_all_that_came_before(policy):
    later = continued(policy, request("Hello"))
    reply = policy.reply([later], seed=5, greedy=False)[0]
    first = later.history[0]
    conversation = [*first.prompt_ids, *first.reply_ids, *reply.prompt_ids, *reply.reply_ids]
    logits = policy.model(input_ids=torch.tensor([conversation])).logits[0]
    logprobs = torch.log_softmax(logits, dim=-1)[-len(reply.reply_ids) - 1 : -1]
    expected = logprobs.gather(-1, torch.tensor(reply.reply_ids)[:, None]).squeeze(-1)
    assert reply.behavior_logprobs == pytest.approx(expected.tolist(), abs=1e-5)


def test_the_process_wide_generator_is_left_alone(policy):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    policy.reply([request()], seed=3, greedy=False)
    assert torch.equal(torch.rand(3), expected)


def test_only_the_generators_that_are_put_back_are_seeded(policy, monkeypatch):
    """`torch.manual_seed` would also seed the generators of every GPU of the process."""
    monkeypatch.setattr(torch, "manual_seed", lambda seed: pytest.fail("seeds all devices"))
    assert len(policy.reply([request()], seed=3, greedy=False)) == 1


@pytest.mark.parametrize("seed", [0, 2**31 - 1, 2**32, 2**63 - 1])
def test_large_seeds_are_seeds(policy, seed):
    assert len(policy.reply([request()], seed=seed, greedy=False)) == 1


def test_settings_that_a_hub_model_brings_do_not_bend_what_is_sampled(make_model, tiny_tokenizer):
    model = make_model()
    configuration = model.generation_config
    configuration.do_sample, configuration.temperature = True, 0.3
    configuration.top_k, configuration.top_p, configuration.min_p = 2, 0.3, 0.4
    configuration.repetition_penalty, configuration.no_repeat_ngram_size = 1.8, 1
    configuration.max_length, configuration.eos_token_id = 7, [11, 12]
    brought = HFPolicy(model, tiny_tokenizer, SamplingSettings(explain_silence=False))
    plain = HFPolicy(make_model(), tiny_tokenizer, SamplingSettings(explain_silence=False))
    requests = [request("Hello", max_tokens=20)] * 8
    ends = {1, 4}  # <end> and <silence>
    differ = 0
    for greedy in (False, True):
        reply = brought.reply(requests, seed=0, greedy=greedy)
        other = plain.reply(requests, seed=0, greedy=greedy)
        for mine, its in zip(reply, other, strict=True):
            # The same draws up to an end token of the model's own, which is kept as an end.
            assert mine.reply_ids == its.reply_ids[: len(mine.reply_ids)]
            assert mine.behavior_logprobs == pytest.approx(
                its.behavior_logprobs[: len(mine.reply_ids)], abs=1e-5
            )
            differ += len(mine.reply_ids) < len(its.reply_ids)
            assert len(mine.reply_ids) == 21 or mine.reply_ids[-1] in ends | {11, 12}
    assert differ


def test_end_tokens_come_from_template_tokenizer_and_model(make_model, qwen_tokenizer):
    base = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(qwen_tokenizer.backend_tokenizer.to_str()),
        eos_token="<|endoftext|>",  # as base models have it, whose template ends turns otherwise
        chat_template=qwen_tokenizer.chat_template,
    )
    model = make_model(vocabulary=len(base))
    model.generation_config.eos_token_id = 9
    policy = HFPolicy(model, base, SamplingSettings())
    ends = model.generation_config.eos_token_id
    assert ends == [base.convert_tokens_to_ids("<|im_end|>"), base.eos_token_id, 9]
    assert policy.write("Hi")[-1] == ends[0]


# Silence and messages


def test_a_silence_word_of_one_special_token_ends_a_reply(policy, tiny_tokenizer):
    silence, end = (tiny_tokenizer.convert_tokens_to_ids(word) for word in ("<silence>", "<end>"))
    assert policy.write("") == (silence,)
    assert policy.parse((silence,))[0] == ""
    hello = policy.write("Hello")
    assert hello[-1] == end and policy.parse(hello)[0] == "Hello"
    assert silence in policy.model.generation_config.eos_token_id
    assert policy.parse((*hello[:-1], silence))[0] == "Hello"


def test_a_silence_word_of_several_tokens_ends_a_reply_with_its_last_token(
    make_policy, qwen_tokenizer
):
    policy = make_policy(tokenizer=qwen_tokenizer)
    written, end = policy.write(""), qwen_tokenizer.eos_token_id
    assert len(written) > 2 and end not in written
    assert policy.reply_end.length(written) == len(written)
    assert policy.parse(written)[0] == ""
    # What stands behind the word is no part of the reply, and what stands before it is said.
    assert policy.parse((*written, *policy.write(" and so on")))[0] == ""
    assert policy.parse(policy.write("No <silence>"))[0] == "No"


def test_a_silence_word_that_was_cut_by_length_is_silence(make_policy, qwen_tokenizer):
    policy = make_policy(tokenizer=qwen_tokenizer)
    written = policy.write("")
    for length in range(1, len(written)):
        assert policy.parse(written[:length])[0] == ""
    # It chose to end there: that is a message.
    assert policy.parse((*written[:2], qwen_tokenizer.eos_token_id))[0] != ""


def test_messages_are_stripped_of_space_and_of_the_end_token_alone(policy, tiny_tokenizer):
    # Other special tokens were sampled as well, so they are said, and the environment counts them.
    ids = tiny_tokenizer.encode(" \n Anna <read><pad> has\n<end>")
    assert policy.parse(ids)[0] == "Anna <read><pad> has"
    assert policy.parse(tiny_tokenizer.encode("  \n<end>"))[0] == ""
    assert policy.parse(())[0] == ""


def test_a_message_that_spells_control_tokens_is_written_as_text(policy, tiny_tokenizer):
    for text in ("<end>", "a<silence>", "<read>x<speak>"):
        written = policy.write(text)
        assert not set(tiny_tokenizer.added_tokens_decoder) & set(written[:-1])
        assert tiny_tokenizer.decode(written[:-1]) == text


@pytest.mark.parametrize("text", ["日本 😀", "a\udc80", " ", "\n", "#### 12"])
def test_any_message_can_be_written(policy, make_policy, word_tokenizer, text):
    assert policy.write(text)[-1] == policy.write("Hello")[-1]
    make_policy(tokenizer=word_tokenizer).write(text)


def test_the_first_text_explains_the_silence_word_if_asked_to(make_policy, qwen_tokenizer):
    policy = make_policy(tokenizer=qwen_tokenizer, explain_silence=True)
    first = qwen_tokenizer.decode(policy.read(request("Hello")))
    assert "Hello\nTo stay silent, reply with <silence> and nothing else.<|im_end|>" in first
    later = request("Hello", history=(Reply("x", (1,), (2,), (0.0,)),), texts=("x",))
    assert "silent" not in qwen_tokenizer.decode(policy.read(later))
    untold = make_policy(tokenizer=qwen_tokenizer)
    assert "silent" not in qwen_tokenizer.decode(untold.read(request("Hello")))


# Limits and budgets


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [(None, 6), (100, 6), (5, 6), (4, 5), (1, 2)],
)
def test_a_reply_has_room_for_the_message_and_its_end(
    make_policy, word_tokenizer, allowed, expected
):
    endless = make_policy(tokenizer=word_tokenizer, max_reply_tokens=6)
    reply = endless.reply([request("w1", max_tokens=allowed)], seed=0, greedy=False)[0]
    assert len(reply.reply_ids) == len(reply.behavior_logprobs) == expected


def test_one_token_replies_work(make_policy):
    policy = make_policy(max_reply_tokens=1)
    replies = policy.reply([request()] * 5, seed=0, greedy=False)
    assert {len(reply.reply_ids) for reply in replies} == {1}


def test_requests_of_one_call_keep_their_own_limits(make_policy, word_tokenizer):
    policy = make_policy(tokenizer=word_tokenizer, max_reply_tokens=9)
    requests = [request("w1", max_tokens=most) for most in (1, 4, None)]
    lengths = [len(reply.reply_ids) for reply in policy.reply(requests, seed=0, greedy=False)]
    assert lengths == [2, 5, 9]


def test_the_environment_cuts_at_most_the_token_that_left_no_room_for_an_end(
    make_policy, make_env, word_tokenizer
):
    """Whole words decode to themselves, so a reply over its limit is over it by exactly one."""
    policy = make_policy(tokenizer=word_tokenizer)
    budget = {"message": 5, "agent": 8}
    settings = {"rounds": 3, "team": {"solver": 1, "helper": 2}, "budget": Budget(**budget)}
    together = [make_env(tokenize=tokenize_with(word_tokenizer), **settings) for _ in range(4)]
    env = together[0]
    episodes = play(together, dict.fromkeys(env.possible_agents, policy), [Start(0)] * 4, seed=0)
    cut_turns = 0
    for episode in episodes:
        tokens_left = dict.fromkeys(env.possible_agents, 8)
        for turn in episode.turns:
            allowed = min(5, tokens_left[turn.agent])
            assert len(turn.reply_ids) == allowed + 1  # this tokenizer has no end token
            assert turn.tokens_said <= allowed
            tokens_left[turn.agent] -= turn.tokens_said
            if turn.cut:
                cut_turns += 1
                assert turn.tokens_said == allowed
    assert cut_turns


def test_no_budget_is_ever_exceeded_by_bytes_that_are_no_text(make_policy, make_env):
    policy = make_policy()
    settings = {"rounds": 3, "budget": Budget(message=4, agent=7, round=10, episode=25)}
    together = [make_env(tokenize=tokenize_with(policy.tokenizer), **settings) for _ in range(6)]
    policies = dict.fromkeys(together[0].possible_agents, policy)
    for episode in play(together, policies, [Start(0)] * 6, seed=1):
        assert all(turn.tokens_said <= 4 for turn in episode.turns)
        assert all(counts <= 7 for counts in episode.tokens_said.values())
        assert sum(episode.tokens_said.values()) <= 25


# Tokenizers that lack something


def test_without_end_and_padding_token_replies_run_to_their_limit(make_policy, word_tokenizer):
    policy = make_policy(tokenizer=word_tokenizer, max_reply_tokens=5)
    replies = policy.reply([request("w1"), request("w2 w3 w4")], seed=0, greedy=False)
    assert [len(reply.reply_ids) for reply in replies] == [5, 5]
    assert policy.pad_id == 0
    assert policy.write("w7") == tuple(word_tokenizer.encode("w7"))
    later = request("w5", history=(replies[0],), texts=("w1",))
    assert len(policy.reply([later], seed=0, greedy=False)[0].reply_ids) == 5


def test_without_padding_token_the_end_token_pads(make_policy, tiny_tokenizer):
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tiny_tokenizer.backend_tokenizer.to_str()),
        eos_token="<end>",
        chat_template=tiny_tokenizer.chat_template,
    )
    policy = make_policy(tokenizer=tokenizer)
    assert policy.pad_id == tokenizer.eos_token_id
    requests = [request("Hello"), request("Hello there, this is longer")]
    together = policy.reply(requests, seed=0, greedy=True)
    alone = [policy.reply([request], seed=0, greedy=True)[0] for request in requests]
    assert [reply.reply_ids for reply in together] == [reply.reply_ids for reply in alone]


def test_a_model_of_learned_positions_speaks_and_goes_on(make_policy):
    policy = make_policy("gpt2", max_reply_tokens=6)
    later = [continued(policy, request("Hello " * n), seed=n) for n in (1, 4)]
    together = policy.reply(later, seed=0, greedy=True)
    alone = [policy.reply([request], seed=0, greedy=True)[0] for request in later]
    assert [reply.reply_ids for reply in together] == [reply.reply_ids for reply in alone]


def test_the_model_is_in_evaluation_mode(make_model, tiny_tokenizer):
    model = make_model("gpt2").train()
    policy = HFPolicy(model, tiny_tokenizer, SamplingSettings())
    assert not policy.model.training


# Settings


@pytest.mark.parametrize(
    "settings",
    [
        {"silence": " "},
        {"max_reply_tokens": 0},
        {"max_reply_tokens": True},
        {"max_reply_tokens": 2.5},
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
    ],
)
def test_speech_out_of_range_is_refused(settings):
    with pytest.raises(SettingError, match=rf"agent\.sampling\.{next(iter(settings))}"):
        SamplingSettings(**settings)
