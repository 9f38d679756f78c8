"""A speaker reads and writes in a model's tokens without weights of its own."""

from __future__ import annotations

import copy

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.agents.chat import ChatCodec, conversation, positions_of
from laconic.learners.agents.hf import SamplingSettings
from laconic.learners.interfaces import Request

LONG = Request("solver_0", "How many?")


@pytest.fixture
def policy(make_model, tiny_tokenizer) -> ChatCodec:
    model = make_model("llama", len(tiny_tokenizer))
    settings = SamplingSettings(explain_silence=False, max_reply_tokens=6)
    return ChatCodec(model, tiny_tokenizer, settings)


@pytest.mark.parametrize("message", ["", "3"])
def test_what_is_written_is_what_is_said(policy, message):
    assert policy.parse(policy.write(message)) == (message, False)


def test_a_conversation_is_read_turn_by_turn(policy):
    first = policy.quote(LONG, "3")
    later = Request("solver_0", "And now?", history=(first,), texts=(LONG.text,))
    assert conversation(later.history) == [*first.prompt_ids, *first.reply_ids]
    # What stands before the second reply has not to be read again.
    assert LONG.text not in policy.tokenizer.decode(policy.read(later))


def test_a_limit_is_that_of_the_speaker_the_environment_and_the_positions(policy):
    assert policy.limit(LONG, [0] * 10) == 6
    assert policy.limit(Request("solver_0", "", max_tokens=2), [0] * 10) == 3
    assert (
        policy.limit(LONG, [0] * (policy.positions - 4))
        == policy.max_new_tokens(policy.positions - 4)
        == 4
    )
    assert policy.limit(LONG, [0] * policy.positions) == 0


def test_positions_are_those_of_the_model(policy, make_model, tiny_tokenizer):
    model = make_model("llama", len(tiny_tokenizer), max_position_embeddings=77)
    assert positions_of(model) == 77 != policy.positions


def test_a_reply_that_had_no_room_at_all_was_not_stopped(policy):
    assert policy.parse(()) == ("", False)


def test_dressing_before_the_silence_word_is_no_free_note(policy):
    ids = (*policy.tokenizer.encode("3. * 3", add_special_tokens=False), *policy.write(""))
    # The words before the silence word are heard, and dressing is not.
    said = policy.reply_with(LONG, (), ids, (0.0,) * len(ids))
    assert said.message and not said.thought
    ids = (*policy.tokenizer.encode("??", add_special_tokens=False), *policy.write(""))
    dressed = policy.reply_with(LONG, (), ids, (0.0,) * len(ids))
    assert (dressed.message, dressed.thought.strip()) == ("", "??")


def test_a_quoted_message_that_does_not_fit_is_truncated(policy):
    reply = policy.quote(LONG, "There are 3 birds in the tree")
    assert len(reply.reply_ids) == 6 and reply.truncated
    assert not policy.quote(LONG, "3").truncated
    assert not policy.quote(LONG, "").truncated


@pytest.fixture
def extended(qwen_tokenizer, make_model):
    """Return a codec whose tokenizer has tokens without embeddings in the model."""

    def make(*words, template=None, **special) -> ChatCodec:
        tokenizer = copy.deepcopy(qwen_tokenizer)
        rows = len(tokenizer)
        tokenizer.add_special_tokens({"additional_special_tokens": list(words), **special})
        if template:
            tokenizer.chat_template = template
        model = make_model("qwen3", rows)
        return ChatCodec(model, tokenizer, SamplingSettings(explain_silence=False))

    return make


def test_rows_are_padded_with_a_token_that_the_model_has(extended, qwen_tokenizer):
    speaker = extended(pad_token="[PAD]")
    assert speaker.tokenizer.pad_token_id == len(qwen_tokenizer)
    assert speaker.pad_id == qwen_tokenizer.eos_token_id


def test_text_that_spells_a_token_without_an_embedding_is_read_as_text(extended, qwen_tokenizer):
    speaker = extended("<|extra|>", "<tool>")
    ids = speaker.read(Request("solver_0", "a <|extra|> b <tool>"))
    assert max(ids) < len(qwen_tokenizer)
    assert "<|extra|> b <tool>" in speaker.tokenizer.decode(ids)


@pytest.mark.parametrize(
    ("words", "template"),
    [
        # The template opens every turn with such a token.
        (
            ("<|turn|>",),
            "{%- for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}<|im_end|>"
            "{%- endfor %}{%- if add_generation_prompt %}<|turn|>assistant\n{%- endif %}",
        ),
        # It only asks for a reply with it.
        (
            ("<|turn|>",),
            "{%- for m in messages %}{{ m.role }}\n{{ m.content }}<|im_end|>"
            "{%- endfor %}{%- if add_generation_prompt %}<|turn|>{%- endif %}",
        ),
    ],
)
def test_a_template_with_a_token_that_the_model_lacks_is_refused(extended, words, template):
    with pytest.raises(SettingError) as caught:
        extended(*words, template=template)
    message = str(caught.value)
    assert "'<|turn|>' (id 300)" in message and "embeddings for 300 tokens" in message
    assert "its tokenizer 301 tokens" in message and "\n" not in message


def test_a_silence_word_that_the_model_has_no_embedding_for_is_refused(extended):
    with pytest.raises(SettingError, match=r"agent\.sampling\.silence needs the token '<silence>'"):
        extended("<silence>")


def test_a_silence_word_that_cannot_be_written_is_refused(word_tokenizer, make_model):
    model = make_model("llama", len(word_tokenizer))
    with pytest.raises(SettingError, match=r"agent\.sampling\.silence='hush' cannot be written"):
        ChatCodec(model, word_tokenizer, SamplingSettings(silence="hush"))
    # This word comes back with spaces between its tokens, and is still the word.
    ChatCodec(model, word_tokenizer, SamplingSettings(silence="<silence>"))
