"""Measures which correction brings the gradient of stale episodes nearest to that of fresh ones.

    python tests/support/corrections.py <folder> [updates]

The shipped policy is trained with fresh episodes. Before every update the same tasks are also
played by the weights of 1 and of 4 updates ago. Their gradient at the present weights, under each
correction, is compared with the mean gradient of several fresh sets of episodes of these tasks. A
further fresh set shows what cosine the noise of sampling allows.

Rows are appended to <folder>/rows.jsonl and a table is printed. A measurement that was stopped goes
on where it was. Before the first update all ratios are 1, and a sequence counts as its mean token,
so one gradient stands for ratios per sequence and per token alike.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, get_args

import torch
from torch import Tensor

from laconic.experiments.python import compose
from laconic.experiments.session import setup
from laconic.learners.episode import Group
from laconic.learners.training.correction import Correction, Kind
from laconic.learners.training.logprobs import current_logprobs
from laconic.learners.training.objective import LossInputs, Objective
from laconic.learners.training.sequences import TokenSequence, collate, microbatches

SEEDS = (0, 1, 2)
UPDATES, EVERY = 50, 2
"""Updates along which gradients are measured, and how often."""
LAGS = (1, 4)
"""Updates by which the weights that sampled are behind."""
REFERENCES = 3
"""Fresh sets of episodes whose mean gradient is the reference."""
SETTINGS = ("train.tasks_per_step=8", "learner.decay_updates=null", "threads=1")
KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "auto")
OBJECTIVE = Objective("token")
Row = dict[str, Any]


class Measurement:
    """One training of the shipped policy, and the gradients along it."""

    def __init__(self, seed: int, state: Path) -> None:
        """Build the team and its learner, or go on from the saved state."""
        cfg = compose(*SETTINGS, f"seed={seed}")
        team = setup.make_team(cfg)
        count = cfg.train.tasks_per_step * cfg.train.group_size
        self.cfg, self.seed, self.file = cfg, seed, state
        self.environments = setup.make_environments(cfg, count, "train", team)
        self.policies = team.policies(self.environments[0])
        self.learner: Any = setup.make_learner(cfg, self.policies)
        (self.trainer,) = self.learner._trainers
        self.policy = self.trainer.policy
        self.updates = 0
        self.past: list[Mapping[str, Any]] = []
        """Weights before each of the last updates, the latest last."""
        if state.exists():
            saved = torch.load(state, weights_only=True)
            self.updates, self.past = saved["updates"], saved["past"]
            self.learner.load_state_dict(saved["learner"])

    def step(self) -> list[Row]:
        """Measure at the present weights, if it is due and old ones are there, and update."""
        fresh = self.play(draw=0)
        due = len(self.past) == max(LAGS) and self.updates % EVERY == 0
        rows = self.measure(fresh) if due else []
        self.past = [*self.past, self.weights()][-max(LAGS) :]
        self.learner.update(fresh)
        self.updates += 1
        learner = self.learner.state_dict()
        state = {"updates": self.updates, "past": self.past, "learner": learner}
        torch.save(state, self.file.with_suffix(".new"))
        return rows

    def measure(self, fresh: Sequence[Group]) -> list[Row]:
        """Compare gradients at the present weights with the reference, one row each."""
        draws = range(1, 1 + REFERENCES)
        sets = [self.gradients(self.play(draw), ["none"])["none"] for draw in draws]
        reference = torch.stack(sets).mean(0)
        rows = [self.row("fresh", 0, self.gradients(fresh, ["none"])["none"], reference)]
        for lag in LAGS:
            present = self.weights()
            self.policy.load_weights(self.past[-lag])
            groups = self.play(draw=100 + lag)
            self.policy.load_weights(present)
            gradients = self.gradients(groups, KINDS)
            rows += [self.row(kind, lag, vector, reference) for kind, vector in gradients.items()]
        return rows

    def row(self, kind: str, lag: int, gradient: Tensor, reference: Tensor) -> Row:
        """Describe how a gradient lies to the reference."""
        cosine = torch.nn.functional.cosine_similarity(gradient, reference, dim=0)
        length = gradient.norm() / reference.norm()
        place = {"seed": self.seed, "update": self.updates, "lag": lag, "kind": kind}
        return {**place, "cosine": float(cosine), "length": float(length)}

    def weights(self) -> dict[str, Tensor]:
        """Copy the present weights."""
        return {name: value.clone() for name, value in self.policy.weights().items()}

    def play(self, draw: int) -> list[Group]:
        """Play the tasks of the present step with the weights that are loaded."""
        train, step = self.cfg.train, self.updates + 1
        keys = setup.task_keys(self.environments[0])
        starts = setup.draw_starts(keys, train.tasks_per_step, self.seed, step)
        seed = setup.sampling_seed(self.seed, step) + 1_000_000_007 * draw
        groups: list[Group] = self.learner.collector(
            self.environments, self.policies, starts, train.group_size, seed=seed
        )
        return groups

    def gradients(self, groups: Sequence[Group], kinds: Sequence[Kind]) -> dict[str, Tensor]:
        """Compute the gradient (parameters,) of the loss under each correction."""
        sequences = [sequence for group in groups for sequence in self.learner.sequences(group)]
        taught = [sequence for sequence in sequences if OBJECTIVE.has_gradient(sequence.advantage)]
        sums = {kind: torch.zeros(()) for kind in kinds}
        for part in microbatches(taught, self.cfg.learner.microbatch_tokens):
            for kind, gradient in self.part_gradients(part, kinds, len(sequences)):
                sums[kind] = sums[kind] + gradient
        return dict(sums)

    def part_gradients(
        self, part: Sequence[TokenSequence], kinds: Sequence[Kind], whole: int
    ) -> Iterator[tuple[Kind, Tensor]]:
        """Yield what one forward pass adds to each gradient."""
        batch = collate(part, self.policy.pad_id)
        current = current_logprobs(self.policy.model, batch, self.policy.sampling.temperature)
        present, mask = current.detach(), batch.generated_mask
        earlier: dict[bytes, Tensor] = {}
        for kind in kinds:
            weights = Correction(kind).weights(present, batch.behavior_logprobs, mask, "token")
            key = weights.numpy().tobytes()
            if key in earlier:
                yield kind, earlier[key]
                continue
            inputs = LossInputs(
                current, present, mask, batch.advantages, weights=weights, sequences=whole
            )
            loss = OBJECTIVE(inputs).loss
            gradient = torch.autograd.grad(loss, self.trainer.parameters, retain_graph=True)
            earlier[key] = torch.cat([tensor.flatten() for tensor in gradient])
            yield kind, earlier[key]


def interval(values: Sequence[float]) -> str:
    """Write a mean with its 95 % interval (normal, 1.96 standard errors)."""
    half = 1.96 * stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{fmean(values):.3f} ± {half:.3f}"


def table(rows: Sequence[Row]) -> str:
    """Write one line per correction and lag: cosine, its gain over `none`, and by seed."""
    plain = {(row["seed"], row["update"], row["lag"]): row for row in rows if row["kind"] == "none"}
    sorted_rows: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows:
        sorted_rows[row["lag"], row["kind"]].append(row)
    lines = [
        "| lag, updates | correction | cosine | more than `none` | length | cosine by seed |",
        "|---|---|---|---|---|---|",
    ]
    for (lag, kind), own in sorted_rows.items():
        gains = [
            row["cosine"] - plain[key]["cosine"]
            for row in own
            if (key := (row["seed"], row["update"], lag)) in plain
        ]
        seeds = sorted({row["seed"] for row in own})
        means = [fmean(row["cosine"] for row in own if row["seed"] == seed) for seed in seeds]
        cells = [
            str(lag),
            f"`{kind}`" if lag else "none needed: a fresh set",
            interval([row["cosine"] for row in own]),
            interval(gains) if gains else "",
            f"{fmean(row['length'] for row in own):.2f}",
            ", ".join(f"{mean:.3f}" for mean in means),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(folder: Path, updates: int = UPDATES) -> None:
    """Measure, and print the table."""
    setup.set_up_process(1)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "rows.jsonl"
    for seed in SEEDS:
        measurement = Measurement(seed, folder / f"seed-{seed}.pt")
        while measurement.updates < updates + max(LAGS):
            rows = measurement.step()
            with file.open("a", encoding="utf-8") as stream:
                stream.writelines(json.dumps(row) + "\n" for row in rows)
            measurement.file.with_suffix(".new").replace(measurement.file)
            print(f"seed {seed}, update {measurement.updates}", flush=True)
    print(table([json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(int(text) for text in sys.argv[2:3]))
