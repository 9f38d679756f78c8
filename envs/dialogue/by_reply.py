"""Links made by replies: an agent hears those whose reply is like its own and nearer to the mean.

    env.topology={kind: by_reply, similarity: 0.6}

After each round every agent's last message is a unit vector r. Its contribution is its cosine with
the mean of all: ψ_n = cos(r_n, Σ r / N). Agent n hears agent m if cos(r_m, r_n) >= similarity and
ψ_m > ψ_n. So messages flow from higher to lower contributions. The edge that would close a cycle,
from its weakest source back to its strongest agent, never arises: the graph has no cycle, and the
order of falling ψ is a topological order. Listeners read the messages in that order. An agent that
has said nothing has no vector, hears no agent, and counts in no mean.

The answer of the team is that of the agent whose last message is nearest to the centroid Σ ψ_n r_n.

Vectors are counts of tokens, by the tokenizer that counts budgets, unless `embed` makes others.
Counts know words and not meanings: an agent that repeats others raises its ψ.

Source: SelfOrg (arXiv 2510.00685), of which only summaries were read. There agents speak one after
another within a round, in topological order; here they speak at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from laconic.envs.checks import Bound, check_fields, check_names
from laconic.envs.dialogue.budget import Tokenize
from laconic.envs.dialogue.option import Option, Team
from laconic.envs.dialogue.roster import Hearing
from laconic.envs.errors import SettingError

RULE = " You hear those who said much the same as you, and are nearer to what all said."
"""Sentence of the rules that agents read."""
KIND: Literal["by_reply"] = "by_reply"
Embed = Callable[[Sequence[str]], Any]
"""Function from n texts to n vectors of one width, of any length but 0."""
_ROUNDING = 1e-9
"""Differences of cosines up to this are rounding."""


def vectors(replies: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return token counts of replies as unit vectors, (replies, tokens); empty replies are 0."""
    names = sorted(set().union(*replies))
    counts = [Counter(reply) for reply in replies]
    return unit([[count[name] for name in names] for count in counts])


def unit(rows: Any) -> NDArray[np.float64]:
    """Return rows (count, width) divided by their lengths; rows of zeros stay."""
    rows = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    units: NDArray[np.float64] = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return units


def contributions(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ψ (count,): the cosine of each unit vector (count, width) with the mean of all."""
    cosines: NDArray[np.float64] = units @ unit(units.mean(axis=0, keepdims=True))[0]
    return cosines


def sources(units: NDArray[np.float64], similarity: float) -> list[list[int]]:
    """Return whom each agent hears, by place in falling order of ψ.

    Args:
        units: unit vectors of the replies, (agents, width).
        similarity: least cosine of two replies that are linked.
    """
    psi, cosines = contributions(units), units @ units.T
    order = np.argsort(-psi, kind="stable").tolist()
    near = cosines >= similarity - _ROUNDING
    return [
        [m for m in order if near[m, n] and psi[m] > psi[n] + _ROUNDING] for n in range(len(units))
    ]


def nearest(units: NDArray[np.float64], among: Collection[int]) -> int:
    """Return the place of the vector nearest to the centroid weighted by ψ; the first of equals.

    Args:
        units: unit vectors of the replies, (agents, width).
        among: places to choose from.
    """
    closeness = units @ (contributions(units) @ units)
    best = max(closeness[place] for place in among)
    return next(place for place in sorted(among) if closeness[place] >= best - _ROUNDING)


@dataclass(frozen=True, slots=True)
class ByReply:
    """Settings of links that replies make."""

    similarity: Annotated[float, Bound(gt=0, le=1)] = 0.6
    """Least cosine of two replies that are linked, above 0 and at most 1."""
    embed: Embed | None = None
    """Function that makes the vectors of texts; None counts tokens."""
    kind: Literal["by_reply"] = KIND
    """Kind of links."""

    def __post_init__(self) -> None:
        """Check the range (`SettingError`)."""
        check_fields(self, "env.topology")
        if self.embed is not None and not callable(self.embed):
            raise SettingError(
                "env.topology.embed must be a function from texts to vectors, or null to count"
                f" tokens; got {self.embed!r}. In a config, name one by _target_ and _partial_"
            )

    @classmethod
    def of(cls, topology: object) -> ByReply | None:
        """Return the settings if a topology is of this kind, else None.

        Raises:
            UnknownNameError: it has an unknown kind, or settings of no meaning.
            SettingError: a setting is out of its range.
        """
        if not isinstance(topology, Mapping) or "kind" not in topology:
            return None
        check_names("setting of env.topology", topology, cls.__dataclass_fields__)
        return cls(**topology)

    def hearing(
        self, agents: Sequence[str], replies: Mapping[str, str], tokenize: Tokenize
    ) -> dict[str, tuple[str, ...]]:
        """Return whom each agent hears, in topological order.

        Args:
            agents: all agents.
            replies: last message of each agent that has spoken.
            tokenize: cuts text into tokens.
        """
        hears: dict[str, tuple[str, ...]] = dict.fromkeys(agents, ())
        speakers = [agent for agent in agents if agent in replies]
        if speakers:
            units = self._units([replies[agent] for agent in speakers], tokenize)
            for listener, places in zip(speakers, sources(units, self.similarity), strict=True):
                hears[listener] = tuple(speakers[place] for place in places)
        return hears

    def nearest(
        self, replies: Mapping[str, str], among: Collection[str], tokenize: Tokenize
    ) -> str:
        """Return the agent whose reply is nearest to the centroid.

        Args:
            replies: replies of at least one agent; the first of equals is chosen.
            among: agents to choose from; empty for all of them.
            tokenize: cuts text into tokens.
        """
        speakers = list(replies)
        places = [place for place, agent in enumerate(speakers) if not among or agent in among]
        return speakers[nearest(self._units(list(replies.values()), tokenize), places)]

    def _units(self, texts: Sequence[str], tokenize: Tokenize) -> NDArray[np.float64]:
        if self.embed is None:
            return vectors([tokenize(text) for text in texts])
        rows = np.asarray(self.embed(texts), dtype=np.float64)
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise SettingError(
                f"env.topology.embed must return {len(texts)} vectors of finite numbers for"
                f" {len(texts)} texts; got an array of shape {rows.shape}"
            )
        return unit(rows)


class LinksByReply(Option):
    """The option `env.topology={kind: by_reply}`; a topology of the episode's own replaces it."""

    settings: ByReply
    rule = RULE
    chosen = "the one most like what all of {names} say"

    def __init__(self, settings: ByReply, joint: bool) -> None:
        """Take the settings, and whether all messages are graded as one piece of work."""
        self.settings, self._joint = settings, joint
        self._replies: dict[str, str] = {}

    def start(self, team: Team, generator: np.random.Generator) -> bool:
        """Forget the replies of the last episode."""
        self.team, self._replies = team, {}
        return team.topology is team.hearing

    def link(self, linked: Hearing) -> Hearing:
        """Return the links that the last reply of each agent makes."""
        team = self.team
        self._replies |= {agent: each.text for agent, each in team.latest.items() if each.text}
        return self.settings.hearing(team.possible_agents, self._replies, team.tokenize)

    def choose(self, answers: dict[str, str], committed: Collection[str]) -> dict[str, str]:
        """Return the message nearest to the centroid, by a committed agent if there is one."""
        if self._joint or not answers:
            return answers
        agent = self.settings.nearest(answers, committed, self.team.tokenize)
        return {agent: answers[agent]}
