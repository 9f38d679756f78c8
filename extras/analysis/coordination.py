"""What the teams of a comparison cost and gain in coordination, beside one agent alone.

Every entry leaves `coordination.json` in its folder; `coordination.csv` puts them beside the entry
that stands for one agent alone (`compare.alone`), and `flow.csv` has every round's answers.
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

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Tokenize
from laconic.envs.dialogue.messages import Message, heard
from laconic.envs.errors import SettingError
from laconic.experiments.comparing.columns import PlayedEntry
from laconic.experiments.running.run_folder import write_atomically
from laconic.experiments.statistics.intervals import exact
from laconic.learners.episode import Episode, Turn
from laconic.learners.metrics import RESAMPLES, Interval, resample
from laconic.learners.rollout.strange_files import read_json

FILE = "coordination.json"
FLOWS = ("tt", "tf", "ft", "ff")
"""From right (t) or wrong (f) in a round to right or wrong in the next."""
Answers = Mapping[str, tuple[str, bool]]
"""For each agent that answered in a round: its answer, and whether it is right."""
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
"""Columns of the table; density is messages a turn, silent turns among them, and heard the share of
messages that another agent read. Flows are shares of the answers that an agent gave in two rounds
in a row."""
FLOW_HEADS = ("entry", "round", *FLOWS, *(f"{name}_conforming" for name in FLOWS))
"""Columns of `flow.csv`: counts of answers in a round, from 1, by what the same agent's answer in
the round before was, and how many of them conform."""
Vectorize = Callable[[Sequence[str]], NDArray[np.float64]]
"""From texts to vectors of length 1, (texts, width)."""


@dataclass(frozen=True, slots=True)
class Coordination:
    """Measures every entry of a comparison, and puts them beside one agent alone."""

    alone: str = "single"
    """The entry of one agent alone."""
    embed: str | None = None
    """Embedding model, a folder or a name on the hub; None counts tokens."""

    def __call__(self, played: PlayedEntry) -> None:
        """Write what an entry did into its folder."""
        vectorize = vectorizer(self.embed, played.tokenize)
        save(played.folder.path, measure(played.episodes, vectorize, played.environments[0]))

    def finish(self, folder: Path, names: Sequence[str]) -> None:
        """Write the tables of all entries."""
        write(folder, names, self.alone)


def vectorizer(embed: str | None, tokenize: Tokenize) -> Vectorize:
    """Texts as an embedding model has them; without its name, as counts of tokens."""
    if embed is not None:
        return partial(embedded, str(embed))
    return lambda texts: vectors([tokenize(text) for text in texts])


def measure(
    episodes: Sequence[Episode], vectorize: Vectorize, environment: object = None
) -> dict[str, Any]:
    """What an entry did, means over its episodes; redundancy and channels are of each round.

    The environment grades what each agent answered in between, where that is quick.
    """
    graded = [_graded(one, environment) for one in episodes]
    found = [vectorize(said) for one in episodes for said in _by_round(one.turns) if len(said) > 1]
    turns = [len(one.turns) for one in episodes]
    said = [sum(bool(turn.message) for turn in one.turns) for one in episodes]
    return {
        "turns": float(np.mean(turns)),
        "messages": float(np.mean(said)),
        "heard": float(np.mean([_heard(one.turns) for one in episodes])),
        "redundancy": _mean(map(redundancy, found)),
        "channels": _mean(map(channels, found)),
        **{
            f"channels_{name}": _mean(
                channels(vectorize(said))
                for one in graded
                for said in _alike(one.values(), right)
                if len(said) > 1
            )
            for name, right in (("right", True), ("wrong", False))
        },
        "flow": _flow(graded),
        "solved": {one.task: bool(one.solved) for one in episodes if one.solved is not None},
        "spent": {
            one.task: sum(one.tokens_said.values()) + sum(one.tokens_thought.values())
            for one in episodes
        },
    }


Graded = Mapping[int, Mapping[str, tuple[Turn, str, bool]]]
"""By round and agent: its turn, the answer it gave there, and whether that is right."""


def _graded(episode: Episode, environment: object) -> Graded:
    """What each agent answered; nothing where one agent answers, or all one work."""
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
                rounds[turn.round][turn.agent] = turn, score.answer, score.solved
    return rounds


def _heard(turns: Sequence[Turn]) -> int:
    """Messages that another agent read: not those of the last round, nor lost ones.

    What was read tells it, and not the topology, because a channel may lose messages.
    """
    return sum(_reached(turn, turns) for turn in turns if turn.message)


def _reached(said: Turn, turns: Sequence[Turn]) -> bool:
    """Whether some other agent read this before its next turn, in lines of its own and unchanged.

    What somebody quotes stands within another line, and does not count.
    """
    next_turns = {one.agent: one for one in reversed(turns) if one.round > said.round}
    line = heard((Message(said.agent, said.round, said.message, said.tokens_said),), (said.agent,))
    read = [one.read for agent, one in next_turns.items() if agent != said.agent]
    return any(f"\n{line}\n" in f"\n{text}\n" for text in read)


def _by_round(turns: Iterable[Turn]) -> list[list[str]]:
    rounds: defaultdict[int, list[str]] = defaultdict(list)
    for turn in turns:
        if turn.message:
            rounds[turn.round].append(turn.message)
    return list(rounds.values())


def _alike(rounds: Iterable[Mapping[str, tuple[Turn, str, bool]]], right: bool) -> list[list[str]]:
    """The messages of each round whose answer is right, or those whose answer is wrong."""
    return [[turn.message for turn, _, solved in one.values() if solved is right] for one in rounds]


def _mean(found: Iterable[float]) -> float | None:
    kept = list(found)
    return float(np.mean(kept)) if kept else None


def _flow(graded: Sequence[Graded]) -> dict[str, dict[str, list[int]]]:
    """Counts of `answer_flow` over all episodes, by the round that is flowed to."""
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
    """Write what an entry did into its folder."""
    write_atomically(folder / FILE, json.dumps(measured, indent=2) + "\n")


def read(folder: Path) -> dict[str, Any] | None:
    """What an entry did; None where it was not played."""
    path = folder / FILE
    if not path.is_file():
        return None
    found: dict[str, Any] = read_json(path)
    return found


def write(folder: Path, names: Sequence[str], alone: str) -> None:
    """Write the tables of the entries that were played; the first not where `alone` was not."""
    told = {name: one for name in names if (one := read(folder / name)) is not None}
    flows = [
        (name, place, *(one["flow"][place][flow][i] for i in (0, 1) for flow in FLOWS))
        for name, one in told.items()
        for place in one["flow"]
    ]
    if flows:
        _table(folder / "flow.csv", FLOW_HEADS, flows)
    if alone in told:
        lines = [_line(name, one, told[alone]) for name, one in told.items()]
        _table(folder / "coordination.csv", HEADS, lines)


def _table(path: Path, heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([heads, *lines])
    write_atomically(path, buffer.getvalue())


def _line(name: str, one: dict[str, Any], alone: dict[str, Any]) -> list[Any]:
    turns, solved = one["turns"], one["solved"]
    success = float(np.mean([*solved.values()])) if solved else None
    broken, fixed, gain = paired(alone["solved"], solved)
    ratio = spent_ratio(alone["spent"], one["spent"])
    flow = [one["flow"][place] for place in one["flow"]]
    counts = {name: sum(step[name][0] for step in flow) for name in FLOWS}
    steps, conforming = sum(counts.values()), sum(n for step in flow for _, n in step.values())
    return [
        name,
        turns,
        overhead(turns, alone["turns"]),
        one["messages"] / turns,
        one["heard"] / one["messages"] if one["messages"] else None,
        efficiency(success, turns, alone["turns"]) if success is not None else None,
        *(one[kind] for kind in ("redundancy", "channels", "channels_right", "channels_wrong")),
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
    """By which share a team takes more turns than one agent alone: (T - T1) / T1."""
    return (turns - alone) / alone


def efficiency(success: float, turns: float, alone: float) -> float:
    """Success for as many turns as one agent alone takes: S / (T / T1)."""
    return success / (turns / alone)


def vectors(replies: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Counts of tokens in replies as vectors of length 1, (replies, tokens); empty ones are 0."""
    names = sorted(set().union(*replies))
    counts = [Counter(reply) for reply in replies]
    made = np.array([[one[name] for name in names] for one in counts], dtype=np.float64)
    norms = np.linalg.norm(made, axis=1, keepdims=True)
    found: NDArray[np.float64] = np.divide(made, norms, out=np.zeros_like(made), where=norms > 0)
    return found


