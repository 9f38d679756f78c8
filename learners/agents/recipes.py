"""Shipped policies: how each of them is chosen, its folder, and their chat template.

`make policies` runs the warm starts (`conf/warm_start`, docs/evidence/policies.py). A policy and
its card are in `tiny/shipped/<environment>`; those of `gsm8k` are in `tiny`. Environments without a
folder have no shipped policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

SHIPPED = Path(__file__).parent / "tiny"
"""Folder of the weights for `gsm8k`, as `save_pretrained` wrote them."""
CARD = "card.json"
"""File of a shipped policy with its recipe, figures and the environment that it knows."""
STAND_IN = "gsm8k"
"""Environment whose policy stands in for others that have none."""
SILENCE, END, PAD, READ, SPEAK = "<silence>", "<end>", "<pad>", "<read>", "<speak>"
TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'assistant' %}"
    f"{{{{ message.content }}}}{END}"
    f"{{% else %}}{READ}{{{{ message.content }}}}{SPEAK}"
    "{% endif %}{% endfor %}"
)
"""Chat template of the tiny model."""
MAX_REPLY_TOKENS = "agent.sampling.max_reply_tokens"
"""Key of the limit of a reply: the longest message that was taught, and its end token."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Warm start of a shipped policy: `laconic warm-start env=<name> threads=1 seed=<seed>`."""

    minutes: float
    """Expected time on one core."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Config keys that suit a training of the policy, which replies as briefly as it was taught."""
    seed: int = 0
    """Seed of the weights and of the demonstrations."""
    metric: str = "accuracy"
    """Figure of the evaluation by which the start is chosen."""
    target: float = 0.75
    """Smallest figure of a start; later checkpoints are closer to the ceiling."""
    tasks: int = 200
    """Evaluation tasks by which it is chosen."""
    final_tasks: int = 1000
    """Evaluation tasks of the figures in the card."""
    first: int = 0
    """Updates before which no start is chosen."""


_COPY_TRAINING = {
    "train.steps": 100,
    "train.tasks_per_step": 64,
    "train.group_size": 4,
    "optimizer.lr": 3e-4,
    MAX_REPLY_TOKENS: 9,
}

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "arxiv": Recipe(
            30,
            {"train.tasks_per_step": 4, MAX_REPLY_TOKENS: 513},
            metric="score",
            target=1.6,
            tasks=40,
            final_tasks=200,
        ),
        "checkmate": Recipe(15, {MAX_REPLY_TOKENS: 65}, target=0.2),
        # A team that catches nothing survives too, so the gain chooses the start.
        "commons": Recipe(
            20,
            {"train.tasks_per_step": 1, MAX_REPLY_TOKENS: 17},
            metric="score",
            target=0.5,
            tasks=8,
            final_tasks=100,
        ),
        "coop_humaneval": Recipe(15, {MAX_REPLY_TOKENS: 65}, metric="score", target=2.4),
        "coop_mbpp": Recipe(15, {MAX_REPLY_TOKENS: 65}, metric="score", target=2.4),
        "cups": Recipe(12, _COPY_TRAINING, target=0.99),
        STAND_IN: Recipe(11),
        "hops": Recipe(8, _COPY_TRAINING, target=0.99),
        "humaneval": Recipe(25, {MAX_REPLY_TOKENS: 97}, target=0.2),
        # All states in an evaluation; a message says little, so many tasks in small groups.
        "jury": Recipe(
            4,
            {
                "evaluation.tasks": None,
                "train.tasks_per_step": 128,
                "train.group_size": 4,
                "optimizer.lr": 2e-4,
                MAX_REPLY_TOKENS: 9,
            },
            target=0.8,
            # Helpers speak after 100 updates; the solver reads its own eyes only after 300.
            first=400,
        ),
        "math": Recipe(20),
        "mbpp": Recipe(25, {MAX_REPLY_TOKENS: 97}, target=0.2),
        "signal": Recipe(6, target=0.6),
        "sports": Recipe(15),
        "strategyqa": Recipe(10),
        "tldr": Recipe(10, {MAX_REPLY_TOKENS: 65}, metric="score", target=1.6),
    }
)
"""Environment -> recipe of its policy."""


def shipped(environment: str) -> Path | None:
    """Return the folder of the policy shipped for an environment; None if there is none."""
    folder = SHIPPED if environment == STAND_IN else SHIPPED / "shipped" / environment
    return folder if environment in RECIPES and (folder / "config.json").is_file() else None
