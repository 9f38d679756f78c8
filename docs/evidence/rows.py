"""Reads the rows of recorded runs beside this file."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from laconic.extras.benchmark.results import FILE, Results, load

HERE = Path(__file__).parent
Row: TypeAlias = dict[str, Any]


@cache
def read(name: str) -> list[Row]:
    """Return the rows of `<name>.jsonl.gz`, or of `<name>.jsonl`."""
    packed = HERE / f"{name}.jsonl.gz"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else _plain(name)
    return [json.loads(line) for line in data.decode("utf-8").splitlines()]


def _plain(name: str) -> bytes:
    return (HERE / f"{name}.jsonl").read_bytes()


@cache
def table(name: str) -> list[dict[str, str]]:
    """Return the rows of `<name>.csv`."""
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def updates(name: str) -> list[Row]:
    """Return the rows of a training's updates that have rollouts."""
    return [row for row in read(name) if row["step"] > 0 and "train/accuracy" in row]


def intervals(name: str) -> Mapping[str, Mapping[str, float]]:
    """Return the means and 95 % intervals of the last evaluation of a file."""
    figures: Mapping[str, Mapping[str, float]] = read(name)[-1]["intervals"]
    return figures


def provenance(name: str) -> list[Row]:
    """Return how the rows of a file were made: one entry per process, often none."""
    return [row for row in read("provenance") if row["rows"] == f"{name}.jsonl"]


def seeds(name: str, *numbers: int | str, kind: str = "_evaluation") -> list[str]:
    """Return the rows of the seeds of a series."""
    return [name.format(seed) + kind for seed in numbers]


@cache
def benchmark(name: str) -> Results:
    """Return the results of a benchmark, `benchmark_<name>.json.gz`."""
    packed = HERE / f"benchmark_{name}.json.gz"
    with TemporaryDirectory() as folder:
        plain = Path(folder) / FILE
        plain.write_bytes(gzip.decompress(packed.read_bytes()))
        return load(plain)
