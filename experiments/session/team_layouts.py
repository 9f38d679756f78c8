"""How an environment is rearranged: from its own settings to those of a baseline.

Everything is made from the environment's own roles: the answering role is alone, debates, or comes
last in a pipeline. Sources: debate, Du et al. (arXiv 2305.14325); discussion, pipeline and naive
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
"""Agents of a debate that does not say how many, those of Du et al."""
BUDGET = "laconic.envs.Budget"
_MERGED = ("budget", "reward")
"""Records within the environment's settings; all other settings are replaced as a whole."""
PASS, REVISE = "pass", "revise"
"""Shapes of one of two passes, and of a second pass over a draft."""
DRAFTER = "drafter"
"""The role of one whose draft is revised."""


class Unfit(ValueError):
    """A shape makes no sense for an environment; the message says why."""


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """What a shape has to know of the environment as it is configured."""

    team: Mapping[str, int]
    """Number of agents of each role."""
    answer: str
    """The role that answers, `majority` or `joint`."""
    rounds: int
    """Most rounds."""
    topology: Any
    """Who hears whom."""
    schedule: Any
    """Whose turn it is."""

    @classmethod
    def of(cls, env: Mapping[str, Any]) -> TeamSettings:
        """Read the settings of a dialogue; what they leave out is the constructor's default."""
        parameters = signature(DialogueEnv).parameters
        found = {name: env.get(name, parameters[name].default) for name in cls.__dataclass_fields__}
        found["team"] = found["team"] or {"solver": 1, "helper": 3}
        return cls(**found)

    @property
    def joint(self) -> bool:
        """Whether all agents write one piece of work."""
        return self.answer == JOINT

    @property
    def role(self) -> str:
        """The role that answers; where a majority does, the first."""
        return next(iter(self.team)) if self.answer == MAJORITY else self.answer

    @property
    def others(self) -> list[str]:
        """The roles that do not answer."""
        return [role for role in self.team if role != self.role]

    @property
    def turns(self) -> int:
        """Messages there can be in an episode."""
        made = Roster.of(self.team, self.topology, self.schedule, self.answer, self.rounds)
        return sum(len(made.cycle[round % len(made.cycle)]) for round in range(self.rounds))


def team(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """The environment as it is configured."""
    return {}


def alone(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """One agent reads everything and answers in one message; a joint work it writes whole."""
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
    """One agent alone, with half of the budget: the other half is another pass's."""
    if setting.joint:
        raise Unfit("a draft is revised where one agent answers (env.answer=joint)")
    return alone(setting, agents)


def revise(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """One agent reads the whole task and a draft, and answers; the draft is another entry's."""
    role = next(iter(one_pass(setting, agents)["team"]))
    return {
        **alone(setting, agents),
        "team": {role: 1, DRAFTER: 1},
        "rounds": 2,
        "topology": "star",
        "schedule": [[DRAFTER], [role]],
    }


def debate(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """Several agents of the answering role read everything, and one another; most win."""
    if setting.joint:
        raise Unfit("a debate ends in a vote, and there is none over joint work (env.answer=joint)")
    return {
        "team": {setting.role: agents or DEBATERS},
        "answer": MAJORITY,
        "rounds": 2,
        "information": "full",
        "topology": "complete",
        "schedule": "all",
    }


def discussion(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """All speak, hear everybody and speak once more; a role that answers does so after that."""
    if setting.joint or setting.answer == MAJORITY:
        return {"rounds": 2, "topology": "complete", "schedule": "all"}
    if not setting.others:
        raise Unfit(f"nobody is there to discuss with {setting.role}, which answers (env.team)")
    schedule = [setting.others, setting.others, [setting.role]]
    return {"rounds": 3, "topology": "complete", "schedule": schedule}


def sequential(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """One role after another, the answering one last; each has read what was said before."""
    order = list(setting.team) if setting.joint else [*setting.others, setting.role]
    if len(order) < 2:
        raise Unfit(f"a pipeline needs two roles; env.team has {order[0]} only")
    schedule = [[role] for role in order]
    return {"rounds": len(order), "topology": "complete", "schedule": schedule}


def concatenation(setting: TeamSettings, agents: int | None) -> dict[str, Any]:
    """All roles write at once, nobody hears anybody, and the parts are put together."""
    if not setting.joint:
        raise Unfit("there is one answer here and no parts to put together (env.answer=joint)")
    return {"rounds": 1, "topology": "none", "schedule": "all"}


SHAPES: dict[str, Callable[[TeamSettings, int | None], dict[str, Any]]] = {
    "team": team,
    "alone": alone,
    PASS: one_pass,
    REVISE: revise,
    "debate": debate,
    "discussion": discussion,
    "sequential": sequential,
    "concatenation": concatenation,
}
"""From the environment as configured, and the number of agents asked for, to changed settings."""
MESSAGES: Mapping[str, int] = {PASS: 2}
"""Over how many messages a shape's budget is shared out, where these are not all its own."""


def said_in_all(env: Mapping[str, Any]) -> int | None:
    """The tokens that all agents together may say in an episode; None for no limit."""
    caps = env.get("budget") or {}
    if caps.get("episode") is not None:
        return int(caps["episode"])
    if caps.get("message") is None:
        return None
    return int(caps["message"]) * TeamSettings.of(env).turns


def shared_out(
    env: Mapping[str, Any], total: int, thoughts: int | None, shape: str, name: str
) -> dict[str, Any]:
    """Caps under which every message of an environment may have the same part of some tokens.

    Args:
        env: settings of the environment, in its shape.
        total: tokens that may be said in an episode.
        thoughts: tokens that may be thought in an episode; None for no cap.
        shape: its shape.
        name: of the entry, or of the shape again; for the message.

    Raises:
        SettingError: there are more messages than tokens.
    """
    turns = MESSAGES.get(shape) or TeamSettings.of(env).turns
    if turns > total:
        raise SettingError(
            f"a budget of {total} tokens an episode leaves none for some of the {turns}"
            f" messages of {name!r}; raise compare.budget or env.budget.episode"
        )
    caps = {"episode": total, "message": total // turns, "agent": None, "round": None}
    return caps | ({"thought": max(thoughts // turns, 1)} if thoughts else {})


def changed(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others in their place; of records, only the named fields."""
    made = dict(settings)
    for name, value in changes.items():
        before = made.get(name)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        made[name] = dict(before or {}) | dict(value) if both and name in _MERGED else value
    return made
