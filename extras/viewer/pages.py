"""An episode as text with colours: what was said and what it cost, or one agent's own view."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from laconic.envs.dialogue.reward import Reward
from laconic.experiments.reporting.records import Said, Transcript
from laconic.extras.viewer.episodes import cost, score, verdict

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")
_FAINT = "dim"


def agents(one: Transcript) -> list[str]:
    """Who takes part, in the order in which they first speak."""
    return list(dict.fromkeys(said.agent for said in one.messages))


def conversation(one: Transcript, reward: Reward | None) -> Text:
    """The task, every message in its round with tokens and price, and what was graded."""
    parts: list[Text | None] = [_task(one)]
    for said in one.messages:
        parts.append(_head(one, said, reward))
        parts.append(_thought(said))
        parts.append(_indented(said.text or "(silent)", "" if said.text else _FAINT))
    return _lines([*parts, _end(one, reward)])


def view(one: Transcript, agent: str, reward: Reward | None) -> Text:
    """What one agent read, turn by turn, its prompt first, and what it said to that."""
    parts: list[Text | None] = [Text(f"what {agent} read and said", style="bold")]
    for said in one.messages:
        if said.agent == agent:
            parts.append(Text(f"\nread before round {said.round + 1}", style="bold"))
            nothing = "(nothing new, or it was not recorded)"
            parts.append(_indented(said.read or nothing, "" if said.read else _FAINT))
            parts.append(_head(one, said, reward))
            parts.append(_thought(said))
            parts.append(_indented(said.text or "(silent)", "" if said.text else _FAINT))
    return _lines(parts)


def prices(reward: Reward | None) -> str:
    """What a token costs, in words."""
    if reward is None:
        return "price not known"
    whom = "the whole team" if reward.charge == "team" else "its speaker"
    return f"price {reward.price:g} for {reward.normalizer:g} tokens, charged to {whom}"


def _task(one: Transcript) -> Text:
    found = Text(f"step {one.step}, task {one.task}\n", style="bold")
    for statement in one.statements:
        found.append(f"{statement}\n", style="not bold")
    return found.append(one.question, style="not bold")


def _head(one: Transcript, said: Said, reward: Reward | None) -> Text:
    place = agents(one).index(said.agent)
    found = Text(f"\n{said.agent}", style=f"bold {_COLOURS[place % len(_COLOURS)]}")
    return found.append(f"  {', '.join(_notes(said, reward))}", style=f"not bold default {_FAINT}")


def _notes(said: Said, reward: Reward | None) -> Iterator[str]:
    yield f"round {said.round + 1}"
    yield f"{said.tokens} token{'' if said.tokens == 1 else 's'}"
    if said.tokens_thought:
        yield f"{said.tokens_thought} thought"
    if reward is not None and (price := cost(said, reward)):
        yield f"price {price:.3f}"
    if said.informed is not None:
        yield "held something useful" if said.informed else "held nothing useful"
    if said.cut:
        yield "cut to its budget"
    if said.truncated:
        yield "stopped at its limit"


def _thought(said: Said) -> Text | None:
    return _indented(f"(thought) {said.thought}", f"italic {_FAINT}") if said.thought else None


def _end(one: Transcript, reward: Reward | None) -> Text:
    colour = {True: "green", False: "red", None: "yellow"}[one.solved]
    graded = f"graded answer: {one.answer or '-'}   right: {one.reference or '-'}"
    worth = f"   score {score(one)}" if score(one) else ""
    said = "" if one.tokens_said is None else f"   {one.tokens_said} tokens said"
    said += f"   ended by {one.ended_by}" if one.ended_by else ""
    free = reward is not None and reward.price and "; the words that state an answer may be free"
    return Text.assemble(
        (f"\n{verdict(one)} {graded}", f"bold {colour}"),
        f"{worth}{said}\n{prices(reward)}",
        (free or "", _FAINT),
    )


def _indented(text: str, style: str) -> Text:
    return Text("\n".join(f"  {line}" for line in text.split("\n")), style=style)


def _lines(parts: list[Text | None]) -> Text:
    return Text("\n").join([part for part in parts if part is not None])
