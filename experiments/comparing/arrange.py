"""From the comparison's configuration and an entry to the configuration the entry is played with.

What is equal: the tokens that all agents together may say in an episode, and where thoughts have a
cap those that they may think. Every shape but the
environment as configured shares them out evenly over its messages, so that no early message takes
what a later one needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from omegaconf import DictConfig, OmegaConf

from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.roster import agent_names, role_of
from laconic.experiments.command_line.defaults import team_defaults
from laconic.experiments.comparing.entries import Entry
from laconic.experiments.session.team_layouts import (
    BUDGET,
    DRAFTER,
    SHAPES,
    TeamSettings,
    Unfit,
    changed,
    said_in_all,
    shared_out,
)

_SCRIPTED = "laconic.learners.agents.scripted.ScriptedTeam"


def arrange(cfg: DictConfig, entry: Entry) -> DictConfig:
    """The whole configuration of one entry; it resolves by itself.

    Raises:
        Unfit: the entry makes no sense for this environment.
        SettingError: a setting of the environment is outside its range.
    """
    settings = dict(_plain(cfg.env))
    if cfg.env.get("_target_") == "laconic.envs.make":
        settings = _dialogue(cfg, entry, settings)
    elif entry.shape != "team" or entry.say or entry.votes:
        raise Unfit(
            f"only environments of envs.make can be rearranged; this is {cfg.env.get('_target_')}"
        )
    else:
        settings = changed(settings, entry.env)
    agent = _agent(cfg, entry)
    if "members" in agent:
        agent = _with_members_of(agent, settings)
    if cfg.compare.equal:
        _let_speak(agent, entry, settings)
    if "_target_" in entry.agent and "instructions" not in entry.env:
        # A team of its own reads the form of first observation that suits it.
        form = team_defaults(OmegaConf.create(agent)).get("env.instructions")
        if form is not None and "instructions" in settings:
            settings["instructions"] = form
    if entry.say and entry.votes is None and settings.get("instructions") == "brief":
        raise Unfit(
            "its policy reads no instructions (env.instructions=brief), so nobody would be told"
            " its words"
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
                "shape": entry.shape,
                "say": entry.say,
                "votes": entry.votes,
                "draft": entry.draft,
                "silenced": list(entry.silenced),
                "blank": entry.blank,
                "columns": _resolved(cfg.compare.get("columns") or OmegaConf.create()),
                "most_votes": cfg.compare.most_votes,
                "reference": cfg.compare.reference if entry.matched else None,
                "source": entry.source,
                "counted_by": _plain(cfg.agent),
            },
        }
    )


def budget_of(cfg: DictConfig) -> int | None:
    """The tokens that may be said in an episode, the same for all entries; None for no limit."""
    if not cfg.compare.equal or cfg.env.get("_target_") != "laconic.envs.make":
        return None
    if cfg.compare.budget is not None:
        return int(cfg.compare.budget)
    return said_in_all(_resolved(cfg.env))


def thoughts_of(cfg: DictConfig) -> int | None:
    """The tokens that may be thought in an episode, the same for all entries; None for no limit."""
    cap = (cfg.env.get("budget") or {}).get("thought")
    if cap is None or budget_of(cfg) is None:
        return None
    return int(cap) * TeamSettings.of(_resolved(cfg.env)).turns


def _dialogue(cfg: DictConfig, entry: Entry, settings: dict[str, Any]) -> dict[str, Any]:
    """The environment in the entry's shape, under the budget, with the entry's own settings."""
    configured = TeamSettings.of(_resolved(cfg.env))
    if configured.joint and entry.votes is not None:
        raise Unfit("there is no vote over joint work (env.answer=joint)")
    made = changed(settings, SHAPES[entry.shape](configured, entry.agents))
    made = changed(made, entry.env)
    total = budget_of(cfg)
    if total is None:
        return made
    caps: dict[str, Any] = {"episode": total}
    if entry.shape != "team":
        caps = shared_out(made, total, thoughts_of(cfg), entry.shape, entry.name)
    made = changed(made, {"budget": {"_target_": BUDGET, **caps}})
    return changed(made, {"budget": entry.env.get("budget") or {}})


def _agent(cfg: DictConfig, entry: Entry) -> dict[str, Any]:
    if entry.script is not None:
        return {"_target_": _SCRIPTED, "script": entry.script}
    if "_target_" in entry.agent:
        return dict(entry.agent)
    merged: dict[str, Any] = _plain(OmegaConf.merge(cfg.agent, dict(entry.agent)))
    return merged


def _with_members_of(agent: dict[str, Any], env: Mapping[str, Any]) -> dict[str, Any]:
    """A mixed team without the members whose roles the shape has none of."""
    found = _resolved(OmegaConf.create({"agent": agent}))["agent"]
    agents = agent_names(env["team"]) if env.get("team") else []
    there = {*agents, *map(role_of, agents)}
    members = {name: one for name, one in found["members"].items() if name in there}
    if DRAFTER in there - members.keys():
        # Its words come from another entry.
        members |= {DRAFTER: {"_target_": _SCRIPTED, "script": "silent"}}
    if not agents or members == found["members"]:
        return agent
    counted = found.get("counted_by")
    return {**found, "members": members, "counted_by": counted if counted in members else None}


def _let_speak(agent: dict[str, Any], entry: Entry, env: Mapping[str, Any]) -> None:
    """Let a language policy use whole messages and thoughts, where its own would end before."""
    # The end of a reply is a token of its own.
    for name, cap, more in (("max_reply_tokens", "message", 1), ("thinking_tokens", "thought", 0)):
        allowed = (env.get("budget") or {}).get(cap)
        most = (agent.get("speech") or {}).get(name)
        own = (entry.agent.get("speech") or {}).get(name)
        if own is None and isinstance(most, int) and isinstance(allowed, int):
            agent["speech"] = {**agent["speech"], name: max(most, allowed + more)}


def caps_of(env: Any) -> str:
    """The caps of an environment in words; empty where it has none."""
    budget = getattr(env, "budget", None)
    if not isinstance(budget, Budget):
        return ""
    caps = {one.name: getattr(budget, one.name) for one in fields(budget)}
    return ", ".join(f"{cap} per {name}" for name, cap in caps.items() if cap is not None)


def _plain(node: Any) -> Any:
    """A part of the configuration as plain values, references kept for the entry's own."""
    return OmegaConf.to_container(node, resolve=False)


def _resolved(node: DictConfig) -> dict[str, Any]:
    found: Any = OmegaConf.to_container(node, resolve=True)
    return dict(found)
