"""Runs the tests that need a GPU, measures language models on it, and writes a page.

    python tests/gpu/table.py <page> [tests] [mismatch] [steps] [kernels] [peer]

Without a part it runs all. What is measured stays in outputs/gpu, so a later call goes on with the
rest, and the page has all that is there. The models have the shapes of Qwen3-0.6B and 1.7B and
random weights, so nothing is downloaded. Their replies go on to the limit (`measure.ignore_ends`),
because those of random weights end early. Steps are those of `laconic measure-speed`, without the
bare calls, for which a second copy would be needed.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.profiler import ProfilerActivity, profile
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3Config

import laconic
from laconic.experiments.python import compose
from laconic.experiments.run_folder import provenance
from laconic.experiments.session.setup import make_environments, make_team
from laconic.extras.speed.bare_calls import StepTimer, prompts_by_round

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("-m", "gpu", "-rs", "tests")
# fmt: off
_COMMON: Mapping[str, Any] = {
    "vocab_size": 151_936, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 40_960,
    "tie_word_embeddings": True,
}
SHAPES = {
    "0.6B": Qwen3Config(hidden_size=1024, intermediate_size=3072, **_COMMON),
    "1.7B": Qwen3Config(hidden_size=2048, intermediate_size=6144, **_COMMON),
}
# fmt: on
"""Shapes of Qwen3, by name."""
SETTINGS = {
    "env": "gsm8k",
    "agent": "hf",
    "env.budget.episode": 2048,
    "learner.microbatch_tokens": 4096,
    "measure.ignore_ends": True,
    # Random weights solve nothing: without these no sequence would have an advantage.
    "learner/price": "fixed",
    "learner.advantages.center": "none",
    "learner.advantages.scale": "none",
    # A word of the tokenizer below.
    "agent.sampling.silence": "w1",
    "threads": None,
}
SIZES = {"train.group_size": 8, "agent.sampling.max_reply_tokens": 64}
EPISODES, REPETITIONS, KERNELS = (32, 256), 2, 8
PRECISIONS = ("auto", "float32", "bfloat16_autocast", "bfloat16")
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "4090": 165e12}
"""Dense operations per second in bfloat16, of data sheets, by a part of a card's name."""
PARTS = ("tests", "mismatch", "steps", "kernels", "peer")

INTRODUCTION = """\
# GPU

What a language model costs on a GPU, and how far its sampling and its training passes are apart.
`make gpu` runs the tests that need a GPU (`pytest -m gpu`), measures and writes this page; without
a GPU it refuses and leaves the page as it is.

"""
HEADS = {
    "mismatch": """
## Sampling and training passes

`learner/approx_kl` of the first minibatch, nats per token; 0 where the two passes agree.

| precision | as sampled | `recompute_logprobs` |
| --- | --- | --- |
""",
    "steps": """
## A training step

Qwen3 with random weights, 4 agents, 2 rounds, replies of a fixed length; {sizes}. Medians of
{repetitions} steps. *MFU*: operations of the update, 6 for a weight and a token (4 for a frozen
one), over the card's peak in bfloat16. Rates are in tokens.

| model | weights | precision | episodes | seconds | sampled/s | trained/s | peak GB | MFU |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
""",
    "kernels": """
## Where the time goes

The kernels that take most of a step's time on the device, by torch's profiler.

| model | precision | kernel | share | calls |
| --- | --- | --- | --- | --- |
""",
    "peer": """
## Beside TRL

One agent, one reply, the same prompts and the same fixed length; seconds of a step.

| model | episodes | precision | laconic | TRL |
| --- | --- | --- | --- | --- |
""",
}


