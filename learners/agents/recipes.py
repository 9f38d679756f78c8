"""Shipped policies: the warm start that makes each of them, its folder, and their chat template.

`make policies` runs the recipes (docs/evidence/policies.py). A policy and its card are in
`tiny/shipped/<environment>`; those of `gsm8k` are in `tiny`. Environments without a folder have no
shipped policy.
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
_TEACHER = "learner.collect.teacher"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Warm start of a shipped policy: `laconic warm-start env=<name> threads=1 seed=<seed>`."""

    minutes: float
    """Expected time on one core."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Config keys of a warm start of fresh weights (`agent=new`) that differ for this
    environment."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Config keys that suit a training of the policy."""
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


_SMALL = {"agent.model_config.hidden": 96, "agent.model_config.intermediate": 192}
# The price has something to remove: half of the messages are wordy, and most silence is missing.
_TALK = {**_SMALL, f"{_TEACHER}.terse": 0.3, f"{_TEACHER}.frames": 1, "train.steps": 800}
_JOINT = {**_SMALL, "train.steps": 600}

# Members copy what they hear. With AdamW they had not learned it after 500 updates.
_COPY = {
    "optimizer._target_": "laconic.learners.training.optimizers.Muon",
    "optimizer.lr": 5e-3,
    "agent.model_config.vocabulary": 400,
    "agent.model_config.positions": 320,
    "agent.model_config.add_prefix_space": True,
    MAX_REPLY_TOKENS: 9,
}
_COPY_TRAINING = {
    "train.steps": 100,
    "train.tasks_per_step": 64,
    "train.group_size": 4,
    "optimizer.lr": 3e-4,
}


def _longest(message: int) -> dict[str, int]:
    """Return the limit of replies for messages of this number of tokens, plus their end token."""
    return {MAX_REPLY_TOKENS: message + 1}


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "arxiv": Recipe(
            30,
            {
                **_JOINT,
                **_longest(512),
                "agent.model_config.vocabulary": 2048,
                f"{_TEACHER}.best": 0.5,
                "train.tasks_per_step": 8,
            },
            {"train.tasks_per_step": 4},
            metric="score",
            target=1.6,
            tasks=40,
            final_tasks=200,
        ),
        "checkmate": Recipe(15, {**_TALK, **_longest(64), "train.steps": 1200}, target=0.2),
        # Conversations over twelve months are long, and few fit into a step. A team that catches
        # nothing survives too, so the gain chooses the start.
        "commons": Recipe(
            20,
            {**_longest(16), "train.tasks_per_step": 4},
            {"train.tasks_per_step": 1},
            metric="score",
            target=0.5,
            tasks=8,
            final_tasks=100,
        ),
        "coop_humaneval": Recipe(
            15, {**_JOINT, **_longest(64), f"{_TEACHER}.best": 0.2}, metric="score", target=2.4
        ),
        "coop_mbpp": Recipe(
            15, {**_JOINT, **_longest(64), f"{_TEACHER}.best": 0.2}, metric="score", target=2.4
        ),
        "cups": Recipe(
            12,
            {
                **_COPY,
                **_SMALL,
                "agent.model_config.layers": 3,
                "train.steps": 1000,
            },
            _COPY_TRAINING,
            target=0.99,
        ),
        STAND_IN: Recipe(11),
        "hops": Recipe(
            8,
            {
                **_COPY,
                "agent.model_config.hidden": 64,
                "agent.model_config.intermediate": 128,
                "agent.model_config.layers": 2,
                "agent.model_config.heads": 2,
                "train.steps": 800,
            },
            _COPY_TRAINING,
            target=0.99,
        ),
        "humaneval": Recipe(25, {**_TALK, **_longest(96), "train.steps": 1600}, target=0.2),
        # All states in an evaluation; a message says little, so many tasks in small groups.
        "jury": Recipe(
            4,
            {
                **_longest(8),
                "train.steps": 400,
                "agent.model_config.vocabulary": 320,
                "agent.model_config.positions": 256,
                "agent.model_config.hidden": 64,
                "agent.model_config.layers": 2,
                "agent.model_config.heads": 2,
                "agent.model_config.intermediate": 128,
            },
            {
                "evaluation.tasks": None,
                "train.tasks_per_step": 128,
                "train.group_size": 4,
                "optimizer.lr": 2e-4,
            },
            target=0.8,
            # Helpers speak after 100 updates; the solver reads its own eyes only after 300.
            first=400,
        ),
        "math": Recipe(20, {**_TALK, "train.steps": 1600}),
        "mbpp": Recipe(25, {**_TALK, **_longest(96), "train.steps": 1600}, target=0.2),
        # More updates do not help: all helpers speak, and the solver rarely knows which to read.
        "signal": Recipe(6, _TALK, target=0.6),
        "sports": Recipe(15, {**_TALK, "train.steps": 1000}),
        "strategyqa": Recipe(10, _TALK),
        "tldr": Recipe(
            10, {**_JOINT, **_longest(64), f"{_TEACHER}.best": 0.5}, metric="score", target=1.6
        ),
    }
)
"""Environment -> recipe of its policy."""


def shipped(environment: str) -> Path | None:
    """Return the folder of the policy shipped for an environment; None if there is none."""
    folder = SHIPPED if environment == STAND_IN else SHIPPED / "shipped" / environment
    return folder if environment in RECIPES and (folder / "config.json").is_file() else None
