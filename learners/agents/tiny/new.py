"""Team of untrained weights: a small random model with a tokenizer learned from a teacher's texts.

A warm start (`learner=imitation`) trains it. The tokenizer is byte-level, so it reads any text
(byte pair encoding, arXiv 1508.07909). Every digit is a token, so the model can learn to add digit
by digit. The architecture is Llama (arXiv 2302.13971), scaled down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pettingzoo import ParallelEnv
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from laconic.envs.checks import Model
from laconic.envs.dialogue.budget import Tokenize, split_words
from laconic.envs.worlds import join_act
from laconic.learners.agents.hf import HFTeam
from laconic.learners.agents.recipes import END, PAD, READ, SILENCE, SPEAK, TEMPLATE
from laconic.learners.agents.sampling import SamplingSettings
from laconic.learners.agents.scripted import Teacher, teacher_policy
from laconic.learners.agents.tiny import TinySamplingSettings, TinyTeam
from laconic.learners.rollout.play import Start, play

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    from laconic.learners.agents.policy import HFPolicy

_WORDS = r" ?\d| ?[^\W\d_]+| ?[^\s\w]+|_|\s"


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
    add_prefix_space: bool = False
    """Whether every text begins with a space, so that a word is the same token everywhere: a policy
    that repeats words of others learns to copy them soon, and otherwise hardly at all."""


def build_tokenizer(
    texts: Iterable[str], vocabulary: int, add_prefix_space: bool = False
) -> PreTrainedTokenizerFast:
    """Learn a byte-level BPE tokenizer.

    Args:
        texts: texts that the tokenizer should encode in few tokens.
        vocabulary: maximum size of the vocabulary.
        add_prefix_space: whether every text begins with a space, which decoding removes.
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
    if add_prefix_space:
        tokenizer.normalizer = normalizers.Prepend(" ")
        tokenizer.decoder = decoders.Sequence([tokenizer.decoder, decoders.Strip(" ", 1, 0)])
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
        chat_template=TEMPLATE,
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


_EPISODES = 64
"""Episodes from whose texts the tokenizer learns."""


@dataclass
class NewTeam:
    """Builder of one new policy for all agents; equal settings give equal weights."""

    teacher: Teacher = field(default_factory=Teacher)
    """Script that plays the episodes from which the tokenizer learns."""
    model_config: ModelConfig = field(default_factory=ModelConfig)
    """Size of the model, and maximum size of its vocabulary."""
    seed: int = 0
    """Seed of the weights and of the texts."""
    sampling: SamplingSettings = field(default_factory=TinySamplingSettings)
    """Sampling settings of the policy."""
    model: Model | None = None
    """Run folder or `policy/` of an earlier warm start, to continue it. None: new weights."""
    step: int | None = None
    """Step of the checkpoint to load if `model` is a run folder. None: the last checkpoint."""

    def __post_init__(self) -> None:
        """Load the policy to continue, if any; count words until there is a tokenizer."""
        self._tokenize: Tokenize = split_words
        self._saved_team: HFTeam | None = None
        if self.model is not None:
            self._saved_team = TinyTeam(self.model, sampling=self.sampling, step=self.step)
            self._tokenize = self._saved_team.tokenize

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit new weights, by dotted key."""
        rate = 2e-3 if imitates else 1e-4
        length = float(self.sampling.max_reply_tokens)
        return {
            "env.instructions": "brief",
            "optimizer.lr": rate,
            "learner.objective.normalizer": length,
        }

    def tokenize(self, text: str) -> Sequence[str]:
        """Cut text into the policy's tokens; environments count budgets with it."""
        return self._tokenize(text)

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, HFPolicy]:
        """Return the policy of each agent; all are one object.

        Args:
            environment: environment with `tasks`, whose texts the tokenizer learns to encode.
        """
        from laconic.learners.agents.chat import tokenize_with
        from laconic.learners.agents.policy import HFPolicy

        if self._saved_team is not None:
            return self._saved_team.policies(environment)
        self._tokenize = split_words
        tokenizer = build_tokenizer(
            self._texts(environment),
            self.model_config.vocabulary,
            self.model_config.add_prefix_space,
        )
        self._tokenize = tokenize_with(tokenizer)
        policy = HFPolicy(
            build_model(tokenizer, self.model_config, self.seed), tokenizer, self.sampling
        )
        return dict.fromkeys(environment.possible_agents, policy)

    def _texts(self, environment: ParallelEnv[str, Any, Any]) -> Iterator[str]:
        policy = teacher_policy(self.teacher, environment)
        speakers = dict.fromkeys(environment.possible_agents, policy)
        starts = [Start(self.seed * _EPISODES + episode) for episode in range(_EPISODES)]
        for episode in play([environment], speakers, starts, seed=self.seed):
            for turn in episode.turns:
                yield from (turn.read, join_act(turn.message, turn.act))
