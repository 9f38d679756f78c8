"""Construction of the tiny model and its tokenizer, untrained.

The tokenizer is byte-level, so it reads any text (byte pair encoding, arXiv 1508.07909). Every
digit is a token, so the model can learn to add digit by digit. The architecture is Llama
(arXiv 2302.13971), scaled down.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

SILENCE, END, PAD, READ, SPEAK = "<silence>", "<end>", "<pad>", "<read>", "<speak>"
_WORDS = r" ?\d| ?[^\W\d_]+| ?[^\s\w]+|_|\s"
_TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'assistant' %}"
    f"{{{{ message.content }}}}{END}"
    f"{{% else %}}{READ}{{{{ message.content }}}}{SPEAK}"
    "{% endif %}{% endfor %}"
)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Size of the tiny model."""

    vocabulary: int = 768
    """Tokens of the tokenizer, including 256 bytes and 5 control tokens."""
    hidden: int = 128
    """Width of the hidden states."""
    layers: int = 4
    """Transformer blocks."""
    heads: int = 4
    """Attention heads; each has its own key-value head."""
    intermediate: int = 256
    """Width of the feed-forward layers."""
    positions: int = 1024
    """Maximum tokens of a conversation."""


def build_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Learn a byte-level BPE tokenizer.

    Args:
        texts: texts that the tokenizer should encode in few tokens.
        vocabulary: maximum size of the vocabulary.
    """
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, END, READ, SPEAK, SILENCE],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[READ, SPEAK, SILENCE],
        chat_template=_TEMPLATE,
    )


def build_model(
    tokenizer: PreTrainedTokenizerFast, model_config: ModelConfig, seed: int
) -> LlamaForCausalLM:
    """Build a model with random weights.

    Args:
        tokenizer: tokenizer with the vocabulary and the control tokens.
        model_config: size of the model.
        seed: seed of the weights; the process-wide generator stays untouched.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=model_config.hidden,
        intermediate_size=model_config.intermediate,
        num_hidden_layers=model_config.layers,
        num_attention_heads=model_config.heads,
        num_key_value_heads=model_config.heads,
        max_position_embeddings=model_config.positions,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        initializer_range=0.05,
    )
    with torch.random.fork_rng(devices=[]):
        # The generator of the CPU only; torch.manual_seed would also seed every GPU.
        torch.default_generator.manual_seed(seed)
        return LlamaForCausalLM(config)
