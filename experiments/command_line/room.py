"""`${room:message,48}` in a configuration: the cap that the chosen agent needs, or the default.

`agent.budget` says what a language model needs; a mixed team needs what the neediest of its members
does, one without a `budget` being content with the default.
"""

from __future__ import annotations

from omegaconf import DictConfig, OmegaConf


def room(cap: str, default: int, *, _root_: DictConfig) -> int | None:
    """The tokens of a cap of `env.budget`; None for no cap.

    Args:
        cap: its name.
        default: what is enough for an agent that says nothing else.
        _root_: the whole configuration.
    """
    agent = _root_.get("agent")
    members = OmegaConf.select(_root_, "agent.members") or {}
    teams = list(members.values()) if members else [agent] if agent else []
    found = [OmegaConf.select(one, f"budget.{cap}", default=default) for one in teams] or [default]
    return None if None in found else max(found)


OmegaConf.register_new_resolver("room", room, replace=True)