def redundancy(found: NDArray[np.float64]) -> float:
    """Mean cosine of all pairs of unit vectors (count, size); NaN of fewer than two."""
    return fmean([float(a @ b) for a, b in combinations(found, 2)]) if len(found) > 1 else math.nan


def channels(found: NDArray[np.float64]) -> float:
    """K* = 2^H of unit vectors (count, size): H the entropy of their Gram matrix's spectrum.

    1 where all are equal, their number where no two have anything in common.
    """
    spectrum = np.linalg.eigvalsh(found @ found.T).clip(0.0)
    shares = spectrum[spectrum > 1e-12] / spectrum.sum()
    return float(2.0 ** -(shares * np.log2(shares)).sum())


def paired(alone: Mapping[str, bool], team: Mapping[str, bool]) -> tuple[int, int, Interval]:
    """Tasks that the team broke and that it fixed; and its gain as a share of all, with interval.

    Takes who solved what, by task; tasks that only one of the two played are left out.
    """
    tasks = alone.keys() & team.keys()
    broken = sum(alone[one] and not team[one] for one in tasks)
    fixed = sum(team[one] and not alone[one] for one in tasks)
    apart = broken + fixed
    if not tasks or not apart:
        return broken, fixed, Interval(0.0, 0.0, 0.0, len(tasks))
    low, high = ((2 * end - 1) * apart / len(tasks) for end in exact(fixed, apart))
    return broken, fixed, Interval((fixed - broken) / len(tasks), low, high, len(tasks))


