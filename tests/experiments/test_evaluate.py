from __future__ import annotations

import json
import signal

import pytest
import torch
from places import DATA
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from laconic.learners.metrics import GLOSSARY

QUESTIONS = (
    ("Ann has 3 apples. She buys 4 more. How many apples does Ann have?", "3 + 4 = 7\n#### 7"),
    ("A box holds 1,200 nails. Half are used. How many are left?", "1200 / 2 = 600\n#### 600"),
    ("Tom runs 2 miles a day. How far does he run in 5 days?", "2 * 5 = 10\n#### 10"),
    ("A pen costs $2. Bo buys 6 pens and 1 cap for $3. What does he pay?", "12 + 3\n#### 15"),
    ("There are 9 birds. 4 fly away. How many birds stay?", "9 - 4 = 5\n#### 5"),
)

# The format of Qwen3's chats, in our own words: turns between control tokens, and an empty
# reasoning block where thinking is switched off.
CHAT = """
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking is false -%}
<think>

</think>

{% endif %}
{%- endif -%}
"""


@pytest.fixture(scope="session")
def gsm8k_folder(tmp_path_factory):
    """Make a folder like the original one, with a few invented rows."""
    folder = tmp_path_factory.mktemp("gsm8k")
    for name, rows in (("train.jsonl", QUESTIONS[:2]), ("test.jsonl", QUESTIONS[2:])):
        lines = [json.dumps({"question": question, "answer": answer}) for question, answer in rows]
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def qwen3_folder(tmp_path_factory):
    """Make a small random checkpoint with the architecture and chat format of Qwen3."""
    folder = tmp_path_factory.mktemp("qwen3")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([question for question, _ in QUESTIONS], trainer)
    # Qwen3 knows these two as added tokens that are not special.
    tokenizer.add_tokens(["<think>", "</think>"])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT,
    )
    config = Qwen3Config(
        vocab_size=len(fast),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Qwen3ForCausalLM(config)
    # With its random row a greedy reply would repeat the new line it follows, and say nothing.
    model.get_input_embeddings().weight.data[fast.convert_tokens_to_ids("\u010a")] = 0.0
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def qwen3(folder):
    return [
        "agent=hf",
        f"agent.model={folder}",
        "agent.sampling.max_reply_tokens=8",
        "evaluation.batch=64",
        "threads=1",
    ]


def test_a_qwen3_checkpoint_plays_original_rows_from_a_folder(
    run, qwen3_folder, gsm8k_folder, tmp_path, rows
):
    folder = tmp_path / "run"
    outcome = run(
        "evaluate",
        f"env.source={gsm8k_folder}",
        *qwen3(qwen3_folder),
        "evaluation.batch=2",
        f"hydra.run.dir={folder}",
    )
    assert outcome.code == 0, outcome.err
    (row,) = rows(folder / "metrics.jsonl")
    assert row["step"] == 0 and row["eval/accuracy"] == 0.0
    # The source has no flags, so of those who were dealt something nobody can say who is informed.
    measures = {"tokens_spent", "tokens_said/solver", "tokens_said/helper", "stated", "strict"}
    expected = {*GLOSSARY, *measures} - {"spoke_if_informed"}
    assert {name.removeprefix("eval/") for name in row} - {"step"} == expected
    transcripts = rows(folder / "transcripts.jsonl")
    assert [transcript["task"] for transcript in transcripts] == ["test/1", "test/2", "test/3"]
    assert [transcript["reference"] for transcript in transcripts] == ["10", "15", "5"]
    assert any(turn["tokens"] for transcript in transcripts for turn in transcript["messages"])
    assert json.loads((folder / "status.json").read_text())["state"] == "finished"
    # One prompt is shown as the model gets it, the rules as its system message.
    assert "reads first:" in outcome.out and "<|im_start|>system" in outcome.out
    assert "limits: replies end after 8 tokens" in outcome.out
    assert "3 episodes, 95 % intervals" in outcome.out
    assert f"written to {folder}" in outcome.out


def real_data():
    folder = DATA / "gsm8k"
    if not folder.is_dir():
        pytest.skip(f"no original GSM8K files in {folder}; LACONIC_DATA names their parent folder")
    return folder


def test_a_qwen3_checkpoint_plays_a_slice_of_the_original_test_file(
    run, qwen3_folder, tmp_path, rows
):
    command = ["evaluate", f"env.source={real_data()}", *qwen3(qwen3_folder)]
    outcome = run(*command, "evaluation.tasks=16", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    (row,) = rows(tmp_path / "run" / "evaluations.jsonl")
    assert row["episodes"] == 16


@pytest.mark.slow
def test_a_qwen3_checkpoint_plays_the_whole_original_test_file(run, qwen3_folder, tmp_path, rows):
    source = real_data()
    lines = sum(1 for line in (source / "test.jsonl").read_text().splitlines() if line.strip())
    command = ["evaluate", f"env.source={source}", *qwen3(qwen3_folder)]
    outcome = run(*command, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    (row,) = rows(tmp_path / "run" / "evaluations.jsonl")
    assert row["episodes"] == lines


def evaluate_script(run, script, folder, *more):
    outcome = run(
        "evaluate",
        "agent=scripted",
        f"agent.script={script}",
        "evaluation.tasks=12",
        "evaluation.batch=5",
        "threads=1",
        *more,
        f"hydra.run.dir={folder}",
    )
    assert outcome.code == 0, outcome.err


def test_scripts_show_the_four_corners_of_the_game(run, tmp_path, rows):
    figures = {}
    for script in ("oracle", "verbose", "random", "silent"):
        evaluate_script(run, script, tmp_path / script)
        (figures[script],) = rows(tmp_path / script / "metrics.jsonl")
        assert rows(tmp_path / script / "evaluations.jsonl")[0]["episodes"] == 12
    assert figures["oracle"]["eval/accuracy"] == figures["verbose"]["eval/accuracy"] == 1.0
    assert figures["oracle"]["eval/spoke_if_informed"] == 1.0
    assert figures["oracle"]["eval/silent_if_uninformed"] == 1.0
    assert figures["verbose"]["eval/silence_rate"] == 0.0
    assert figures["oracle"]["eval/tokens_said"] < figures["verbose"]["eval/tokens_said"] / 2
    assert figures["silent"]["eval/accuracy"] == figures["silent"]["eval/tokens_said"] == 0.0
    assert figures["silent"]["eval/silence_rate"] == 1.0
    assert figures["random"]["eval/accuracy"] < 1.0


def test_the_training_part_of_a_source_can_be_evaluated_on(run, gsm8k_folder, tmp_path, rows):
    more = [f"env.source={gsm8k_folder}", "evaluation.split=train", "env.information=full"]
    evaluate_script(run, "oracle", tmp_path / "run", *more)
    tasks = [transcript["task"] for transcript in rows(tmp_path / "run" / "transcripts.jsonl")]
    assert tasks == ["train/1", "train/2"]


def test_how_many_are_played_at_a_time_changes_nothing(run, tmp_path, rows, policy_folder):
    command = ["evaluate", f"agent.model={policy_folder}", "evaluation.tasks=5", "threads=1"]
    command.append("agent.sampling.max_reply_tokens=6")
    for batch in (1, 3, 250):
        outcome = run(*command, f"evaluation.batch={batch}", f"hydra.run.dir={tmp_path}/{batch}")
        assert outcome.code == 0, outcome.err
    first = rows(tmp_path / "1" / "metrics.jsonl")
    assert first == rows(tmp_path / "3" / "metrics.jsonl")
    assert first == rows(tmp_path / "250" / "metrics.jsonl")


@pytest.mark.slow
def test_an_interrupted_evaluation_keeps_its_finished_episodes(
    processes, policy_folder, tmp_path, rows
):
    folder = tmp_path / "run"
    # Two rounds of two tasks at a time; the signal comes in the second of five batches.
    ended = processes.run(
        "evaluate",
        f"agent.model={policy_folder}",
        "agent.sampling.max_reply_tokens=6",
        "evaluation.tasks=10",
        "evaluation.batch=2",
        "threads=1",
        f"hydra.run.dir={folder}",
        die=("laconic.learners.agents.hf.HFPolicy.reply", 4, "before"),
        number=signal.SIGINT,
    )
    assert ended.code == 130 and ended.err.endswith("interrupted\n")
    assert rows(folder / "evaluations.jsonl")[0]["episodes"] == 4
    assert len(rows(folder / "metrics.jsonl")) == 1
    assert json.loads((folder / "status.json").read_text())["state"] == "interrupted"
    assert "4 episodes, 95 % intervals" in ended.out


def test_a_second_evaluation_does_not_mix_with_the_first(run, tmp_path):
    evaluate_script(run, "silent", tmp_path / "run")
    before = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    outcome = run("evaluate", "agent=scripted", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1
    assert "holds the figures of another run; pass another folder with" in outcome.message
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == before


def test_an_evaluation_folder_has_a_report_too(run, tmp_path):
    from laconic.extras.report.write import write_report

    evaluate_script(run, "oracle", tmp_path / "run")
    assert "oracle" in write_report(tmp_path / "run").read_text()


def test_an_environment_of_the_users_own_is_evaluated(run, outside, policy_folder, tmp_path, rows):
    outcome = run(
        "evaluate",
        "--config-dir",
        f"{outside}/conf",
        "env=echo",
        f"agent.model={policy_folder}",
        "agent.sampling.max_reply_tokens=6",
        "evaluation.tasks=3",
        "threads=1",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err
    assert rows(tmp_path / "run" / "evaluations.jsonl")[0]["episodes"] == 3
