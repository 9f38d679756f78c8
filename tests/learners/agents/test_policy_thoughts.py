"""A tiny random Qwen3 that thinks: its messages, costs and training."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.reward import Reward
from laconic.extras.swarm.exchange import share
from laconic.learners.advantages.credit import own
from laconic.learners.agents.chat import tokenize_with
from laconic.learners.episode import Group
from laconic.learners.interfaces import Request
from laconic.learners.rollout.play import Start, play, replies_of
from laconic.learners.training.logprobs import recomputed
from laconic.learners.training.sequences import episode_sequences

THINKS = """\
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}
{%- if m.reasoning_content and loop.last %}
{{- '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}
{{- m.content }}{{ '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}
{%- if enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}"""
OPENS = """\
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{{ m.content.split('</think>')[-1] }}
{{- '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}"""
ASKED = Request("solver_0", "How many?", max_tokens=6)


@pytest.fixture
def thinker(make_policy, qwen_tokenizer):
    """Makes a policy that thinks; a marker is as likely as a fifth of all other tokens together."""

    def make(template=THINKS, thinking=True, **sampling):
        tokenizer = copy.deepcopy(qwen_tokenizer)
        tokenizer.chat_template = template
        policy = make_policy(
            "qwen3",
            tokenizer,
            {"num_hidden_layers": 1},
            **{"max_reply_tokens": 7, "thinking_tokens": 9, "silence": "~", **sampling},
            template={"enable_thinking": thinking},
        )
        marks = tokenizer.convert_tokens_to_ids(["<think>", "</think>", "<|im_end|>"])
        head = policy.model.get_output_embeddings()
        bias = torch.zeros(head.out_features)
        bias[marks] = 4.0
        head.register_forward_hook(lambda module, inputs, out: out * 0.2 + bias)
        return policy

    return make


def reply(policy, text, request=ASKED):
    """Return the reply of these tokens; `|` ends it."""
    ids = policy.tokenizer.encode(text.replace("|", "<|im_end|>"), add_special_tokens=False)
    return policy.reply_with(request, (), tuple(ids), (0.0,) * len(ids))


@pytest.mark.parametrize(
    ("text", "thought", "message"),
    [
        ('** ## "~', '** ## "', ""),
        ("<think>a</think>**~", "a**", ""),
        ("   7|", "  ", "7"),
        ("7  \n~", " \n", "7"),
        # One space and a blank line are legal.
        (" 7\n\n|", "", "7"),
        ("~", "", ""),
    ],
)
def test_what_no_agent_hears_is_charged_as_a_thought(thinker, text, thought, message):
    result = reply(thinker(), text)
    assert (result.thought, result.message) == (thought, message)


@pytest.mark.parametrize(
    ("text", "thought", "message", "truncated"),
    [
        ("<think>3 + 4</think>\n\n7|", "3 + 4", "7", False),
        ("<think>a</think>~|", "a", "", False),
        ("<think>a</think>|", "a", "", False),
        ("<think></think>7|", "", "7", False),
        ("7|", "", "7", False),
        # Never closed: silence, whether a limit or an end token stopped it.
        ("<think>3 + 4", "3 + 4", "", True),
        ("<think>3|", "3", "", True),
        # Stopped in its message it says what there is of it.
        ("<think>a</think>in all", "a", "in all", True),
        ("<think>a</think>", "a", "", True),
        # Wherever it stands a thought is private.
        ("in <think>a</think>all|", "a", "in all", False),
        # Further markers are text of the thought, so that none is free.
        ("<think>a<think>b</think>c</think>d|", "ab</ think></ think>", "cd", False),
        ("<think>a</think>7<think></think>|", "a<think></ think>", "7", False),
        # The silence word ends the reply, but not within a thought.
        ("<think>a~b</think>7|", "a~b", "7", False),
        ("<think>a</think>7~", "a", "7", False),
        ("<think>a</think>7~8<think>b</think>|", "a", "7", False),
    ],
)
def test_a_thought_is_no_part_of_the_message(thinker, text, thought, message, truncated):
    result = reply(thinker(), text)
    assert (result.thought, result.message, result.truncated) == (thought, message, truncated)


def test_a_template_that_opens_the_thought_counts_as_open(thinker):
    policy = thinker(OPENS)
    result = reply(policy, "3 + 4</think>7|")
    assert (result.thought, result.message, result.truncated) == ("3 + 4", "7", False)
    assert reply(policy, "7|").message == "" and reply(policy, "7|").truncated
    # What it is made to say, or not to say, stands behind the end of the thought.
    for message in ("7", ""):
        quoted = policy.quote(ASKED, message)
        assert (quoted.thought, quoted.message, quoted.truncated) == ("", message, False)
        assert policy.tokenizer.decode(policy.write(message)).startswith("</think>\n\n")


def test_thought_and_message_have_their_own_limits(thinker):
    policy = thinker()
    longest = reply(policy, "<think>QXZQXZQXZ</think>HJKHJ|")
    assert (longest.thought, longest.message) == ("QXZQXZQXZ", "HJKHJ")
    # The tenth token of a thought is cut, and with it the message; the eighth of a message is cut.
    assert reply(policy, "<think>QXZQXZQXZQ</think>7|").message == ""
    assert reply(policy, "<think>a</think>HJKHJKHJ|").message == "HJKHJKH"
    tight = replace(ASKED, max_tokens=2, max_thought_tokens=3)
    assert reply(policy, "<think>QXZQ</think>7|", tight).truncated
    assert reply(policy, "<think>QXZ</think>HJKH|", tight).message == "HJK"
    # 9 and two markers, 6 and the end.
    assert policy.limit(ASKED, ()) == 9 + 2 + 7 and policy.limit(tight, ()) == 3 + 2 + 3
    assert thinker(OPENS).limit(tight, ()) == 3 + 1 + 3
    assert thinker(thinking=False).limit(tight, ()) == 3


def test_replies_keep_within_all_limits(thinker):
    policy = thinker()
    replies = policy.reply([ASKED] * 256, seed=0, greedy=False)
    marks = policy._thoughts
    thought, thought_then_words, silent = (0, 0, 0)
    for reply in replies:
        inside = marks.inside(reply.reply_ids)
        assert sum(inside) <= 9 + 2 and len(inside) - sum(inside) <= 7
        assert len(reply.behavior_logprobs) == len(reply.reply_ids)
        assert "<think>" not in reply.message and "</think>" not in reply.message
        thought += bool(reply.thought)
        thought_then_words += bool(reply.thought and reply.message)
        silent += bool(reply.thought and not reply.message and not reply.truncated)
    # Thoughts before words, and thoughts before silence.
    assert thought > 40 and thought_then_words and silent


@pytest.fixture
def played(thinker, make_env):
    """Play an episode of two thinkers; return it with its policy."""

    def make(template=THINKS, seed=0, **settings):
        policy = thinker(template)
        settings = {"team": {"solver": 1, "helper": 1}, "rounds": 2, **settings}
        tokenize = tokenize_with(policy.tokenizer)
        together = [make_env(tokenize=tokenize, **settings) for _ in range(8)]
        policies = dict.fromkeys(together[0].possible_agents, policy)
        return policy, together[0], play(together, policies, [Start(0, "fruit")] * 8, seed=seed)

    return make


@pytest.mark.parametrize("template", [THINKS, OPENS])
def test_what_is_trained_is_what_was_sampled_token_for_token(played, template):
    policy, _, episodes = played(template)
    turns = [turn for episode in episodes for turn in episode.turns]
    assert any(turn.thought and turn.round for turn in turns)
    for index, episode in enumerate(episodes):
        for sequence in episode_sequences(episode, index, own, "episode", None):
            mine = [turn for turn in episode.turns if turn.agent == sequence.agent]
            # The conversation holds the thoughts of earlier turns, exactly as they were sampled.
            assert sequence.token_ids == tuple(
                token for turn in mine for token in (*turn.prompt_ids, *turn.reply_ids)
            )
            sampled = sum(len(turn.reply_ids) for turn in mine)
            assert sum(sequence.generated) == sampled
            [again] = recomputed(policy.model, [sequence], policy.pad_id, 1.0, 4096)
            assert again.behavior_logprobs == pytest.approx(sequence.behavior_logprobs, abs=2e-5)


def test_thoughts_are_counted_charged_and_heard_by_nobody(played):
    price = Reward(price=1.0, normalizer=1.0, exempt_answer=False)
    policy, env, episodes = played(reward=price)
    count = env.tokenize
    assert sum(sum(episode.tokens_thought.values()) for episode in episodes) > 20
    for episode in episodes:
        for agent in env.possible_agents:
            mine = [turn for turn in episode.turns if turn.agent == agent]
            assert episode.tokens_thought[agent] == sum(turn.tokens_thought for turn in mine)
            for turn in mine:
                assert turn.tokens_thought == len(count(turn.thought))
                paid = -turn.tokens_said - turn.tokens_thought
                value = episode.rewards[agent][turn.round] - paid
                assert value == 0.0 or turn.round + 1 == len(episode.rewards[agent])
    text = "".join(turn.read for episode in episodes for turn in episode.turns)
    assert "think>" not in text


def test_free_thoughts_cost_nothing(played):
    _, _, dear = played(reward=Reward(price=1.0, normalizer=1.0))
    _, _, cheap = played(reward=Reward(price=1.0, normalizer=1.0, thought_weight=0.0))
    for paid, free in zip(dear, cheap, strict=True):
        spared = sum(free.returns.values()) - sum(paid.returns.values())
        assert spared == pytest.approx(sum(paid.tokens_thought.values()))


def test_a_cap_of_the_environment_holds_in_the_replies(played):
    _, _, episodes = played(budget=Budget(thought=2))
    turns = [turn for episode in episodes for turn in episode.turns]
    assert max(turn.tokens_thought for turn in turns) <= 2
    # Who would have gone on is stopped and silent.
    assert any(turn.truncated and turn.thought and not turn.message for turn in turns)


def test_replayed_turns_think_the_same(played):
    policy, env, [episode, *_] = played()
    replies = replies_of(episode.turns)
    assert any(value.thought for value in replies.values())
    [again] = play([env], {}, [Start(0, "fruit", replies)], seed=5)
    assert again == episode


def test_thoughts_stay_at_home(played):
    _, env, episodes = played()
    shared = share("sums", Group("fruit", tuple(episodes)), env.tasks["fruit"], 0)
    turns = [turn for episode in episodes for turn in episode.turns]
    messages = [message for episode in shared.episodes for message in episode]
    for turn, message in zip(turns, messages, strict=True):
        assert message.text == turn.message
        assert (message.logprob is None) == bool(turn.thought)


def test_with_thinking_off_replies_are_those_of_a_template_without_thoughts(thinker):
    off, bare = thinker(thinking=False), thinker(thinking=False)
    bare._thoughts = None
    requests = [replace(ASKED, text=f"How many {i}?") for i in range(32)]
    reply, other = (p.reply(requests, seed=3, greedy=False) for p in (off, bare))
    assert [r.reply_ids for r in reply] == [r.reply_ids for r in other]
    marks = {off._template.thoughts.begin, off._template.thoughts.end}
    # A mark that was sampled all the same is left out of one message and stands in the other.
    pairs = [(a, b) for a, b in zip(reply, other, strict=True) if not marks & {*a.reply_ids}]
    assert len(pairs) >= 12
    assert [a.message for a, _ in pairs] == [b.message for _, b in pairs]
