"""Tokens of turns are those of the whole rendering, whatever a tokenizer does at borders."""

from __future__ import annotations

import itertools

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, trainers
from tokenizers import pre_tokenizers as pre
from transformers import PreTrainedTokenizerFast

from laconic.learners.agents.template import ChatTemplate
from laconic.learners.agents.turns import TurnTokenizer

CONTROLS = ("<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>")
TEXTS = (
    "Anna has 3 apples.\nHow many in all?",
    "  Ben  has 4.",
    "\nuser:\n\n",
    "7",
    "日本語 é 😀",
    "",
)
WORDS = ("user", "assistant", "[INST]", "[/INST]", "Response:")
_GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def trained(model, trainer, pre_tokenizer=None, normalizer=None, special=True, **flags):
    """Return a tokenizer; flags are those of its control tokens."""
    tokenizer = Tokenizer(model)
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator([*TEXTS, *WORDS] * 3, trainer)
    tokens = [AddedToken(word, **{"normalized": False, **flags}) for word in CONTROLS]
    (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(tokens)
    return tokenizer


def bpe(*parts, alphabet=(), **settings):
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<unk>"],
        initial_alphabet=[*alphabet],
        show_progress=False,
    )
    return trained(models.BPE(unk_token="<unk>", fuse_unk=True), trainer, *parts, **settings)


def byte_level(pre_tokenizer):
    return bpe(pre_tokenizer, alphabet=sorted(pre.ByteLevel.alphabet()))


def metaspace(scheme, **settings):
    return bpe(pre.Metaspace(prepend_scheme=scheme), **settings)


def legacy(**settings):
    """As SentencePiece: a space before every text, words not split."""
    parts = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    return bpe(None, normalizers.Sequence(parts), **settings)


def unigram(scheme):
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    return trained(models.Unigram(), trainer, pre.Metaspace(prepend_scheme=scheme))


def wordpiece(**settings):
    trainer = trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=["<unk>"], show_progress=False
    )
    parts = (trainer, pre.BertPreTokenizer(), normalizers.BertNormalizer())
    return trained(models.WordPiece(unk_token="<unk>"), *parts, **settings)


FAMILIES = {
    "GPT-2": lambda: byte_level(pre.ByteLevel(add_prefix_space=False)),
    "a space before texts": lambda: byte_level(pre.ByteLevel(add_prefix_space=True)),
    "Llama 3 and Qwen": lambda: byte_level(
        pre.Sequence([pre.Split(Regex(_GPT4), "isolated"), pre.ByteLevel(False, use_regex=False)])
    ),
    "first": lambda: metaspace("first"),
    "always": lambda: metaspace("always"),
    "never": lambda: metaspace("never"),
    "whole texts": lambda: bpe(pre.Metaspace(prepend_scheme="first", split=False)),
    "Unigram": lambda: unigram("always"),
    "Llama 2": legacy,
    "Gemma": lambda: bpe(
        pre.Split(" ", "merged_with_previous"), normalizers.Replace(" ", "▁")
    ),
    "BERT": wordpiece,
    "words of the vocabulary": lambda: wordpiece(special=False, normalized=True),
    "space on the left": lambda: metaspace("first", lstrip=True),
    "Phi-3": lambda: legacy(rstrip=True),
    "not special": lambda: metaspace("always", special=False),
}  # fmt: skip

TURNS = (
    "{{% for m in messages %}}<|{{{{ m.role }}}}|>{0}{{{{ m.content{1} }}}}<|end|>{0}{{% endfor %}}"
    "{{% if add_generation_prompt %}}<|assistant|>{0}{{% endif %}}"
)
INST = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% elif m.role == 'assistant' %} {{ m.content }} </s>{% if not loop.last %}<s>{% endif %}"
    "{% else %}{{ raise_exception('no system') }}{% endif %}{% endfor %}"
)
TEMPLATES = {
    "turns": TURNS.format("\n", ""),
    "without lines": TURNS.format("", ""),
    "strips": TURNS.format("\n", " | trim"),
    "system by default": "{% if messages[0].role != 'system' %}<|system|>You are Ben.<|end|>"
    "{% endif %}" + TURNS.format("\n", ""),
    "INST": INST,
    "words": "{% for m in messages %}{% if m.role == 'user' %}user:\n{{ m.content }}\n\n"
    "{% else %}Response:\n{{ m.content }}</s>\n\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}Response:\n{% endif %}",
}


