"""Shipped policies: their folders, and their chat template.

An environment declares the policy that it ships (`envs.declarations.Recipe`). `make policies` runs
the warm starts (`conf/warm_start`, docs/evidence/policies.py).
"""

from __future__ import annotations

from pathlib import Path

from laconic.envs.registry import STAND_IN, recipe

SHIPPED = STAND_IN
"""Folder of the weights for environments that ship none, as `save_pretrained` wrote them."""
CARD = "card.json"
"""File of a shipped policy with its recipe, figures and the environment that it knows."""
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


def shipped(environment: str) -> Path | None:
    """Return the folder of the policy shipped for an environment; None if there is none."""
    declared = recipe(environment)
    has_weights = declared is not None and (declared.folder / "config.json").is_file()
    return declared.folder if declared and has_weights else None
