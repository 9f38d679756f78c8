"""Runs the tests that need a GPU, measures a language model on it, and writes a page.

    python tests/gpu/table.py <page>

The model has the shape of Qwen3-0.6B and random weights, so nothing is downloaded. Its steps are
those of `laconic measure-speed`, without the bare calls, for which a second copy would be needed.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3Config

import laconic
from laconic.experiments.python import compose
from laconic.experiments.run_folder import provenance
from laconic.experiments.session.setup import make_environments, make_team
from laconic.extras.speed.bare_calls import StepTimer

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("-m", "gpu", "-rs", "tests")
# fmt: off
QWEN3 = Qwen3Config(
    vocab_size=151_936, hidden_size=1024, intermediate_size=3072, num_hidden_layers=28,
    num_attention_heads=16, num_key_value_heads=8, head_dim=128, max_position_embeddings=40_960,
    tie_word_embeddings=True,
)
# fmt: on
"""The shape of Qwen3-0.6B."""
COMMON = {
    "env": "gsm8k",
    "agent": "hf",
    "env.budget.episode": 2048,
    "learner.microbatch_tokens": 4096,
    # Random weights solve nothing: without these no sequence would have an advantage.
    "learner/price": "fixed",
    "learner.advantages.center": "none",
    "learner.advantages.scale": "none",
    # A word of the tokenizer below.
    "agent.sampling.silence": "w1",
    "threads": None,
}
STEP = {"train.tasks_per_step": 4, "train.group_size": 8, "agent.sampling.max_reply_tokens": 64}
CASES, REPETITIONS = ((2, 1), (8, 1), (2, 8)), 2
"""Rounds of an episode, and how many times the tasks of `STEP` a step has."""
PRECISIONS = ("float32", "bfloat16_autocast", "bfloat16")

INTRODUCTION = """\
# GPU

What a language model costs on a GPU, and how far its sampling and its training passes are apart.
`make gpu` runs the tests that need a GPU (`pytest -m gpu`), measures and writes this page; without
a GPU it refuses and leaves the page as it is.

"""
NOT_RUN = """\
**Not run yet.** Nothing below has been measured, and what is said elsewhere of GPUs is untested.
That the program runs is tested on the CPU with a small shape
(`tests/gpu/test_table.py`).

What will stand here: device and versions; what became of the tests; `approx_kl` of the first
minibatch in float32 and bfloat16; of a training step of Qwen3-0.6B's shape with random weights, at
2 and 8 rounds, the seconds, the tokens sampled and trained per second, and the most memory, which
should be about 25 GB in float32, reckoned as in [Scaling](scaling.md).
"""
MISMATCH = """
## Sampling and training passes

`learner/approx_kl` of the first minibatch, nats per token; 0 where the two passes agree.

"""
COSTS = """
## A training step

Qwen3 with {shape.num_hidden_layers} layers of width {shape.hidden_size} and a vocabulary of
{shape.vocab_size}, random weights, 4 agents; {sizes}. Medians of {repetitions} steps.
*Own* are the weights, the copy from which each step starts, gradients and two moments.

"""


def save_random(config: Qwen3Config, folder: Path) -> None:
    """Save a model with random weights, and a tokenizer with a word for each of its tokens."""
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    words = {"<unk>": 0} | {f"w{number}": number for number in range(1, config.vocab_size)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>").save_pretrained(folder)


def steps(repetitions: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Medians over training steps from the same weights, after one that is not counted."""
    gc.collect()  # What models before this one held.
    if torch.cuda.is_available():
        torch.cuda.init()  # Without which there are no statistics to reset.
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    cfg = compose(program="measure_speed", **COMMON, **settings)
    team, count = make_team(cfg), cfg.train.tasks_per_step * cfg.train.group_size
    timer = StepTimer(cfg, team, make_environments(cfg, count, "train", team))
    samples = [timer.step(number)[1] for number in range(repetitions + 1)][-repetitions or None :]
    return {
        "precision": timer.precision,
        "seconds": median(sample.step for sample in samples),
        "sampled": median(sample.sampled for sample in samples),
        "trained": median(sample.trained for sample in samples),
        "peak": timer.peak,
        "own": timer.own,
        "approx_kl": timer.metrics["approx_kl"],
    }


def about() -> Iterable[Sequence[str]]:
    """Yield the facts of the machine and the software."""
    yield "device", provenance.device()
    yield "CUDA of torch", str(torch.version.cuda)
    yield from ((name, version(name)) for name in ("torch", "transformers"))
    yield "laconic", laconic.__version__
    yield "commit", str(provenance.commit())


def tested(arguments: Sequence[str]) -> tuple[bool, str]:
    """Run tests; return whether they passed, and the last line of their output."""
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    completed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    print(completed.stdout, flush=True)
    return completed.returncode == 0, completed.stdout.strip().splitlines()[-1].strip("= ")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of a page."""
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *rows))


def mismatch(settings: Mapping[str, Any]) -> Iterable[Sequence[str]]:
    """`approx_kl` of an update of one minibatch, as sampled and as computed again."""
    for name in PRECISIONS:
        own = {**settings, "agent.precision": name, "learner.minibatches": 1}
        runs = [steps(0, {**own, "agent.recompute_logprobs": again}) for again in (False, True)]
        yield name, *(f"{run['approx_kl']:.1e}" for run in runs)


def costs(repetitions: int, settings: Mapping[str, Any]) -> Iterable[Sequence[str]]:
    """Measure the cost of steps in the automatic precision, and in float32."""
    for precision in ("auto", "float32"):
        for rounds, times in CASES:
            tasks = times * settings["train.tasks_per_step"]
            own = {
                "agent.precision": precision,
                "env.rounds": rounds,
                "train.tasks_per_step": tasks,
            }
            row = steps(repetitions, {**settings, **own})
            chosen = f"{precision}: {row['precision']}" if precision == "auto" else precision
            rates = (f"{row[name]:,.0f}" for name in ("sampled", "trained"))
            memory = (f"{row[name]:.2f}" for name in ("peak", "own"))
            yield chosen, str(rounds), str(tasks), f"{row['seconds']:.2f}", *rates, *memory


def main(
    target: Path,
    device: str = "cuda",
    config: Qwen3Config = QWEN3,
    step: Mapping[str, Any] = STEP,
    repetitions: int = REPETITIONS,
    tests: Sequence[str] = TESTS,
) -> int:
    """Test, measure, write the page; 1 where a test failed, which the page says.

    Raises:
        SystemExit: there is no GPU.
    """
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit(
            "make gpu needs a GPU that torch can use, and torch.cuda.is_available() is False: use a"
            f" machine with one, and a torch built for CUDA. {target} stays as it is"
        )
    passed, line = tested(tests)
    with TemporaryDirectory() as folder:
        save_random(config, Path(folder))
        settings = {**step, "agent.model": folder, "agent.device": device}
        apart, cost = [*mismatch(settings)], [*costs(repetitions, settings)]
    text = INTRODUCTION + table(("", ""), [*about(), ("`pytest -m gpu`", line)])
    text += MISMATCH + table(("precision", "as sampled", "`recompute_logprobs`"), apart)
    fixed = {name: value for name, value in step.items() if name != "train.tasks_per_step"}
    sizes = ", ".join(f"`{name}={value}`" for name, value in fixed.items())
    text += COSTS.format(shape=config, sizes=sizes, repetitions=repetitions)
    heads = "precision, rounds, tasks, seconds, sampled tokens/s, trained tokens/s, peak GB, own GB"
    target.write_text(text + table(heads.split(", "), cost), encoding="utf-8")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
