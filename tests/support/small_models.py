"""Very small random models, tokenizers made in memory, and a benchmark one can count on paper."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    CohereConfig,
    Gemma2Config,
    GPT2Config,
    GraniteConfig,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.task import Benchmark, Score, Split, Style, Task
from laconic.learners.agents.hf import HFPolicy, SamplingSettings
from laconic.learners.agents.tiny.new import build_tokenizer
from laconic.learners.interfaces import Prompt, SampledReply

SENTENCES = (
    "Anna has 12 apples and 7 pears.",
    "There are 3 birds in the tree, so in all there are 15 of them.",
    "Hello team, this is what I was told: #### 15",
)
VOCABULARY = 300
_ROTARY = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 1024,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
_CONFIGS: Mapping[str, Callable[[int], PreTrainedConfig]] = {
    # The one that most tests take by default, with a single layer because that is quick.
    "llama": lambda size: LlamaConfig(vocab_size=size, **{**_ROTARY, "num_hidden_layers": 1}),
    "qwen2": lambda size: Qwen2Config(vocab_size=size, **_ROTARY),
    "qwen3": lambda size: Qwen3Config(vocab_size=size, head_dim=8, **_ROTARY),
    "gpt2": lambda size: GPT2Config(
        vocab_size=size,
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=512,
        bos_token_id=None,
        eos_token_id=None,
    ),
    # Each attends to the last four tokens at most, gemma2 in every other layer.
    "mistral": lambda size: MistralConfig(vocab_size=size, sliding_window=4, **_ROTARY),
    "gemma2": lambda size: Gemma2Config(
        vocab_size=size, head_dim=8, sliding_window=4, final_logit_softcapping=2.0, **_ROTARY
    ),
    "cohere": lambda size: CohereConfig(vocab_size=size, logit_scale=0.25, **_ROTARY),
    "granite": lambda size: GraniteConfig(vocab_size=size, logits_scaling=4.0, **_ROTARY),
}
ARCHITECTURES = tuple(_CONFIGS)
LIKE_OTHERS = ("qwen2", "granite")
"""Those with nothing that qwen3 or cohere (a scale of its logits) has not; tried in slow tests."""

# Turns as Qwen3 has them: an empty thought opens a reply when thinking is off, and what was thought
# before earlier replies is not shown again.
_QWEN_TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.role == 'assistant' %}{{- message.content.split('</think>')[-1].lstrip('\\n') }}
{%- else %}{{- message.content }}{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}
{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}"""

TASKS = (
    Task(
        key="fruit",
        question="How many fruits are there?",
        statements=("There are 3 apples.", "It rains.", "There are 4 pears."),
        answer="7",
        relevant=(True, False, True),
    ),
    Task(
        key="birds",
        question="How many birds are there?",
        statements=("There are 5 robins.", "There are 8 crows."),
        answer="13",
        relevant=(True, True),
    ),
    Task(key="unknown", question="Two and two?", statements=("Add two and two.",), answer="4"),
)


class Sums(Benchmark):
    """The last number said is the answer; `#### 5` commits to it."""

    name = "sums"
    roles = ("solver", "helper")

    def load(self, path: str | Path, split: Split = "evaluation") -> tuple[Task, ...]:
        return TASKS

    def generate(
        self, seed: int, count: int, *, split: Split = "train", **settings: Any
    ) -> tuple[Task, ...]:
        return TASKS[:count]

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        by_agent = [re.findall(r"\d+", text) for text in answers.values()]
        answer = next((numbers[-1] for numbers in by_agent if numbers), "")
        return Score(float(answer == task.answer), answer == task.answer, answer)

    def committed(self, message: str) -> str | None:
        marks = re.findall(r"#### \S+", message)
        return marks[-1] if marks else None

    def instructions(self, role: str, style: Style = "full") -> str:
        return f"A {role} adds up."


@pytest.fixture(scope="session")
def make_env() -> Callable[..., DialogueEnv]:
    """Makes an environment of `Sums`."""

    def make(**settings: Any) -> DialogueEnv:
        return DialogueEnv(Sums(), **{"tasks": TASKS, **settings})

    return make


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    """Return the device of a test: this processor, and with `pytest -m gpu` a GPU."""
    return str(request.param)


