"""TRL's GRPOTrainer trains one seat of a team, through its `environment_factory`.

The model is very small and is first shown a few calls of `say`, since a random one makes none; the
rest is TRL: its template of Qwen3, its loop of tool calls, its loss.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

trl = pytest.importorskip("trl")

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM  # noqa: E402

from laconic import envs  # noqa: E402
from laconic.envs.wrappers import Oracle, SingleAgent  # noqa: E402
from laconic.envs.wrappers.trl import Seat  # noqa: E402

pytestmark = pytest.mark.judge
CLIENT = ("TRL", "trl")
SETTINGS: dict[str, Any] = {
    "information": "split",
    "schedule": ["helper", "solver"],
    "topology": "star",
    "instructions": "short",
    "tasks": 8,
    "reward": {"price": 0.2, "normalizer": 10},
}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
TEMPLATE = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
REPLIES = ('{"name": "say", "arguments": {"message": "The cup is red."}}', "I do not know.")


def sit(agent: str = "helper_0") -> Seat:
    """Make a seat beside teammates that do their part."""
    env = envs.make("signal", free=True, **SETTINGS)
    return Seat(SingleAgent(env, agent, Oracle(env)))


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Pieces of the template and of what is said, with Qwen3's special tokens."""
    prompts = [sit().reset(seed=seed) for seed in range(20)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=SPECIAL, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([TEMPLATE.read_text(), *prompts, *REPLIES * 5], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = TEMPLATE.read_text()
    return tokenizer


def teach(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """Show both replies to real prompts, until the model makes about as many of each."""
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": sit().reset(seed=seed)}],
            tools=[sit().say],
            add_generation_prompt=True,
            tokenize=False,
        )
        for seed in range(2)
    ]
    replies = (f"<tool_call>\n{REPLIES[0]}\n</tool_call><|im_end|>", f"{REPLIES[1]}<|im_end|>")
    batch = tokenizer([p + r for p in prompts for r in replies], return_tensors="pt", padding=True)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    for place, prompt in enumerate(p for p in prompts for _ in replies):
        labels[place, : len(tokenizer(prompt)["input_ids"])] = -100
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(400):
        loss = model(**batch, labels=labels).loss
        # Which of the two comes first cannot be known: about 0.05 a token is all there is to learn.
        if loss < 0.07:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def make_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """Make a small model of random weights."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=2048,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen3ForCausalLM(config)


@pytest.mark.filterwarnings("ignore:You are using 'environment_factory'")
def test_grpo_trains_a_seat(tmp_path: Path, record: Any) -> None:
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    teach(model, tokenizer)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    messages: list[str] = []

    class Listened(Seat):
        def say(self, message: str) -> str:
            messages.append(message)
            return super().say(message)

        say.__doc__ = Seat.say.__doc__

    def factory() -> Seat:
        seat = sit()
        return Listened(seat._env)

    tasks = list(envs.make("signal", free=True, **SETTINGS).tasks)
    rows = [{"prompt": [{"role": "user", "content": ""}], "task": key, "seed": 0} for key in tasks]
    arguments = trl.GRPOConfig(
        output_dir=str(tmp_path),
        max_steps=3,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=64,
        learning_rate=1e-3,
        logging_steps=1,
        report_to="none",
        use_cpu=True,
        bf16=False,
    )
    trainer = trl.GRPOTrainer(
        model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        environment_factory=factory,
    )
    trainer.train()
    steps = [row for row in trainer.state.log_history if "loss" in row]
    assert len(steps) == 3 and all(math.isfinite(row["loss"]) for row in steps)
    # Words were spoken by calls, and they cost: rewards differ within groups.
    assert any("The cup is red." in message for message in messages)
    assert any(row["rewards/Listened/std"] > 0 for row in steps)
    assert any(not torch.equal(before[name], weight) for name, weight in model.named_parameters())
    record(
        face="text DialogueEnv signal", check="GRPOTrainer, 3 steps", outcome="trains", note=NOTE
    )


NOTE = "one seat, teammates scripted; messages are calls of a tool"
