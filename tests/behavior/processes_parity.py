"""How far the step of several processes is from that of one on the same groups.

    torchrun --nproc_per_node 2 tests/behavior/processes_parity.py gspo ippo

Prints one row per learner, after two updates: the loss of one process and of all, the largest
difference between their gradients (of the last minibatch, in parts of the gradient's norm) and
between their weights, beside the largest change of a weight. With FSDP's settings in the
environment weights are in parts, and it is the same table. `--json` prints rows as JSON Lines,
`--chunk` says how many logits are there at a time.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import torch

from laconic.experiments.python import compose
from laconic.experiments.session.setup import (
    draw_starts,
    make_environments,
    make_learner,
    make_team,
    task_keys,
)
from laconic.learners.distributed.launched import launched
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.rollout.play import collect
from laconic.learners.training import logprobs

SETTINGS = (
    "agent=tiny",
    # Long enough for answers, so that groups have a contrast.
    "agent.sampling.max_reply_tokens=32",
    "env.tasks=20",
    "learner.decay_updates=null",
    "learner.minibatches=2",
    # Several passes for each process, and not as many for all.
    "learner.microbatch_tokens=1500",
    "optimizer._target_=torch.optim.SGD",
    "~optimizer.betas",
    "optimizer.lr=0.01",
)
TASKS, GROUP = 3, 4
UPDATES = 2
"""With the second one a critic has begun to expect something."""


def row(method: str, processes: Processes) -> dict[str, float]:
    """Return the differences of one learner, the same on all processes."""
    cfg = compose(f"learner={method}", *SETTINGS)
    if cfg.learner.get("sharing") == "separate":
        cfg.agent.sharing = "separate"
    environments = make_environments(cfg, TASKS * GROUP, "train", make_team(cfg))
    starts = draw_starts(task_keys(environments[0]), TASKS, 0, 1)
    metrics, gradients, weights = [], [], []
    groups: Any = None
    for those in (SINGLE_PROCESS, processes):
        policies = make_team(cfg).policies(environments[0])
        models = [policy.model for policy in dict.fromkeys(policies.values())]
        before = [
            parameter.detach().clone() for model in models for parameter in model.parameters()
        ]
        learner = make_learner(cfg, policies, those)
        if groups is None:
            gather = getattr(learner, "collect", collect)
            groups = processes.main(lambda: gather(environments, policies, starts, GROUP, seed=1))  # noqa: B023
        for _ in range(UPDATES):
            result = learner.update(groups)
        metrics.append(result)
        parameters = [parameter for model in models for parameter in model.parameters()]
        gradients.append([whole(parameter.grad) for parameter in parameters])
        weights.append([whole(parameter.detach()) for parameter in parameters])
    alone, together = metrics
    return {
        "sequences": alone["sequences"],
        "loss of one": alone["loss"],
        "loss of all": together["loss"],
        "gradients": largest(*gradients) / alone["grad_norm"],
        "weights": largest(*weights),
        "change": largest(weights[0], before),
    }


def whole(tensor: Any) -> Any:
    """Return a whole tensor, gathered if it is sharded."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def largest(models: list[Any], others: list[Any]) -> float:
    """Return the largest difference between tensors."""
    # Whole again, weights in parts are on the CPU.
    pairs = [
        (first.cpu(), right.cpu())
        for first, right in zip(models, others, strict=True)
        if first is not None
    ]
    return max(float((first - right).abs().max()) for first, right in pairs)


def main() -> None:
    """Print the row of every learner that is named."""
    parser = argparse.ArgumentParser(description="Compare several processes with one.")
    parser.add_argument("learners", nargs="+", help="names of conf/learner")
    parser.add_argument("--json", action="store_true", help="print JSON Lines")
    parser.add_argument("--chunk", type=int, default=logprobs.CHUNK, help="logits at a time")
    args = parser.parse_args()
    logprobs.CHUNK = args.chunk
    every = launched()
    backend = torch.distributed.get_backend() if every.count > 1 else "none"
    for name in args.learners:
        result = row(name, every)
        if not every.is_main:
            continue
        if args.json:
            about = {"learner": name, "processes": every.count, "backend": backend}
            print(json.dumps(about | result), flush=True)
        else:
            output = "  ".join(f"{key} {value:.7g}" for key, value in result.items())
            print(f"{name:20} {every.count} processes  {output}", flush=True)
    every.close()


if __name__ == "__main__":
    main()
