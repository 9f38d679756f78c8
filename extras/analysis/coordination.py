"""Measure the cost and the gain of coordination in a team, against a single agent.

Every entry of a comparison leaves `coordination.json` in its folder. `coordination.csv` compares
all entries with the single agent (`compare.alone`), and `flow.csv` counts answers by round.

Overhead and efficiency are those of "Towards a Science of Scaling Agent Systems" (arXiv
2512.08296); a turn is a call of an agent, a silent one too. Effective channels K* are those of
arXiv 2602.03794, on counts of tokens or on the vectors of an embedding model. Intervals of paired
differences belong to McNemar's exact test: Clopper-Pearson on the tasks that only one of the two
solves.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laconic.envs.checks import Word
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Tokenize
from laconic.envs.dialogue.by_reply import vectors
from laconic.envs.dialogue.messages import Message, format_messages
from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.statistics.intervals import exact
from laconic.extras.compare.columns import PlayedEntry
from laconic.extras.methods.collective import channels
from laconic.learners.episode import Episode, Turn
from laconic.learners.metrics import RESAMPLES, Interval, resample
from laconic.learners.untrusted_files import read_json

FILE = "coordination.json"
FLOWS = ("tt", "tf", "ft", "ff")
"""Changes of an answer from one round to the next: right (t) or wrong (f), before and after."""
Answers = Mapping[str, tuple[str, bool]]
"""Answers of a round: agent -> answer, and whether it is right."""
HEADS = (
    "entry",
    "turns",
    "overhead",
    "density",
    "heard",
    "efficiency",
    "redundancy",
    "channels",
    "channels_right",
    "channels_wrong",
    "broken",
    "fixed",
    "gain",
    "gain_low",
    "gain_high",
    "tokens_ratio",
    "tokens_ratio_low",
    "tokens_ratio_high",
    *FLOWS,
    "conformity",
)
"""Columns of the table. Density is messages per turn, and `heard` the share of messages that
another agent read. Flows are shares of the answers that an agent gave in two consecutive rounds."""
FLOW_HEADS = ("entry", "round", *FLOWS, *(f"{name}_conforming" for name in FLOWS))
"""Columns of `flow.csv`: number of answers in a round by their change since the round before, and
how many of them conform. Rounds count from 1."""
Vectorize = Callable[[Sequence[str]], NDArray[np.float64]]
"""Function from texts to unit vectors, (texts, width)."""


@dataclass(frozen=True, slots=True)
class Coordination:
    """Column of a comparison that measures coordination and writes its tables."""

    alone: Word = "single"
    """Name of the entry of a single agent."""
    embed: str | None = None
    """Embedding model, a folder or a name on the hub; None counts tokens."""

    def __call__(self, played: PlayedEntry) -> None:
        """Measure an entry and write the result into its folder."""
        vectorize = vectorizer(self.embed, played.tokenize)
        save(played.folder.path, measure(played.episodes, vectorize, played.environments[0]))

    def finish(self, folder: Path, names: Sequence[str]) -> None:
        """Write the tables of all entries."""
        write(folder, names, self.alone)


def vectorizer(embed: str | None, tokenize: Tokenize) -> Vectorize:
    """Return a function from texts to vectors: an embedding model, or counts of tokens."""
    if embed is not None:
        return partial(embedded, str(embed))
    return lambda texts: vectors([tokenize(text) for text in texts])


def measure(
    episodes: Sequence[Episode], vectorize: Vectorize, environment: object = None
) -> dict[str, Any]:
    """Return the measures of an entry, means over its episodes.

    Redundancy and channels are means over rounds. The environment grades the answers of single
    rounds, if grading is fast.
    """
    graded = [graded_rounds(episode, environment) for episode in episodes]
    rounds = [
        vectorize(messages)
        for episode in episodes
        for messages in _by_round(episode.turns)
        if len(messages) > 1
    ]
    turns = [len(episode.turns) for episode in episodes]
    messages = [sum(bool(turn.message) for turn in episode.turns) for episode in episodes]
    return {
        "turns": float(np.mean(turns)),
        "messages": float(np.mean(messages)),
        "heard": float(np.mean([_heard(episode.turns) for episode in episodes])),
        "redundancy": _mean(map(redundancy, rounds)),
        "channels": _mean(map(channels, rounds)),
        **{
            f"channels_{name}": _mean(
                channels(vectorize(messages))
                for rounds in graded
                for messages in _alike(rounds.values(), right)
                if len(messages) > 1
            )
            for name, right in (("right", True), ("wrong", False))
        },
        "flow": _flow(graded),
        "solved": {
            episode.task: bool(episode.solved) for episode in episodes if episode.solved is not None
        },
        "spent": {
            episode.task: sum(episode.tokens_said.values()) + sum(episode.tokens_thought.values())
            for episode in episodes
        },
    }


Graded = Mapping[int, Mapping[str, tuple[Turn, str, bool]]]
"""Round -> agent -> its turn, its answer there, and whether the answer is right."""


def graded_rounds(episode: Episode, environment: object) -> Graded:
    """Return the answers of each agent; empty for a single answering agent or a joint work."""
    env = environment
    if not isinstance(env, DialogueEnv) or env.benchmark.slow or env.joint:
        return {}
    if len(env.answering) < 2:
        return {}
    task = env.tasks[episode.task]
    rounds: defaultdict[int, dict[str, tuple[Turn, str, bool]]] = defaultdict(dict)
    for turn in episode.turns:
        if turn.agent in env.answering:
            score = env.benchmark.score(task, {turn.agent: turn.message})
            if score.answer:
                rounds[turn.round][turn.agent] = turn, score.answer, bool(score.solved)
    return rounds


def _heard(turns: Sequence[Turn]) -> int:
    """Count the messages that another agent read.

    Observations decide, not the topology, because a channel may lose messages.
    """
    return sum(_reached(turn, turns) for turn in turns if turn.message)


def _reached(message: Turn, turns: Sequence[Turn]) -> bool:
    """Return whether another agent read this message unchanged before its next turn.

    A quotation stands within another line and does not count.
    """
    next_turns = {turn.agent: turn for turn in reversed(turns) if turn.round > message.round}
    line = format_messages(
        [Message(message.agent, message.round, message.message, message.tokens_said)]
    )
    read = [next_turn.read for agent, next_turn in next_turns.items() if agent != message.agent]
    return any(f"\n{line}\n" in f"\n{text}\n" for text in read)


def _by_round(turns: Iterable[Turn]) -> list[list[str]]:
    rounds: defaultdict[int, list[str]] = defaultdict(list)
    for turn in turns:
        if turn.message:
            rounds[turn.round].append(turn.message)
    return list(rounds.values())


def _alike(rounds: Iterable[Mapping[str, tuple[Turn, str, bool]]], right: bool) -> list[list[str]]:
    """Return the messages of each round whose answers are right, or wrong."""
    return [
        [turn.message for turn, _, solved in answers.values() if solved is right]
        for answers in rounds
    ]


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None


def _flow(graded: Sequence[Graded]) -> dict[str, dict[str, list[int]]]:
    """Sum the counts of `answer_flow` over all episodes, by the later of the two rounds."""
    total: dict[str, dict[str, list[int]]] = {}
    for rounds in graded:
        answers: list[tuple[int, Answers]] = [
            (place, {agent: (text, right) for agent, (_, text, right) in rounds[place].items()})
            for place in sorted(rounds)
        ]
        for (_, before), (place, after) in pairwise(answers):
            into = total.setdefault(str(place), {name: [0, 0] for name in FLOWS})
            for name, counts in answer_flow([before, after]).items():
                into[name] = [old + new for old, new in zip(into[name], counts, strict=True)]
    return total


def save(folder: Path, measured: dict[str, Any]) -> None:
    """Write the measures of an entry into its folder."""
    write_atomically(folder / FILE, json.dumps(measured, indent=2) + "\n")


def read(folder: Path) -> dict[str, Any] | None:
    """Return the measures of an entry; None if it was not played."""
    path = folder / FILE
    if not path.is_file():
        return None
    measured: dict[str, Any] = read_json(path)
    return measured


def write(folder: Path, names: Sequence[str], alone: str) -> None:
    """Write the tables of all entries that were played; `coordination.csv` needs `alone`."""
    measured = {name: entry for name in names if (entry := read(folder / name)) is not None}
    flows = [
        (name, place, *(entry["flow"][place][flow][i] for i in (0, 1) for flow in FLOWS))
        for name, entry in measured.items()
        for place in entry["flow"]
    ]
    if flows:
        _table(folder / "flow.csv", FLOW_HEADS, flows)
    if alone in measured:
        lines = [_line(name, entry, measured[alone]) for name, entry in measured.items()]
        _table(folder / "coordination.csv", HEADS, lines)


def _table(path: Path, heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([heads, *lines])
    write_atomically(path, buffer.getvalue())


def _line(name: str, entry: dict[str, Any], alone: dict[str, Any]) -> list[Any]:
    turns, solved = entry["turns"], entry["solved"]
    success = float(np.mean([*solved.values()])) if solved else None
    broken, fixed, gain = paired(alone["solved"], solved)
    ratio = spent_ratio(alone["spent"], entry["spent"])
    flow = [entry["flow"][place] for place in entry["flow"]]
    counts = {name: sum(step[name][0] for step in flow) for name in FLOWS}
    steps, conforming = sum(counts.values()), sum(n for step in flow for _, n in step.values())
    return [
        name,
        turns,
        overhead(turns, alone["turns"]),
        entry["messages"] / turns,
        entry["heard"] / entry["messages"] if entry["messages"] else None,
        efficiency(success, turns, alone["turns"]) if success is not None else None,
        *(entry[kind] for kind in ("redundancy", "channels", "channels_right", "channels_wrong")),
        broken,
        fixed,
        gain.mean,
        gain.low,
        gain.high,
        *((ratio.mean, ratio.low, ratio.high) if ratio else (None, None, None)),
        *(counts[name] / steps if steps else None for name in FLOWS),
        conforming / steps if steps else None,
    ]


def overhead(turns: float, alone: float) -> float:
    """Return the overhead of a team over a single agent in turns: (T - T1) / T1."""
    return (turns - alone) / alone


def efficiency(success: float, turns: float, alone: float) -> float:
    """Return the success per turns of a single agent: S / (T / T1)."""
    return success / (turns / alone)


def redundancy(units: NDArray[np.float64]) -> float:
    """Return the mean cosine of all pairs of unit vectors (count, size); NaN for less than two."""
    return fmean([float(a @ b) for a, b in combinations(units, 2)]) if len(units) > 1 else math.nan


def paired(alone: Mapping[str, bool], team: Mapping[str, bool]) -> tuple[int, int, Interval]:
    """Return how many tasks the team broke, how many it fixed, and its gain as a share of all.

    Only tasks that both have played count.
    """
    tasks = alone.keys() & team.keys()
    broken = sum(alone[task] and not team[task] for task in tasks)
    fixed = sum(team[task] and not alone[task] for task in tasks)
    apart = broken + fixed
    if not tasks or not apart:
        return broken, fixed, Interval(0.0, 0.0, 0.0, len(tasks))
    low, high = ((2 * end - 1) * apart / len(tasks) for end in exact(fixed, apart))
    return broken, fixed, Interval((fixed - broken) / len(tasks), low, high, len(tasks))


def spent_ratio(alone: Mapping[str, int], team: Mapping[str, int]) -> Interval | None:
    """Return the team's tokens per token of the single agent, with a paired bootstrap interval.

    Only tasks of both count. None if there are none, or if the single agent spends nothing.
    """
    tasks = sorted(alone.keys() & team.keys())
    spent = np.array([(team[task], alone[task]) for task in tasks], dtype=np.float64).reshape(-1, 2)
    if not spent[:, 1].any():
        return None
    samples = resample(RESAMPLES, len(tasks), np.random.default_rng(0)) @ spent
    # A draw in which the single agent says nothing has no ratio.
    samples = samples[samples[:, 1] > 0]
    low, high = np.percentile(samples[:, 0] / samples[:, 1], (2.5, 97.5))
    mean = spent[:, 0].sum() / spent[:, 1].sum()
    return Interval(float(mean), float(low), float(high), len(tasks))


def answer_flow(rounds: Sequence[Answers]) -> dict[str, tuple[int, int]]:
    """Count how answers change from round to round (MachineSoM, arXiv 2310.02124).

    Returns:
        For each of `FLOWS`: how often an answer changed in this way, and in how many of these cases
        the new answer was among the most common answers of the other agents before.
    """
    flows = {name: [0, 0] for name in FLOWS}
    for before, after in pairwise(rounds):
        for agent in before.keys() & after.keys():
            others = Counter(answer for other, (answer, _) in before.items() if other != agent)
            most = max(others.values(), default=0)
            (_, was), (answer, now) = before[agent], after[agent]
            counts = flows["ft"[was] + "ft"[now]]
            counts[0] += 1
            counts[1] += bool(most) and others[answer] == most
    return {name: (count, conforming) for name, (count, conforming) in flows.items()}


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Any, Any]:
    """Return tokenizer and model of a folder, or of a name on the hub.

    Raises:
        SettingError: there is none.
    """
    # Imported late: comparisons without an embedding model do not need it.
    from transformers import AutoModel, AutoTokenizer

    from laconic.learners.agents.load import check_without_code

    try:
        check_without_code(name)
        return AutoTokenizer.from_pretrained(name), AutoModel.from_pretrained(name).eval()
    except (OSError, ValueError) as error:
        raise SettingError(
            f"compare.embed must be a folder or a name of a model that transformers can load; got"
            f" {name!r}: {str(error).splitlines()[0]}"
        ) from error


def embedded(name: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the unit vectors of texts, (texts, width); texts without a token are 0."""
    import torch

    tokenizer, model = load(name)
    rows = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt", truncation=True)["input_ids"]
        if not ids.numel():
            rows.append(np.zeros(model.config.hidden_size))
            continue
        with torch.no_grad():
            states = model(input_ids=ids).last_hidden_state[0].double().mean(dim=0).numpy()
        rows.append(states / (np.linalg.norm(states) or 1.0))
    return np.array(rows)