@pytest.fixture(scope="session")
def make_model() -> Callable[..., PreTrainedModel]:
    """Makes a random model; a scale above 1 makes its distributions less flat."""

    def make(
        architecture: str = "llama",
        vocabulary: int = VOCABULARY,
        seed: int = 0,
        scale: float = 8.0,
        **settings: Any,
    ) -> PreTrainedModel:
        config = _CONFIGS[architecture](vocabulary)
        for name, value in settings.items():
            setattr(config, name, value)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.mul_(scale)
        return model

    return make


@pytest.fixture(scope="session")
def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer of the kind that ships; `<silence>` is a special token."""
    return build_tokenizer(SENTENCES, VOCABULARY)


def _byte_level(texts: tuple[str, ...], special: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - 2,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


@pytest.fixture(scope="session")
def qwen_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level with Qwen3's turns; `<think>` is no special token and `<silence>` none at all."""
    tokenizer = _byte_level(SENTENCES, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<think>", special=False, normalized=False)])
    tokenizer.add_tokens([AddedToken("</think>", special=False, normalized=False)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=_QWEN_TEMPLATE,
    )


@pytest.fixture(scope="session")
def word_tokenizer() -> PreTrainedTokenizerFast:
    """Whole words, no chat template, no end token, no padding token."""
    words = [
        "<unk>",
        *"User Assistant : < > silence To stay , reply with and nothing else .".split(),
    ]
    words += [f"w{number}" for number in range(20)]
    vocabulary = {word: index for index, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


@pytest.fixture(scope="session")
def make_policy(
    make_model: Callable[..., PreTrainedModel], tiny_tokenizer: PreTrainedTokenizerFast
) -> Callable[..., HFPolicy]:
    """Makes a policy of a random model, by default with the tiny tokenizer."""

    def make(
        architecture: str = "llama",
        tokenizer: PreTrainedTokenizerBase | None = None,
        model: dict[str, Any] | None = None,
        **sampling: Any,
    ) -> HFPolicy:
        tokenizer = tokenizer or tiny_tokenizer
        built = make_model(architecture, len(tokenizer), **(model or {}))
        # A random model hardly ever ends its reply.
        short = {"explain_silence": False, "max_reply_tokens": 12}
        return HFPolicy(built, tokenizer, SamplingSettings(**{**short, **sampling}))

    return make


@pytest.fixture(scope="session")
def saved_once(
    make_policy: Callable[..., HFPolicy], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return the folder of a saved policy, as `save_pretrained` writes it, to be read alone."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    make_policy().save(folder)
    return folder


@pytest.fixture
def saved(saved_once: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder, which may be changed."""
    shutil.copytree(saved_once, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="session")
def make_writer(make_policy: Callable[..., HFPolicy]) -> Callable[..., HFPolicy]:
    """Makes policies that write plain characters only, so that another one can write the same.

    The random ones write bytes that are no text, which take three times the tokens to say again.
    """

    def make(**settings: Any) -> HFPolicy:
        policy = make_policy(**settings)
        ids = range(policy.model.config.vocab_size)
        words = [str(policy.tokenizer.decode([token])) for token in ids]
        plain = [word.isascii() and word.isprintable() for word in words]
        plain[policy.tokenizer.unk_token_id or 0] = False
        barred = torch.where(torch.tensor(plain), 0.0, -1e4)
        head = policy.model.get_output_embeddings()
        head.register_forward_hook(lambda module, states, logits: logits + barred)
        return policy

    return make


class Writer:
    """Samples one text for all prompts."""

    def __init__(self, policy: HFPolicy, text: str) -> None:
        self.ids = policy.write(text)
        self.prompts = 0

    def sample(self, prompts: Sequence[Prompt]) -> list[SampledReply]:
        self.prompts += len(prompts)
        return [SampledReply(self.ids, (-1.0,) * len(self.ids)) for _ in prompts]
