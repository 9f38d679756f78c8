"""Messages: how a reply becomes one, how people read it, what may be said, and feedback on it.

A thought stands at the very beginning of an action between two markers:

    <think>17 and 25 are 42.</think>#### 42

These are the markers of the environment, whatever markers an agent's model uses. The thought ends
at the first closing marker. An agent that does not close it says nothing. A pair of markers
anywhere else is speech.

A language agent stays silent by writing the silence word. The word ends the reply wherever it
stands, so nothing can be written behind it for free. The text before it is the message. If that is
only dressing, such as quotes, Markdown or the agent's own name, the reply is silent.

Feedback consists of comments on the work so far, between two rounds. `none`: no comment. `plain`:
the request to revise. `level`: the request, and the findings of the benchmark at each level of its
reward. `expert`: the request, and the words of an outside expert. An expert may quote an agent, so
further lines are indented as in messages and cannot pose as an agent's. MAGRPO (arXiv 2508.04652,
section on multi-turn collaboration) uses the last three.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn

from gymnasium.spaces import Text
from gymnasium.spaces.utils import flatdim, flatten_space
from gymnasium.vector.utils import create_shared_memory

from laconic.envs.dialogue.budget import UNLIMITED
from laconic.envs.dialogue.characters import INVISIBLE
from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import SettingError
from laconic.envs.task import Benchmark, Score, Task

BEGIN, END = "<think>", "</think>"
_DEFUSED = "</ think>"
"""Spelling, within a thought, of the marker that would end it."""
SILENT_ROUND = "Nobody spoke."
Mode = Literal["none", "plain", "level", "expert"]
MODES: tuple[Mode, ...] = ("none", "plain", "level", "expert")
Expert = Callable[[Task, Mapping[str, str]], Mapping[str, str]]
"""Function from a task and the messages of agents to comments for agents, at least for some."""
REVISE = "Revise what you wrote, or say nothing to let it stand."
_DRESSING = " \t\r\n\"'`*_~#<>[](){}|.,:;!?/\\$-–—“”„‘’«»…" + INVISIBLE
"""Characters that say nothing by themselves, such as quotes, brackets and Markdown."""
_LABELS = frozenset(("assistant", "reply", "response", "answer", "message", "boxed", "text"))
"""Words that some models write before a reply, beside the agent's name and role."""
# Tags of HTML, and the number of the only item of a list.
_FRAME = re.compile(
    r"</?(?:b|i|u|p|q|em|strong|code|pre|span|div|center|br|h[1-6]|answer|reply|response|message)>"
    r"|^\W{0,9}1[.)](?=\W)",
    re.IGNORECASE,
)
# White space that templates and models put before a message: one character, or a blank line.
_BREAK = re.compile(r"\A(?:\n\n|\s)")
_ESCAPED = {
    "<": "<|&lt;|&#60;|&#x3c;|\uff1c|\u2039|\u3008",
    ">": ">|&gt;|&#62;|&#x3e;|\uff1e|\u203a|\u3009",
}
"""Other ways of writing the brackets of the word, as patterns."""
_SAMPLED = string.ascii_letters + string.digits + string.punctuation + " \n"
_SAMPLED_LENGTH = 64