@dataclass(frozen=True)
class Bench:
    """What is measured, and where the rows are kept."""

    device: str = "cuda"
    shapes: Mapping[str, Qwen3Config] = field(default_factory=lambda: SHAPES)
    sizes: Mapping[str, Any] = field(default_factory=lambda: SIZES)
    episodes: Sequence[int] = EPISODES
    repetitions: int = REPETITIONS
    tests: Sequence[str] = TESTS
    folder: Path = ROOT / "outputs" / "gpu"

    def rows(self, part: str) -> dict[str, Any]:
        """Return the rows of a part that are measured, by what they measure."""
        path = self.folder / f"{part}.json"
        return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}

    def measure(self, part: str, rows: Iterable[tuple[str, Callable[[], Any]]]) -> None:
        """Measure the rows of a part that are missing; each is written when it is there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, call in rows:
            known = self.rows(part)
            if name in known:
                continue
            started = time.perf_counter()
            known[name] = call()
            (self.folder / f"{part}.json").write_text(json.dumps(known, indent=1), "utf-8")
            print(f"{part}: {name} ({time.perf_counter() - started:.0f} s)", flush=True)

    def saved(self, shape: str) -> str:
        """Return the folder of a model with random weights."""
        folder = self.folder / f"model_{shape}"
        if not (folder / "tokenizer.json").exists():
            save_random(self.shapes[shape], folder)
        return str(folder)

    def timer(self, shape: str, episodes: int, **settings: Any) -> StepTimer:
        """Return a timer of steps with a number of episodes."""
        gc.collect()  # What models before this one held.
        if torch.cuda.is_available():
            torch.cuda.init()  # Without which there are no statistics to reset.
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        sizes = {**self.sizes, "train.tasks_per_step": episodes // self.sizes["train.group_size"]}
        places = {"agent.model": self.saved(shape), "agent.device": self.device}
        cfg = compose(program="measure_speed", **{**SETTINGS, **sizes, **places, **settings})
        team = make_team(cfg)
        return StepTimer(cfg, team, make_environments(cfg, episodes, "train", team))


def save_random(config: Qwen3Config, folder: Path) -> None:
    """Save a model with random weights, and a tokenizer with a word for each of its tokens."""
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    words = {"<unk>": 0} | {f"w{number}": number for number in range(1, config.vocab_size)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    known = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<unk>", eos_token="w2"
    )
    known.save_pretrained(folder)


def step(bench: Bench, shape: str, episodes: int, **settings: Any) -> dict[str, Any]:
    """Medians over training steps from the same weights, after one that is not counted."""
    timer, count = bench.timer(shape, episodes, **settings), bench.repetitions
    samples = [timer.step(number)[1] for number in range(count + 1)][-count or None :]
    trained = median(sample.trained for sample in samples)
    return {
        "precision": timer.precision,
        "seconds": median(sample.step for sample in samples),
        "sampled": median(sample.sampled for sample in samples),
        "trained": trained,
        "peak": timer.peak,
        "operations": trained * timer.token_operations,
        "approx_kl": timer.metrics["approx_kl"],
    }


def about() -> dict[str, str]:
    """Return the facts of the machine and the software."""
    return {
        "device": provenance.device(),
        "CUDA of torch": str(torch.version.cuda),
        **{name: version(name) for name in ("torch", "transformers")},
        "laconic": laconic.__version__,
        "commit": str(provenance.commit()),
    }


def tested(arguments: Sequence[str]) -> tuple[bool, str]:
    """Run tests; return whether they passed, and the last line of their output."""
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    completed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    print(completed.stdout, flush=True)
    return completed.returncode == 0, completed.stdout.strip().splitlines()[-1].strip("= ")


def mismatch(bench: Bench) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield `approx_kl` of an update of one minibatch, as sampled and as computed again."""
    shape, count = next(iter(bench.shapes)), bench.episodes[0]
    unmeasured = Bench(**{**vars(bench), "repetitions": 0})
    for precision in PRECISIONS[1:]:

        def row(precision: str = precision) -> list[float]:
            own = {"agent.precision": precision, "learner.minibatches": 1}
            recomputed = [{**own, "agent.recompute_logprobs": again} for again in (False, True)]
            return [step(unmeasured, shape, count, **each)["approx_kl"] for each in recomputed]

        yield precision, row


def steps(bench: Bench) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield steps of each shape, with all weights or adapters, in each precision."""
    for episodes in bench.episodes:
        for shape in bench.shapes:
            for weights, sharing in (("all", "shared"), ("adapters", "lora")):
                for precision in PRECISIONS:

                    def row(
                        shape: str = shape,
                        episodes: int = episodes,
                        sharing: str = sharing,
                        precision: str = precision,
                    ) -> Any:
                        own = {"agent.sharing": sharing, "agent.precision": precision}
                        return step(bench, shape, episodes, **own)

                    yield f"{shape} {weights} {precision} {episodes}", row


def kernels(bench: Bench) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what takes a step's time in each precision: name, share and calls."""
    for shape in bench.shapes:
        for precision in PRECISIONS[1:3]:
            own = {"agent.precision": precision}
            yield f"{shape} {precision}", lambda shape=shape, own=own: profiled(bench, shape, own)


def profiled(bench: Bench, shape: str, settings: Mapping[str, Any]) -> list[list[Any]]:
    """Return the kernels of a step that take most time: name, share of all, calls."""
    timer = bench.timer(shape, bench.episodes[0], **settings)
    timer.step(0)
    cuda = bench.device.startswith("cuda")
    activities = [ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU]
    with profile(activities=activities) as profiler:
        timer.step(1)
    times = [
        (event.self_device_time_total if cuda else event.self_cpu_time_total, event)
        for event in profiler.key_averages()
    ]
    total = sum(spent for spent, _ in times)
    ordered = sorted(times, key=lambda pair: -pair[0])[:KERNELS]
    return [[event.key, spent / total, event.count] for spent, event in ordered]


