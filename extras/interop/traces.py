"""Episodes as orchestration traces, in the schema of arXiv 2605.02801.

The schema is `trace-schema/trace_schema.json` of github.com/xxzcc/awesome-llm-mas-rl. A trace is a
graph of events:

    spawn                  each agent, before the first round: teams are fixed
    message                a turn in which the agent said something, with its text as `content`
    orchestrator_decision  a turn of silence: the decision to say nothing
    tool_call              an act in a world
    return                 the graded answer

Edges are `temporal` between turns of an agent, `message` to the next turn of each agent that hears
it, and `return` to the answer. Rewards are `team` (task reward), `bill` (cost of all words) and
`agent:<name>` (return of each agent). Costs count tokens said and thought, messages and acts.
`wall_clock_s` is 0, because episodes are not timed.

Who hears whom comes from `env.topology` and `env.addressing`. Where the topology is unknown,
messages have no edges to listeners.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from laconic.envs.dialogue.addressing import Addressing, hearing_by_address
from laconic.envs.dialogue.roster import Hearing, hearing_by_round, role_of
from laconic.envs.errors import SettingError
from laconic.extras.interop.chat import RecordedEpisode
from laconic.learners.advantages.credit import team_parts
from laconic.learners.episode import Episode, Turn

_TOPOLOGIES = {"star": "centralized"}
"""Name of a topology here -> its name in the schema; others are `unknown`."""


def trace(recorded: RecordedEpisode, place: int) -> dict[str, Any]:
    """Return the trace of an episode; `place` is its number in the file."""
    episode, agents = recorded.episode, list(recorded.episode.rewards)
    topology = recorded.env.get("topology")
    events = [
        {"id": f"spawn.{agent}", "t": 0, "type": "spawn", "agent": agent, "role": role_of(agent)}
        for agent in agents
    ]
    events += [_event(turn) for turn in episode.turns]
    last = max((turn.round for turn in episode.turns), default=0)
    answering = episode.turns[-1].agent if episode.turns else (agents or ["team"])[0]
    answer = {"id": "answer", "t": last + 2, "type": "return", "agent": answering}
    events.append({**answer, "content": episode.answer, "content_ref": _hash(episode.answer)})
    return {
        "trace_id": f"{episode.task}#{place}",
        "task_id": episode.task or "task",
        "system": "laconic",
        "topology": _TOPOLOGIES.get(topology, "unknown")
        if isinstance(topology, str)
        else "unknown",
        "events": events,
        "edges": _edges(
            episode, _hearing(topology, agents), recorded.env.get("addressing", "none")
        ),
        "rewards": _finite(
            {
                **_team(episode),
                **{f"agent:{agent}": value for agent, value in episode.returns.items()},
            }
        ),
        "costs": {
            "tokens": sum(turn.tokens_said + turn.tokens_thought for turn in episode.turns),
            "wall_clock_s": 0,
            "tool_calls": sum(bool(turn.act) for turn in episode.turns),
            "messages": sum(bool(turn.message) for turn in episode.turns),
        },
        "metrics": _finite(
            {
                "score": episode.score,
                **({} if episode.solved is None else {"task_success": float(episode.solved)}),
            }
        ),
    }


def _event(turn: Turn) -> dict[str, Any]:
    kind = "message" if turn.message else "tool_call" if turn.act else "orchestrator_decision"
    event = {
        "id": _id(turn),
        "t": turn.round + 1,
        "type": kind,
        "agent": turn.agent,
        "role": role_of(turn.agent),
        "content": turn.message,
        "content_ref": _hash(turn.message),
        "tokens": turn.tokens_said,
        "silent": not turn.message,
    }
    return {**event, "tool": turn.act} if turn.act else event


def _edges(
    episode: Episode, hearing: Sequence[Hearing], addressing: Addressing
) -> list[dict[str, str]]:
    edges: list[dict[str, str]] = []
    for index, turn in enumerate(episode.turns):
        following: dict[str, Turn] = {}
        for later in episode.turns[index + 1 :]:
            if later.round > turn.round:
                following.setdefault(later.agent, later)
        if turn.agent in following:
            edges.append(_edge(turn, _id(following[turn.agent]), "temporal"))
        linked = hearing[turn.round % len(hearing)] if hearing else {}
        hears = hearing_by_address(addressing, linked, {turn.agent: turn.message})
        for agent, later in following.items():
            if turn.message and turn.agent in hears.get(agent, ()):
                edges.append(_edge(turn, _id(later), "message"))
    if episode.turns:
        edges.append(_edge(episode.turns[-1], "answer", "return"))
    return edges


def _edge(turn: Turn, target: str, kind: str) -> dict[str, str]:
    return {"src": _id(turn), "dst": target, "type": kind}


def _hearing(topology: Any, agents: Sequence[str]) -> Sequence[Hearing]:
    """Return whom each agent hears, by round of the cycle; empty if that is unknown."""
    try:
        return hearing_by_round(topology, agents) if topology is not None and agents else ()
    except (SettingError, TypeError, ValueError):
        return ()


def _team(episode: Episode) -> dict[str, float]:
    if not episode.bills:
        return {}
    task, cost = team_parts(episode)
    return {"team": task, "bill": cost}


def _id(turn: Turn) -> str:
    return f"round{turn.round + 1}.{turn.agent}"


def _hash(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def _finite(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return the finite numbers: JSON has no others."""
    return {name: value for name, value in numbers.items() if math.isfinite(value)}
