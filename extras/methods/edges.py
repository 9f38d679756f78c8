"""Learned edges: who hears whom, with one probability for each directed edge and round.

Each group of episodes is played under a graph drawn from these probabilities, so that its members
are compared under one graph. REINFORCE then moves the logits:

    θ_e += learning_rate * mean over episodes of (R - b) (x_e - p_e),    p_e = 1 / (1 + exp(-θ_e))

R is the task reward of the team less `rate` for each message token that an agent reads, b the mean
R of the groups of other tasks, and x_e is 1 if the graph has the edge. Edges pay for reading alone:
the price of a message is charged to the policy that wrote it. An edge whose speaker is silent in
its round has no effect on the episode, so the episode says nothing about it. All edges begin at
1/2. After `updates` updates those above 1/2 stay, and the others are pruned: an edge has to earn
its place. The graph then stays as it is, while the policies go on learning.

The edges are those of `env.topology`, in all rounds but the last, whose messages no agent reads.

AgentPrune (arXiv 2410.02506) and GPTSwarm (arXiv 2402.16823) learn edges by REINFORCE too, with
unpriced returns. AgentPrune also lowers the rank of the adjacency, which is left out here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from laconic.envs.checks import Count, NotNegative, Positive, check_fields
from laconic.envs.dialogue.by_reply import LinksByReply
from laconic.envs.dialogue.option import option_of
from laconic.envs.dialogue.team import TeamEnv
from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import team_parts
from laconic.learners.episode import Episode, Graph, Group
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.runner import Start


class Edge(NamedTuple):
    """A directed edge of one round."""

    round: int
    """Round of the message, from 0."""
    speaker: str
    """Agent whose message is read."""
    listener: str
    """Agent that reads it."""


@dataclass(slots=True)
class Edges:
    """Probabilities of edges, and how they are learned."""

    rate: NotNegative = 0.01
    """Reward units that one token read costs."""
    learning_rate: Positive = 1.0
    """Step size of the logits."""
    updates: Count = 40
    """Number of updates in which edges learn; the graph is pruned and fixed after the last."""
    edges: tuple[Edge, ...] = field(default=(), init=False)
    """Edges that are learned; empty before the first group is played."""
    rounds: int = field(default=1, init=False)
    """Number of rounds whose messages may be read."""
    logits: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), init=False)
    """Logits θ of the edges, (edges,)."""
    updates_taken: int = field(default=0, init=False)
    """Number of updates in which edges have learned."""
    tokens: int = field(default=0, init=False)
    """Tokens said, read and thought in the episodes from which edges have learned."""

    def __post_init__(self) -> None:
        """Check the ranges (`SettingError`)."""
        check_fields(self, "learner.topology")

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of each edge, (edges,)."""
        values: NDArray[np.float64] = 1 / (1 + np.exp(-self.logits))
        return values

    @property
    def graph(self) -> Graph:
        """Graph of the edges above 1/2 once they are fixed; empty before that."""
        return self._graph_of(self.logits > 0) if self.updates_taken >= self.updates else ()

    def around(self, collector: Collector) -> TopologyCollector:
        """Return a collector that plays by another one, under drawn graphs.

        Raises:
            SettingError: the other collector plays further starts of its own.
        """
        if collector.own_starts:
            raise SettingError(
                "learner/topology=edges plays each group under a graph of its own, and"
                f" {collector.kind} plays further groups; choose learner/collect=null, or"
                " learner/topology=null"
            )
        return TopologyCollector(self, collector)

    def draw(self, environment: Any, count: int, generator: np.random.Generator) -> list[Graph]:
        """Draw graphs (count,), or return the fixed graph as often.

        Args:
            environment: environment with the edges to learn.
            count: number of graphs.
            generator: source of random numbers.

        Raises:
            SettingError: the environment has no such edges, or others than before.
        """
        edges = edges_of(environment)
        if not self.edges:
            self.edges, self.logits = edges, np.zeros(len(edges))
            self.rounds = environment.unwrapped.rounds - 1
        if edges != self.edges:
            raise SettingError(
                f"learner/topology=edges has learned {len(self.edges)} edges, and env.topology with"
                f" env.rounds and env.team has {len(edges)} or other ones now; keep these settings"
            )
        draws = generator.random((count, len(edges))) < self.probabilities
        return [self.graph or self._graph_of(row) for row in draws]

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Learn from groups that were played under drawn graphs, unless the graph is fixed.

        Returns:
            `edges`, those above 1/2; `edge_training_tokens`, said, read and thought to learn them.
        """
        own = [group for group in groups if group.own and group.episodes[0].topology]
        if own and self.updates_taken < self.updates:
            self.logits = self.logits + self.learning_rate * self.gradient(own)
            self.updates_taken += 1
            self.tokens += sum(
                sum(
                    sum(ledger.values())
                    for ledger in (e.tokens_said, e.tokens_read, e.tokens_thought)
                )
                for group in own
                for e in group.episodes
            )
        return {
            "edges": float((self.logits > 0).sum()),
            "edge_training_tokens": float(self.tokens),
        }

    def gradient(self, groups: Sequence[Group]) -> NDArray[np.float64]:
        """Return the REINFORCE estimate of the gradient of R by the logits, (edges,)."""
        returns = [[self._return(episode) for episode in group.episodes] for group in groups]
        means = [fmean(values) for values in returns]
        total = np.zeros(len(self.edges))
        for group, values in zip(groups, returns, strict=True):
            # Groups of one task may share a graph, on which a baseline must not depend.
            pairs = zip(groups, means, strict=True)
            others = [mean for other, mean in pairs if other.task != group.task]
            baseline = fmean(others) if others else 0.0
            for episode, value in zip(group.episodes, values, strict=True):
                speakers = {(turn.round, turn.agent) for turn in episode.turns if turn.message}
                active = np.array([(edge.round, edge.speaker) in speakers for edge in self.edges])
                chosen = np.array([_has(episode.topology, edge) for edge in self.edges])
                scores = active * (chosen - self.probabilities)
                total += (value - baseline) * scores / len(group.episodes)
        return total / len(groups)

    def _return(self, episode: Episode) -> float:
        """Return R of an episode, in reward units; a token is counted once for each reader."""
        sizes = {(turn.round, turn.agent): turn.tokens_said for turn in episode.turns}
        read = sum(
            sizes.get((edge.round, edge.speaker), 0)
            for edge in self.edges
            if _has(episode.topology, edge)
        )
        return team_parts(episode).task - self.rate * read

    def _graph_of(self, chosen: NDArray[np.bool_]) -> Graph:
        """Return the graph that has the chosen edges, (edges,)."""
        graph: list[dict[str, tuple[str, ...]]] = [{} for _ in range(self.rounds)]
        for edge, is_chosen in zip(self.edges, chosen, strict=True):
            if is_chosen:
                hears = graph[edge.round]
                hears[edge.listener] = (*hears.get(edge.listener, ()), edge.speaker)
        return tuple(graph)

    def state_dict(self) -> dict[str, Any]:
        """Return the logits by edge, and what was counted."""
        return {
            "edges": [list(edge) for edge in self.edges],
            "rounds": self.rounds,
            "logits": self.logits.tolist(),
            "updates_taken": self.updates_taken,
            "tokens": self.tokens,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        self.edges = tuple(Edge(*edge) for edge in state["edges"])
        self.rounds, self.logits = state["rounds"], np.array(state["logits"], dtype=np.float64)
        self.updates_taken, self.tokens = state["updates_taken"], state["tokens"]


class TopologyCollector(Collector):
    """Plays groups by another collector, each under a graph that is drawn from learned edges."""

    learns = True

    def __init__(self, edges: Edges, inner: Collector) -> None:
        """Take over the attributes of the other collector."""
        self.edges, self.inner = edges, inner
        kept = ("credit", "unit", "speaker", "members", "state_dict", "load_state_dict", "bind")
        for name in kept:
            setattr(self, name, getattr(inner, name))

    @property
    def kind(self) -> str:
        """Name of the setting, for messages."""
        return "learner/topology=edges"

    def learn(self, groups: Sequence[Group]) -> dict[str, float]:
        """Move the edges; return their metrics."""
        return self.edges.update(groups)

    def parts(self) -> dict[str, Any]:
        """Return the edges, whose state is that of the learner's setting."""
        return {"topology": self.edges}

    @property
    def metrics(self) -> Mapping[str, float]:  # type: ignore[override]
        """Metrics of the last call of the other collector."""
        return self.inner.metrics

    @property
    def graph(self) -> Graph:  # type: ignore[override]
        """Fixed graph; empty while edges learn."""
        return self.edges.graph

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Return the groups of the other collector, one graph for each start.

        Raises:
            SettingError: the other collector does not play the starts that it is given.
        """
        generator = np.random.default_rng((seed, 3))
        graphs = self.edges.draw(players.environments[0], len(starts), generator)
        starts = [
            replace(start, topology=graph) for start, graph in zip(starts, graphs, strict=True)
        ]
        groups = self.inner(*players, starts, group_size, seed=seed)
        if any(group.episodes[0].topology not in graphs for group in groups if group.own):
            raise SettingError(
                "learner/topology=edges needs a learner.collect that plays the starts that it is"
                f" given; {self.inner.kind} plays others. Choose learner/collect=null"
            )
        return groups


def edges_of(environment: Any) -> tuple[Edge, ...]:
    """Return the edges of an environment's topology, in all rounds but the last.

    Raises:
        SettingError: it is no environment of this package, its links are made by replies, or it has
            no edge in these rounds.
    """
    team = getattr(environment, "unwrapped", environment)
    if not isinstance(team, TeamEnv) or option_of(team, LinksByReply):
        received = "links made by replies" if isinstance(team, TeamEnv) else type(team).__name__
        raise SettingError(
            "learner/topology=edges learns which links of env.topology to keep, and needs an"
            f" environment of this package with fixed ones; got {received}. Set"
            " env.topology=complete, or learner/topology=null"
        )
    edges = tuple(
        Edge(round, speaker, listener)
        for round in range(team.rounds - 1)
        for listener, speakers in team.hearing[round % len(team.hearing)].items()
        for speaker in speakers
    )
    if not edges:
        raise SettingError(
            "learner/topology=edges found no edge to learn: the messages of the last round are read"
            f" by no agent; got env.rounds={team.rounds} with this env.topology. Set"
            " env.topology=complete and env.rounds of at least 2"
        )
    return edges


def _has(graph: Graph, edge: Edge) -> bool:
    return edge.speaker in graph[edge.round].get(edge.listener, ())
