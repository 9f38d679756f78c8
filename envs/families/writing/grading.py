"""From the texts of a team to its score, and from the score to feedback for each author."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, ClassVar

from laconic.envs.declarations import Metric
from laconic.envs.dialogue.roster import role_of
from laconic.envs.families.writing.levels import MAX_REWARD, SOLVED, WORTH, Levels, Plateau, grade
from laconic.envs.families.writing.measures import CONNECTIVES, source_overlap
from laconic.envs.task import Benchmark, Score, Task


class WritingBenchmark(Benchmark):
    """Texts that two roles write side by side, graded together; nothing in them commits."""

    metrics = {
        "source_overlap": Metric(
            "Share of the words of a text (without stop-words) that also occur in its source.",
            share=True,
        ),
    }
    max_reward = MAX_REWARD
    graded = True
    levels: ClassVar[Levels]
    """The thresholds of the benchmark."""

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Grade the text of each role, from 0 to 2.98; from 2.5 on the task counts as solved.

        Several agents of one role write one text together, in their order. The detail has the
        points of every level that was looked at.
        """
        return score(self.levels, answers, task.text)

    def findings(self, task: Task, score: Score, agents: Sequence[str]) -> Mapping[str, str]:
        """Per level: the points, the finding and the goal."""
        return findings(self.levels, score.detail, agents)


def texts_of(answers: Mapping[str, str], roles: Sequence[str]) -> tuple[str, ...]:
    """Return the text of each role: those of its agents, joined by line breaks in order.

    A role without a message has the empty text; agents of other roles are left out.
    """
    return tuple(
        "\n".join(text for agent, text in answers.items() if role_of(agent) == role)
        for role in roles
    )


def score(levels: Levels, answers: Mapping[str, str], source: str = "") -> Score:
    """Grade the texts of two roles; no text raises.

    Args:
        levels: thresholds of the levels.
        answers: text of each agent.
        source: text that the agents read. It changes no points, as in the paper.

    Returns:
        A score from 0 to 2.98. Its detail has the `points` of every level that was graded, the
        level that failed (`stopped`, or empty) and the values measured there (`found`). Its
        measures have the `source_overlap`, the fraction of the texts' words that occur in the
        source.
    """
    texts = texts_of(answers, levels.roles)
    graded = grade(levels, *texts)
    detail = {
        "points": graded.points,
        "stopped": graded.stopped,
        "found": graded.found,
    }
    written = "\n\n".join(filter(None, texts))
    measures = {"source_overlap": source_overlap(source, *texts)}
    return Score(graded.value, graded.value >= SOLVED, written, detail, measures)


def findings(levels: Levels, detail: Mapping[str, Any], agents: Sequence[str]) -> dict[str, str]:
    """Return feedback for each agent: per level the points, the finding and the goal.

    Args:
        levels: the thresholds.
        detail: detail of the score.
        agents: the listeners; those of other roles are told nothing.
    """
    return {
        agent: "\n".join(_lines(levels, detail, levels.roles.index(role_of(agent))))
        for agent in agents
        if role_of(agent) in levels.roles
    }


def _lines(levels: Levels, detail: Mapping[str, Any], author: int) -> list[str]:
    lines = []
    for level, points in detail["points"].items():
        title, words = _REPORTS[level]
        finding = words(levels, detail["found"], author)
        lines.append(f"{title}, {points:.2f} of {WORTH[level]:g} points: {finding}.")
    if detail["stopped"] and detail["stopped"] != list(WORTH)[-1]:
        lines.append("The grading stopped here.")
    return lines


def _on_length(levels: Levels, measured: Mapping[str, Any], author: int) -> str:
    fewest, most = levels.words
    own, others = measured["words"][author], measured["words"][1 - author]
    other = levels.roles[1 - author]
    return (
        f"your text has {own} words and that of {other} {others}; {fewest} to {most} are wanted"
        f" of each{_advice(own, fewest, most)}"
    )


def _on_length_ratio(levels: Levels, measured: Mapping[str, Any], author: int) -> str:
    first, second = levels.roles
    finding = (
        f"the text of {second} has {_times(measured['length_ratio'])} the characters of {first}"
    )
    return f"{finding}; {_wanted(levels.length_ratio, measured['length_ratio'], author)}"


def _on_word_ratio(levels: Levels, measured: Mapping[str, Any], author: int) -> str:
    first, second = levels.roles
    if measured["word_ratio"] is None:
        return f"the text of {first} has no words but stop-words; say something in it"
    finding = (
        f"the text of {second} has {_times(measured['word_ratio'])} the different words of {first}"
    )
    goal = _wanted(levels.word_ratio, measured["word_ratio"], author)
    return f"{finding}, without stop-words; {goal}"


def _on_style(levels: Levels, measured: Mapping[str, Any], author: int) -> str:
    kinds = measured["connectives"]
    finding = f"connectives of {len(kinds)} kinds out of {len(CONNECTIVES)}"
    finding += f" ({', '.join(kinds)})" if kinds else ""
    where = "both texts" if levels.both_connect else f"the text of {levels.roles[1]}"
    more = levels.both_connect or author == 1
    finding = f"{where} {'have' if levels.both_connect else 'has'} {finding}"
    finding += ", more kinds earn more" if more and len(kinds) < len(CONNECTIVES) else ""
    shared = f"{measured['overlap']:.2f} of all different words stand in both texts"
    enough = measured["overlap"] >= levels.overlap
    return f"{finding}; {shared}, {levels.overlap:g} {'was' if enough else 'is'} wanted"


_Report = Callable[[Levels, Mapping[str, Any], int], str]
_REPORTS: Mapping[str, tuple[str, _Report]] = {
    "length": ("Length", _on_length),
    "length_ratio": ("Ratio of lengths", _on_length_ratio),
    "word_ratio": ("Ratio of vocabularies", _on_word_ratio),
    "style": ("Style", _on_style),
}


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times"


def _advice(count: int, fewest: int, most: int) -> str:
    if count < fewest:
        return ", so write more"
    return ", so write less" if count > most else ""


def _wanted(plateau: Plateau, ratio: float, author: int) -> str:
    """Return the plateau in words, and advice for this author about a ratio outside it."""
    goal = f"{plateau.full_from:g} to {plateau.full_to:g} times are wanted"
    if plateau.full_to == inf:
        goal = f"at least {plateau.full_from:g} times are wanted"
    if plateau.full_from <= ratio <= plateau.full_to:
        return goal
    # More of the second text or less of the first make the ratio larger.
    more = (ratio < plateau.full_from) == (author == 1)
    return f"{goal}, so use {'more' if more else 'fewer'} than now"
