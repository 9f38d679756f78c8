"""Fixtures of made-up run folders, and of the pages that are written of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from laconic.extras.report.write import write_report

STATEMENTS = ["Ann has 3 apples.", "Ben has 4 times as many.", "The bus was late."]


def _build_run(
    folder: Path,
    *,
    seed: int = 0,
    price: float = 0.5,
    steps: int = 60,
    upto: int | None = None,
    every: int = 20,
    overrides: list[str] | None = None,
) -> Path:
    """Write a plausible run folder: tokens fall with the price, accuracy holds.

    Args:
        upto: the step at which the run stopped; None is its end.
        overrides: what Hydra recorded; None is the seed and the price.
    """
    generator = np.random.default_rng((seed, round(100 * price)))
    upto = steps if upto is None else upto
    (folder / ".hydra").mkdir(parents=True)
    typed = [f"seed={seed}", f"env.reward.price={price}"] if overrides is None else overrides
    listed = "".join(f"- {override}\n" for override in typed)
    (folder / ".hydra" / "overrides.yaml").write_text(listed)
    config = f"seed: {seed}\ntrain:\n  steps: {steps}\nenv:\n  reward:\n    price: {price}\n"
    (folder / "config.yaml").write_text(config)
    metrics, evaluations, transcripts = [], [], []
    for step in range(upto + 1):
        level = _level(step / steps, price, generator)
        row: dict[str, float] = {"step": step}
        if step:
            noise = generator.normal(0, 0.03, len(level))
            noisy = {
                f"train/{name}": float(
                    np.clip(value * (1 + e), 0, 1) if value <= 1 else value + 40 * e
                )
                for (name, value), e in zip(level.items(), noise, strict=True)
            }
            row |= noisy | _learner(step / steps, price, generator)
        if step % every == 0 or step == steps:
            row |= {f"eval/{name}": value for name, value in level.items()}
            evaluations.append(_evaluation(step, level))
            transcripts += [_transcript(step, task, wordy=step == 0) for task in range(3)]
        metrics.append(row)
    _write(folder / "metrics.jsonl", metrics)
    _write(folder / "evaluations.jsonl", evaluations)
    _write(folder / "transcripts.jsonl", transcripts)
    if upto == steps:
        status = {"state": "finished", "step": steps, "warnings": []}
        (folder / "status.json").write_text(json.dumps(status))
    return folder


def _level(part: float, price: float, generator: np.random.Generator) -> dict[str, float]:
    learned = (1 - math.exp(-4 * part)) * min(price / 0.5, 1.5) ** 0.5
    solved = 0.9 + 0.02 * part - 0.1 * max(price - 0.5, 0) * part + generator.normal(0, 0.006)
    return {
        "accuracy": solved,
        "score": solved,
        "reward": 0.9 - price * 0.15 * (1 - 0.6 * learned),
        "tokens_said": 38.2 - 22.0 * learned + generator.normal(0, 0.4),
        "tokens_read": 180.0 - 24.0 * learned,
        "silence_rate": 0.18 + 0.22 * learned,
        "silent_if_uninformed": min(0.25 + 0.66 * learned, 0.99),
        "spoke_if_informed": 0.95 + 0.02 * learned,
        "cut_rate": 0.004,
        "truncated_rate": 0.0,
        "rounds": 2.0,
    }


def _learner(part: float, price: float, generator: np.random.Generator) -> dict[str, float]:
    return {
        "learner/loss": float(-0.02 + generator.normal(0, 0.01)),
        "learner/clip_fraction": float(abs(0.08 + generator.normal(0, 0.03))),
        "learner/grad_norm": float(0.4 + abs(generator.normal(0, 0.2))),
        "train/price": min(price * part * 4, price),
        "time/step": 1.2,
    }


def _evaluation(step: int, level: dict[str, float]) -> dict:
    def interval(value: float) -> dict[str, float]:
        half = 1.96 * math.sqrt(value * (1 - value) / 1000) if value <= 1 else 0.02 * value
        return {"mean": value, "low": value - half, "high": value + half, "count": 1000}

    intervals = {name: interval(value) for name, value in level.items()}
    return {"step": step, "episodes": 1000, "intervals": intervals}


def _transcript(step: int, task: int, wordy: bool) -> dict:
    chat = "Well, what I can see on my side is that " if wordy else ""
    texts = [f"{chat}Ann has 3 apples.", f"{chat}Ben has 4 times as many.", chat and "A late bus!"]
    messages = [
        {
            "agent": f"helper_{number + 1}",
            "round": 0,
            "text": text,
            "tokens": len(text.split()),
            "cut": False,
            "informed": number < 2,
        }
        for number, text in enumerate(texts)
    ]
    messages.append(
        {"agent": "solver_1", "round": 1, "text": "3 * 4 = 12 #### 12", "tokens": 6, "cut": False}
    )
    return {
        "step": step,
        "task": f"generated/{task}",
        "question": "How many apples does Ben have?",
        "statements": STATEMENTS,
        "reference": "12",
        "messages": messages,
        "solved": True,
        "answer": "12",
        "tokens_said": sum(message["tokens"] for message in messages),
    }


def _write(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _build_multirun(folder: Path) -> Path:
    """Write six runs: two prices by three seeds."""
    places = [(seed, price) for price in (0.0, 0.5) for seed in range(3)]
    for number, (seed, price) in enumerate(places):
        _build_run(folder / str(number), seed=seed, price=price)
    return folder


class Reader(HTMLParser):
    """Tags, addresses, policy and text of a page, and what stands in its style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.text = ""
        self.inside: dict[str, str] = {}
        self.policy = ""
        self.marks: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attributes if name in ("src", "href")]
        values = dict(attributes)
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""
        self.marks += [values["data-marks"] or ""] if "data-marks" in values else []
        names = set(values)
        assert not any(name.startswith("on") for name in names)

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.tags and self.tags[-1] in ("style", "script"):
            self.inside.setdefault(self.tags[-1], data)


@pytest.fixture(scope="session")
def build_run() -> Callable[..., Path]:
    """Writes a run: `build_run(folder, seed=0, price=0.5, steps=60, upto=None, overrides=None)`."""
    return _build_run


@pytest.fixture(scope="session")
def build_multirun() -> Callable[[Path], Path]:
    """Writes the runs of a sweep under a folder."""
    return _build_multirun


@pytest.fixture(scope="session")
def write_rows() -> Callable[[Path, list[dict]], None]:
    """Writes JSON Lines."""
    return _write


@pytest.fixture(scope="session")
def report() -> Callable[[Path], Reader]:
    """Writes a report and reads its page."""
    return lambda folder: Reader(write_report(folder).read_text("utf-8"))