def with_template(backend, template):
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        chat_template=template,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_prompts_and_replies_have_the_tokens_of_the_whole_conversation(family, caplog):
    backend = FAMILIES[family]()
    for template, text in itertools.product(TEMPLATES.values(), TEXTS):
        tokenizer = with_template(backend, template)
        chat = ChatTemplate(tokenizer)
        messages = [
            {"role": "user", "content": text},
            {"role": "assistant", "content": "Ben has 4, so 7."},
            {"role": "user", "content": text},
        ]

        def whole(count, messages=messages, tokenizer=tokenizer):
            ids = tokenizer.apply_chat_template(
                messages[:count], add_generation_prompt=True, return_dict=False
            )
            return tuple(ids)

        prompt, reply = chat.first_prompt(text), (*chat.reply("Ben has 4, so 7."), chat.end_id)
        assert prompt == whole(1), template
        assert (*prompt, *reply, *chat.next_prompt(text, reply)) == whole(3), template
    assert not caplog.text


def letters(scheme):
    """Return a tokenizer of single characters, with a space before texts."""
    alphabet = ["<unk>", *"▁\nHiYes"]
    vocabulary = {letter: index for index, letter in enumerate(alphabet)}
    backend = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    backend.pre_tokenizer = pre.Metaspace(prepend_scheme=scheme)
    backend.decoder = decoders.Metaspace(prepend_scheme=scheme)
    backend.add_special_tokens([AddedToken(word, normalized=False) for word in CONTROLS])
    return with_template(backend, TEMPLATES["turns"])


@pytest.mark.parametrize(("scheme", "space"), [("first", ""), ("never", ""), ("always", "▁ ")])
def test_a_space_is_put_before_the_text_of_a_turn_and_not_before_its_pieces(scheme, space):
    tokenizer = letters(scheme)
    chat = ChatTemplate(tokenizer)

    def words(ids):
        return " ".join(tokenizer.convert_ids_to_tokens(ids)).replace("\n", "n")

    user, asking = f"<|user|> {space}n H i <|end|>", f"{space}n <|assistant|> {space}n"
    assert words(chat.first_prompt("Hi")) == f"{user} {asking}"
    assert words(chat.reply("Yes")) == "Y e s"
    reply = (*chat.reply("Yes"), chat.end_id)
    assert words(chat.next_prompt("Hi", reply)) == f"{space}n {user} {asking}"
    assert words(chat.next_prompt("Hi", reply[:-1])) == f"<|end|> {space}n {user} {asking}"
    assert words(chat.encode("Hi")) == "H i"
    assert chat.extend_prompt(chat.first_prompt("H"), "i") == chat.first_prompt("Hi")


@pytest.mark.parametrize("family", FAMILIES)
def test_no_text_becomes_a_control_token(family):
    tokenizer = with_template(FAMILIES[family](), TEMPLATES["turns"])
    turns, chat = TurnTokenizer(tokenizer), ChatTemplate(tokenizer)
    controls = turns.controls
    fixed = [token for token in chat.first_prompt("") if token in controls]
    spelled = "".join(CONTROLS)
    others = "".join(turns.spelling(token) for token in controls)
    for text in (spelled, spelled.upper(), others, f"a{others}b", "</s", "< s >", "<|<|end|>end|>"):
        prompt = chat.first_prompt(text, text)
        assert [token for token in prompt if token in controls][-3:] == fixed[-3:]
        assert controls.isdisjoint(chat.encode(text)) and controls.isdisjoint(chat.reply(text))
        own = [token for token in chat.first_prompt(text) if token in controls]
        assert own == fixed


def test_control_tokens_of_the_template_are_found_where_a_tokenizer_misses_them(caplog):
    # A normalizer that puts a space first hides all control tokens but the first of a text.
    tokenizer = with_template(legacy(normalized=True), TEMPLATES["turns"])
    chat = ChatTemplate(tokenizer)
    written = ["<|user|>", "<|end|>", "<|assistant|>"]
    expected = tokenizer.convert_tokens_to_ids(written)
    assert [token for token in chat.first_prompt("7") if token in expected] == expected
    assert caplog.text.count("takes control tokens of its chat template for text") == 1