def peer(bench: Bench) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield seconds of steps with one agent and one reply, and those of TRL; none without TRL."""
    if find_spec("trl") is None:
        print("peer: TRL is not installed here")
        return
    alone = {"env.team": {"solver": 1}, "env.rounds": 1, "env.schedule": "all"}
    alone |= {"learner.minibatches": 1}
    for shape in bench.shapes:
        for episodes in bench.episodes:
            for precision in PRECISIONS[1:3]:

                def row(
                    shape: str = shape, episodes: int = episodes, precision: str = precision
                ) -> list[float]:
                    timer = bench.timer(shape, episodes, **alone, **{"agent.precision": precision})
                    runs = [timer.step(number) for number in range(bench.repetitions + 1)]
                    [prompts] = prompts_by_round([e for g in runs[0][0] for e in g.episodes])
                    own = median(sample.step for _, sample in runs[1:])
                    del timer, runs
                    return [own, trl_step(bench, shape, prompts, precision)]

                yield f"{shape} {episodes} {precision}", row


def trl_step(bench: Bench, shape: str, prompts: Sequence[Sequence[int]], precision: str) -> float:
    """Return the median seconds of a step of TRL's GRPO on these prompts."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    size, length = bench.sizes["train.group_size"], bench.sizes["agent.sampling.max_reply_tokens"]
    tasks = [" ".join(f"w{token}" for token in prompt) for prompt in prompts[::size]]
    ends: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        """Notes when steps begin and end."""

        def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
            ends.append(time.perf_counter())

        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            ends.append(time.perf_counter())

    with TemporaryDirectory() as folder:
        settings = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=min(32, len(prompts)),
            gradient_accumulation_steps=max(1, len(prompts) // 32),
            num_generations=size,
            max_completion_length=length,
            generation_kwargs={"min_new_tokens": length},
            max_steps=bench.repetitions + 1,
            bf16=precision != "float32",
            use_cpu=not bench.device.startswith("cuda"),
            report_to=[],
            save_strategy="no",
            logging_steps=1000,
            beta=0.0,
        )
        trainer = GRPOTrainer(
            model=bench.saved(shape),
            reward_funcs=lambda completions, **_: [float(len(each) % 7) for each in completions],
            args=settings,
            train_dataset=Dataset.from_dict({"prompt": tasks * (bench.repetitions + 1)}),
            callbacks=[Clock()],
        )
        trainer.train()
    return median(after - before for before, after in zip(ends[2::2], ends[3::2], strict=True))


def lines(bench: Bench, part: str) -> Iterator[Sequence[str]]:
    """Yield the cells of a part's table."""
    peak = next((x for name, x in PEAKS.items() if name in provenance.device()), None)
    for name, row in bench.rows(part).items():
        words = name.split()
        if part == "mismatch":
            yield name, *(f"{value:.1e}" for value in row)
        elif part == "kernels":
            for kernel, share, calls in row:
                safe = kernel.replace("|", "/")[:60]
                yield *words, f"`{safe}`", f"{100 * share:.0f} %", f"{calls:,}"
        elif part == "peer":
            yield *words, *(f"{seconds:.2f}" for seconds in row)
        else:
            shape, weights, precision, episodes = words
            chosen = f"auto: {row['precision']}" if precision == "auto" else precision
            used = f"{100 * row['operations'] / peak:.1f} %" if peak else "–"
            rates = (f"{row[rate]:,.0f}" for rate in ("sampled", "trained"))
            cells = (f"{row['seconds']:.2f}", *rates, f"{row['peak']:.2f}", used)
            yield shape, weights, chosen, episodes, *cells


def page(bench: Bench) -> str:
    """Return the page of all that is measured."""
    facts = {**about(), **bench.rows("tests")}
    text = INTRODUCTION + "|  |  |\n| --- | --- |\n"
    text += "".join(f"| {name} | {value} |\n" for name, value in facts.items())
    sizes = ", ".join(f"`{name}={value}`" for name, value in bench.sizes.items())
    for part, head in HEADS.items():
        cells = [*lines(bench, part)]
        if cells:
            text += head.format(sizes=sizes, repetitions=bench.repetitions)
            text += "".join(f"| {' | '.join(row)} |\n" for row in cells)
    return text


def main(target: Path, chosen: Sequence[str] = (), bench: Bench | None = None) -> int:
    """Test, measure, write the page; 1 where a test failed, which the page says.

    Raises:
        SystemExit: there is no GPU, or no such part.
    """
    bench = bench or Bench()
    if bench.device.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit(
            "make gpu needs a GPU that torch can use, and torch.cuda.is_available() is False: use a"
            f" machine with one, and a torch built for CUDA. {target} stays as it is"
        )
    if unknown := {*chosen} - {*PARTS}:
        raise SystemExit(f"a part must be one of {', '.join(PARTS)}; got {', '.join(unknown)}")
    passed, measured = (
        True,
        {"mismatch": mismatch, "steps": steps, "kernels": kernels, "peer": peer},
    )
    for part in chosen or PARTS:
        if part == "tests":
            passed, line = tested(bench.tests)
            bench.folder.mkdir(parents=True, exist_ok=True)
            row = json.dumps({"`pytest -m gpu`": line})
            (bench.folder / "tests.json").write_text(row, "utf-8")
        else:
            bench.measure(part, measured[part](bench))
        target.write_text(page(bench), "utf-8")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
