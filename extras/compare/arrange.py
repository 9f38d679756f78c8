"""Make the configuration of one entry from that of the comparison.

All entries have equal budgets: the tokens that all agents together may say in an episode, and, if
thoughts have a cap, the tokens that they may think. Layouts other than the environment as
configured divide them evenly over their messages, so that an early message leaves enough for later
ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from laconic.envs.dialogue.roster import agent_names, role_of
from laconic.envs.registry import find
from laconic.envs.task import Benchmark
from laconic.experiments.command_line.defaults import team_defaults
from laconic.experiments.session.team_layouts import (
    BUDGET,
    DRAFTER,
    LAYOUTS,
    LayoutError,
    TeamSettings,
    changed,
    split_budget,
    token_cap,
)
from laconic.extras.compare.entries import Entry

_MAKE = "laconic.envs.make"
_SCRIPTED = "laconic.learners.agents.scripted.ScriptedTeam"


def arrange(cfg: DictConfig, entry: Entry) -> DictConfig:
    """Return the whole configuration of one entry, which resolves by itself.

    Raises:
        LayoutError: the entry does not fit this environment.
        SettingError: a setting of the environment is outside its range.
    """
    settings = dict(_plain(cfg.env))
    if _grades_answers(cfg):
        settings = _dialogue(cfg, entry, settings)
    elif entry.layout != "team" or entry.votes:
        target = cfg.env.get("_target_")
        name = cfg.env.name if target == _MAKE else target
        raise LayoutError(
            f"only a dialogue of envs.make can be rearranged or voted on; this is {name}"
        )
    elif cfg.env.get("_target_") != _MAKE and entry.say:
        raise LayoutError(
            f"only environments of envs.make take words; this is {cfg.env['_target_']}"
        )
    else:
        settings = changed(settings, entry.env)
    agent = _agent(cfg, entry)
    if "members" in agent:
        agent = _with_members_of(agent, settings)
    if cfg.compare.equal:
        _let_speak(agent, entry, settings)
    if "_target_" in entry.agent and "instructions" not in entry.env:
        # A team of its own reads the first observation in the form that it was made for.
        form = team_defaults(OmegaConf.create(agent)).get("env.instructions")
        if form is not None and "instructions" in settings:
            settings["instructions"] = form
    if entry.say and entry.votes is None and settings.get("instructions") == "brief":
        raise LayoutError(
            "its policy reads no instructions (env.instructions=brief), so no agent would read"
            " the words in say"
        )
    greedy = cfg.evaluation.greedy if entry.greedy is None else entry.greedy
    return OmegaConf.create(
        {
            "seed": cfg.seed,
            "env": settings,
            "agent": agent,
            "engine": _plain(cfg.engine),
            "evaluation": {**_plain(cfg.evaluation), "greedy": greedy},
            "entry": {
                "layout": entry.layout,
                "say": entry.say,
                "votes": entry.votes,
                "silenced": list(entry.silenced),
                "columns": _resolved(cfg.compare.get("columns") or OmegaConf.create()),
                "most_votes": cfg.compare.most_votes,
                "reference": cfg.compare.reference if entry.matched else None,
                "source": entry.source,
                "counted_by": _plain(cfg.agent),
            },
        }
    )


def budget_of(cfg: DictConfig) -> int | None:
    """Return the tokens that every entry may say in an episode; None for no limit.

    Ways to play a world take different numbers of rounds, so they keep the caps of the environment.
    """
    if not cfg.compare.equal or not _grades_answers(cfg):
        return None
    if cfg.compare.budget is not None:
        return int(cfg.compare.budget)
    return token_cap(_resolved(cfg.env))


def thoughts_of(cfg: DictConfig) -> int | None:
    """Return the tokens that every entry may think in an episode; None for no limit."""
    cap = (cfg.env.get("budget") or {}).get("thought")
    if cap is None or budget_of(cfg) is None:
        return None
    return int(cap) * TeamSettings.of(_resolved(cfg.env)).turns


def _grades_answers(cfg: DictConfig) -> bool:
    """Return whether the environment is a dialogue, whose team a layout may rearrange."""
    return cfg.env.get("_target_") == _MAKE and isinstance(find(cfg.env.name), Benchmark)


def _dialogue(cfg: DictConfig, entry: Entry, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the environment in the entry's layout, with its budget and the entry's settings."""
    configured = TeamSettings.of(_resolved(cfg.env))
    if configured.joint and entry.votes is not None:
        raise LayoutError("there is no vote over joint work (env.answer=joint)")
    env = changed(settings, LAYOUTS[entry.layout](configured, entry.agents))
    env = changed(env, entry.env)
    total = budget_of(cfg)
    if total is None:
        return env
    caps: dict[str, Any] = {"episode": total}
    if entry.layout != "team":
        caps = split_budget(env, total, thoughts_of(cfg), entry.layout, entry.name)
    env = changed(env, {"budget": {"_target_": BUDGET, **caps}})
    return changed(env, {"budget": entry.env.get("budget") or {}})


def _agent(cfg: DictConfig, entry: Entry) -> dict[str, Any]:
    if entry.script is not None:
        return {"_target_": _SCRIPTED, "script": entry.script}
    if "_target_" in entry.agent:
        return dict(entry.agent)
    merged: dict[str, Any] = _plain(OmegaConf.merge(cfg.agent, dict(entry.agent)))
    return merged


def _with_members_of(agent: dict[str, Any], env: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the members of a mixed team whose agents or roles the layout does not have."""
    mixed = _resolved(OmegaConf.create({"agent": agent}))["agent"]
    agents = agent_names(env["team"]) if env.get("team") else []
    names = {*agents, *map(role_of, agents)}
    members = {name: member for name, member in mixed["members"].items() if name in names}
    if DRAFTER in names - members.keys():
        # The column `second_pass` replaces it by the drafts of another entry.
        members |= {DRAFTER: {"_target_": _SCRIPTED, "script": "silent"}}
    if not agents or members == mixed["members"]:
        return agent
    counter = mixed.get("counted_by")
    return {**mixed, "members": members, "counted_by": counter if counter in members else None}


def _let_speak(agent: dict[str, Any], entry: Entry, env: Mapping[str, Any]) -> None:
    """Raise a policy's own limits on messages and thoughts to the budget of the environment."""
    # The end of a reply is a token of its own.
    for name, cap, more in (("max_reply_tokens", "message", 1), ("thinking_tokens", "thought", 0)):
        allowed = (env.get("budget") or {}).get(cap)
        most = (agent.get("sampling") or {}).get(name)
        own = (entry.agent.get("sampling") or {}).get(name)
        if own is None and isinstance(most, int) and isinstance(allowed, int):
            agent["sampling"] = {**agent["sampling"], name: max(most, allowed + more)}


def _plain(node: Any) -> Any:
    """Convert a part of the configuration to plain values; references stay unresolved."""
    return OmegaConf.to_container(node, resolve=False)


def _resolved(node: DictConfig) -> dict[str, Any]:
    values: Any = OmegaConf.to_container(node, resolve=True)
    return dict(values)
