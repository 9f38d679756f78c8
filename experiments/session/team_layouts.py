"""Team layouts of baselines: change the settings of an environment to those of another layout.

Layouts use the environment's own roles: the answering role is alone, debates, or comes last in a
pipeline. Sources: debate, Du et al. (arXiv 2305.14325); discussion, pipeline and naive
concatenation, the baselines of MAGRPO (arXiv 2508.04652).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.roster import JOINT, MAJORITY, Roster
from laconic.envs.errors import SettingError
from laconic.experiments.session.alone import WRITER

DEBATERS = 3
"""Default number of agents of a debate, as in Du et al."""
BUDGET = "laconic.envs.Budget"
_MERGED = ("budget", "reward")
"""Settings of an environment that are merged; all other settings are replaced."""
PASS, REVISE = "pass", "revise"
"""Layouts of a first pass, and of a second pass over a draft."""
DRAFTER = "drafter"
"""Role of the agent that says the draft."""


class LayoutError(ValueError):
    """A layout that does not fit an environment; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """Settings of the configured environment that layouts depend on."""

    team: Mapping[str, int]
    """Number of agents of each role."""
    answer: str
    """Role that answers, or `majority` or `joint`."""
    rounds: int
    """Maximum number of rounds."""
    topology: Any
    """Topology: who hears whom."""
    schedule: Any
    """Schedule: whose turn it is."""

    @classmethod
    def of(cls, env: Mapping[str, Any]) -> TeamSettings:
        """Read the settings of a dialogue; missing ones have the constructor's defaults."""
        parameters = signature(DialogueEnv).parameters
        values = {
            name: env.get(name, parameters[name].default) for name in cls.__dataclass_fields__
        }
        values["team"] = values["team"] or {"solver": 1, "helper": 3}
        return cls(**values)

    @property
    def joint(self) -> bool:
        """True if the answer consists of parts that all agents write."""
        return self.answer == JOINT

    @property
    def role(self) -> str:
        """Role that answers; the first role if the majority answers."""
        return next(iter(self.team)) if self.answer == MAJORITY else self.answer

    @property
    def others(self) -> list[str]:
        """Roles that do not answer."""
        return [role for role in self.team if role != self.role]

    @property
    def turns(self) -> int:
        """Maximum number of messages in an episode."""
        roster = Roster.of(self.team, self.topology, self.schedule, self.answer, self.rounds)
        return sum(len(roster.cycle[round % len(roster.cycle)]) for round in range(self.rounds))


def team(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """Keep the environment as configured."""
    return {}


def alone(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """Let one agent read everything and answer in one message, which holds all joint parts."""
    role = WRITER if setting.joint else setting.role
    return {
        "team": {role: 1},
        "answer": JOINT if setting.joint else role,
        "rounds": 1,
        "information": "full",
        "topology": "none",
        "schedule": "all",
        "feedback": "none",
        "agree_at": None,
    }


def one_pass(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """Let one agent answer alone with half of the budget; the second pass has the other half."""
    if setting.joint:
        raise LayoutError(
            "only the answer of one agent can be revised as a draft (env.answer=joint)"
        )
    return alone(setting, agents)


def revise(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """Let one agent read the whole task and another entry's draft, and answer."""
    role = next(iter(one_pass(setting, agents)["team"]))
    return {
        **alone(setting, agents),
        "team": {role: 1, DRAFTER: 1},
        "rounds": 2,
        "topology": "star",
        "schedule": [[DRAFTER], [role]],
    }


def debate(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """Let several agents of the answering role read everything and each other, and vote."""
    if setting.joint:
        raise LayoutError("a debate ends in a vote, and a joint answer has none (env.answer=joint)")
    return {
        "team": {setting.role: agents or DEBATERS},
        "answer": MAJORITY,
        "rounds": 2,
        "information": "full",
        "topology": "complete",
        "schedule": "all",
    }


def discussion(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """Let all agents speak twice and hear each other; the answering role speaks after them."""
    if setting.joint or setting.answer == MAJORITY:
        return {"rounds": 2, "topology": "complete", "schedule": "all"}
    if not setting.others:
        raise LayoutError(
            f"a discussion needs a role besides {setting.role}, which answers (env.team)"
        )
    schedule = [setting.others, setting.others, [setting.role]]
    return {"rounds": 3, "topology": "complete", "schedule": schedule}


def sequential(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """Let one role speak after another, the answering role last; all hear earlier messages."""
    order = list(setting.team) if setting.joint else [*setting.others, setting.role]
    if len(order) < 2:
        raise LayoutError(f"a pipeline needs two roles; env.team only has {order[0]}")
    schedule = [[role] for role in order]
    return {"rounds": len(order), "topology": "complete", "schedule": schedule}


def concatenation(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """Let all roles write at once without hearing each other, and join their parts."""
    if not setting.joint:
        raise LayoutError("there is one answer here and no parts to join (env.answer=joint)")
    return {"rounds": 1, "topology": "none", "schedule": "all"}


LAYOUTS: dict[str, Callable[[TeamSettings, int | None], dict[str, Any]]] = {
    "team": team,
    "alone": alone,
    PASS: one_pass,
    REVISE: revise,
    "debate": debate,
    "discussion": discussion,
    "sequential": sequential,
    "concatenation": concatenation,
}
"""Layout -> function from the configured team and a number of agents to changed settings."""
MESSAGES: Mapping[str, int] = {PASS: 2}
"""Layout -> number of messages that divide its budget, if it differs from its own messages."""


def token_cap(env: Mapping[str, Any]) -> int | None:
    """Return the tokens that all agents together may say in an episode; None for no limit."""
    caps = env.get("budget") or {}
    if caps.get("episode") is not None:
        return int(caps["episode"])
    if caps.get("message") is None:
        return None
    return int(caps["message"]) * TeamSettings.of(env).turns


def split_budget(
    env: Mapping[str, Any], total: int, thoughts: int | None, layout: str, name: str
) -> dict[str, Any]:
    """Return caps that divide a budget of tokens evenly over the messages of an episode.

    Args:
        env: settings of the environment in its layout.
        total: tokens that may be said in an episode.
        thoughts: tokens that may be thought in an episode; None for no cap.
        layout: layout of the environment.
        name: name of the entry or the layout, for the error.

    Raises:
        SettingError: there are more messages than tokens.
    """
    turns = MESSAGES.get(layout) or TeamSettings.of(env).turns
    if turns > total:
        raise SettingError(
            f"a budget of {total} tokens per episode is too small for the {turns} messages of"
            f" {name!r}; raise compare.budget or env.budget.episode"
        )
    caps = {"episode": total, "message": total // turns, "agent": None, "round": None}
    return caps | ({"thought": max(thoughts // turns, 1)} if thoughts else {})


def changed(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace settings; budget and reward keep the fields that `changes` does not name."""
    result = dict(settings)
    for name, value in changes.items():
        before = result.get(name)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        result[name] = dict(before or {}) | dict(value) if both and name in _MERGED else value
    return result
