"""A conversation is what its template shows, and what differs is named when a policy is built."""

from __future__ import annotations

import copy
import re

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from laconic.envs.errors import SettingError
from laconic.learners.agents.chat import ChatCodec
from laconic.learners.agents.sampling import SamplingSettings
from laconic.learners.agents.template import ChatTemplate

CONTROLS = ("<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>")
TURNS = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
LLAMA_2 = (
    "{% for m in messages %}{% if m.role == 'user' %}<s>[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }} </s>{% endif %}{% endfor %}"
)


@pytest.fixture
def make_tokenizer():
    """Return a function that makes a tokenizer of single characters, as SentencePiece splits."""

    def make(template, name="letters"):
        letters = [chr(code) for code in range(33, 127)]
        vocabulary = {letter: i for i, letter in enumerate(["<unk>", "▁", "\n", *letters])}
        backend = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        backend.decoder = decoders.Metaspace(prepend_scheme="first")
        backend.add_special_tokens([AddedToken(word, normalized=False) for word in CONTROLS])
        return PreTrainedTokenizerFast(
            tokenizer_object=backend,
            eos_token="</s>",
            unk_token="<unk>",
            chat_template=template,
            name_or_path=name,
        )

    return make


def words(tokenizer, ids):
    return "".join(tokenizer.convert_ids_to_tokens(list(ids)))


def test_a_demonstration_is_what_the_template_shows_of_a_reply(make_tokenizer, make_model):
    tokenizer = make_tokenizer(LLAMA_2)
    codec = ChatCodec(make_model("llama", len(tokenizer)), tokenizer, SamplingSettings())
    # The space before the reply and the one before its end belong to it.
    assert words(tokenizer, codec.write("Yes")) == "▁Yes▁</s>"
    assert words(tokenizer, codec.write("")) == "▁<silence>"
    assert codec.parse(codec.write("Yes")) == ("Yes", False)
    # One that a model ended without a space is the same message.
    plain = tokenizer.convert_tokens_to_ids([*"Yes", "</s>"])
    assert codec.parse(plain) == ("Yes", False)


def test_a_text_that_is_added_to_a_prompt_becomes_part_of_its_last_message(make_tokenizer):
    for template in (TURNS, LLAMA_2, None):
        chat = ChatTemplate(make_tokenizer(template))
        assert chat.extend_prompt(chat.first_prompt("Hi"), " you") == chat.first_prompt("Hi you")
    with pytest.raises(SettingError, match="expected a prompt that ends with the tokens"):
        chat.extend_prompt((1, 2, 3), "Hi")


def test_a_token_across_the_end_of_a_prompt_is_split_when_a_text_is_added():
    vocabulary = {"<unk>": 0, **{letter: i + 1 for i, letter in enumerate("U ser:HiA\nstanot.u")}}
    vocabulary |= {".\n": 90}
    backend = Tokenizer(models.BPE(vocabulary, [(".", "\n")], unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    chat = ChatTemplate(tokenizer)
    assert 90 in chat.first_prompt("Hi.") and 90 not in chat.first_prompt("Hi")
    assert chat.extend_prompt(chat.first_prompt("Hi."), " you") == chat.first_prompt("Hi. you")


def test_white_space_that_a_template_strips_is_no_part_of_a_prompt(make_tokenizer):
    system = "{% for m in messages %}<|{{ m.role }}|>{{ m.content%s }}<|end|>{% endfor %}"
    system += "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    for strips, text in ((" | trim", "Hi"), (".lstrip()", "Hi▁\n"), ("", "\n▁Hi▁\n")):
        tokenizer = make_tokenizer(system.replace("%s", strips))
        chat = ChatTemplate(tokenizer)
        user = f"<|user|>{text}<|end|><|assistant|>"
        assert words(tokenizer, chat.first_prompt("\n Hi \n")) == user
        assert words(tokenizer, chat.first_prompt("\n Hi \n", "\n Hi \n")) == (
            f"<|system|>{text}<|end|>{user}"
        )
        assert words(tokenizer, chat.next_prompt("\n Hi \n", ())) == f"<|end|>{user}"
        assert words(tokenizer, chat.reply("\n Hi \n")) == text


def test_a_first_prompt_that_the_template_shows_otherwise_is_refused(make_tokenizer):
    # The first message alone has another opening than in a conversation.
    template = "{% if messages | length > 1 %}<s>{% endif %}" + TURNS
    refusal = r"behind '' the template has the tokens \['<\|user\|>', .*and the prompt \['<s>'"
    with pytest.raises(SettingError, match=refusal):
        ChatTemplate(make_tokenizer(template))


@pytest.mark.parametrize(
    ("template", "difference"),
    [
        # Only the newest text is asked to be answered briefly.
        (
            TURNS.replace("<|end|>", "{% if loop.last %} Briefly.{% endif %}<|end|>", 1),
            r"the template has the tokens \['<\|end\|>', .* the prompt \['▁', 'B'",
        ),
        # Turns are numbered.
        (
            TURNS.replace("<|{{", "{{ loop.index }}<|{{", 1),
            r"the template has the tokens \['2', '<\|assistant\|>'",
        ),
    ],
)
def test_earlier_turns_that_are_shown_otherwise_are_noted_once(
    make_tokenizer, caplog, template, difference
):
    tokenizer = make_tokenizer(template, f"noted for {difference[-9:]}")
    ChatTemplate(tokenizer), ChatTemplate(tokenizer)
    [message] = [note for note in caplog.messages if "shows earlier turns otherwise" in note]
    assert re.search(difference, message)


def test_a_usual_conversation_is_not_noted(make_tokenizer, qwen_tokenizer, caplog):
    for template in (TURNS, LLAMA_2):
        ChatTemplate(make_tokenizer(template))
    # The empty thought that asked for an earlier reply is dropped by design.
    ChatTemplate(copy.deepcopy(qwen_tokenizer), {"enable_thinking": False})
    assert not caplog.text