class FreeText(Text):
    """Space of all strings, including the empty one; samples have at most 64 printable characters.

    `gymnasium.spaces.Text` with a charset of all Unicode would take seconds to build and tens of
    megabytes to pickle.

    A space without a maximum length has no flat or shared-memory form: gymnasium's `flatten_space`
    and `create_shared_memory` raise ValueError.
    """

    def __init__(self, seed: int | None = None) -> None:
        """Seed the sampling generator."""
        super().__init__(max_length=UNLIMITED, min_length=0, charset=_SAMPLED, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Sample a string; a mask or probability without a length takes 0 to 64 characters."""
        if probability is not None:
            return super().sample(mask, self._bounded(probability))
        return super().sample(self._bounded(mask or (None, None)))

    def _bounded(self, mask: tuple[int | None, Any]) -> tuple[int, Any]:
        length, characters = mask
        if length is None:
            length = int(self.np_random.integers(_SAMPLED_LENGTH + 1))
        return length, characters

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a string."""
        return isinstance(x, str)

    def __repr__(self) -> str:
        """Show the space by its name alone."""
        return "FreeText()"

    def __eq__(self, other: object) -> bool:
        """Return whether the other space is a free text space too."""
        return isinstance(other, FreeText)


def _refuse(space: FreeText, *_: Any, **__: Any) -> NoReturn:
    raise ValueError(
        "expected a space of bounded size; got FreeText(), whose strings have no maximum length."
        " Wrap the environment in laconic.envs.wrappers.TokenArrays, or pass shared_memory=False to"
        " AsyncVectorEnv"
    )


for _function in (flatdim, flatten_space, create_shared_memory):
    _function.register(FreeText, _refuse)


@dataclass(frozen=True, slots=True)
class Message:
    """One agent's message in one round, as published."""

    agent: str
    """Name of the speaker."""
    round: int
    """Round of the episode, from 0."""
    text: str
    """Published text; empty for silence."""
    tokens: int
    """Length of the text in tokens."""
    cut: bool = False
    """True if the agent wrote more than its budget allowed."""
    thought: int = 0
    """Tokens of the thought before the message; the thought itself is not stored."""
    act: str = ""
    """Act beside the message, which no agent hears; empty for none, and in a dialogue."""


def split_thought(action: str) -> tuple[str, str]:
    """Split an action into its thought and its message; either may be empty.

    White space between the two belongs to neither.
    """
    if not action.startswith(BEGIN):
        return "", action
    thought, _, message = action.removeprefix(BEGIN).partition(END)
    return thought, message.lstrip()


def find_thought(text: str) -> tuple[str, str, bool]:
    """Return the thought and the message of a model's reply, and whether the thought has an end.

    Some models write no first marker, because their prompt ends in it.
    """
    text = text.strip()
    action = text if text.startswith(BEGIN) or END not in text else BEGIN + text
    return *split_thought(action), END in text or not text.startswith(BEGIN)


def join_thought(thought: str, message: str) -> str:
    """Return the action that `split_thought` takes apart again, whatever characters the two hold.

    A message that begins with the marker of a thought stays a message. A thought that spells its
    own end does not end there.
    """
    if not thought and not message.startswith(BEGIN):
        return message
    return f"{BEGIN}{thought.replace(END, _DEFUSED)}{END}{message}"


class Split(NamedTuple):
    """A reply, split at the silence word."""

    message: str
    """Message of the agent; empty for silence."""
    rest: str
    """Text behind the silence word; empty where only dressing stands there."""


def padding(*parts: str) -> str:
    """Return what parts of a text hold beyond one white space, or one blank line, before each."""
    return "".join(_BREAK.sub("", part) for part in parts)


class SilenceWord:
    """The silence word of an agent, in all spellings that count as the word.

    A word in brackets, such as `<silence>`, counts in any case, with a slash and escaped
    (`<Silence>`, `<silence/>`, `&lt;silence&gt;`). Any other word counts as it is written, also
    within a longer word.
    """

    def __init__(self, word: str) -> None:
        """Build the pattern of the word."""
        self.word = word.strip()
        self._core = re.sub(r"^\W+|\W+$", "", self.word)
        opening, _, closing = self.word.partition(self._core or self.word)
        self._brackets = (opening, closing) if opening and closing else None
        pattern, flags = re.escape(self.word), 0
        if self._brackets:
            name = rf"\s*/?\s*{re.escape(self._core)}\s*/?\s*"
            pattern, flags = _spelled(opening) + name + _spelled(closing), re.IGNORECASE
        self._pattern = re.compile(pattern, flags)

    @property
    def spellings(self) -> tuple[str, ...]:
        """The word as written, and the likeliest other spellings, the likeliest first.

        Servers stop at them. They take four at most, as OpenAI's protocol says; a reply that spells
        the word in another way is cut when it arrives.
        """
        if self._brackets is None:
            return (self.word,)
        opening, closing = self._brackets
        forms = (self._core, f"{self._core}/", f"/{self._core}", self._core.capitalize())
        return tuple(dict.fromkeys(opening + form + closing for form in forms))

    def ends(self, text: str) -> bool:
        """Return whether the word stands in a text."""
        return self._pattern.search(text) is not None

    def split(self, text: str, agent: str = "", stopped: bool = False) -> Split:
        """Split a reply into its message and the text behind the silence word.

        Args:
            text: the reply, without its thought.
            agent: name of the agent, which counts as dressing.
            stopped: whether the reply was ended by its limit. A reply that was stopped within the
                silence word is silent, because it had no room for the rest of the word.
        """
        match = self._pattern.search(text)
        if match is None:
            # A whole reply may be the word without its brackets, as in `[silence]`.
            bare, core = _FRAME.sub("", text).strip(_DRESSING).casefold(), self._core.casefold()
            silent = (
                bool(core) and bare.endswith(core) and _is_dressing(bare.removesuffix(core), agent)
            )
            silent = silent or (stopped and self._is_begun(text, agent))
            return Split("" if silent else text.strip(), "")
        before, rest = text[: match.start()], text[match.end() :]
        message = "" if _is_dressing(before, agent) else before.strip()
        return Split(message, rest.strip() if _FRAME.sub("", rest).strip(_DRESSING) else "")

    def dropped(self, text: str, message: str) -> str:
        """Return what a reply holds beside its message and the silence word; it may be empty.

        No agent hears it, but the agent reads it again in its own conversation. One white space or
        blank line on each side of the message is no part of it, nor is the word as it is usually
        spelled.

        Args:
            text: the reply, without its thought.
            message: its message, as `split` returns it.
        """
        word = self._pattern.search(text)
        if word is not None:
            usual = word[0] in (*self.spellings, self.word.upper())
            before, after = text[: word.start()], ("" if usual else word[0]) + text[word.end() :]
        elif message:
            before, after = text, ""
        elif len(text.strip()) <= len(self.word):
            before, after = text[: len(text) - len(text.lstrip())], ""
        else:
            before, _, after = text.rpartition(self._core)
        around = (*before.partition(message)[::2], after) if message else (before, after)
        return padding(*around)

    def _is_begun(self, text: str, agent: str) -> bool:
        """Return whether a reply ends within the word, with nothing but dressing before it."""
        text = text.strip().casefold()
        starts = {
            spelling[:size].casefold()
            for spelling in self.spellings
            for size in range(1, len(spelling))
        }
        return any(
            text.endswith(start) and _is_dressing(text.removesuffix(start), agent)
            for start in starts
        )


def _spelled(bracket: str) -> str:
    """Return a pattern of a bracket, also escaped for HTML or in full width."""
    return rf"\\?(?:{_ESCAPED.get(bracket, re.escape(bracket))})"


def _is_dressing(text: str, agent: str) -> bool:
    """Return whether a text says nothing: dressing, with at most the name of who speaks in it."""
    label, name = _FRAME.sub("", text).strip(_DRESSING).casefold(), agent.casefold()
    own = {name, name.replace("_", " "), role_of(name)} if name else set()
    return not label or label in own | _LABELS


def format_messages(messages: Iterable[Message]) -> str:
    """Return the text of a listener after a round: one line per message that it hears.

    Further lines of a message are indented, so that no message can pose as another agent's.
    """
    lines = [f"{message.agent}: {indented(message.text)}" for message in messages if message.text]
    return "\n".join(lines) or SILENT_ROUND


def show(messages: Iterable[Message], closing: str = "") -> str:
    """Return the transcript as plain text, oldest message first, silence included.

    Further lines of a message are indented. `closing` is a last line, such as the score.
    """
    lines = []
    for message in messages:
        words = printable(indented(message.text)) or "(silent)"
        mark = " [cut]" if message.cut else ""
        act = f" {printable(message.act)}" if message.act else ""
        lines.append(f"[{message.round}] {message.agent} ({counted(message)}): {words}{mark}{act}")
    return "\n".join([*lines, closing] if closing else lines)


def print_round(messages: Sequence[Message], score: Score | None = None) -> None:
    """Print a table of the messages of one round, and the score after the last round."""
    # Rich takes a while to import.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    title = f"round {messages[0].round}" if messages else None
    table = Table(title=title, title_justify="left", expand=True)
    table.add_column("agent", no_wrap=True)
    table.add_column("tokens", justify="right")
    table.add_column("message", ratio=1)
    for message in messages:
        words = Text(printable(message.text)) if message.text else Text("(silent)", style="dim")
        if message.cut:
            words.append(" [cut]", style="red")
        table.add_row(message.agent, counted(message), words)
    console = Console()
    console.print(table)
    if score is not None:
        outcome = {True: "solved, ", False: "not solved, ", None: ""}[score.solved]
        answer = printable(score.answer) or "none"
        console.print(f"answer {answer}: {outcome}score {score.value:g}", markup=False)


def counted(message: Message) -> str:
    """Return the tokens of a message in words: `5`, or `5 + 30 thought`."""
    return (
        f"{message.tokens} + {message.thought} thought" if message.thought else f"{message.tokens}"
    )


def printable(text: str) -> str:
    """Replace control characters, which could rewrite a terminal, by U+FFFD."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def indented(text: str) -> str:
    """Indent all lines of a text but the first."""
    return "\n  ".join(text.splitlines())


class Feedback:
    """Speaks after every round but the last."""

    def __init__(self, benchmark: Benchmark, mode: Mode, expert: Expert | None) -> None:
        """Check that the benchmark or the expert can give this kind of feedback.

        Args:
            benchmark: reports findings in mode `level`.
            mode: one of `MODES`.
            expert: asked in mode `expert`, and in no other.

        Raises:
            SettingError: the mode needs an expert or findings, and there are none.
        """
        self._mode: Mode = mode
        self._benchmark, self._expert = benchmark, expert
        self.given = mode != "none"
        """Whether agents are told anything between rounds."""
        self.needs_score = mode == "level"
        """Whether the work has to be graded first."""
        if mode == "expert" and expert is None:
            raise SettingError("env.feedback=expert needs env.expert, which was not given")
        if mode == "level" and type(benchmark).findings is Benchmark.findings:
            raise SettingError(
                f"env.feedback=level needs a benchmark that grades in levels; {benchmark.name!r}"
                " does not, so choose plain or none"
            )

    def on(
        self, task: Task, written: Mapping[str, str], score: Score | None, agents: Sequence[str]
    ) -> dict[str, str]:
        """Return the comments for each agent; empty in mode `none`.

        Args:
            task: the task of the episode.
            written: last message of each agent that wrote anything.
            score: score of the work so far; needed by mode `level`.
            agents: the listeners.
        """
        if self._mode == "none":
            return {}
        comments: Mapping[str, str] = {}
        if self._mode == "level" and score is not None:
            comments = self._benchmark.findings(task, score, agents)
        elif self._expert is not None:
            advice = self._expert(task, written)
            comments = {
                agent: f"Expert: {indented(text)}" for agent, text in advice.items() if text
            }
        return {agent: "\n".join(filter(None, (comments.get(agent), REVISE))) for agent in agents}
