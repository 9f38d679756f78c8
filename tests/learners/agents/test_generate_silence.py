"""Sampling stops at the silence word: what is kept, how likely it was, and what comes next."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
import torch

from laconic import envs
from laconic.envs.dialogue.messages import SilenceWord
from laconic.learners.advantages.credit import own
from laconic.learners.agents import recipes, tiny
from laconic.learners.agents.chat import ReplyEnd, tokenize_with
from laconic.learners.agents.generate import Sampling, generate
from laconic.learners.interfaces import Request
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.logprobs import recomputed
from laconic.learners.training.sequences import episode_sequences

ASKED = Request("solver_0", "How many?")
END, FIRST, SECOND, LONGER = 1, 7, 9, 11
PIECES = {END: "", FIRST: "<", SECOND: ">", LONGER: ">>"}


@pytest.fixture
def reply_end() -> ReplyEnd:
    """Return the word `<>` in a vocabulary of 24 tokens of which all others are the letter x."""

    def text_of(ids):
        return "".join(PIECES.get(token, "x") for token in ids)

    return ReplyEnd(SilenceWord("<>"), text_of, lambda token: text_of([token]), (END,))


@pytest.fixture
def eager(make_model):
    """Return a model that often writes the word: `<` after anything, and `>` or `>>` after `<`."""
    model = make_model(vocabulary=24)
    read: list[torch.Tensor] = []
    model.base_model.register_forward_pre_hook(
        lambda _, arguments, keywords: read.append(keywords["input_ids"]), with_kwargs=True
    )

    def lean(module, inputs, logits):
        logits = 0.2 * logits
        after = read[-1][:, -logits.shape[1] :] == FIRST
        logits[..., FIRST] += 2.0
        logits[..., END] += 1.0
        for token in (SECOND, LONGER):
            logits[..., token] += 3.0 * after
        return logits

    model.get_output_embeddings().register_forward_hook(lean)
    return model


@torch.no_grad()
def recomputed_alone(model, prompt, reply) -> torch.Tensor:
    logits = model(input_ids=torch.tensor([[*prompt, *reply]])).logits[0].double()
    logprobs = torch.log_softmax(logits, dim=-1)[len(prompt) - 1 : -1]
    return logprobs.gather(-1, torch.tensor(reply)[:, None]).squeeze(-1)


@pytest.mark.parametrize("rows", [4, 96])
def test_rows_end_at_the_word_and_no_other_row_notices(eager, reply_end, rows):
    prompts = [((5,), (5, 6, 7, 8, 9, 10), (3, 4), (FIRST,))[row % 4] for row in range(rows)]
    limits = [(3, 12, 7)[row % 3] for row in range(rows)]
    sampling = Sampling(12, 1.0, False, (END,), 0, reply_end)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        replies = generate(eager, prompts, sampling, limits)
    ends = {"word": 0, "longer": 0, "end": 0, "limit": 0}
    for prompt, limit, (ids, logprobs) in zip(prompts, limits, replies, strict=True):
        pairs = list(zip(ids, ids[1:], strict=False))
        words = [at + 2 for at, pair in enumerate(pairs) if pair in ((7, 9), (7, 11))]
        assert words in ([], [len(ids)]) and END not in ids[:-1]
        if words:
            ends["word" if ids[-1] == SECOND else "longer"] += 1
        else:
            ends["end" if ids[-1] == END else "limit"] += 1
            assert ids[-1] == END or len(ids) == limit
        torch.testing.assert_close(
            torch.tensor(logprobs, dtype=torch.float64),
            recomputed_alone(eager, prompt, ids),
            rtol=1e-5,
            atol=1e-5,
        )
    assert rows == 4 or min(ends.values()) > 3, ends


def test_a_word_that_a_prompt_begins_does_not_end_the_reply(eager, reply_end):
    sampling = Sampling(1, 1.0, False, (END,), 0, reply_end)
    [(ids, _), *_] = generate(eager, [(FIRST,)] * 40, sampling, [1] * 40)
    assert len(ids) == 1
    assert reply_end.length((SECOND,)) is None


def test_without_the_word_nothing_is_sampled_differently(make_model, reply_end):
    """What watches for a word that never comes draws no number and stops no row."""
    model = make_model(vocabulary=24)
    with_word = Sampling(12, 1.0, False, (END, SECOND, LONGER), 0, reply_end)
    results = []
    for sampling in (with_word, replace(with_word, reply_end=None)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            results.append(generate(model, [(5, 6), (3,)] * 20, sampling))
    assert results[0] == results[1]


@pytest.fixture
def speller(make_policy, qwen_tokenizer):
    """Return a policy whose silence word is the letter e, alone or within a longer token."""
    layers = {"num_hidden_layers": 2}
    return make_policy(tokenizer=qwen_tokenizer, model=layers, silence="e", max_reply_tokens=12)


def test_a_reply_is_cut_behind_the_token_in_whose_middle_the_word_ends(speller):
    tokenizer = speller.tokenizer
    replies = speller.reply([ASKED] * 128, seed=0, greedy=False)
    ended = [
        reply
        for reply in replies
        if reply.reply_ids[-1] != tokenizer.eos_token_id
        and "e" in tokenizer.decode(reply.reply_ids)
    ]
    middle = 0
    for reply in ended:
        pieces = [tokenizer.decode([token]) for token in reply.reply_ids]
        assert not any("e" in piece for piece in pieces[:-1]) and "e" in pieces[-1]
        whole = tokenizer.decode(reply.reply_ids).replace("<think>", "").replace("</think>", "")
        if "think>" not in tokenizer.decode(reply.reply_ids):
            assert reply.message in (whole.partition("e")[0].strip(), "")
        assert "e" not in reply.message and not reply.truncated
        assert len(reply.reply_ids) == len(reply.behavior_logprobs) <= 12
        middle += not pieces[-1].endswith("e")
    assert len(ended) > 20 and middle > 3
    assert any(reply.truncated for reply in replies if reply not in ended)


def reply(policy, text, request=ASKED):
    ids = policy.tokenizer.encode(text.replace("§", "<|im_end|>"), add_special_tokens=False)
    return policy.reply_with(request, (), tuple(ids), tuple(-float(i) for i in range(len(ids))))


@pytest.mark.parametrize(
    ("text", "message", "remaining"),
    [
        # The random tokenizer has a token for each of these characters.
        ("QXZ<silence>", "QXZ", "QXZ<silence>"),
        ("QXZ<silence>QXZ§", "QXZ", "QXZ<silence>"),
        ("**<Silence>**§", "", "**<Silence>"),
        ("solver_0: <silence/>§", "", "solver_0: <silence/>"),
        ("helper_0: <silence/>§", "helper_0:", "helper_0: <silence/>"),
        ("Q<|im_start|>X§", "Q<|im_start|>X", "Q<|im_start|>X§"),
        ("<sil<|im_start|>ence>§", "<sil<|im_start|>ence>", "<sil<|im_start|>ence>§"),
    ],
)
def test_tokens_and_logprobs_are_cut_alike(make_policy, qwen_tokenizer, text, message, remaining):
    policy = make_policy(tokenizer=qwen_tokenizer, max_reply_tokens=64)
    result = reply(policy, text)
    assert (result.message, result.truncated) == (message, False)
    expected = reply(policy, remaining)
    assert result.reply_ids == expected.reply_ids
    assert result.behavior_logprobs == tuple(-float(i) for i in range(len(expected.reply_ids)))


def test_a_word_with_the_last_token_of_the_budget_is_whole(make_policy, qwen_tokenizer):
    policy = make_policy(tokenizer=qwen_tokenizer, max_reply_tokens=64)
    size = len(policy.write(""))
    fits = policy.quote(replace(ASKED, max_tokens=size - 1), "")
    assert len(fits.reply_ids) == size and (fits.message, fits.truncated) == ("", False)
    # One token less: stopped within the word, which is silence that its limit stopped.
    short = policy.quote(replace(ASKED, max_tokens=size - 2), "")
    assert len(short.reply_ids) == size - 1 and (short.message, short.truncated) == ("", True)


def test_the_next_prompt_ends_a_silent_turn_that_did_not_end_itself(make_policy, qwen_tokenizer):
    policy = make_policy(tokenizer=qwen_tokenizer, max_reply_tokens=64)
    silent, words = policy.quote(ASKED, ""), policy.quote(ASKED, "3")
    later = replace(ASKED, text="And now?", texts=("How many?",))
    after_silence = policy.tokenizer.decode(policy.read(replace(later, history=(silent,))))
    after_words = policy.tokenizer.decode(policy.read(replace(later, history=(words,))))
    turn = "\n<|im_start|>user\nAnd now?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert after_silence == "<|im_end|>" + turn
    # The end token of a message was sampled, so the prompt does not repeat it.
    assert after_words == turn


def test_what_is_trained_is_what_was_kept_in_episodes_of_different_lengths(speller, make_env):
    tokenize = tokenize_with(speller.tokenizer)
    environments = [
        make_env(team={"solver": 1, "helper": 1}, rounds=1 + place % 3, tokenize=tokenize)
        for place in range(12)
    ]
    policies = dict.fromkeys(environments[0].possible_agents, speller)
    episodes = play(environments, policies, [Start(0, "fruit"), Start(1, "birds")] * 6, seed=1)
    assert {len(episode.turns) for episode in episodes} == {2, 4, 6}
    end, silent_then_more = speller.tokenizer.eos_token_id, 0
    for index, episode in enumerate(episodes):
        for sequence in episode_sequences(episode, index, own, "episode", None):
            mine = [turn for turn in episode.turns if turn.agent == sequence.agent]
            generated = [
                token
                for token, counts in zip(sequence.token_ids, sequence.generated, strict=True)
                if counts
            ]
            assert generated == [token for turn in mine for token in turn.reply_ids]
            for turn, after in zip(mine, mine[1:], strict=False):
                ended_by_word = turn.reply_ids[-1] != end
                assert (after.prompt_ids[0] == end) == ended_by_word
                silent_then_more += ended_by_word and not turn.truncated
            [again] = recomputed(speller.model, [sequence], speller.pad_id, 1.0, 4096)
            assert again.behavior_logprobs == pytest.approx(sequence.behavior_logprobs, abs=2e-5)
    assert silent_then_more > 5


def test_nothing_that_is_generated_is_free(make_policy, qwen_tokenizer, make_env):
    """A message has at least a token for each special token that was sampled within it."""
    policy = make_policy(tokenizer=qwen_tokenizer)
    env = make_env(team={"solver": 1}, rounds=1, tokenize=tokenize_with(qwen_tokenizer))
    env.reset(seed=0)
    sampled = reply(policy, "<|im_start|>Q<|endoftext|><|im_start|>X§")
    *_, infos = env.step({"solver_0": sampled.message})
    # `<|im_start|>Q<|endoftext|><|im_start|>X` in characters: 12 + 1 + 13 + 12 + 1.
    assert sampled.message == "<|im_start|>Q<|endoftext|><|im_start|>X"
    assert infos["solver_0"]["tokens_said"] >= 5


RECORDED = "f8a80dd19ce2b23da91b0757ace58423e716dcfc0f922beace6dc51892f6b9ff"
"""SHA-256 of agents, rounds, reply tokens and messages."""
SHIPPED = (recipes.SHIPPED / "model.safetensors").is_file()


@pytest.mark.skipif(not SHIPPED, reason="the shipped weights are not here")
def test_the_shipped_policy_plays_as_it_did_before_the_word_could_end_a_message():
    """The settings of `laconic train`, 8 episodes; recorded before the rule was written.

    The silence word of this policy is a single end token.
    """
    team = tiny.TinyTeam()

    def make():
        return envs.make(
            "gsm8k",
            free=True,
            tokenize=team.tokenize,
            instructions="brief",
            information="split",
            topology="star",
            schedule=["helper", "solver"],
            budget=envs.Budget(message=48, episode=192),
            reward=envs.Reward(price=0.5),
            generator={"level": 1, "distractors": 1},
        )

    environments = [make() for _ in range(8)]
    starts = [Start(seed) for seed in range(8)]
    episodes = play(environments, team.policies(environments[0]), starts, seed=0)
    turns = [turn for episode in episodes for turn in episode.turns]
    assert (len(turns), sum(not turn.message for turn in turns)) == (32, 3)
    assert sum(len(turn.reply_ids) for turn in turns) == 620
    text = repr([(turn.agent, turn.round, turn.reply_ids, turn.message) for turn in turns])
    assert hashlib.sha256(text.encode()).hexdigest() == RECORDED
    logprobs = sum(sum(turn.behavior_logprobs) for turn in turns)
    assert logprobs == pytest.approx(-75.22887602102855, abs=1e-3)
