"""Texts taken apart into tokens and cut, by tokenizers of several kinds."""

from __future__ import annotations

import itertools
import random

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from laconic.envs.dialogue.budget import cut
from laconic.learners.agents.chat import tokenize_with


def byte_level(trim_offsets: bool | None) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if trim_offsets is not None:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["hello there world, hello there"] * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


@pytest.fixture(scope="module")
def tokenizers(tiny_tokenizer, qwen_tokenizer, word_tokenizer):
    return [
        tiny_tokenizer,
        qwen_tokenizer,
        word_tokenizer,
        byte_level(None),
        byte_level(True),
        byte_level(False),
    ]


def random_texts() -> list[str]:
    draw = random.Random(5)
    letters = "ab é\u0301日本😀👩‍👩‍👧\n\t  #12,<>_|\ud83d\udc80\0\u200d\ufeffﷺ"
    words = ["hello", " there", "<silence>", "<|im_end|>", "<end>", "World", "  ", "w3"]
    return [
        "".join(draw.choice([draw.choice(letters), draw.choice(words)]) for _ in range(length))
        for length in (0, 1, 2, 3, 5, 8, 13, 21) * 6
    ]


def test_tokens_join_back_to_the_text_and_are_those_of_the_tokenizer(tokenizers):
    for tokenizer in tokenizers:
        tokenize = tokenize_with(tokenizer)
        for text in random_texts():
            result = tokenize(text)
            assert "".join(result) == text
            assert len(result) == len(list(result))
            # Asked in the way of everybody else.
            spans = tokenizer(
                text.encode("utf-8", "replace").decode(),
                add_special_tokens=False,
                split_special_tokens=True,
                return_offsets_mapping=True,
            )["offset_mapping"]
            assert len(result) == max(len(spans), bool(text))
            ends = list(itertools.accumulate(map(len, result)))
            borders = zip(ends, spans, spans[1:], strict=False)
            assert all(end == min(first[1], second[0]) for end, first, second in borders)


def test_a_cut_at_any_border_stays_within_the_limit(tokenizers):
    for tokenizer in tokenizers:
        tokenize = tokenize_with(tokenizer)
        for text in random_texts():
            for limit in range(len(tokenize(text)) + 1):
                head, count = cut(text, limit, tokenize)
                assert text.startswith(head)
                assert count == len(tokenize(head)) <= limit


def test_a_cut_takes_all_the_tokens_there_is_room_for():
    """Also where a tokenizer counts no space to its tokens, as GPT-2's does."""
    for trim_offsets in (None, True, False):
        tokenize = tokenize_with(byte_level(trim_offsets))
        assert list(tokenize("hello there world")) == ["hello", " there", " world"]
        for limit, text in ((1, "hello"), (2, "hello there"), (3, "hello there world")):
            assert cut("hello there world", limit, tokenize) == (text, limit)


def test_a_character_of_several_tokens_belongs_to_the_last_of_them(tiny_tokenizer):
    tokenize = tokenize_with(tiny_tokenizer)
    result = tokenize("é😀a")
    assert list(result) == ["", "é", "", "", "", "😀", "a"]
    assert (result[1], result[-2:], len(result)) == ("é", ("😀", "a"), 7)
    assert list(tokenize("")) == [] and len(tokenize("")) == 0


def test_what_batches_set_on_the_tokenizer_is_no_part_of_a_text():
    tokenizer = byte_level(None)
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    tokenizer(["hello there", "h"], padding="max_length", max_length=9, truncation=True)
    before = tokenize_with(tokenizer)
    tokenizer(["hello there"], padding="max_length", max_length=1, truncation=True)
    for tokenize in (before, tokenize_with(tokenizer)):
        assert list(tokenize("hello there")) == ["hello", " there"]
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 1