def spent_ratio(alone: Mapping[str, int], team: Mapping[str, int]) -> Interval | None:
    """Tokens that the team spends for each that the one does, with a paired bootstrap interval.

    Takes tokens by task, and looks at the tasks of both. None where there are none, or the one
    spends nothing.
    """
    tasks = sorted(alone.keys() & team.keys())
    spent = np.array([(team[one], alone[one]) for one in tasks], dtype=np.float64).reshape(-1, 2)
    if not spent[:, 1].any():
        return None
    drawn = resample(RESAMPLES, len(tasks), np.random.default_rng(0)) @ spent
    # A draw in which the one says nothing has no ratio.
    drawn = drawn[drawn[:, 1] > 0]
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1], (2.5, 97.5))
    mean = spent[:, 0].sum() / spent[:, 1].sum()
    return Interval(float(mean), float(low), float(high), len(tasks))


def answer_flow(rounds: Sequence[Answers]) -> dict[str, tuple[int, int]]:
    """How answers change from round to round (MachineSoM, arXiv 2310.02124).

    For each of `FLOWS`: how often an agent that answered in two rounds in a row went so; and in how
    many of these its new answer was among the commonest of the others' answers before.
    """
    found = {name: [0, 0] for name in FLOWS}
    for before, after in pairwise(rounds):
        for agent in before.keys() & after.keys():
            others = Counter(answer for one, (answer, _) in before.items() if one != agent)
            most = max(others.values(), default=0)
            (_, was), (answer, now) = before[agent], after[agent]
            counts = found["ft"[was] + "ft"[now]]
            counts[0] += 1
            counts[1] += bool(most) and others[answer] == most
    return {name: (count, conforming) for name, (count, conforming) in found.items()}


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Any, Any]:
    """Tokenizer and model of a folder, or of a name on the hub.

    Raises:
        SettingError: there is none.
    """
    # Imported here because comparisons without it need not wait for them.
    from transformers import AutoModel, AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name), AutoModel.from_pretrained(name).eval()
    except (OSError, ValueError) as error:
        raise SettingError(
            f"compare.embed must be a folder or a name of a model that transformers can load; got"
            f" {name!r}: {str(error).splitlines()[0]}"
        ) from error


def embedded(name: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Vectors of length 1, (texts, width); texts without a token are 0."""
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
