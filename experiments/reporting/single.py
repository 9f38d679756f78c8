"""The report of one run: what changed from before training to its last evaluation."""

from __future__ import annotations

from laconic.experiments.reporting.curves import curves
from laconic.experiments.reporting.look import Picture
from laconic.experiments.reporting.page import (
    folded,
    glossary,
    heading,
    notice,
    page,
    pictures,
    safe,
    table,
)
from laconic.experiments.reporting.records import Run, Said, Transcript, goal
from laconic.experiments.reporting.words import NOTHING, change, label, level, order

COLUMNS = ("metric", "before training", "after", "change")
_TILES = ("tokens_said", "silent_if_uninformed", "spoke_if_informed")
_MAX_PAIRS = 12


def rows(run: Run) -> list[tuple[str, str, str, str]]:
    """The final table: each metric before and after training with 95 % intervals, its change."""
    before = run.before.intervals if run.before else {}
    after = run.after.intervals if run.after else {}
    return [
        (
            label(name),
            level(name, before.get(name)),
            level(name, after.get(name)),
            change(name, before.get(name), after.get(name)),
        )
        for name in order({*before, *after})
    ]


def missing(run: Run) -> list[str]:
    """Everything the report would show and the run does not have."""
    lacking = list(run.problems)
    if run.before is None:
        lacking.append("there is no evaluation before training to compare with")
    if run.after is None:
        lacking.append("there is no evaluation after training yet")
    return lacking


def pairs(run: Run) -> list[tuple[Transcript, Transcript | None]]:
    """The transcripts before training beside those of the same tasks at the last evaluation."""
    steps = [one.step for one in run.transcripts]
    if not steps:
        return []
    first, last = min(steps), max(steps)
    if first == last:
        return [(one, None) for one in run.transcripts]
    later = {one.task: one for one in run.transcripts if one.step == last}
    return [
        (one, later[one.task]) for one in run.transcripts if one.step == first and one.task in later
    ]


def document(run: Run) -> tuple[str, list[Picture]]:
    """The page of a run and the pictures in it."""
    drawn = curves(run)
    last = f"step {run.after.step}" if run.after else "no evaluation after training"
    episodes = run.after.episodes if run.after else 0
    facts = [run.state, last, *([f"{episodes} evaluation episodes"] if episodes else [])]
    body = [
        heading("Laconic · run", run.folder.name, facts),
        notice("The run failed", [run.error] if run.error else []),
        notice("The run warned", run.warnings),
        notice("Missing from this report", missing(run), mild=True),
        _tiles(run),
        "<h2>Over training</h2>",
        pictures(drawn),
        "<h2>Before and after</h2>",
        '<p class="note">Both on the evaluation tasks. In brackets: 95 % intervals, '
        "Wilson for shares of episodes and a bootstrap over episodes for all else. The interval of "
        "a change takes both evaluations for independent; on the same tasks it is on the wide "
        "side.</p>",
        table(COLUMNS, rows(run)) if rows(run) else "<p>No evaluation yet.</p>",
        _transcripts(run),
        "<h2>Configuration</h2>",
        folded("config.yaml", run.config) if run.config else "<p>Not recorded.</p>",
        glossary(),
    ]
    return page(f"Laconic: {run.folder.name}", body), drawn


def _tiles(run: Run) -> str:
    """The few figures that say how it went."""
    latest = run.after or run.before
    if latest is None:
        return ""
    tiles = []
    for name in (goal([run]), *_TILES):
        now = latest.intervals.get(name)
        then = run.before.intervals.get(name) if run.before and run.after else None
        if now is not None:
            value, _, bracket = level(name, now).partition(" [")
            past = f"before training {level(name, then).partition(' [')[0]}" if then else ""
            tiles.append(
                f'<div class="tile"><div class="name">{safe(label(name))}</div>'
                f'<div class="now">{safe(value)}</div>'
                f'<div class="then">{safe("[" + bracket if bracket else "")}<br>{safe(past)}</div>'
                "</div>"
            )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _transcripts(run: Run) -> str:
    shown = pairs(run)
    parts = ["<h2>The same tasks, before and after</h2>"]
    if not shown:
        parts.append("<p>No transcripts of the same tasks were recorded.</p>")
    if len(shown) > _MAX_PAIRS:
        parts.append(
            f'<p class="note">The first {_MAX_PAIRS} of {len(shown)}; all are in'
            " <code>transcripts.jsonl</code>.</p>"
        )
    parts += [_pair(before, after) for before, after in shown[:_MAX_PAIRS]]
    return "\n".join(parts)


def _pair(before: Transcript, after: Transcript | None) -> str:
    facts = " ".join(before.statements)
    missing = '<div class="card"><p class="muted">No later evaluation yet.</p></div>'
    return (
        f'<section class="task"><p class="question wrap">{safe(before.question)}</p>'
        f'<p class="note wrap">{safe(facts)} <br>Right answer: {safe(before.reference)}'
        f" · task <code>{safe(before.task)}</code></p>"
        f'<div class="pair">{_card(before)}{_card(after) if after else missing}</div></section>'
    )


def _card(one: Transcript) -> str:
    when = "Before training" if one.step == 0 else f"After step {one.step}"
    said = "" if one.tokens_said is None else f" · {one.tokens_said} tokens"
    kind = "solved" if one.solved else "unsolved"
    verdict = {True: "✓ solved", False: "✗ not solved", None: ""}[one.solved]
    turns = "".join(map(_turn, one.messages))
    return (
        f'<div class="card"><header><span>{when}{said}</span>'
        f'<span class="{kind}">{verdict}</span></header>{turns}'
        f'<div class="turn who">graded answer: <b class="wrap">{safe(one.answer or NOTHING)}</b>'
        "</div></div>"
    )


def _turn(said: Said) -> str:
    held = {True: " · holds something useful", False: " · nothing useful to tell", None: ""}
    words = (
        f'<div class="said">{safe(said.text)}</div>'
        if said.text
        else '<div class="said silent">(silent)</div>'
    )
    tokens = f" · {said.tokens} tokens" if said.text else ""
    cut = " · cut at the budget" if said.cut else ""
    return (
        f'<div class="turn"><div class="who"><b>{safe(said.agent)}</b> · round {said.round + 1}'
        f"{tokens}{held[said.informed]}{cut}</div>{words}</div>"
    )
